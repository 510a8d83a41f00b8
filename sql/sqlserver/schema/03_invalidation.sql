-- Requests, the runs that carry them out, and what each run did to each node it reached (SEMANTICS 4).
CREATE TABLE dbo.InvalidationRequests (
    InvalidationRequestId UNIQUEIDENTIFIER NOT NULL,
    TenantId              UNIQUEIDENTIFIER NOT NULL,
    FleetId               UNIQUEIDENTIFIER NOT NULL,
    Reason                NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NOT NULL,
    RequestedStatus       TINYINT          NOT NULL,
    EffectiveTime         DATETIME2(6)     NOT NULL,
    InvalidSince          DATETIME2(6)     NOT NULL,
    Policy                VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    Propagation           VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    OverridePinned        BIT              NOT NULL,
    IsDerived             BIT              NOT NULL,
    Fingerprint           CHAR(64)         COLLATE Latin1_General_100_BIN2 NULL,
    RequestedAt           DATETIME2(6)     NOT NULL,
    CONSTRAINT PK_InvalidationRequests PRIMARY KEY CLUSTERED (TenantId, FleetId, InvalidationRequestId),
    CONSTRAINT CK_InvalidationRequests_RequestedStatus CHECK (RequestedStatus IN (1, 2)),
    CONSTRAINT CK_InvalidationRequests_Policy CHECK (Policy IN ('evidential', 'strict')),
    CONSTRAINT CK_InvalidationRequests_Propagation CHECK (Propagation IN ('frontier', 'transitive'))
);
GO

-- The same roots, explicit effective time and options are the same request.
CREATE INDEX IX_InvalidationRequests_Fingerprint
    ON dbo.InvalidationRequests (TenantId, FleetId, Fingerprint, RequestedAt) WHERE Fingerprint IS NOT NULL;
GO

CREATE INDEX IX_InvalidationRequests_RequestedAt ON dbo.InvalidationRequests (TenantId, FleetId, RequestedAt);
GO

CREATE TABLE dbo.InvalidationRequestRoots (
    InvalidationRequestId UNIQUEIDENTIFIER NOT NULL,
    TenantId              UNIQUEIDENTIFIER NOT NULL,
    FleetId               UNIQUEIDENTIFIER NOT NULL,
    MemoryNodeId          UNIQUEIDENTIFIER NOT NULL,
    CONSTRAINT PK_InvalidationRequestRoots
        PRIMARY KEY CLUSTERED (TenantId, FleetId, InvalidationRequestId, MemoryNodeId),
    CONSTRAINT FK_InvalidationRequestRoots_InvalidationRequests FOREIGN KEY (TenantId, FleetId, InvalidationRequestId)
        REFERENCES dbo.InvalidationRequests (TenantId, FleetId, InvalidationRequestId)
);
GO

CREATE TABLE dbo.InvalidationRuns (
    InvalidationRunId     UNIQUEIDENTIFIER NOT NULL,
    TenantId              UNIQUEIDENTIFIER NOT NULL,
    FleetId               UNIQUEIDENTIFIER NOT NULL,
    InvalidationRequestId UNIQUEIDENTIFIER NOT NULL,
    ParentRunId           UNIQUEIDENTIFIER NULL,
    RunStatus             VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    SupersededByRunId     UNIQUEIDENTIFIER NULL,
    CommittedAt           DATETIME2(6)     NULL,
    InvalidationRunIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_InvalidationRuns PRIMARY KEY CLUSTERED (TenantId, FleetId, InvalidationRunId),
    CONSTRAINT CK_InvalidationRuns_InvalidationRunIdText CHECK (
        InvalidationRunIdText = LOWER(CONVERT(CHAR(36), InvalidationRunId))),
    CONSTRAINT FK_InvalidationRuns_InvalidationRequests FOREIGN KEY (TenantId, FleetId, InvalidationRequestId)
        REFERENCES dbo.InvalidationRequests (TenantId, FleetId, InvalidationRequestId),
    CONSTRAINT CK_InvalidationRuns_RunStatus CHECK (RunStatus IN ('Pending', 'Completed', 'Superseded')),
    CONSTRAINT CK_InvalidationRuns_SupersededByRunId CHECK (
        RunStatus = 'Superseded' AND SupersededByRunId IS NOT NULL
        OR RunStatus <> 'Superseded' AND SupersededByRunId IS NULL),
    CONSTRAINT CK_InvalidationRuns_CommittedAt CHECK (
        RunStatus = 'Pending' AND CommittedAt IS NULL OR RunStatus <> 'Pending' AND CommittedAt IS NOT NULL)
);
GO

CREATE INDEX IX_InvalidationRuns_Request ON dbo.InvalidationRuns (TenantId, FleetId, InvalidationRequestId);
GO

CREATE INDEX IX_InvalidationRuns_Pending ON dbo.InvalidationRuns (TenantId, FleetId) INCLUDE (RunStatus)
    WHERE RunStatus = 'Pending';
GO

-- Carried is what the run brought to the node (C of SEMANTICS 4); the node is affected where it is above 0.
-- Clustered in the order in which impacts are answered: written once, and read from where a page ends.
CREATE TABLE dbo.InvalidationImpacts (
    InvalidationRunId UNIQUEIDENTIFIER NOT NULL,
    TenantId          UNIQUEIDENTIFIER NOT NULL,
    FleetId           UNIQUEIDENTIFIER NOT NULL,
    Depth             INT              NOT NULL,
    MemoryNodeId      UNIQUEIDENTIFIER NOT NULL,
    Carried           TINYINT          NOT NULL,
    OldStatus         TINYINT          NOT NULL,
    NewStatus         TINYINT          NOT NULL,
    Outcome           VARCHAR(30)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    ViaEdgeId         UNIQUEIDENTIFIER NULL,
    Component         INT              NULL,
    MemoryNodeIdText  CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_InvalidationImpacts PRIMARY KEY NONCLUSTERED (TenantId, FleetId, MemoryNodeId, InvalidationRunId),
    CONSTRAINT UQ_InvalidationImpacts_Page
        UNIQUE CLUSTERED (TenantId, FleetId, InvalidationRunId, Depth, MemoryNodeIdText),
    CONSTRAINT CK_InvalidationImpacts_MemoryNodeIdText CHECK (MemoryNodeIdText = LOWER(CONVERT(CHAR(36), MemoryNodeId))),
    CONSTRAINT FK_InvalidationImpacts_InvalidationRuns FOREIGN KEY (TenantId, FleetId, InvalidationRunId)
        REFERENCES dbo.InvalidationRuns (TenantId, FleetId, InvalidationRunId),
    CONSTRAINT CK_InvalidationImpacts_Outcome CHECK (Outcome IN ('Invalidated', 'MarkedPotentiallyStale', 'AlreadyAtStatus',
                                                                 'SkippedPinned', 'Reexamine'))
);
GO
