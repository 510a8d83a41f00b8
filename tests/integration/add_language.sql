-- How a temporal table is changed later, where more is asked than adding a column that may be NULL: every node, also every
-- version of one that history keeps, gets a language. A migration runs this in its one transaction, which holds the lock
-- that ALTER TABLE takes, so no statement comes in between.

-- Without the period, too: while it stands, an UPDATE would stamp the rows it touches, and leave a gap in their history.
ALTER TABLE dbo.MemoryNodes SET (SYSTEM_VERSIONING = OFF);
GO
ALTER TABLE dbo.MemoryNodes DROP PERIOD FOR SYSTEM_TIME;
GO

-- At the end of both tables, in the same order: columns are matched by position.
ALTER TABLE dbo.MemoryNodes ADD Language NVARCHAR(20) COLLATE Latin1_General_100_BIN2 NULL;
GO
ALTER TABLE dbo.MemoryNodesHistory ADD Language NVARCHAR(20) COLLATE Latin1_General_100_BIN2 NULL;
GO
UPDATE dbo.MemoryNodes SET Language = N'en';
GO
UPDATE dbo.MemoryNodesHistory SET Language = N'en';
GO

-- The history table is named: without it, the server would make a new one and leave this one behind.
ALTER TABLE dbo.MemoryNodes ADD PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo);
GO
ALTER TABLE dbo.MemoryNodes
SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.MemoryNodesHistory, DATA_CONSISTENCY_CHECK = ON));
GO
