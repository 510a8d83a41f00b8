-- name: clock_last
-- The stamp of the last commit that can be seen (SEMANTICS 5).
SELECT k.LastStamp AS LastStampAt FROM SystemClock AS k;
