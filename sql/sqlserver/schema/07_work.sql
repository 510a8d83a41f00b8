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

-- Nodes that a second look is about, and what it came to.
CREATE TABLE dbo.LookNodes (
    SessionId    INT              NOT NULL,
    MemoryNodeId UNIQUEIDENTIFIER NOT NULL,
    CONSTRAINT PK_LookNodes PRIMARY KEY CLUSTERED (SessionId, MemoryNodeId)
);
GO

CREATE TABLE dbo.LookResults (
    SessionId       INT              NOT NULL,
    MemoryNodeId    UNIQUEIDENTIFIER NOT NULL,
    Outcome         VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
    ReviewReason    VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    OldStatus       TINYINT          NOT NULL,
    NewStatus       TINYINT          NOT NULL,
    NewInvalidation VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
    OldConfidence   FLOAT            NOT NULL,
    NewConfidence   FLOAT            NOT NULL,
    Ground          CHAR(64)         COLLATE Latin1_General_100_BIN2 NOT NULL,
    ReviewId        UNIQUEIDENTIFIER NULL,
    CONSTRAINT PK_LookResults PRIMARY KEY CLUSTERED (SessionId, MemoryNodeId)
);
GO
