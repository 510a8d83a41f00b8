-- System time (SEMANTICS 5).

-- name: clock_open
-- Take the stamp of the transaction that has just got the write lock: later than every stamp before it.
UPDATE SystemClock
SET TransactionStamp = MAX(LastStamp + 1, :now), LastStamp = MAX(LastStamp + 1, :now);

-- name: clock_close
-- The last statement before a commit.
UPDATE SystemClock SET TransactionStamp = NULL;

-- name: clock_pass
-- Every later stamp exceeds a time that was answered for.
UPDATE SystemClock SET LastStamp = MAX(LastStamp, :as_of);
