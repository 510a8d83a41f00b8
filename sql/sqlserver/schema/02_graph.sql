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
