-- Events for workers, written in the transaction of what they tell of; within a fleet, ids rise in the order of commits.
CREATE TABLE dbo.OutboxEvents (
    OutboxEventId BIGINT IDENTITY  NOT NULL,
    TenantId      UNIQUEIDENTIFIER NOT NULL,
    FleetId       UNIQUEIDENTIFIER NOT NULL,
    EventType     VARCHAR(30)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    SubjectId     UNIQUEIDENTIFIER NOT NULL,
    CreatedAt     DATETIME2(6)     NOT NULL,
    CONSTRAINT PK_OutboxEvents PRIMARY KEY CLUSTERED (OutboxEventId),
    CONSTRAINT CK_OutboxEvents_EventType CHECK (EventType IN ('InvalidationCompleted', 'EdgeAdded', 'EdgeChanged',
                                                              'EdgeRemoved', 'NodeUnpinned', 'BaseConfidenceChanged',
                                                              'RuleVersionAdded'))
);
GO

-- A named system time of a graph.
CREATE TABLE dbo.GraphSnapshotDescriptors (
    SnapshotId     UNIQUEIDENTIFIER NOT NULL,
    TenantId       UNIQUEIDENTIFIER NOT NULL,
    FleetId        UNIQUEIDENTIFIER NOT NULL,
    GraphId        UNIQUEIDENTIFIER NOT NULL,
    Name           NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    AsOf           DATETIME2(6)     NOT NULL,
    RequestedAt    DATETIME2(6)     NOT NULL,
    SnapshotIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_GraphSnapshotDescriptors PRIMARY KEY CLUSTERED (TenantId, FleetId, SnapshotId),
    CONSTRAINT CK_GraphSnapshotDescriptors_SnapshotIdText CHECK (SnapshotIdText = LOWER(CONVERT(CHAR(36), SnapshotId))),
    CONSTRAINT FK_GraphSnapshotDescriptors_MemoryGraphs FOREIGN KEY (TenantId, FleetId, GraphId)
        REFERENCES dbo.MemoryGraphs (TenantId, FleetId, GraphId)
);
GO

CREATE INDEX IX_GraphSnapshotDescriptors_Page
    ON dbo.GraphSnapshotDescriptors (TenantId, FleetId, GraphId, SnapshotIdText);
GO

-- The first answer under each idempotency key, kept in the transaction of the effect it reports.
CREATE TABLE dbo.IdempotencyKeys (
    TenantId       UNIQUEIDENTIFIER NOT NULL,
    FleetId        UNIQUEIDENTIFIER NOT NULL,
    IdempotencyKey NVARCHAR(255)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Fingerprint    VARCHAR(64)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    StatusCode     INT              NOT NULL,
    Body           VARBINARY(MAX)   NOT NULL,
    CreatedAt      DATETIME2(6)     NOT NULL,
    CONSTRAINT PK_IdempotencyKeys PRIMARY KEY CLUSTERED (TenantId, FleetId, IdempotencyKey)
);
GO
