-- System time. SQL Server stamps rows with the time at which their transaction began (SEMANTICS 5).

-- One row per fleet. Every writer changes it first, so its period is kept by the server and its ValidFrom is the stamp of
-- the open transaction, or else that of the last commit. It needs no history.
CREATE TABLE dbo.FleetClocks (
    TenantId  UNIQUEIDENTIFIER NOT NULL,
    FleetId   UNIQUEIDENTIFIER NOT NULL,
    Writes    BIGINT           NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo   DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_FleetClocks PRIMARY KEY CLUSTERED (TenantId, FleetId)
);
GO

-- The latest time later than its last commit for which a fleet was answered: every stamp to come exceeds it.
CREATE TABLE dbo.FleetPromises (
    TenantId UNIQUEIDENTIFIER NOT NULL,
    FleetId  UNIQUEIDENTIFIER NOT NULL,
    AsOf     DATETIME2(6)     NOT NULL,
    CONSTRAINT PK_FleetPromises PRIMARY KEY CLUSTERED (TenantId, FleetId)
);
GO
-- The memory graph.
-- Every key carries tenant and fleet: a row of one scope cannot refer to a row of another. The clustered keys begin with
-- them too, so a fleet's rows lie together; below that ids are random, which FILLFACTOR leaves room for.
-- UNIQUEIDENTIFIER sorts by its last bytes first; ...IdText is the id as an answer orders it (SEMANTICS 5).
-- Texts compare byte for byte: BIN2, and ...Exact ends in a character that keeps trailing blanks from being ignored.
-- These are columns under a CHECK, not computed ones, which a history table could not have.
CREATE TABLE dbo.MemoryGraphs (
    GraphId          UNIQUEIDENTIFIER NOT NULL,
    TenantId         UNIQUEIDENTIFIER NOT NULL,
    FleetId          UNIQUEIDENTIFIER NOT NULL,
    Name             NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    RevalidationMode VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    Policy           VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    Propagation      VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    CreatedAt        DATETIME2(6)     NOT NULL,
    GraphIdText      CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_MemoryGraphs PRIMARY KEY CLUSTERED (TenantId, FleetId, GraphId),
    CONSTRAINT CK_MemoryGraphs_GraphIdText CHECK (GraphIdText = LOWER(CONVERT(CHAR(36), GraphId))),
    CONSTRAINT CK_MemoryGraphs_RevalidationMode CHECK (RevalidationMode IN ('automatic', 'agent')),
    CONSTRAINT CK_MemoryGraphs_Policy CHECK (Policy IN ('evidential', 'strict')),
    CONSTRAINT CK_MemoryGraphs_Propagation CHECK (Propagation IN ('frontier', 'transitive'))
);
GO

CREATE INDEX IX_MemoryGraphs_Page ON dbo.MemoryGraphs (TenantId, FleetId, GraphIdText);
GO

CREATE TABLE dbo.SourceRules (
    SourceRuleId     UNIQUEIDENTIFIER NOT NULL,
    TenantId         UNIQUEIDENTIFIER NOT NULL,
    FleetId          UNIQUEIDENTIFIER NOT NULL,
    Name             NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Version          NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Description      NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    EffectiveAt      DATETIME2(6)     NOT NULL,
    ExpiresAt        DATETIME2(6)     NULL,
    NameExact        NVARCHAR(513)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    VersionExact     NVARCHAR(201)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    SourceRuleIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_SourceRules PRIMARY KEY CLUSTERED (TenantId, FleetId, SourceRuleId),
    CONSTRAINT CK_SourceRules_SourceRuleIdText CHECK (SourceRuleIdText = LOWER(CONVERT(CHAR(36), SourceRuleId))),
    CONSTRAINT CK_SourceRules_NameExact CHECK (NameExact = Name + NCHAR(1)),
    CONSTRAINT CK_SourceRules_VersionExact CHECK (VersionExact = Version + NCHAR(1)),
    CONSTRAINT CK_SourceRules_ExpiresAt CHECK (ExpiresAt >= EffectiveAt)
);
GO

CREATE UNIQUE INDEX UX_SourceRules_Version ON dbo.SourceRules (TenantId, FleetId, NameExact, VersionExact);
GO

CREATE INDEX IX_SourceRules_Page ON dbo.SourceRules (TenantId, FleetId, SourceRuleIdText);
GO

-- Status: 0 Valid, 1 PotentiallyStale, 2 Invalid; the order is that of SEMANTICS 2.
CREATE TABLE dbo.MemoryNodes (
    MemoryNodeId     UNIQUEIDENTIFIER NOT NULL,
    TenantId         UNIQUEIDENTIFIER NOT NULL,
    FleetId          UNIQUEIDENTIFIER NOT NULL,
    GraphId          UNIQUEIDENTIFIER NOT NULL,
    [Key]            NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    Name             NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    NodeType         NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    Category         NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    Status           TINYINT          NOT NULL,
    InvalidSince     DATETIME2(6)     NULL,
    Invalidation     VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    Confidence       FLOAT            NOT NULL,
    BaseConfidence   FLOAT            NOT NULL,
    IsPinned         BIT              NOT NULL,
    PinnedBy         NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    PinReason        NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    CreatedAt        DATETIME2(6)     NOT NULL,
    UpdatedAt        DATETIME2(6)     NOT NULL,
    Version          INT              NOT NULL,
    KeyExact         NVARCHAR(513)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    MemoryNodeIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    ValidFrom        DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo          DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_MemoryNodes PRIMARY KEY CLUSTERED (TenantId, FleetId, MemoryNodeId) WITH (FILLFACTOR = 80),
    CONSTRAINT FK_MemoryNodes_MemoryGraphs FOREIGN KEY (TenantId, FleetId, GraphId)
        REFERENCES dbo.MemoryGraphs (TenantId, FleetId, GraphId),
    CONSTRAINT CK_MemoryNodes_KeyExact CHECK (
        KeyExact = ISNULL([Key] + NCHAR(1), CONVERT(NCHAR(36), MemoryNodeId))),
    CONSTRAINT CK_MemoryNodes_MemoryNodeIdText CHECK (MemoryNodeIdText = LOWER(CONVERT(CHAR(36), MemoryNodeId))),
    CONSTRAINT CK_MemoryNodes_Status CHECK (Status IN (0, 1, 2)),
    CONSTRAINT CK_MemoryNodes_InvalidSince CHECK (InvalidSince IS NULL OR Status = 2),
    CONSTRAINT CK_MemoryNodes_Invalidation CHECK (
        Status = 2 AND Invalidation IS NOT NULL AND Invalidation IN ('Direct', 'Derived')
        OR Status <> 2 AND Invalidation IS NULL),
    CONSTRAINT CK_MemoryNodes_Confidence CHECK (Confidence BETWEEN 0 AND 1),
    CONSTRAINT CK_MemoryNodes_BaseConfidence CHECK (BaseConfidence BETWEEN 0 AND 1)
) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.MemoryNodesHistory, DATA_CONSISTENCY_CHECK = ON));
GO

-- A node without key has its id there, which no key can be: keys end in NCHAR(1).
CREATE UNIQUE INDEX UX_MemoryNodes_Key ON dbo.MemoryNodes (TenantId, FleetId, GraphId, KeyExact);
GO

CREATE INDEX IX_MemoryNodes_Page ON dbo.MemoryNodes (TenantId, FleetId, GraphId, MemoryNodeIdText);
GO

CREATE INDEX IX_MemoryNodesHistory_Graph ON dbo.MemoryNodesHistory (TenantId, FleetId, GraphId, ValidTo, ValidFrom);
GO

CREATE INDEX IX_MemoryNodesHistory_Node ON dbo.MemoryNodesHistory (TenantId, FleetId, MemoryNodeId, ValidTo, ValidFrom);
GO

-- Clustered by source: a cascade reads the out-edges of a node together.
CREATE TABLE dbo.MemoryEdges (
    MemoryEdgeId     UNIQUEIDENTIFIER NOT NULL,
    TenantId         UNIQUEIDENTIFIER NOT NULL,
    FleetId          UNIQUEIDENTIFIER NOT NULL,
    GraphId          UNIQUEIDENTIFIER NOT NULL,
    SourceNodeId     UNIQUEIDENTIFIER NOT NULL,
    TargetNodeId     UNIQUEIDENTIFIER NOT NULL,
    EdgeType         VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    SupportGroup     NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    MinSupport       INT              NOT NULL,
    Weight           FLOAT            NOT NULL,
    EffectiveFrom    DATETIME2(6)     NULL,
    EffectiveTo      DATETIME2(6)     NULL,
    SourceRuleId     UNIQUEIDENTIFIER NULL,
    CreatedAt        DATETIME2(6)     NOT NULL,
    Version          INT              NOT NULL,
    MemoryEdgeIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    ValidFrom        DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo          DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_MemoryEdges PRIMARY KEY NONCLUSTERED (TenantId, FleetId, MemoryEdgeId),
    CONSTRAINT UQ_MemoryEdges_Source UNIQUE CLUSTERED (TenantId, FleetId, SourceNodeId, MemoryEdgeId)
        WITH (FILLFACTOR = 80),
    CONSTRAINT FK_MemoryEdges_Source FOREIGN KEY (TenantId, FleetId, SourceNodeId)
        REFERENCES dbo.MemoryNodes (TenantId, FleetId, MemoryNodeId),
    CONSTRAINT FK_MemoryEdges_Target FOREIGN KEY (TenantId, FleetId, TargetNodeId)
        REFERENCES dbo.MemoryNodes (TenantId, FleetId, MemoryNodeId),
    CONSTRAINT FK_MemoryEdges_SourceRules FOREIGN KEY (TenantId, FleetId, SourceRuleId)
        REFERENCES dbo.SourceRules (TenantId, FleetId, SourceRuleId),
    CONSTRAINT CK_MemoryEdges_MemoryEdgeIdText CHECK (MemoryEdgeIdText = LOWER(CONVERT(CHAR(36), MemoryEdgeId))),
    CONSTRAINT CK_MemoryEdges_EdgeType CHECK (EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy',
                                                           'ObservedFrom', 'Contradicts', 'Supersedes')),
    CONSTRAINT CK_MemoryEdges_SupportGroup CHECK (
        SupportGroup IS NULL
        OR DATALENGTH(SupportGroup) > 0 AND EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')),
    CONSTRAINT CK_MemoryEdges_MinSupport CHECK (MinSupport >= 1),
    CONSTRAINT CK_MemoryEdges_Weight CHECK (Weight BETWEEN 0 AND 1),
    CONSTRAINT CK_MemoryEdges_EffectiveTo CHECK (EffectiveTo > EffectiveFrom),
    CONSTRAINT CK_MemoryEdges_Ends CHECK (SourceNodeId <> TargetNodeId)
) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.MemoryEdgesHistory, DATA_CONSISTENCY_CHECK = ON));
GO

-- A cascade counts the supports of a node: in-edges are read as often as out-edges, so this index covers.
CREATE INDEX IX_MemoryEdges_Target ON dbo.MemoryEdges (TenantId, FleetId, TargetNodeId, EdgeType)
    INCLUDE (MemoryEdgeIdText, SupportGroup, MinSupport, Weight, EffectiveFrom, EffectiveTo, SourceRuleId);
GO

-- A cascade asks a node for its replacements alone; a hub of many other edges must not be read through for them.
CREATE INDEX IX_MemoryEdges_Type ON dbo.MemoryEdges (TenantId, FleetId, SourceNodeId, EdgeType);
GO

CREATE INDEX IX_MemoryEdges_Page ON dbo.MemoryEdges (TenantId, FleetId, GraphId, MemoryEdgeIdText);
GO

CREATE INDEX IX_MemoryEdges_Rule ON dbo.MemoryEdges (TenantId, FleetId, SourceRuleId) WHERE SourceRuleId IS NOT NULL;
GO

CREATE INDEX IX_MemoryEdgesHistory_Graph ON dbo.MemoryEdgesHistory (TenantId, FleetId, GraphId, ValidTo, ValidFrom);
GO

CREATE INDEX IX_MemoryEdgesHistory_Edge ON dbo.MemoryEdgesHistory (TenantId, FleetId, MemoryEdgeId, ValidTo, ValidFrom);
GO

CREATE TABLE dbo.MemoryAssertions (
    MemoryAssertionId     UNIQUEIDENTIFIER NOT NULL,
    TenantId              UNIQUEIDENTIFIER NOT NULL,
    FleetId               UNIQUEIDENTIFIER NOT NULL,
    GraphId               UNIQUEIDENTIFIER NOT NULL,
    MemoryNodeId          UNIQUEIDENTIFIER NOT NULL,
    Content               NVARCHAR(MAX)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Category              NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    Importance            FLOAT            NOT NULL,
    Confidence            FLOAT            NOT NULL,
    ObservedAt            DATETIME2(6)     NOT NULL,
    EffectiveFrom         DATETIME2(6)     NULL,
    EffectiveTo           DATETIME2(6)     NULL,
    LastVerifiedAt        DATETIME2(6)     NULL,
    SupersededBy          UNIQUEIDENTIFIER NULL,
    RetractedAt           DATETIME2(6)     NULL,
    SourceRuleId          UNIQUEIDENTIFIER NULL,
    Version               INT              NOT NULL,
    MemoryAssertionIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    ValidFrom             DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo               DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_MemoryAssertions PRIMARY KEY CLUSTERED (TenantId, FleetId, MemoryAssertionId) WITH (FILLFACTOR = 80),
    CONSTRAINT FK_MemoryAssertions_MemoryNodes FOREIGN KEY (TenantId, FleetId, MemoryNodeId)
        REFERENCES dbo.MemoryNodes (TenantId, FleetId, MemoryNodeId),
    CONSTRAINT FK_MemoryAssertions_SupersededBy FOREIGN KEY (TenantId, FleetId, SupersededBy)
        REFERENCES dbo.MemoryAssertions (TenantId, FleetId, MemoryAssertionId),
    CONSTRAINT FK_MemoryAssertions_SourceRules FOREIGN KEY (TenantId, FleetId, SourceRuleId)
        REFERENCES dbo.SourceRules (TenantId, FleetId, SourceRuleId),
    CONSTRAINT CK_MemoryAssertions_MemoryAssertionIdText CHECK (
        MemoryAssertionIdText = LOWER(CONVERT(CHAR(36), MemoryAssertionId))),
    CONSTRAINT CK_MemoryAssertions_Importance CHECK (Importance BETWEEN 0 AND 1),
    CONSTRAINT CK_MemoryAssertions_Confidence CHECK (Confidence BETWEEN 0 AND 1),
    CONSTRAINT CK_MemoryAssertions_EffectiveTo CHECK (EffectiveTo > EffectiveFrom)
) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.MemoryAssertionsHistory, DATA_CONSISTENCY_CHECK = ON));
GO

CREATE INDEX IX_MemoryAssertions_Node
    ON dbo.MemoryAssertions (TenantId, FleetId, MemoryNodeId, MemoryAssertionIdText);
GO

CREATE INDEX IX_MemoryAssertions_Page ON dbo.MemoryAssertions (TenantId, FleetId, GraphId, MemoryAssertionIdText);
GO

CREATE INDEX IX_MemoryAssertions_SupersededBy
    ON dbo.MemoryAssertions (TenantId, FleetId, SupersededBy) WHERE SupersededBy IS NOT NULL;
GO

CREATE INDEX IX_MemoryAssertions_Rule
    ON dbo.MemoryAssertions (TenantId, FleetId, SourceRuleId) WHERE SourceRuleId IS NOT NULL;
GO

CREATE INDEX IX_MemoryAssertionsHistory_Graph
    ON dbo.MemoryAssertionsHistory (TenantId, FleetId, GraphId, ValidTo, ValidFrom);
GO

CREATE INDEX IX_MemoryAssertionsHistory_Assertion
    ON dbo.MemoryAssertionsHistory (TenantId, FleetId, MemoryAssertionId, ValidTo, ValidFrom);
GO

CREATE TABLE dbo.EvidenceReferences (
    EvidenceReferenceId     UNIQUEIDENTIFIER NOT NULL,
    TenantId                UNIQUEIDENTIFIER NOT NULL,
    FleetId                 UNIQUEIDENTIFIER NOT NULL,
    GraphId                 UNIQUEIDENTIFIER NOT NULL,
    MemoryAssertionId       UNIQUEIDENTIFIER NOT NULL,
    EvidenceType            NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Reference               NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NOT NULL,
    Details                 NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    RecordedAt              DATETIME2(6)     NOT NULL,
    EvidenceReferenceIdText CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_EvidenceReferences PRIMARY KEY CLUSTERED (TenantId, FleetId, EvidenceReferenceId)
        WITH (FILLFACTOR = 80),
    CONSTRAINT CK_EvidenceReferences_EvidenceReferenceIdText CHECK (
        EvidenceReferenceIdText = LOWER(CONVERT(CHAR(36), EvidenceReferenceId))),
    CONSTRAINT FK_EvidenceReferences_MemoryAssertions FOREIGN KEY (TenantId, FleetId, MemoryAssertionId)
        REFERENCES dbo.MemoryAssertions (TenantId, FleetId, MemoryAssertionId) ON DELETE CASCADE
);
GO

CREATE INDEX IX_EvidenceReferences_Assertion
    ON dbo.EvidenceReferences (TenantId, FleetId, MemoryAssertionId, EvidenceReferenceIdText);
GO

CREATE INDEX IX_EvidenceReferences_Graph ON dbo.EvidenceReferences (TenantId, FleetId, GraphId, RecordedAt);
GO

-- Edges with the interval in which they are active: their own and their rule's (SEMANTICS 3).
CREATE VIEW dbo.ActiveEdges AS
SELECT e.MemoryEdgeId, e.MemoryEdgeIdText, e.TenantId, e.FleetId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType,
       e.SupportGroup, ISNULL(e.SupportGroup + NCHAR(1), N'') AS SupportGroupExact, e.MinSupport, e.Weight,
       CASE WHEN r.EffectiveAt > COALESCE(e.EffectiveFrom, CAST('0001-01-01' AS DATETIME2(6))) THEN r.EffectiveAt
            ELSE COALESCE(e.EffectiveFrom, CAST('0001-01-01' AS DATETIME2(6))) END AS ActiveFrom,
       CASE WHEN r.ExpiresAt < COALESCE(e.EffectiveTo, CAST('9999-12-31 23:59:59.999999' AS DATETIME2(6))) THEN r.ExpiresAt
            ELSE COALESCE(e.EffectiveTo, CAST('9999-12-31 23:59:59.999999' AS DATETIME2(6))) END AS ActiveTo
FROM dbo.MemoryEdges AS e
LEFT JOIN dbo.SourceRules AS r
    ON r.TenantId = e.TenantId AND r.FleetId = e.FleetId AND r.SourceRuleId = e.SourceRuleId;
GO
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
-- The second wall: whatever a statement asks, the server shows a session the rows of one fleet only. The service names
-- that fleet when it takes a connection and unnames it when it gives it back; a session that named none sees nothing.
-- An operator sees every fleet after EXEC sp_set_session_context N'EveryFleet', 1.
CREATE FUNCTION dbo.InScope (@TenantId UNIQUEIDENTIFIER, @FleetId UNIQUEIDENTIFIER)
RETURNS TABLE
WITH SCHEMABINDING
AS
RETURN
    SELECT 1 AS Allowed
    WHERE (@TenantId = CAST(SESSION_CONTEXT(N'TenantId') AS UNIQUEIDENTIFIER)
           AND @FleetId = CAST(SESSION_CONTEXT(N'FleetId') AS UNIQUEIDENTIFIER))
       OR CAST(SESSION_CONTEXT(N'EveryFleet') AS INT) = 1;
GO

-- History tables are named one by one: the predicate of a table does not reach its history.
CREATE SECURITY POLICY dbo.FleetPolicy
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryGraphs,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.SourceRules,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryNodes,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryNodesHistory,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryEdges,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryEdgesHistory,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryAssertions,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryAssertionsHistory,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.EvidenceReferences,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRequests,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRequestRoots,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRuns,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationImpacts,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.GraphSnapshotDescriptors,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.IdempotencyKeys,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryGraphs AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.SourceRules AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryNodes AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryEdges AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryAssertions AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.EvidenceReferences AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRequests AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRuns AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationImpacts AFTER INSERT
    WITH (STATE = ON, SCHEMABINDING = ON);
GO
-- What a session computes before it is written: lines of an import, nodes met on a walk. Each session has its rows under
-- its number and clears them before use, so what a lost connection left behind is of no meaning and cleared in time.
-- Tables, not temporary ones: pooled connections and scripts then share one definition.

-- Lines of an import, read and checked one by one before the fleet's lock is taken. A NULL is a field the line leaves out.
-- IsKnown marks lines whose row is already stored; their NULLs are then filled from it.
CREATE TABLE dbo.StagedRules (
    SessionId    INT              NOT NULL,
    Line         INT              NOT NULL,
    SourceRuleId UNIQUEIDENTIFIER NOT NULL,
    Name         NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Version      NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Description  NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    EffectiveAt  DATETIME2(6)     NULL,
    ExpiresAt    DATETIME2(6)     NULL,
    CONSTRAINT PK_StagedRules PRIMARY KEY CLUSTERED (SessionId, Line)
);
GO

CREATE TABLE dbo.StagedNodes (
    SessionId      INT              NOT NULL,
    Line           INT              NOT NULL,
    MemoryNodeId   UNIQUEIDENTIFIER NOT NULL,
    IsIdGiven      BIT              NOT NULL,
    IsKnown        BIT              NOT NULL,
    [Key]          NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    Name           NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    NodeType       NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    Category       NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    Status         TINYINT          NULL,
    InvalidSince   DATETIME2(6)     NULL,
    Invalidation   VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    Confidence     FLOAT            NULL,
    BaseConfidence FLOAT            NULL,
    IsPinned       BIT              NULL,
    PinnedBy       NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    PinReason      NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    CreatedAt      DATETIME2(6)     NULL,
    CONSTRAINT PK_StagedNodes PRIMARY KEY CLUSTERED (SessionId, Line)
);
GO

CREATE INDEX IX_StagedNodes_Node ON dbo.StagedNodes (SessionId, MemoryNodeId);
GO

CREATE TABLE dbo.StagedEdges (
    SessionId      INT              NOT NULL,
    Line           INT              NOT NULL,
    MemoryEdgeId   UNIQUEIDENTIFIER NULL,
    IsKnown        BIT              NOT NULL,
    SourceKey      NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    SourceNodeId   UNIQUEIDENTIFIER NULL,
    TargetKey      NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    TargetNodeId   UNIQUEIDENTIFIER NULL,
    EdgeType       VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    SupportGroup   NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    MinSupport     INT              NULL,
    Weight         FLOAT            NULL,
    EffectiveFrom  DATETIME2(6)     NULL,
    EffectiveTo    DATETIME2(6)     NULL,
    RuleName       NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    RuleVersion    NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    SourceRuleId   UNIQUEIDENTIFIER NULL,
    CreatedAt      DATETIME2(6)     NULL,
    CONSTRAINT PK_StagedEdges PRIMARY KEY CLUSTERED (SessionId, Line)
);
GO

CREATE INDEX IX_StagedEdges_Edge ON dbo.StagedEdges (SessionId, MemoryEdgeId);
GO

CREATE TABLE dbo.StagedAssertions (
    SessionId         INT              NOT NULL,
    Line              INT              NOT NULL,
    MemoryAssertionId UNIQUEIDENTIFIER NULL,
    IsKnown           BIT              NOT NULL,
    NodeKey           NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    MemoryNodeId      UNIQUEIDENTIFIER NULL,
    Content           NVARCHAR(MAX)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Category          NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    Importance        FLOAT            NULL,
    Confidence        FLOAT            NULL,
    ObservedAt        DATETIME2(6)     NULL,
    EffectiveFrom     DATETIME2(6)     NULL,
    EffectiveTo       DATETIME2(6)     NULL,
    LastVerifiedAt    DATETIME2(6)     NULL,
    SupersededBy      UNIQUEIDENTIFIER NULL,
    RetractedAt       DATETIME2(6)     NULL,
    RuleName          NVARCHAR(512)    COLLATE Latin1_General_100_BIN2 NULL,
    RuleVersion       NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NULL,
    SourceRuleId      UNIQUEIDENTIFIER NULL,
    CONSTRAINT PK_StagedAssertions PRIMARY KEY CLUSTERED (SessionId, Line)
);
GO

CREATE INDEX IX_StagedAssertions_Assertion ON dbo.StagedAssertions (SessionId, MemoryAssertionId);
GO

CREATE TABLE dbo.StagedEvidence (
    SessionId           INT              NOT NULL,
    Line                INT              NOT NULL,
    EvidenceReferenceId UNIQUEIDENTIFIER NOT NULL,
    MemoryAssertionId   UNIQUEIDENTIFIER NOT NULL,
    EvidenceType        NVARCHAR(200)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Reference           NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NOT NULL,
    Details             NVARCHAR(4000)   COLLATE Latin1_General_100_BIN2 NULL,
    RecordedAt          DATETIME2(6)     NULL,
    CONSTRAINT PK_StagedEvidence PRIMARY KEY CLUSTERED (SessionId, Line)
);
GO

-- Nodes met on a walk through the graph, with their distance from its start.
CREATE TABLE dbo.WalkNodes (
    SessionId    INT              NOT NULL,
    MemoryNodeId UNIQUEIDENTIFIER NOT NULL,
    Distance     INT              NOT NULL,
    CONSTRAINT PK_WalkNodes PRIMARY KEY CLUSTERED (SessionId, MemoryNodeId)
);
GO

CREATE INDEX IX_WalkNodes_Distance ON dbo.WalkNodes (SessionId, Distance);
GO

-- Edges in which dbo.FindCircles looks for circles, and the nodes it found on one: two nodes with the same Circle can each
-- reach the other.
CREATE TABLE dbo.CircleEdges (
    SessionId    INT              NOT NULL,
    SourceNodeId UNIQUEIDENTIFIER NOT NULL,
    TargetNodeId UNIQUEIDENTIFIER NOT NULL,
    CONSTRAINT PK_CircleEdges PRIMARY KEY CLUSTERED (SessionId, SourceNodeId, TargetNodeId)
);
GO

CREATE INDEX IX_CircleEdges_Target ON dbo.CircleEdges (SessionId, TargetNodeId);
GO

CREATE TABLE dbo.CircleNodes (
    SessionId    INT              NOT NULL,
    MemoryNodeId UNIQUEIDENTIFIER NOT NULL,
    Circle       CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    CONSTRAINT PK_CircleNodes PRIMARY KEY CLUSTERED (SessionId, MemoryNodeId)
);
GO
-- The first act of every transaction that writes: takes the stamp that the server will give all its rows, and makes sure
-- that it exceeds every stamp and every answered time before it (SEMANTICS 5).
--
-- The caller holds the fleet's lock. Error 51503, or the server's own 13535: the clock has not passed the last stamp yet,
-- or was set back; the whole transaction is to be tried again, with a new begin.
CREATE PROCEDURE dbo.TakeStamp
    @TenantId UNIQUEIDENTIFIER,
    @FleetId  UNIQUEIDENTIFIER,
    @Stamp    DATETIME2(6) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Last DATETIME2(6);

    SELECT @Last = MAX(t.Answered)
    FROM (SELECT k.ValidFrom AS Answered
          FROM dbo.FleetClocks AS k
          WHERE k.TenantId = @TenantId AND k.FleetId = @FleetId
          UNION ALL
          SELECT p.AsOf
          FROM dbo.FleetPromises AS p
          WHERE p.TenantId = @TenantId AND p.FleetId = @FleetId) AS t;

    UPDATE dbo.FleetClocks
    SET Writes = FleetClocks.Writes + 1
    WHERE FleetClocks.TenantId = @TenantId AND FleetClocks.FleetId = @FleetId;
    IF @@ROWCOUNT = 0
    BEGIN
        INSERT INTO dbo.FleetClocks (TenantId, FleetId, Writes) VALUES (@TenantId, @FleetId, 1);
        INSERT INTO dbo.FleetPromises (TenantId, FleetId, AsOf) VALUES (@TenantId, @FleetId, '0001-01-01');
    END;

    SELECT @Stamp = k.ValidFrom
    FROM dbo.FleetClocks AS k
    WHERE k.TenantId = @TenantId AND k.FleetId = @FleetId;

    IF @Stamp <= @Last
        THROW 51503, 'The clock of the database has not passed the last stamp of the fleet yet.', 1;
END;
GO
-- Finds every node that lies on a circle of the edges in dbo.CircleEdges, and which of them can reach each other: the
-- strongly connected components of more than one node, in dbo.CircleNodes; of one session, the caller's. Uses up the edges.
--
-- What cannot lie on a circle is trimmed off, node by node, in time linear in the edges. Over what is left each node takes
-- the greatest label that reaches it; those that reach the bearer of their label are one component, and no component
-- crosses labels. Labels are as good as random, so expected rounds of labelling grow with the logarithm of the components.
-- LOOP JOIN: each round must cost what its front costs.
CREATE PROCEDURE dbo.FindCircles (
    @SessionId INT)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Found INT;

    CREATE TABLE #Live (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        EdgesIn      INT              NOT NULL,
        EdgesOut     INT              NOT NULL,
        Own          CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
        Label        CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
        IsMember     BIT              NOT NULL
    );
    CREATE TABLE #Front (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Label        CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL
    );
    CREATE TABLE #Next (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Label        CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL
    );

    DELETE FROM dbo.CircleNodes WHERE CircleNodes.SessionId = @SessionId;

    WHILE 1 = 1
    BEGIN
        TRUNCATE TABLE #Live;
        INSERT INTO #Live (MemoryNodeId, EdgesIn, EdgesOut, Own, Label, IsMember)
        SELECT b.MemoryNodeId, SUM(b.EdgesIn), SUM(b.EdgesOut), LOWER(CONVERT(CHAR(36), b.MemoryNodeId)),
               LOWER(CONVERT(CHAR(36), b.MemoryNodeId)), 0
        FROM (SELECT e.SourceNodeId AS MemoryNodeId, 0 AS EdgesIn, 1 AS EdgesOut
              FROM dbo.CircleEdges AS e
              WHERE e.SessionId = @SessionId
              UNION ALL
              SELECT e.TargetNodeId, 1, 0
              FROM dbo.CircleEdges AS e
              WHERE e.SessionId = @SessionId) AS b
        GROUP BY b.MemoryNodeId;
        IF @@ROWCOUNT = 0
            BREAK;

        -- Trim: a node without an edge in, or without one out, is on no circle; nor are its edges.
        TRUNCATE TABLE #Front;
        INSERT INTO #Front (MemoryNodeId, Label)
        SELECT l.MemoryNodeId, l.Label
        FROM #Live AS l
        WHERE l.EdgesIn = 0 OR l.EdgesOut = 0;
        SET @Found = @@ROWCOUNT;
        WHILE @Found > 0
        BEGIN
            UPDATE l
            SET EdgesIn = l.EdgesIn - d.Lost
            FROM #Live AS l
            JOIN (SELECT e.TargetNodeId, COUNT(*) AS Lost
                  FROM #Front AS f
                  JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.SourceNodeId = f.MemoryNodeId
                  GROUP BY e.TargetNodeId) AS d ON d.TargetNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            UPDATE l
            SET EdgesOut = l.EdgesOut - d.Lost
            FROM #Live AS l
            JOIN (SELECT e.SourceNodeId, COUNT(*) AS Lost
                  FROM #Front AS f
                  JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.TargetNodeId = f.MemoryNodeId
                  GROUP BY e.SourceNodeId) AS d ON d.SourceNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            DELETE l
            FROM #Live AS l
            JOIN #Front AS f ON f.MemoryNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Next;
            INSERT INTO #Next (MemoryNodeId, Label)
            SELECT l.MemoryNodeId, l.Label
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.SourceNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.TargetNodeId
            WHERE l.EdgesIn = 0
            UNION
            SELECT l.MemoryNodeId, l.Label
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.TargetNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.SourceNodeId
            WHERE l.EdgesOut = 0
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Front;
            INSERT INTO #Front (MemoryNodeId, Label) SELECT x.MemoryNodeId, x.Label FROM #Next AS x;
            SET @Found = @@ROWCOUNT;
        END;

        -- Label: forwards, the greatest wins.
        TRUNCATE TABLE #Front;
        INSERT INTO #Front (MemoryNodeId, Label) SELECT l.MemoryNodeId, l.Label FROM #Live AS l;
        SET @Found = @@ROWCOUNT;
        WHILE @Found > 0
        BEGIN
            TRUNCATE TABLE #Next;
            INSERT INTO #Next (MemoryNodeId, Label)
            SELECT e.TargetNodeId, MAX(f.Label)
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.SourceNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.TargetNodeId
            WHERE f.Label > l.Label
            GROUP BY e.TargetNodeId
            OPTION (LOOP JOIN);
            SET @Found = @@ROWCOUNT;

            UPDATE l
            SET Label = x.Label
            FROM #Live AS l
            JOIN #Next AS x ON x.MemoryNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Front;
            INSERT INTO #Front (MemoryNodeId, Label) SELECT x.MemoryNodeId, x.Label FROM #Next AS x;
        END;

        -- Collect: backwards from the bearers of their own label, within the label.
        TRUNCATE TABLE #Front;
        INSERT INTO #Front (MemoryNodeId, Label) SELECT l.MemoryNodeId, l.Label FROM #Live AS l WHERE l.Label = l.Own;
        SET @Found = @@ROWCOUNT;
        WHILE @Found > 0
        BEGIN
            UPDATE l
            SET IsMember = 1
            FROM #Live AS l
            JOIN #Front AS f ON f.MemoryNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Next;
            INSERT INTO #Next (MemoryNodeId, Label)
            SELECT DISTINCT l.MemoryNodeId, l.Label
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.TargetNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.SourceNodeId
            WHERE l.Label = f.Label AND l.IsMember = 0
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Front;
            INSERT INTO #Front (MemoryNodeId, Label) SELECT x.MemoryNodeId, x.Label FROM #Next AS x;
            SET @Found = @@ROWCOUNT;
        END;

        INSERT INTO dbo.CircleNodes (SessionId, MemoryNodeId, Circle)
        SELECT @SessionId, l.MemoryNodeId, l.Label
        FROM #Live AS l
        JOIN (SELECT m.Label
              FROM #Live AS m
              WHERE m.IsMember = 1
              GROUP BY m.Label
              HAVING COUNT(*) > 1) AS c ON c.Label = l.Label
        WHERE l.IsMember = 1;

        -- Go on with the edges among nodes that are not settled and bear the same label.
        DELETE FROM dbo.CircleEdges
        WHERE CircleEdges.SessionId = @SessionId
          AND NOT EXISTS (SELECT 1
                          FROM #Live AS s
                          JOIN #Live AS t ON t.Label = s.Label
                          WHERE s.MemoryNodeId = CircleEdges.SourceNodeId AND t.MemoryNodeId = CircleEdges.TargetNodeId
                            AND s.IsMember = 0 AND t.IsMember = 0);
    END;
END;
GO
-- The rounds of SEMANTICS 4 for one recorded run: computes the least fixpoint, records an impact for every node reached,
-- changes each node once, and tells the outbox. Runs in the caller's transaction, whose stamp is taken.
--
-- A round looks at the out-edges of the nodes that rose in the round before, each edge at most twice in a run (a node can
-- rise twice). LOOP JOIN: the work must follow what the round before reached, whatever the statistics say. The twin is
-- sql/sqlite/engine/cascade.sql, statement by statement.
CREATE PROCEDURE dbo.CascadeInvalidation
    @TenantId UNIQUEIDENTIFIER,
    @FleetId  UNIQUEIDENTIFIER,
    @RunId    UNIQUEIDENTIFIER
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Status TINYINT, @EffectiveTime DATETIME2(6), @InvalidSince DATETIME2(6), @IsStrict BIT, @IsTransitive BIT,
            @OverridePinned BIT, @IsDerived BIT, @Depth INT, @Found INT;

    SELECT @Status = q.RequestedStatus, @EffectiveTime = q.EffectiveTime, @InvalidSince = q.InvalidSince,
           @IsStrict = CASE WHEN q.Policy = 'strict' THEN 1 ELSE 0 END,
           @IsTransitive = CASE WHEN q.Propagation = 'transitive' THEN 1 ELSE 0 END,
           @OverridePinned = q.OverridePinned, @IsDerived = q.IsDerived
    FROM dbo.InvalidationRuns AS r
    JOIN dbo.InvalidationRequests AS q
        ON q.TenantId = r.TenantId AND q.FleetId = r.FleetId AND q.InvalidationRequestId = r.InvalidationRequestId
    WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @RunId;
    IF @Status IS NULL
        THROW 51404, 'The invalidation run is not known in this fleet.', 1;

    -- Every node the cascade has reached. Carried is C of SEMANTICS 4. Depth and ViaEdge tell of the round in which the
    -- node was first affected, ReachedDepth and ReachedVia of the first look at it, FiredDepth of the round in which it
    -- first fired. Edges stand here by the text of their id, by which the smallest is found.
    CREATE TABLE #Nodes (
        MemoryNodeId    UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        OldStatus       TINYINT          NOT NULL,
        OldInvalidation VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
        OldInvalidSince DATETIME2(6)     NULL,
        IsProtected     BIT              NOT NULL,
        IsRoot          BIT              NOT NULL,
        IsReexamined    BIT              NOT NULL,
        Carried         TINYINT          NOT NULL,
        Depth           INT              NOT NULL,
        ViaEdge         CHAR(36)         COLLATE Latin1_General_100_BIN2 NULL,
        ReachedDepth    INT              NOT NULL,
        ReachedVia      CHAR(36)         COLLATE Latin1_General_100_BIN2 NULL,
        FiredDepth      INT              NULL,
        NewStatus       TINYINT          NULL,
        NewInvalidation VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
        NewInvalidSince DATETIME2(6)     NULL,
        Component       INT              NULL
    );
    -- The nodes whose C rose in the round before: what the next round starts from.
    CREATE TABLE #Risen (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Carried      TINYINT          NOT NULL,
        StatusBefore TINYINT          NOT NULL,
        StatusAfter  TINYINT          NOT NULL,
        IsRoot       BIT              NOT NULL,
        Fires        BIT              NOT NULL,
        Depth        INT              NOT NULL,
        ViaEdge      CHAR(36)         COLLATE Latin1_General_100_BIN2 NULL
    );
    -- The edges looked at in this round, with what their source brings.
    CREATE TABLE #Looked (
        TargetNodeId UNIQUEIDENTIFIER NOT NULL,
        Edge         CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
        SourceNodeId UNIQUEIDENTIFIER NOT NULL,
        EdgeType     VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
        SupportGroup NVARCHAR(513)    COLLATE Latin1_General_100_BIN2 NOT NULL,
        Carried      TINYINT          NOT NULL,
        StatusBefore TINYINT          NOT NULL,
        StatusAfter  TINYINT          NOT NULL,
        IsRoot       BIT              NOT NULL
    );
    -- Support groups of reached nodes; '' is the implicit group. Counted once, then kept up round by round: a hub whose
    -- sources fall one after another must not be counted again each time. A clustered key would be too long for some names.
    CREATE TABLE #Groups (
        TargetNodeId    UNIQUEIDENTIFIER NOT NULL,
        SupportGroup    NVARCHAR(513)    COLLATE Latin1_General_100_BIN2 NOT NULL,
        MinSupport      INT              NOT NULL,
        Members         INT              NOT NULL,
        InvalidMembers  INT              NOT NULL,
        DoubtfulMembers INT              NOT NULL,
        PRIMARY KEY NONCLUSTERED (TargetNodeId, SupportGroup)
    );
    -- Active Supersedes edges of nodes that fired, into nodes to which that can matter.
    CREATE TABLE #Replacements (
        Edge         CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
        SourceNodeId UNIQUEIDENTIFIER NOT NULL,
        TargetNodeId UNIQUEIDENTIFIER NOT NULL,
        Depth        INT              NOT NULL,
        IsFallen     BIT              NOT NULL
    );
    -- Nodes behind a replaced node.
    CREATE TABLE #Behind (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Distance     INT              NOT NULL
    );

    -- Round 0: every root that is not protected is affected.
    INSERT INTO #Nodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, IsReexamined, Carried,
                        Depth, ReachedDepth, FiredDepth)
    SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
           CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 1 ELSE 0 END, 1, 0,
           CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 0 ELSE @Status END, 0, 0,
           CASE WHEN (n.IsPinned = 0 OR @OverridePinned = 1) AND (@Status = 2 OR @IsTransitive = 1) THEN 0 END
    FROM dbo.InvalidationRuns AS r
    JOIN dbo.InvalidationRequestRoots AS t
        ON t.TenantId = r.TenantId AND t.FleetId = r.FleetId AND t.InvalidationRequestId = r.InvalidationRequestId
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = t.TenantId AND n.FleetId = t.FleetId AND n.MemoryNodeId = t.MemoryNodeId
    WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @RunId;

    INSERT INTO #Risen (MemoryNodeId, Carried, StatusBefore, StatusAfter, IsRoot, Fires, Depth)
    SELECT c.MemoryNodeId, c.Carried, c.OldStatus, CASE WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
           1, CASE WHEN c.Carried = 2 OR @IsTransitive = 1 THEN 1 ELSE 0 END, 0
    FROM #Nodes AS c
    WHERE c.IsProtected = 0;

    SET @Depth = 0;
    WHILE 1 = 1
    BEGIN
        -- Active out-edges of the firing nodes that rose in the round before; contradictions count from both ends, and of
        -- roots also where they do not fire. Supersedes edges raise nothing: they are looked at when the rounds are over.
        TRUNCATE TABLE #Looked;
        INSERT INTO #Looked (TargetNodeId, Edge, SourceNodeId, EdgeType, SupportGroup, Carried, StatusBefore, StatusAfter,
                             IsRoot)
        SELECT e.TargetNodeId, e.MemoryEdgeIdText, e.SourceNodeId, e.EdgeType, e.SupportGroupExact, r.Carried,
               r.StatusBefore, r.StatusAfter, r.IsRoot
        FROM #Risen AS r
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = r.MemoryNodeId
        WHERE e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime AND e.EdgeType <> 'Supersedes'
          AND (r.Fires = 1 OR (r.IsRoot = 1 AND e.EdgeType = 'Contradicts'))
        UNION ALL
        SELECT e.SourceNodeId, e.MemoryEdgeIdText, e.TargetNodeId, e.EdgeType, N'', r.Carried,
               r.StatusBefore, r.StatusAfter, r.IsRoot
        FROM #Risen AS r
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.TargetNodeId = r.MemoryNodeId
            AND e.EdgeType = 'Contradicts'
        WHERE e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
          AND (r.Fires = 1 OR r.IsRoot = 1)
        OPTION (LOOP JOIN);
        IF @@ROWCOUNT = 0
            BREAK;
        SET @Depth = @Depth + 1;

        -- Nodes reached for the first time, with the smallest edge that reached them.
        INSERT INTO #Nodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, IsReexamined,
                            Carried, Depth, ViaEdge, ReachedDepth, ReachedVia)
        SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
               CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 1 ELSE 0 END, 0, 0,
               0, @Depth, l.ViaEdge, @Depth, l.ViaEdge
        FROM (SELECT k.TargetNodeId, MIN(k.Edge) AS ViaEdge
              FROM #Looked AS k
              WHERE NOT EXISTS (SELECT 1 FROM #Nodes AS c WHERE c.MemoryNodeId = k.TargetNodeId)
              GROUP BY k.TargetNodeId) AS l
        JOIN dbo.MemoryNodes AS n
            ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = l.TargetNodeId
        OPTION (LOOP JOIN);

        -- Most rounds of a long chain of requirements look at no support at all.
        IF EXISTS (SELECT 1 FROM #Looked AS k WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom'))
        BEGIN
            -- Groups counted in an earlier round lose the members that fell in the round before. DoubtfulMembers is kept
            -- right under transitive propagation only, the one that reads it.
            UPDATE g
            SET InvalidMembers = g.InvalidMembers + d.Fallen,
                DoubtfulMembers = g.DoubtfulMembers + d.Doubted
            FROM #Groups AS g
            JOIN (SELECT m.TargetNodeId, m.SupportGroup,
                         SUM(CASE WHEN m.StatusBefore < 2 AND m.StatusAfter = 2 THEN 1 ELSE 0 END) AS Fallen,
                         SUM(CASE WHEN m.StatusBefore = 0 AND m.StatusAfter > 0 THEN 1 ELSE 0 END) AS Doubted
                  FROM (SELECT DISTINCT k.TargetNodeId, k.SupportGroup, k.SourceNodeId, k.StatusBefore, k.StatusAfter
                        FROM #Looked AS k
                        WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')) AS m
                  GROUP BY m.TargetNodeId, m.SupportGroup) AS d
                ON d.TargetNodeId = g.TargetNodeId AND d.SupportGroup = g.SupportGroup
            OPTION (LOOP JOIN);

            -- All support groups of targets looked at through one for the first time, as the round before left their
            -- members. Two edges of one source in one group are one member.
            INSERT INTO #Groups (TargetNodeId, SupportGroup, MinSupport, Members, InvalidMembers, DoubtfulMembers)
            SELECT m.TargetNodeId, m.SupportGroup, MAX(m.MinSupport), COUNT(*),
                   SUM(CASE WHEN m.Status = 2 THEN 1 ELSE 0 END), SUM(CASE WHEN m.Status > 0 THEN 1 ELSE 0 END)
            FROM (SELECT e.TargetNodeId, e.SupportGroupExact AS SupportGroup, e.SourceNodeId,
                         MAX(e.MinSupport) AS MinSupport,
                         MAX(CASE WHEN c.Carried > n.Status THEN c.Carried ELSE n.Status END) AS Status
                  FROM (SELECT DISTINCT k.TargetNodeId
                        FROM #Looked AS k
                        WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')
                          AND NOT EXISTS (SELECT 1 FROM #Groups AS g WHERE g.TargetNodeId = k.TargetNodeId)) AS t
                  JOIN dbo.ActiveEdges AS e
                      ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.TargetNodeId = t.TargetNodeId
                      AND e.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')
                  JOIN dbo.MemoryNodes AS n
                      ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = e.SourceNodeId
                  LEFT JOIN #Nodes AS c ON c.MemoryNodeId = e.SourceNodeId
                  WHERE e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
                  GROUP BY e.TargetNodeId, e.SupportGroupExact, e.SourceNodeId) AS m
            GROUP BY m.TargetNodeId, m.SupportGroup
            OPTION (LOOP JOIN);
        END;

        -- The targets whose C rises, by the highest of what their edges bring.
        TRUNCATE TABLE #Risen;
        INSERT INTO #Risen (MemoryNodeId, Carried, StatusBefore, StatusAfter, IsRoot, Fires, Depth, ViaEdge)
        SELECT c.MemoryNodeId, v.Carried,
               CASE WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
               CASE WHEN v.Carried > c.OldStatus THEN v.Carried ELSE c.OldStatus END,
               c.IsRoot,
               CASE WHEN v.Carried = 2 OR @IsTransitive = 1 THEN 1 ELSE 0 END,
               CASE WHEN c.Carried = 0 THEN @Depth ELSE c.Depth END,
               CASE WHEN c.Carried = 0 THEN v.ViaEdge ELSE c.ViaEdge END
        FROM (SELECT k.TargetNodeId,
                     MIN(k.Edge) AS ViaEdge,
                     MAX(CASE
                         WHEN k.EdgeType IN ('Requires', 'ValidOnlyWhen') THEN k.Carried
                         WHEN k.EdgeType = 'Contradicts' THEN CASE WHEN k.Carried = 2 OR k.IsRoot = 1 THEN 1 ELSE 0 END
                         WHEN k.SupportGroup = N'' THEN CASE WHEN g.InvalidMembers = g.Members THEN 2
                                                             WHEN @IsStrict = 1 THEN k.Carried ELSE 1 END
                         WHEN g.Members - g.InvalidMembers < g.MinSupport THEN 2
                         WHEN @IsTransitive = 1 AND g.Members - g.DoubtfulMembers < g.MinSupport THEN 1
                         ELSE 0 END) AS Carried
              FROM #Looked AS k
              LEFT JOIN #Groups AS g ON g.TargetNodeId = k.TargetNodeId AND g.SupportGroup = k.SupportGroup
              GROUP BY k.TargetNodeId) AS v
        JOIN #Nodes AS c ON c.MemoryNodeId = v.TargetNodeId
        WHERE v.Carried > c.Carried AND c.IsProtected = 0
        OPTION (LOOP JOIN);
        IF @@ROWCOUNT = 0
            BREAK;

        UPDATE c
        SET Carried = r.Carried, Depth = r.Depth, ViaEdge = r.ViaEdge,
            FiredDepth = COALESCE(c.FiredDepth, CASE WHEN r.Fires = 1 THEN @Depth END)
        FROM #Nodes AS c
        JOIN #Risen AS r ON r.MemoryNodeId = c.MemoryNodeId
        OPTION (LOOP JOIN);
    END;

    -- What a fallen node superseded is to be re-examined, unless the replacement lies inside a circle (SEMANTICS 3).
    INSERT INTO #Replacements (Edge, SourceNodeId, TargetNodeId, Depth, IsFallen)
    SELECT e.MemoryEdgeIdText, e.SourceNodeId, e.TargetNodeId, s.FiredDepth + 1, CASE WHEN s.Carried = 2 THEN 1 ELSE 0 END
    FROM #Nodes AS s
    JOIN dbo.ActiveEdges AS e
        ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = s.MemoryNodeId AND e.EdgeType = 'Supersedes'
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = e.TargetNodeId
    WHERE s.FiredDepth IS NOT NULL AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
      AND (n.Invalidation = 'Derived' OR (n.IsPinned = 1 AND @OverridePinned = 0))
    OPTION (LOOP JOIN);
    IF @@ROWCOUNT > 0
    BEGIN
        -- Everything that lies behind a replaced node over active edges but contradictions: what can close a circle.
        INSERT INTO #Behind (MemoryNodeId, Distance) SELECT DISTINCT p.TargetNodeId, 0 FROM #Replacements AS p;
        SET @Depth = 0;
        SET @Found = 1;
        WHILE @Found > 0
        BEGIN
            SET @Depth = @Depth + 1;
            INSERT INTO #Behind (MemoryNodeId, Distance)
            SELECT DISTINCT e.TargetNodeId, @Depth
            FROM #Behind AS b
            JOIN dbo.ActiveEdges AS e
                ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = b.MemoryNodeId
            WHERE b.Distance = @Depth - 1 AND e.EdgeType <> 'Contradicts'
              AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
              AND NOT EXISTS (SELECT 1 FROM #Behind AS o WHERE o.MemoryNodeId = e.TargetNodeId)
            OPTION (LOOP JOIN);
            SET @Found = @@ROWCOUNT;
        END;

        -- A replacement closes a circle only where its source lies behind its target.
        IF EXISTS (SELECT 1 FROM #Replacements AS p JOIN #Behind AS b ON b.MemoryNodeId = p.SourceNodeId)
        BEGIN
            DELETE FROM dbo.CircleEdges WHERE CircleEdges.SessionId = @@SPID;
            INSERT INTO dbo.CircleEdges (SessionId, SourceNodeId, TargetNodeId)
            SELECT DISTINCT @@SPID, e.SourceNodeId, e.TargetNodeId
            FROM #Behind AS b
            JOIN dbo.ActiveEdges AS e
                ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = b.MemoryNodeId
            WHERE e.EdgeType <> 'Contradicts' AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
            OPTION (LOOP JOIN);
            EXEC dbo.FindCircles @SessionId = @@SPID;
            DELETE p
            FROM #Replacements AS p
            JOIN dbo.CircleNodes AS s ON s.SessionId = @@SPID AND s.MemoryNodeId = p.SourceNodeId
            JOIN dbo.CircleNodes AS t ON t.SessionId = @@SPID AND t.MemoryNodeId = p.TargetNodeId
            WHERE s.Circle = t.Circle;
        END;

        -- The first look at a node can have been over a replacement.
        UPDATE c
        SET ReachedDepth = p.Depth, ReachedVia = p.ViaEdge
        FROM #Nodes AS c
        JOIN (SELECT q.TargetNodeId, q.Depth, MIN(q.Edge) AS ViaEdge
              FROM #Replacements AS q
              WHERE q.Depth = (SELECT MIN(o.Depth) FROM #Replacements AS o WHERE o.TargetNodeId = q.TargetNodeId)
              GROUP BY q.TargetNodeId, q.Depth) AS p ON p.TargetNodeId = c.MemoryNodeId
        WHERE p.Depth < c.ReachedDepth OR (p.Depth = c.ReachedDepth AND p.ViaEdge < c.ReachedVia);

        INSERT INTO #Nodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, IsReexamined,
                            Carried, Depth, ReachedDepth, ReachedVia)
        SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
               CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 1 ELSE 0 END, 0, 0, 0, p.Depth, p.Depth, p.ViaEdge
        FROM (SELECT q.TargetNodeId, q.Depth, MIN(q.Edge) AS ViaEdge
              FROM #Replacements AS q
              WHERE q.Depth = (SELECT MIN(o.Depth) FROM #Replacements AS o WHERE o.TargetNodeId = q.TargetNodeId)
              GROUP BY q.TargetNodeId, q.Depth) AS p
        JOIN dbo.MemoryNodes AS n
            ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = p.TargetNodeId
        WHERE NOT EXISTS (SELECT 1 FROM #Nodes AS c WHERE c.MemoryNodeId = p.TargetNodeId);

        -- Looked at again is what is Invalid for want of ground only.
        UPDATE #Nodes
        SET IsReexamined = 1
        WHERE OldInvalidation = 'Derived' AND Carried < 2 AND IsProtected = 0
          AND MemoryNodeId IN (SELECT p.TargetNodeId FROM #Replacements AS p WHERE p.IsFallen = 1);
    END;

    -- The state every reached node is left in. Direct is what a caller's root becomes, derived or not before.
    UPDATE c
    SET NewStatus = CASE WHEN c.IsReexamined = 1 THEN 1 WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
        NewInvalidation = CASE WHEN c.IsReexamined = 1 THEN NULL
                               WHEN c.Carried = 2 AND c.IsRoot = 1 AND @Status = 2 AND @IsDerived = 0 THEN 'Direct'
                               WHEN c.Carried = 2 THEN COALESCE(c.OldInvalidation, 'Derived')
                               ELSE c.OldInvalidation END,
        NewInvalidSince = CASE WHEN c.IsReexamined = 1 THEN NULL
                               WHEN c.Carried = 2 AND (c.OldInvalidSince IS NULL OR c.OldInvalidSince > @InvalidSince)
                               THEN @InvalidSince
                               ELSE c.OldInvalidSince END,
        Depth = CASE WHEN c.IsReexamined = 1 OR c.IsProtected = 1 THEN c.ReachedDepth ELSE c.Depth END,
        ViaEdge = CASE WHEN c.IsReexamined = 1 OR c.IsProtected = 1 THEN c.ReachedVia ELSE c.ViaEdge END
    FROM #Nodes AS c;

    -- Circles among the affected nodes. Depth cannot rise along every edge of one, so without an edge that does not lead
    -- deeper there is none.
    IF EXISTS (SELECT 1
               FROM #Nodes AS s
               JOIN dbo.ActiveEdges AS e
                   ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = s.MemoryNodeId
               JOIN #Nodes AS t ON t.MemoryNodeId = e.TargetNodeId
               WHERE s.Carried > 0 AND t.Carried > 0 AND t.Depth <= s.Depth
                 AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
                 AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime)
    BEGIN
        DELETE FROM dbo.CircleEdges WHERE CircleEdges.SessionId = @@SPID;
        INSERT INTO dbo.CircleEdges (SessionId, SourceNodeId, TargetNodeId)
        SELECT DISTINCT @@SPID, e.SourceNodeId, e.TargetNodeId
        FROM #Nodes AS s
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = s.MemoryNodeId
        JOIN #Nodes AS t ON t.MemoryNodeId = e.TargetNodeId
        WHERE s.Carried > 0 AND t.Carried > 0
          AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
          AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
        OPTION (LOOP JOIN);
        EXEC dbo.FindCircles @SessionId = @@SPID;

        -- Numbered by their smallest id.
        UPDATE c
        SET Component = k.Number - 1
        FROM #Nodes AS c
        JOIN dbo.CircleNodes AS m ON m.SessionId = @@SPID AND m.MemoryNodeId = c.MemoryNodeId
        JOIN (SELECT f.Circle, ROW_NUMBER() OVER (ORDER BY f.First) AS Number
              FROM (SELECT o.Circle, MIN(LOWER(CONVERT(CHAR(36), o.MemoryNodeId))) AS First
                    FROM dbo.CircleNodes AS o
                    WHERE o.SessionId = @@SPID
                    GROUP BY o.Circle) AS f) AS k ON k.Circle = m.Circle;
        DELETE FROM dbo.CircleNodes WHERE CircleNodes.SessionId = @@SPID;
    END;

    INSERT INTO dbo.InvalidationImpacts (InvalidationRunId, TenantId, FleetId, Depth, MemoryNodeId, Carried, OldStatus,
                                         NewStatus, Outcome, ViaEdgeId, Component, MemoryNodeIdText)
    SELECT @RunId, @TenantId, @FleetId, c.Depth, c.MemoryNodeId, c.Carried, c.OldStatus, c.NewStatus,
           CASE WHEN c.IsProtected = 1 THEN 'SkippedPinned'
                WHEN c.IsReexamined = 1 THEN 'Reexamine'
                WHEN c.NewStatus = c.OldStatus THEN 'AlreadyAtStatus'
                WHEN c.NewStatus = 2 THEN 'Invalidated'
                ELSE 'MarkedPotentiallyStale' END,
           CONVERT(UNIQUEIDENTIFIER, c.ViaEdge), c.Component, LOWER(CONVERT(CHAR(36), c.MemoryNodeId))
    FROM #Nodes AS c
    WHERE c.Carried > 0 OR c.IsProtected = 1 OR c.IsReexamined = 1;

    -- One update per node row, and none where nothing changes.
    UPDATE n
    SET Status = c.NewStatus,
        Invalidation = c.NewInvalidation,
        InvalidSince = c.NewInvalidSince,
        UpdatedAt = k.ValidFrom,
        Version = n.Version + 1
    FROM #Nodes AS c
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = c.MemoryNodeId
    JOIN dbo.FleetClocks AS k ON k.TenantId = @TenantId AND k.FleetId = @FleetId
    WHERE c.NewStatus <> c.OldStatus
       OR EXISTS (SELECT c.NewInvalidation, c.NewInvalidSince EXCEPT SELECT c.OldInvalidation, c.OldInvalidSince)
    OPTION (LOOP JOIN);

    INSERT INTO dbo.OutboxEvents (TenantId, FleetId, EventType, SubjectId, CreatedAt)
    SELECT k.TenantId, k.FleetId, 'InvalidationCompleted', @RunId, k.ValidFrom
    FROM dbo.FleetClocks AS k
    WHERE k.TenantId = @TenantId AND k.FleetId = @FleetId;
END;
GO
-- Cascading invalidation (SEMANTICS 4): request, run, impacts, node updates and the outbox event in one transaction.
--
--     DECLARE @RunId UNIQUEIDENTIFIER;
--     EXEC dbo.InvalidateMemoryGraph @TenantId, @FleetId, @RootNodeId, @Reason, @EffectiveTime, @RunId OUTPUT;
--
-- More roots come as a JSON array of ids in @RootNodeIds. @EffectiveTime NULL is now, @Policy and @Propagation NULL are those
-- on which the graphs of the roots agree. @DryRun computes the same report and changes nothing. With @Report = 1 it answers
-- two result sets: the run, and its impacts by depth and id.
--
-- The same roots, effective time and options return the first run, unless a root was restored since; so does the same
-- @IdempotencyKey. Pending runs that the request covers are superseded.
--
-- Called outside a transaction, it takes the fleet's lock, begins and commits its own. Inside one, the lock is the
-- transaction's, and commit or rollback the caller's. Without roots but with @RunId it carries out a run that the caller has
-- recorded in the open transaction; so the service calls it.
--
-- Errors: 51404 not known in this fleet, 51422 not valid, 51503 try the whole transaction again; and the server's own.
CREATE PROCEDURE dbo.InvalidateMemoryGraph
    @TenantId       UNIQUEIDENTIFIER,
    @FleetId        UNIQUEIDENTIFIER,
    @RootNodeId     UNIQUEIDENTIFIER,
    @Reason         NVARCHAR(4000),
    @EffectiveTime  DATETIMEOFFSET = NULL,
    @RunId          UNIQUEIDENTIFIER = NULL OUTPUT,
    @RootNodeIds    NVARCHAR(MAX) = NULL,
    @Status         VARCHAR(20) = 'Invalid',
    @Policy         VARCHAR(20) = NULL,
    @Propagation    VARCHAR(20) = NULL,
    @OverridePinned BIT = 0,
    @DryRun         BIT = 0,
    @IdempotencyKey NVARCHAR(255) = NULL,
    @Report         BIT = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    IF @RootNodeId IS NULL AND @RootNodeIds IS NULL AND @RunId IS NOT NULL
    BEGIN
        IF @@TRANCOUNT = 0
            THROW 51422, 'A recorded run is carried out in the transaction that records it.', 1;
        EXEC dbo.CascadeInvalidation @TenantId, @FleetId, @RunId;
        RETURN;
    END;

    DECLARE @Level TINYINT = CASE @Status WHEN 'Invalid' THEN 2 WHEN 'PotentiallyStale' THEN 1 END,
            @Time DATETIME2(6) = CAST(SWITCHOFFSET(@EffectiveTime, '+00:00') AS DATETIME2(6)),
            @IsOwn BIT = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
            @IsLocked BIT = 0, @Owner VARCHAR(20), @Resource NVARCHAR(255), @Result INT, @Message NVARCHAR(2048),
            @OldTenant SQL_VARIANT = SESSION_CONTEXT(N'TenantId'), @OldFleet SQL_VARIANT = SESSION_CONTEXT(N'FleetId'),
            @Stamp DATETIME2(6), @Since DATETIME2(6), @RequestId UNIQUEIDENTIFIER = NEWID(),
            @FirstRunId UNIQUEIDENTIFIER, @FirstFingerprint VARCHAR(64),
            @Named NVARCHAR(MAX), @Fingerprint CHAR(64), @Hash VARBINARY(32), @At INT = 1, @Byte INT;
    SET @RunId = NULL;

    IF @Level IS NULL
        THROW 51422, '@Status must be Invalid or PotentiallyStale.', 1;
    IF @Policy NOT IN ('evidential', 'strict')
        THROW 51422, '@Policy must be evidential or strict.', 1;
    IF @Propagation NOT IN ('frontier', 'transitive')
        THROW 51422, '@Propagation must be frontier or transitive.', 1;
    IF @Reason IS NULL OR DATALENGTH(@Reason) = 0
        THROW 51422, '@Reason must say why.', 1;
    IF @RootNodeIds IS NOT NULL AND ISJSON(@RootNodeIds) = 0
        THROW 51422, '@RootNodeIds must be a JSON array of ids.', 1;

    CREATE TABLE #Roots (MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, GraphId UNIQUEIDENTIFIER NULL);
    CREATE TABLE #Covered (RunId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, InvalidSince DATETIME2(6) NOT NULL);
    INSERT INTO #Roots (MemoryNodeId)
    SELECT @RootNodeId WHERE @RootNodeId IS NOT NULL
    UNION
    SELECT CAST(j.value AS UNIQUEIDENTIFIER) FROM OPENJSON(COALESCE(@RootNodeIds, N'[]')) AS j;
    IF @@ROWCOUNT NOT BETWEEN 1 AND 1000
        THROW 51422, 'Name 1 to 1,000 roots.', 1;

    EXEC sp_set_session_context @key = N'TenantId', @value = @TenantId;
    EXEC sp_set_session_context @key = N'FleetId', @value = @FleetId;
    SET @Owner = CASE WHEN @IsOwn = 1 THEN 'Session' ELSE 'Transaction' END;
    SET @Resource = CONCAT(N'MemoryGraph/', LOWER(CONVERT(CHAR(36), @TenantId)),
                           N'/', LOWER(CONVERT(CHAR(36), @FleetId)));
    BEGIN TRY
        -- Before the transaction begins: then begin order is commit order (SEMANTICS 5).
        EXEC @Result = sp_getapplock @Resource = @Resource, @LockMode = 'Exclusive', @LockOwner = @Owner, @LockTimeout = 30000;
        IF @Result < 0
            THROW 51503, 'Other writers of the fleet have kept it busy for too long; try again shortly.', 2;
        SET @IsLocked = @IsOwn;
        IF @IsOwn = 1
            BEGIN TRANSACTION;
        ELSE IF @DryRun = 1
            SAVE TRANSACTION DryRun;
        EXEC dbo.TakeStamp @TenantId, @FleetId, @Stamp OUTPUT;

        IF @Time > @Stamp
            THROW 51422, '@EffectiveTime lies in the future.', 1;
        UPDATE r
        SET GraphId = n.GraphId
        FROM #Roots AS r
        JOIN dbo.MemoryNodes AS n ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = r.MemoryNodeId;
        IF EXISTS (SELECT 1 FROM #Roots AS r WHERE r.GraphId IS NULL)
        BEGIN
            SELECT @Message = CONCAT(N'Root node ', MIN(LOWER(CONVERT(CHAR(36), r.MemoryNodeId))), N' is not known here.')
            FROM #Roots AS r
            WHERE r.GraphId IS NULL;
            THROW 51404, @Message, 1;
        END;
        IF @Policy IS NULL AND 1 < (SELECT COUNT(DISTINCT g.Policy)
                                    FROM dbo.MemoryGraphs AS g
                                    WHERE g.TenantId = @TenantId AND g.FleetId = @FleetId
                                      AND g.GraphId IN (SELECT r.GraphId FROM #Roots AS r))
            THROW 51422, 'The graphs of the roots differ in their policy; choose one.', 1;
        IF @Propagation IS NULL AND 1 < (SELECT COUNT(DISTINCT g.Propagation)
                                         FROM dbo.MemoryGraphs AS g
                                         WHERE g.TenantId = @TenantId AND g.FleetId = @FleetId
                                           AND g.GraphId IN (SELECT r.GraphId FROM #Roots AS r))
            THROW 51422, 'The graphs of the roots differ in their propagation; choose one.', 1;
        SELECT @Policy = COALESCE(@Policy, MIN(g.Policy)), @Propagation = COALESCE(@Propagation, MIN(g.Propagation))
        FROM dbo.MemoryGraphs AS g
        WHERE g.TenantId = @TenantId AND g.FleetId = @FleetId
          AND g.GraphId IN (SELECT r.GraphId FROM #Roots AS r);

        -- The SHA-256 of what makes two requests the same, as the service writes it: in lower-case hexadecimal.
        SELECT @Named = STRING_AGG(CAST(LOWER(CONVERT(CHAR(36), r.MemoryNodeId)) AS NVARCHAR(MAX)), N',')
                        WITHIN GROUP (ORDER BY LOWER(CONVERT(CHAR(36), r.MemoryNodeId)))
        FROM #Roots AS r;
        SET @Named = CONCAT(@Status, N'|', COALESCE(CAST(DATEDIFF_BIG(MICROSECOND, '0001-01-01', @Time) AS NVARCHAR(20)), N''),
                            N'|', @Policy, N'|', @Propagation, N'|', CAST(@OverridePinned AS INT), N'|', @Named);
        SET @Hash = HASHBYTES('SHA2_256', CAST(@Named AS VARCHAR(MAX)));
        SET @Fingerprint = '';
        WHILE @At <= 32
        BEGIN
            SET @Byte = CAST(SUBSTRING(@Hash, @At, 1) AS INT);
            SET @Fingerprint = CONCAT(RTRIM(@Fingerprint), SUBSTRING('0123456789abcdef', @Byte / 16 + 1, 1),
                                      SUBSTRING('0123456789abcdef', @Byte % 16 + 1, 1));
            SET @At = @At + 1;
        END;

        -- The run of the same request, by its key or by what it asks.
        IF @IdempotencyKey IS NOT NULL
        BEGIN
            SELECT @FirstFingerprint = i.Fingerprint,
                   @FirstRunId = CAST(JSON_VALUE(CAST(CAST(i.Body AS VARCHAR(MAX)) AS NVARCHAR(MAX)), '$.runId')
                                      AS UNIQUEIDENTIFIER)
            FROM dbo.IdempotencyKeys AS i
            WHERE i.TenantId = @TenantId AND i.FleetId = @FleetId AND i.IdempotencyKey = @IdempotencyKey;
            IF @FirstFingerprint <> @Fingerprint
                THROW 51422, 'The idempotency key was used for another request; choose a new one.', 1;
        END;
        IF @FirstRunId IS NULL AND @Time IS NOT NULL
        BEGIN
            SELECT TOP (1) @FirstRunId = r.InvalidationRunId
            FROM dbo.InvalidationRequests AS q
            JOIN dbo.InvalidationRuns AS r
                ON r.TenantId = q.TenantId AND r.FleetId = q.FleetId AND r.InvalidationRequestId = q.InvalidationRequestId
            WHERE q.TenantId = @TenantId AND q.FleetId = @FleetId AND q.Fingerprint = @Fingerprint
            ORDER BY q.RequestedAt DESC;
            IF EXISTS (SELECT 1
                       FROM dbo.InvalidationRuns AS r
                       JOIN dbo.InvalidationImpacts AS i
                           ON i.TenantId = r.TenantId AND i.FleetId = r.FleetId
                           AND i.InvalidationRunId = r.InvalidationRunId
                       JOIN dbo.MemoryNodes FOR SYSTEM_TIME ALL AS n
                           ON n.TenantId = i.TenantId AND n.FleetId = i.FleetId AND n.MemoryNodeId = i.MemoryNodeId
                       WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @FirstRunId
                         AND i.Depth = 0 AND i.Carried > 0 AND n.ValidFrom > r.CommittedAt AND n.Status < i.NewStatus)
                SET @FirstRunId = NULL;
        END;

        IF @FirstRunId IS NOT NULL
            SET @RunId = @FirstRunId;
        ELSE
        BEGIN
            SET @RunId = NEWID();
            SET @Since = COALESCE(@Time, @Stamp);
            INSERT INTO dbo.InvalidationRequests (
                InvalidationRequestId, TenantId, FleetId, Reason, RequestedStatus, EffectiveTime, InvalidSince, Policy,
                Propagation, OverridePinned, IsDerived, Fingerprint, RequestedAt)
            VALUES (
                @RequestId, @TenantId, @FleetId, @Reason, @Level, @Since, @Since, @Policy,
                @Propagation, @OverridePinned, 0, CASE WHEN @Time IS NOT NULL THEN @Fingerprint END, @Stamp);
            INSERT INTO dbo.InvalidationRequestRoots (InvalidationRequestId, TenantId, FleetId, MemoryNodeId)
            SELECT @RequestId, @TenantId, @FleetId, r.MemoryNodeId
            FROM #Roots AS r;
            INSERT INTO dbo.InvalidationRuns (InvalidationRunId, TenantId, FleetId, InvalidationRequestId, RunStatus,
                                              CommittedAt, InvalidationRunIdText)
            VALUES (@RunId, @TenantId, @FleetId, @RequestId, 'Completed', @Stamp, LOWER(CONVERT(CHAR(36), @RunId)));

            -- Runs that have not begun and that this one covers end here, and hand on their earlier time.
            INSERT INTO #Covered (RunId, InvalidSince)
            SELECT r.InvalidationRunId, q.InvalidSince
            FROM dbo.InvalidationRuns AS r
            JOIN dbo.InvalidationRequests AS q
                ON q.TenantId = r.TenantId AND q.FleetId = r.FleetId AND q.InvalidationRequestId = r.InvalidationRequestId
            WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.RunStatus = 'Pending'
              AND q.EffectiveTime < @Since AND q.RequestedStatus <= @Level AND q.OverridePinned <= @OverridePinned
              AND (q.Policy = 'evidential' OR @Policy = 'strict')
              AND (q.Propagation = 'frontier' OR @Propagation = 'transitive')
              AND NOT EXISTS (SELECT 1
                              FROM dbo.InvalidationRequestRoots AS t
                              WHERE t.TenantId = q.TenantId AND t.FleetId = q.FleetId
                                AND t.InvalidationRequestId = q.InvalidationRequestId
                                AND t.MemoryNodeId NOT IN (SELECT m.MemoryNodeId FROM #Roots AS m));
            IF @@ROWCOUNT > 0
            BEGIN
                UPDATE dbo.InvalidationRequests
                SET InvalidSince = (SELECT MIN(c.InvalidSince) FROM #Covered AS c)
                WHERE InvalidationRequests.TenantId = @TenantId AND InvalidationRequests.FleetId = @FleetId
                  AND InvalidationRequests.InvalidationRequestId = @RequestId
                  AND InvalidationRequests.InvalidSince > (SELECT MIN(c.InvalidSince) FROM #Covered AS c);
                UPDATE r
                SET RunStatus = 'Superseded', SupersededByRunId = @RunId, CommittedAt = @Stamp
                FROM dbo.InvalidationRuns AS r
                JOIN #Covered AS c ON c.RunId = r.InvalidationRunId
                WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId;
            END;

            EXEC dbo.CascadeInvalidation @TenantId, @FleetId, @RunId;
            IF @IdempotencyKey IS NOT NULL AND @DryRun = 0
                INSERT INTO dbo.IdempotencyKeys (TenantId, FleetId, IdempotencyKey, Fingerprint, StatusCode, Body, CreatedAt)
                VALUES (@TenantId, @FleetId, @IdempotencyKey, @Fingerprint, 201,
                        CAST(CONCAT('{"runId":"', LOWER(CONVERT(CHAR(36), @RunId)), '"}') AS VARBINARY(MAX)), @Stamp);
        END;

        IF @IsOwn = 1 AND @DryRun = 0
        BEGIN
            -- Before the report, so that a slow reader holds up nobody.
            COMMIT TRANSACTION;
            EXEC sp_releaseapplock @Resource = @Resource, @LockOwner = 'Session';
            SET @IsLocked = 0;
        END;
        IF @Report = 1
        BEGIN
            SELECT r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason, q.RequestedStatus,
                   q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
            FROM dbo.InvalidationRuns AS r
            JOIN dbo.InvalidationRequests AS q
                ON q.TenantId = r.TenantId AND q.FleetId = r.FleetId AND q.InvalidationRequestId = r.InvalidationRequestId
            WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @RunId;

            SELECT i.MemoryNodeId, n.[Key], i.Depth, i.OldStatus, i.NewStatus, i.Outcome, i.ViaEdgeId, i.Component
            FROM dbo.InvalidationImpacts AS i
            LEFT JOIN dbo.MemoryNodes AS n
                ON n.TenantId = i.TenantId AND n.FleetId = i.FleetId AND n.MemoryNodeId = i.MemoryNodeId
            WHERE i.TenantId = @TenantId AND i.FleetId = @FleetId AND i.InvalidationRunId = @RunId
            ORDER BY i.Depth, i.MemoryNodeIdText;
        END;
        IF @DryRun = 1 AND @IsOwn = 0
            ROLLBACK TRANSACTION DryRun;
        IF @DryRun = 1 AND @IsOwn = 1
            ROLLBACK TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @IsOwn = 1 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF @IsLocked = 1
            EXEC sp_releaseapplock @Resource = @Resource, @LockOwner = 'Session';
        EXEC sp_set_session_context @key = N'TenantId', @value = @OldTenant;
        EXEC sp_set_session_context @key = N'FleetId', @value = @OldFleet;
        THROW;
    END CATCH;

    IF @IsLocked = 1
        EXEC sp_releaseapplock @Resource = @Resource, @LockOwner = 'Session';
    EXEC sp_set_session_context @key = N'TenantId', @value = @OldTenant;
    EXEC sp_set_session_context @key = N'FleetId', @value = @OldFleet;
END;
GO
-- Whether a superseded node still reaches its superseder over active edges but contradictions: then the replacement lies in a
-- circle and does not count (SEMANTICS 3). Goes on node by node, not path by path, and stops where it has arrived.
CREATE PROCEDURE dbo.ReplacementClosesCircle (
    @TenantId      UNIQUEIDENTIFIER,
    @FleetId       UNIQUEIDENTIFIER,
    @SupersededId  UNIQUEIDENTIFIER,
    @SupersederId  UNIQUEIDENTIFIER,
    @EffectiveTime DATETIME2(6))
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Distance INT = 0, @Found INT = 1;
    CREATE TABLE #Reached (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Distance     INT              NOT NULL
    );
    INSERT INTO #Reached (MemoryNodeId, Distance) VALUES (@SupersededId, 0);

    WHILE @Found > 0 AND NOT EXISTS (SELECT 1 FROM #Reached AS r WHERE r.MemoryNodeId = @SupersederId)
    BEGIN
        SET @Distance = @Distance + 1;
        INSERT INTO #Reached (MemoryNodeId, Distance)
        SELECT DISTINCT e.TargetNodeId, @Distance
        FROM #Reached AS r
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = r.MemoryNodeId
        WHERE r.Distance = @Distance - 1 AND e.EdgeType <> 'Contradicts'
          AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
          AND NOT EXISTS (SELECT 1 FROM #Reached AS o WHERE o.MemoryNodeId = e.TargetNodeId)
        OPTION (LOOP JOIN);
        SET @Found = @@ROWCOUNT;
    END;

    SELECT COUNT(*) AS ClosesCircle FROM #Reached AS r WHERE r.MemoryNodeId = @SupersederId;
END;
GO
