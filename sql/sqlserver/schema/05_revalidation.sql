-- Second looks at nodes whose ground may have changed (SEMANTICS 6), what came of them, and what waits for a decision.
CREATE TABLE dbo.RevalidationRuns (
    RevalidationRunId     UNIQUEIDENTIFIER NOT NULL,
    TenantId              UNIQUEIDENTIFIER NOT NULL,
    FleetId               UNIQUEIDENTIFIER NOT NULL,
    Cause                 VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    InvalidationRunId     UNIQUEIDENTIFIER NULL,
    Reason                NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    EffectiveTime         DATETIME2(6)     NOT NULL,
    InvalidSince          DATETIME2(6)     NOT NULL,
    RunStatus             VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    SupersededByRunId     UNIQUEIDENTIFIER NULL,
    RequestedAt           DATETIME2(6)     NOT NULL,
    CommittedAt           DATETIME2(6)     NULL,
    OutboxEvent           BIGINT           NULL,
    RevalidationRunIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_RevalidationRuns PRIMARY KEY CLUSTERED (TenantId, FleetId, RevalidationRunId),
    CONSTRAINT CK_RevalidationRuns_RevalidationRunIdText CHECK (
        RevalidationRunIdText = LOWER(CONVERT(CHAR(36), RevalidationRunId))),
    CONSTRAINT CK_RevalidationRuns_Cause CHECK (Cause IN ('Invalidation', 'Edge', 'Pin', 'BaseConfidence', 'Rule', 'Correction',
                                                          'Decision', 'ByHand')),
    CONSTRAINT CK_RevalidationRuns_RunStatus CHECK (RunStatus IN ('Pending', 'Completed', 'Superseded')),
    CONSTRAINT CK_RevalidationRuns_SupersededByRunId CHECK (
        RunStatus = 'Superseded' AND SupersededByRunId IS NOT NULL
        OR RunStatus <> 'Superseded' AND SupersededByRunId IS NULL),
    CONSTRAINT CK_RevalidationRuns_CommittedAt CHECK (
        RunStatus = 'Pending' AND CommittedAt IS NULL OR RunStatus <> 'Pending' AND CommittedAt IS NOT NULL)
);
GO

CREATE INDEX IX_RevalidationRuns_RequestedAt
    ON dbo.RevalidationRuns (TenantId, FleetId, RequestedAt, RevalidationRunIdText);
GO

CREATE INDEX IX_RevalidationRuns_Invalidation ON dbo.RevalidationRuns (TenantId, FleetId, InvalidationRunId)
    WHERE InvalidationRunId IS NOT NULL;
GO

CREATE INDEX IX_RevalidationRuns_Event ON dbo.RevalidationRuns (TenantId, FleetId, OutboxEvent)
    WHERE OutboxEvent IS NOT NULL;
GO

-- What a run that is not finished has still to do. Footing says on what a node is spared some rules; OldStatus is the status
-- before the run that named it.
CREATE TABLE dbo.RevalidationScope (
    RevalidationRunId UNIQUEIDENTIFIER NOT NULL,
    TenantId          UNIQUEIDENTIFIER NOT NULL,
    FleetId           UNIQUEIDENTIFIER NOT NULL,
    MemoryNodeId      UNIQUEIDENTIFIER NOT NULL,
    Footing           VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    OldStatus         TINYINT          NULL,
    IsPending         BIT              NOT NULL,
    CONSTRAINT PK_RevalidationScope PRIMARY KEY CLUSTERED (TenantId, FleetId, RevalidationRunId, MemoryNodeId),
    CONSTRAINT FK_RevalidationScope_RevalidationRuns FOREIGN KEY (TenantId, FleetId, RevalidationRunId)
        REFERENCES dbo.RevalidationRuns (TenantId, FleetId, RevalidationRunId),
    CONSTRAINT CK_RevalidationScope_Footing CHECK (Footing IN ('Corrected', 'Accepted'))
);
GO

-- What a run found at each node it looked at. Decision, DecidedBy, Explanation and Certainty are those of a person or agent.
CREATE TABLE dbo.RevalidationDecisions (
    RevalidationRunId UNIQUEIDENTIFIER NOT NULL,
    TenantId          UNIQUEIDENTIFIER NOT NULL,
    FleetId           UNIQUEIDENTIFIER NOT NULL,
    MemoryNodeId      UNIQUEIDENTIFIER NOT NULL,
    Outcome           VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    ReviewReason      VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    OldStatus         TINYINT          NOT NULL,
    NewStatus         TINYINT          NOT NULL,
    OldConfidence     FLOAT            NOT NULL,
    NewConfidence     FLOAT            NOT NULL,
    Decision          VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    DecidedBy         NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    Explanation       NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    Certainty         FLOAT            NULL,
    DecidedAt         DATETIME2(6)     NOT NULL,
    MemoryNodeIdText  CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_RevalidationDecisions
        PRIMARY KEY CLUSTERED (TenantId, FleetId, RevalidationRunId, MemoryNodeIdText),
    CONSTRAINT CK_RevalidationDecisions_MemoryNodeIdText CHECK (MemoryNodeIdText = LOWER(CONVERT(CHAR(36), MemoryNodeId))),
    CONSTRAINT FK_RevalidationDecisions_RevalidationRuns FOREIGN KEY (TenantId, FleetId, RevalidationRunId)
        REFERENCES dbo.RevalidationRuns (TenantId, FleetId, RevalidationRunId),
    CONSTRAINT CK_RevalidationDecisions_Outcome CHECK (Outcome IN ('Restored', 'RemainsValid', 'StillInvalid', 'NeedsReview',
                                                                   'AwaitingAgent')),
    CONSTRAINT CK_RevalidationDecisions_ReviewReason CHECK (ReviewReason IN ('PartialSupport', 'Contradiction',
                                                                             'CircularSupport', 'Requested')),
    CONSTRAINT CK_RevalidationDecisions_Decision CHECK (Decision IN ('Correct', 'Accept', 'Reject', 'Supersede'))
);
GO

-- The cascades that went on from a run.
CREATE TABLE dbo.RevalidationChildren (
    RevalidationRunId UNIQUEIDENTIFIER NOT NULL,
    TenantId          UNIQUEIDENTIFIER NOT NULL,
    FleetId           UNIQUEIDENTIFIER NOT NULL,
    InvalidationRunId UNIQUEIDENTIFIER NOT NULL,
    CONSTRAINT PK_RevalidationChildren PRIMARY KEY CLUSTERED (TenantId, FleetId, RevalidationRunId, InvalidationRunId),
    CONSTRAINT FK_RevalidationChildren_RevalidationRuns FOREIGN KEY (TenantId, FleetId, RevalidationRunId)
        REFERENCES dbo.RevalidationRuns (TenantId, FleetId, RevalidationRunId),
    CONSTRAINT FK_RevalidationChildren_InvalidationRuns FOREIGN KEY (TenantId, FleetId, InvalidationRunId)
        REFERENCES dbo.InvalidationRuns (TenantId, FleetId, InvalidationRunId)
);
GO

-- What waits for a person (Review) or an agent (Task); at most one a node is open. Ground tells one state of a node's sources
-- from another. A task is leased to the agent that claimed it.
CREATE TABLE dbo.Reviews (
    ReviewId       UNIQUEIDENTIFIER NOT NULL,
    TenantId       UNIQUEIDENTIFIER NOT NULL,
    FleetId        UNIQUEIDENTIFIER NOT NULL,
    GraphId        UNIQUEIDENTIFIER NOT NULL,
    MemoryNodeId   UNIQUEIDENTIFIER NOT NULL,
    ReviewKind     VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    ReviewReason   VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    Ground         CHAR(64)         COLLATE Latin1_General_100_BIN2 NULL,
    OpenedAt       DATETIME2(6)     NOT NULL,
    ClosedAt       DATETIME2(6)     NULL,
    Resolution     VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    LeaseOwner     NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    LeaseExpiresAt DATETIME2(6)     NULL,
    ReviewIdText   CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_Reviews PRIMARY KEY CLUSTERED (TenantId, FleetId, ReviewId),
    CONSTRAINT CK_Reviews_ReviewIdText CHECK (ReviewIdText = LOWER(CONVERT(CHAR(36), ReviewId))),
    CONSTRAINT CK_Reviews_ReviewKind CHECK (ReviewKind IN ('Review', 'Task')),
    CONSTRAINT CK_Reviews_ReviewReason CHECK (ReviewReason IN ('PartialSupport', 'Contradiction', 'CircularSupport',
                                                               'Requested')),
    CONSTRAINT CK_Reviews_Resolution CHECK (Resolution IN ('Accept', 'Reject', 'Supersede', 'Correct', 'Resolved')),
    CONSTRAINT CK_Reviews_ClosedAt CHECK (
        ClosedAt IS NULL AND Resolution IS NULL OR ClosedAt IS NOT NULL AND Resolution IS NOT NULL)
);
GO

CREATE UNIQUE INDEX UX_Reviews_Open ON dbo.Reviews (TenantId, FleetId, MemoryNodeId) INCLUDE (ClosedAt)
    WHERE ClosedAt IS NULL;
GO

CREATE INDEX IX_Reviews_Queue ON dbo.Reviews (TenantId, FleetId, ReviewKind, ReviewIdText) INCLUDE (ClosedAt)
    WHERE ClosedAt IS NULL;
GO

CREATE INDEX IX_Reviews_Node ON dbo.Reviews (TenantId, FleetId, MemoryNodeId, OpenedAt);
GO

CREATE INDEX IX_Reviews_Oldest ON dbo.Reviews (TenantId, FleetId, ReviewKind, OpenedAt, ReviewIdText) INCLUDE (ClosedAt)
    WHERE ClosedAt IS NULL;
GO

-- A correction or an acceptance stands until the node's ground changes.
CREATE TABLE dbo.Footings (
    MemoryNodeId UNIQUEIDENTIFIER NOT NULL,
    TenantId     UNIQUEIDENTIFIER NOT NULL,
    FleetId      UNIQUEIDENTIFIER NOT NULL,
    Footing      VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    Ground       CHAR(64)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    DecidedAt    DATETIME2(6)     NOT NULL,
    CONSTRAINT PK_Footings PRIMARY KEY CLUSTERED (TenantId, FleetId, MemoryNodeId),
    CONSTRAINT CK_Footings_Footing CHECK (Footing IN ('Corrected', 'Accepted'))
);
GO

-- Who is told of a fleet's events by signed requests. EventTypes is a list with commas, NULL for all.
CREATE TABLE dbo.Webhooks (
    WebhookId     UNIQUEIDENTIFIER NOT NULL,
    TenantId      UNIQUEIDENTIFIER NOT NULL,
    FleetId       UNIQUEIDENTIFIER NOT NULL,
    Url           NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NOT NULL,
    Secret        NVARCHAR(400)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    EventTypes    VARCHAR(200)     COLLATE Latin1_General_100_BIN2 NULL,
    CreatedAt     DATETIME2(6)     NOT NULL,
    WebhookIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_Webhooks PRIMARY KEY CLUSTERED (TenantId, FleetId, WebhookId),
    CONSTRAINT CK_Webhooks_WebhookIdText CHECK (WebhookIdText = LOWER(CONVERT(CHAR(36), WebhookId)))
);
GO

CREATE INDEX IX_Webhooks_Page ON dbo.Webhooks (TenantId, FleetId, WebhookIdText);
GO
