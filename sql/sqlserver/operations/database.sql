-- What memory-graph migrate does to the database beside its schema. Outside any transaction.

-- name: allow_snapshot_isolation
-- Readers see one state without a lock.
IF (SELECT d.snapshot_isolation_state FROM sys.databases AS d WHERE d.name = DB_NAME()) = 0
    ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON;

-- name: read_committed_snapshot
-- Writers of one fleet do not wait for those of another where they only read.
IF (SELECT d.is_read_committed_snapshot_on FROM sys.databases AS d WHERE d.name = DB_NAME()) = 0
    ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;

-- name: migration_turn
-- One replica migrates at a time; the lock goes with the session.
DECLARE @Result INT;
EXEC @Result = sp_getapplock @Resource = N'MemoryGraph/migrate', @LockMode = 'Exclusive', @LockOwner = 'Session',
     @LockTimeout = 600000;
SELECT @Result AS Result;

-- name: clean_up_history
-- A retention period is of no effect without it; restoring a database to a point in time turns it off.
ALTER DATABASE CURRENT SET TEMPORAL_HISTORY_RETENTION ON;

-- name: keep_nodes
-- How long history is kept: INFINITE, or a number of DAYS put in its place. Of a table that is versioned and stays so.
ALTER TABLE dbo.MemoryNodes SET (SYSTEM_VERSIONING = ON (HISTORY_RETENTION_PERIOD = INFINITE));

-- name: keep_edges
ALTER TABLE dbo.MemoryEdges SET (SYSTEM_VERSIONING = ON (HISTORY_RETENTION_PERIOD = INFINITE));

-- name: keep_assertions
ALTER TABLE dbo.MemoryAssertions SET (SYSTEM_VERSIONING = ON (HISTORY_RETENTION_PERIOD = INFINITE));

-- name: lock_rows_only
-- A large write must not take the table from other fleets.
ALTER TABLE dbo.MemoryNodes SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.MemoryEdges SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.MemoryAssertions SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.InvalidationImpacts SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.OutboxEvents SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.RevalidationScope SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.RevalidationDecisions SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.LookNodes SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.LookResults SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.WalkNodes SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.StagedNodes SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.StagedEdges SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.StagedAssertions SET (LOCK_ESCALATION = DISABLE);
ALTER TABLE dbo.CircleEdges SET (LOCK_ESCALATION = DISABLE);
