"""A lock for the writers of one process, who get it in the order in which they came.

The standard library's lock may be taken again and again by a thread that never sleeps, while others wait.
"""

from collections import deque
from threading import Event, Lock


class Turns:
    """Everyone has a turn: a worker with much to do lets those in who have come meanwhile."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._is_taken = False
        self._waiting: deque[Event] = deque()

    def acquire(self, seconds: float) -> bool:
        """Wait for a turn; False where it did not come in time."""
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return True
            called = Event()
            self._waiting.append(called)
        if called.wait(seconds):
            return True
        with self._guard:
            if called.is_set():  # it came at the last moment
                return True
            self._waiting.remove(called)
            return False

    def release(self) -> None:
        """End the turn; the next one's begins."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._is_taken = False
