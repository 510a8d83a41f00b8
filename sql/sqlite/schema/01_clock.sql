-- System time. One row: the last stamp given out, and the stamp of the open transaction (NULL between transactions).
-- A stamp is taken once per transaction, under the write lock, and exceeds every earlier one (SEMANTICS 5).
-- Times are microseconds since 1970-01-01T00:00:00Z; 253402300799999999 is the end of time.
CREATE TABLE SystemClock (
    SystemClockId    INTEGER NOT NULL PRIMARY KEY CHECK (SystemClockId = 1),
    LastStamp        INTEGER NOT NULL,
    TransactionStamp INTEGER
) STRICT;

INSERT INTO SystemClock (SystemClockId, LastStamp, TransactionStamp) VALUES (1, 0, NULL);
