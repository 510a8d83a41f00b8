-- Work tables of one connection, made when it is opened. They are emptied by whoever uses them.

-- Every node the cascade has reached. Carried is C of SEMANTICS 4; max(OldStatus, Carried) is N. Depth and ViaEdgeId
-- tell of the round in which the node was first affected, ReachedDepth and ReachedVia of the first look at it, FiredDepth of the
-- round in which it first fired.
CREATE TEMP TABLE CascadeNodes (
    Ordinal         INTEGER PRIMARY KEY,
    MemoryNodeId    BLOB    NOT NULL UNIQUE,
    OldStatus       INTEGER NOT NULL,
    OldInvalidation TEXT,
    OldInvalidSince INTEGER,
    IsProtected     INTEGER NOT NULL,
    IsRoot          INTEGER NOT NULL,
    IsReexamined    INTEGER NOT NULL DEFAULT 0,
    Carried         INTEGER NOT NULL,
    Depth           INTEGER NOT NULL,
    ViaEdgeId       BLOB,
    ReachedDepth    INTEGER NOT NULL,
    ReachedVia      BLOB,
    FiredDepth      INTEGER,
    NewStatus       INTEGER,
    NewInvalidation TEXT,
    NewInvalidSince INTEGER,
    Component       INTEGER
);

-- The nodes whose C rose in the round before: what the next round starts from.
CREATE TEMP TABLE CascadeRisen (
    MemoryNodeId BLOB    NOT NULL PRIMARY KEY,
    Carried      INTEGER NOT NULL,
    StatusBefore INTEGER NOT NULL,
    StatusAfter  INTEGER NOT NULL,
    IsRoot       INTEGER NOT NULL,
    Fires        INTEGER NOT NULL,
    Depth        INTEGER NOT NULL,
    ViaEdgeId    BLOB
) WITHOUT ROWID;

-- The edges looked at in this round, with what their source brings.
CREATE TEMP TABLE CascadeLooked (
    TargetNodeId BLOB    NOT NULL,
    MemoryEdgeId BLOB    NOT NULL,
    SourceNodeId BLOB    NOT NULL,
    EdgeType     TEXT    NOT NULL,
    SupportGroup TEXT    NOT NULL,
    Carried      INTEGER NOT NULL,
    StatusBefore INTEGER NOT NULL,
    StatusAfter  INTEGER NOT NULL,
    IsRoot       INTEGER NOT NULL
);

-- Support groups of reached nodes; '' is the implicit group. Counted once, then kept up round by round: a hub whose
-- sources fall one after another must not be counted again each time.
CREATE TEMP TABLE CascadeGroups (
    TargetNodeId    BLOB    NOT NULL,
    SupportGroup    TEXT    NOT NULL,
    MinSupport      INTEGER NOT NULL,
    Members         INTEGER NOT NULL,
    InvalidMembers  INTEGER NOT NULL,
    DoubtfulMembers INTEGER NOT NULL,
    PRIMARY KEY (TargetNodeId, SupportGroup)
) WITHOUT ROWID;

-- Active Supersedes edges of nodes that fired, into nodes to which that can matter: those to be looked at again, and
-- protected ones.
CREATE TEMP TABLE CascadeReplacements (
    MemoryEdgeId BLOB    NOT NULL PRIMARY KEY,
    SourceNodeId BLOB    NOT NULL,
    TargetNodeId BLOB    NOT NULL,
    Depth        INTEGER NOT NULL,
    IsFallen     INTEGER NOT NULL
) WITHOUT ROWID;

-- Nodes met on a walk through the graph, with their distance from its start.
CREATE TEMP TABLE WalkNodes (
    MemoryNodeId BLOB    NOT NULL PRIMARY KEY,
    Distance     INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX temp.IX_WalkNodes_Distance ON WalkNodes (Distance);

-- Nodes that a second look is about, and what it came to.
CREATE TEMP TABLE LookNodes (
    MemoryNodeId BLOB NOT NULL PRIMARY KEY
) WITHOUT ROWID;

CREATE TEMP TABLE LookResults (
    MemoryNodeId    BLOB    NOT NULL UNIQUE,
    Outcome         TEXT    NOT NULL,
    ReviewReason    TEXT,
    OldStatus       INTEGER NOT NULL,
    NewStatus       INTEGER NOT NULL,
    NewInvalidation TEXT,
    OldConfidence   REAL    NOT NULL,
    NewConfidence   REAL    NOT NULL,
    Ground          TEXT    NOT NULL,
    ReviewId        BLOB
);

-- Lines of an import, read and checked one by one before the write lock is taken. A NULL is a field the line leaves out.
-- IsKnown marks lines whose row is already stored; their NULLs are then filled from it.
CREATE TEMP TABLE StagedRules (
    Line         INTEGER PRIMARY KEY,
    SourceRuleId BLOB    NOT NULL,
    Name         TEXT    NOT NULL,
    Version      TEXT    NOT NULL,
    Description  TEXT,
    EffectiveAt  INTEGER,
    ExpiresAt    INTEGER
);

CREATE TEMP TABLE StagedNodes (
    Line           INTEGER PRIMARY KEY,
    MemoryNodeId   BLOB    NOT NULL,
    IsIdGiven      INTEGER NOT NULL,
    IsKnown        INTEGER NOT NULL DEFAULT 0,
    [Key]          TEXT,
    Name           TEXT,
    NodeType       TEXT,
    Category       TEXT,
    Status         INTEGER,
    InvalidSince   INTEGER,
    Invalidation   TEXT,
    Confidence     REAL,
    BaseConfidence REAL,
    IsPinned       INTEGER,
    PinnedBy       TEXT,
    PinReason      TEXT,
    CreatedAt      INTEGER
);

CREATE TEMP TABLE StagedEdges (
    Line          INTEGER PRIMARY KEY,
    MemoryEdgeId  BLOB,
    IsKnown       INTEGER NOT NULL DEFAULT 0,
    SourceKey     TEXT,
    SourceNodeId  BLOB,
    TargetKey     TEXT,
    TargetNodeId  BLOB,
    EdgeType      TEXT    NOT NULL,
    SupportGroup  TEXT,
    MinSupport    INTEGER,
    Weight        REAL,
    EffectiveFrom INTEGER,
    EffectiveTo   INTEGER,
    RuleName      TEXT,
    RuleVersion   TEXT,
    SourceRuleId  BLOB,
    CreatedAt     INTEGER
);

CREATE TEMP TABLE StagedAssertions (
    Line              INTEGER PRIMARY KEY,
    MemoryAssertionId BLOB,
    IsKnown           INTEGER NOT NULL DEFAULT 0,
    NodeKey           TEXT,
    MemoryNodeId      BLOB,
    Content           TEXT    NOT NULL,
    Category          TEXT,
    Importance        REAL,
    Confidence        REAL,
    ObservedAt        INTEGER,
    EffectiveFrom     INTEGER,
    EffectiveTo       INTEGER,
    LastVerifiedAt    INTEGER,
    SupersededBy      BLOB,
    RetractedAt       INTEGER,
    RuleName          TEXT,
    RuleVersion       TEXT,
    SourceRuleId      BLOB
);

CREATE TEMP TABLE StagedEvidence (
    Line                INTEGER PRIMARY KEY,
    EvidenceReferenceId BLOB    NOT NULL,
    MemoryAssertionId   BLOB    NOT NULL,
    EvidenceType        TEXT    NOT NULL,
    Reference           TEXT    NOT NULL,
    Details             TEXT,
    RecordedAt          INTEGER
);
