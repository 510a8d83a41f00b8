-- Events for workers, written in the transaction of what they tell of; within a fleet, ids rise in the order of commits.
-- Lane keeps the deliveries of one subscription in line; without one, an event stands in its fleet's line. A lease is what its
-- owner has until LeaseExpiresAt; what failed waits until AvailableAt, and others go ahead of it.
CREATE TABLE dbo.OutboxEvents (
    OutboxEventId  BIGINT IDENTITY  NOT NULL,
    TenantId       UNIQUEIDENTIFIER NOT NULL,
    FleetId        UNIQUEIDENTIFIER NOT NULL,
    EventType      VARCHAR(30)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    SubjectId      UNIQUEIDENTIFIER NOT NULL,
    CreatedAt      DATETIME2(6)     NOT NULL,
    Lane           UNIQUEIDENTIFIER NULL,
    CauseEvent     BIGINT           NULL,
    EventState     VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL
        CONSTRAINT DF_OutboxEvents_EventState DEFAULT 'Pending',
    Attempts       INT              NOT NULL
        CONSTRAINT DF_OutboxEvents_Attempts DEFAULT 0,
    AvailableAt    DATETIME2(6)     NULL,
    LeaseOwner     NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    LeaseExpiresAt DATETIME2(6)     NULL,
    LastError      NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    HandledAt      DATETIME2(6)     NULL,
    CONSTRAINT PK_OutboxEvents PRIMARY KEY CLUSTERED (OutboxEventId),
    CONSTRAINT CK_OutboxEvents_EventType CHECK (EventType IN ('InvalidationCompleted', 'EdgeAdded', 'EdgeChanged',
                                                              'EdgeRemoved', 'NodeUnpinned', 'BaseConfidenceChanged',
                                                              'RuleVersionAdded', 'RevalidationRequested',
                                                              'RevalidationCompleted', 'WebhookDelivery')),
    CONSTRAINT CK_OutboxEvents_EventState CHECK (EventState IN ('Pending', 'Done', 'Dead')),
    CONSTRAINT CK_OutboxEvents_HandledAt CHECK (
        EventState = 'Pending' AND HandledAt IS NULL OR EventState <> 'Pending' AND HandledAt IS NOT NULL)
);
GO

CREATE INDEX IX_OutboxEvents_Pending ON dbo.OutboxEvents (TenantId, FleetId, Lane, OutboxEventId) INCLUDE (EventState)
    WHERE EventState = 'Pending';
GO

CREATE INDEX IX_OutboxEvents_Line ON dbo.OutboxEvents (OutboxEventId) INCLUDE (EventState) WHERE EventState = 'Pending';
GO

CREATE INDEX IX_OutboxEvents_Leased ON dbo.OutboxEvents (LeaseOwner) WHERE LeaseOwner IS NOT NULL;
GO

CREATE INDEX IX_OutboxEvents_Handled ON dbo.OutboxEvents (EventState, HandledAt) WHERE HandledAt IS NOT NULL;
GO

CREATE INDEX IX_OutboxEvents_Scope ON dbo.OutboxEvents (TenantId, FleetId, OutboxEventId);
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
