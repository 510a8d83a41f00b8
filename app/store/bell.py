"""Wakes who waits for a commit of the same process."""

from threading import Condition


class Bell:
    """Counts commits. Who waits says which it has seen, so that none is missed between looking and waiting."""

    def __init__(self) -> None:
        self._rung = Condition()
        self._count = 0

    @property
    def count(self) -> int:
        return self._count

    def ring(self) -> None:
        with self._rung:
            self._count += 1
            self._rung.notify_all()

    def wait(self, seen: int, seconds: float) -> None:
        """Until there was a commit after ``seen``, or the time is up."""
        with self._rung:
            self._rung.wait_for(lambda: self._count != seen, seconds)
