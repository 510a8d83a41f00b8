"""What becomes of the driver's errors: by number, whatever the order of their arguments."""

import pytest
from sqlalchemy.exc import DBAPIError, InterfaceError

from app.domain.errors import Busy, Conflict, OutcomeUnknown, Retryable
from app.services.retrying import retrying
from app.store.sqlserver.errors import number_of, translate

PREFIX = "[{state}] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]"


def raised(number: int, text: str, state: str = "42000", **options: bool) -> DBAPIError:
    message = f"{PREFIX.format(state=state)}{text} ({number}) (SQLExecDirectW)"
    return DBAPIError("SELECT 1", (), Exception(state, message), **options)


@pytest.mark.parametrize("number", [1205, 1222, 3960, 13535, 51503, 40197, 40501, 40613, 49918])
def test_what_a_new_transaction_may_get_through(number: int) -> None:
    assert type(translate(raised(number, "No."))) is Retryable


@pytest.mark.parametrize("number", [515, 547, 2601, 2627])
def test_a_broken_constraint_is_a_conflict_and_is_not_tried_again(number: int) -> None:
    said = translate(raised(number, "Violation of UNIQUE KEY constraint 'UX_MemoryNodes_Key'.", "23000"))
    assert type(said) is Conflict
    assert "UX_MemoryNodes_Key" in str(said)


@pytest.mark.parametrize(
    ("number", "word"), [(208, "migrate"), (4060, "migrate"), (18456, "password"), (1105, "full"), (229, "grant")]
)
def test_what_an_operator_can_mend_says_how(number: int, word: str) -> None:
    said = translate(raised(number, "No."))
    assert type(said) is Busy
    assert word in str(said)


@pytest.mark.parametrize("state", ["08S01", "08001", "HYT00"])
def test_a_lost_connection_is_tried_again(state: str) -> None:
    error = DBAPIError("SELECT 1", (), Exception(state, f"[{state}] [Microsoft]Communication link failure (0) (SQL"))
    assert type(translate(error)) is Retryable


def test_an_error_that_nobody_knows_stays_itself() -> None:
    error = raised(102, "Incorrect syntax near 'x'.")
    assert translate(error) is error


def test_a_driver_that_cannot_be_used_is_told() -> None:
    assert (
        type(translate(InterfaceError("SELECT 1", (), Exception("IM002", "no driver (0) (SQLDriverConnect)")))) is Busy
    )


def test_the_number_is_found_in_either_order_and_zero_is_none() -> None:
    text = f"{PREFIX.format(state='40001')}Transaction was deadlocked. (1205) (SQLExecDirectW)"
    assert number_of(f"40001 {text}") == number_of(f"{text} 40001") == (1205, "Transaction was deadlocked. ")
    assert number_of("[08S01] Communication link failure (0) (SQLExecDirectW)")[0] is None


class Flaky:
    """Fails a number of times before it answers."""

    def __init__(self, error: Exception, times: int) -> None:
        self.error, self.left, self.calls = error, times, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "done"


def test_a_whole_transaction_is_tried_again_and_the_last_error_is_raised() -> None:
    twice = Flaky(Retryable("deadlock"), 2)
    assert retrying(twice) == "done"
    assert twice.calls == 3

    always = Flaky(Retryable("deadlock"), 100)
    with pytest.raises(Retryable, match="deadlock"):
        retrying(always)
    assert always.calls == 6


def test_a_commit_with_unknown_outcome_is_repeated_only_where_that_does_nothing_twice() -> None:
    once = Flaky(OutcomeUnknown("lost"), 1)
    with pytest.raises(OutcomeUnknown):
        retrying(once)
    assert once.calls == 1
    again = Flaky(OutcomeUnknown("lost"), 1)
    assert retrying(again, is_idempotent=True) == "done"


def test_a_conflict_is_never_repeated() -> None:
    conflict = Flaky(Conflict("taken"), 1)
    with pytest.raises(Conflict):
        retrying(conflict)
    assert conflict.calls == 1
