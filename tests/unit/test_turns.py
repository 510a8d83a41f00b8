"""Writers of one process get their turn in the order in which they came."""

from threading import Event, Thread
from time import sleep

from app.store.sqlite.turns import Turns


def test_a_turn_is_one_at_a_time_and_does_not_come_for_ever() -> None:
    turns = Turns()
    assert turns.acquire(0)
    assert not turns.acquire(0.01)
    turns.release()
    assert turns.acquire(0)
    turns.release()


def test_those_who_wait_get_it_in_order_also_before_who_just_had_it() -> None:
    turns = Turns()
    order: list[str] = []

    def take(name: str, ready: Event) -> None:
        ready.set()
        assert turns.acquire(5)
        order.append(name)
        turns.release()

    assert turns.acquire(0)
    threads = []
    for name in ("first", "second", "third"):
        ready = Event()
        threads.append(Thread(target=take, args=(name, ready)))
        threads[-1].start()
        ready.wait()
        sleep(0.05)
    turns.release()
    assert turns.acquire(5)  # at once again, as a worker would
    order.append("worker")
    turns.release()
    for thread in threads:
        thread.join()
    assert order == ["first", "second", "third", "worker"]


def test_who_gave_up_is_passed_over() -> None:
    turns = Turns()
    assert turns.acquire(0)
    assert not turns.acquire(0.01)
    turns.release()
    assert turns.acquire(0)
