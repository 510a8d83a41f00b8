-- The memory graph. Ids are 16 bytes in network order, so they sort as their lower-case text does.
-- Every key carries tenant and fleet: a row of one scope cannot refer to a row of another.
CREATE TABLE MemoryGraphs (
    GraphId          BLOB    NOT NULL CHECK (length(GraphId) = 16),
    TenantId         BLOB    NOT NULL CHECK (length(TenantId) = 16),
    FleetId          BLOB    NOT NULL CHECK (length(FleetId) = 16),
    Name             TEXT    NOT NULL,
    RevalidationMode TEXT    NOT NULL CHECK (RevalidationMode IN ('automatic', 'agent')),
    Policy           TEXT    NOT NULL CHECK (Policy IN ('evidential', 'strict')),
    Propagation      TEXT    NOT NULL CHECK (Propagation IN ('frontier', 'transitive')),
    CreatedAt        INTEGER NOT NULL,
    PRIMARY KEY (GraphId, TenantId, FleetId)
) STRICT;

CREATE INDEX IX_MemoryGraphs_Scope ON MemoryGraphs (TenantId, FleetId, GraphId);

CREATE TABLE SourceRules (
    SourceRuleId BLOB    NOT NULL CHECK (length(SourceRuleId) = 16),
    TenantId     BLOB    NOT NULL,
    FleetId      BLOB    NOT NULL,
    Name         TEXT    NOT NULL,
    Version      TEXT    NOT NULL,
    Description  TEXT,
    EffectiveAt  INTEGER NOT NULL,
    ExpiresAt    INTEGER CHECK (ExpiresAt >= EffectiveAt),
    PRIMARY KEY (SourceRuleId, TenantId, FleetId)
) STRICT;

CREATE UNIQUE INDEX UX_SourceRules_Version ON SourceRules (TenantId, FleetId, Name, Version);

-- Status: 0 Valid, 1 PotentiallyStale, 2 Invalid; the order is that of SEMANTICS 2.
CREATE TABLE MemoryNodes (
    MemoryNodeId   BLOB    NOT NULL CHECK (length(MemoryNodeId) = 16),
    TenantId       BLOB    NOT NULL,
    FleetId        BLOB    NOT NULL,
    GraphId        BLOB    NOT NULL,
    [Key]          TEXT,
    Name           TEXT    NOT NULL,
    NodeType       TEXT,
    Category       TEXT,
    Status         INTEGER NOT NULL CHECK (Status IN (0, 1, 2)),
    InvalidSince   INTEGER CHECK (InvalidSince IS NULL OR Status = 2),
    Invalidation   TEXT    CHECK (Invalidation IN ('Direct', 'Derived')),
    Confidence     REAL    NOT NULL CHECK (Confidence BETWEEN 0 AND 1),
    BaseConfidence REAL    NOT NULL CHECK (BaseConfidence BETWEEN 0 AND 1),
    IsPinned       INTEGER NOT NULL CHECK (IsPinned IN (0, 1)),
    PinnedBy       TEXT,
    PinReason      TEXT,
    CreatedAt      INTEGER NOT NULL,
    UpdatedAt      INTEGER NOT NULL,
    ValidFrom      INTEGER NOT NULL,
    Version        INTEGER NOT NULL,
    PRIMARY KEY (MemoryNodeId, TenantId, FleetId),
    FOREIGN KEY (GraphId, TenantId, FleetId) REFERENCES MemoryGraphs (GraphId, TenantId, FleetId),
    CHECK ((Status = 2) = (Invalidation IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX UX_MemoryNodes_Key ON MemoryNodes (GraphId, [Key], TenantId, FleetId) WHERE [Key] IS NOT NULL;
CREATE INDEX IX_MemoryNodes_Graph ON MemoryNodes (GraphId, MemoryNodeId);

CREATE TABLE MemoryEdges (
    MemoryEdgeId  BLOB    NOT NULL CHECK (length(MemoryEdgeId) = 16),
    TenantId      BLOB    NOT NULL,
    FleetId       BLOB    NOT NULL,
    GraphId       BLOB    NOT NULL,
    SourceNodeId  BLOB    NOT NULL,
    TargetNodeId  BLOB    NOT NULL,
    EdgeType      TEXT    NOT NULL CHECK (EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy',
                                                       'ObservedFrom', 'Contradicts', 'Supersedes')),
    SupportGroup  TEXT    CHECK (SupportGroup IS NULL
                                  OR SupportGroup <> '' AND EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')),
    MinSupport    INTEGER NOT NULL CHECK (MinSupport >= 1),
    Weight        REAL    NOT NULL CHECK (Weight BETWEEN 0 AND 1),
    EffectiveFrom INTEGER,
    EffectiveTo   INTEGER CHECK (EffectiveTo > EffectiveFrom),
    SourceRuleId  BLOB,
    CreatedAt     INTEGER NOT NULL,
    ValidFrom     INTEGER NOT NULL,
    Version       INTEGER NOT NULL,
    PRIMARY KEY (MemoryEdgeId, TenantId, FleetId),
    FOREIGN KEY (SourceNodeId, TenantId, FleetId) REFERENCES MemoryNodes (MemoryNodeId, TenantId, FleetId),
    FOREIGN KEY (TargetNodeId, TenantId, FleetId) REFERENCES MemoryNodes (MemoryNodeId, TenantId, FleetId),
    FOREIGN KEY (SourceRuleId, TenantId, FleetId) REFERENCES SourceRules (SourceRuleId, TenantId, FleetId),
    CHECK (SourceNodeId <> TargetNodeId)
) STRICT;

CREATE INDEX IX_MemoryEdges_Source ON MemoryEdges (SourceNodeId);
CREATE INDEX IX_MemoryEdges_Target ON MemoryEdges (TargetNodeId);
CREATE INDEX IX_MemoryEdges_Graph ON MemoryEdges (GraphId, MemoryEdgeId);
-- A cascade asks a node for these two kinds alone; a hub of many other edges must not be read through for them.
CREATE INDEX IX_MemoryEdges_Contradicts ON MemoryEdges (TargetNodeId) WHERE EdgeType = 'Contradicts';
CREATE INDEX IX_MemoryEdges_Supersedes ON MemoryEdges (SourceNodeId) WHERE EdgeType = 'Supersedes';
CREATE INDEX IX_MemoryEdges_Rule ON MemoryEdges (SourceRuleId) WHERE SourceRuleId IS NOT NULL;

CREATE TABLE MemoryAssertions (
    MemoryAssertionId BLOB    NOT NULL CHECK (length(MemoryAssertionId) = 16),
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    GraphId           BLOB    NOT NULL,
    MemoryNodeId      BLOB    NOT NULL,
    Content           TEXT    NOT NULL,
    Category          TEXT,
    Importance        REAL    NOT NULL CHECK (Importance BETWEEN 0 AND 1),
    Confidence        REAL    NOT NULL CHECK (Confidence BETWEEN 0 AND 1),
    ObservedAt        INTEGER NOT NULL,
    EffectiveFrom     INTEGER,
    EffectiveTo       INTEGER CHECK (EffectiveTo > EffectiveFrom),
    LastVerifiedAt    INTEGER,
    SupersededBy      BLOB,
    RetractedAt       INTEGER,
    SourceRuleId      BLOB,
    ValidFrom         INTEGER NOT NULL,
    Version           INTEGER NOT NULL,
    PRIMARY KEY (MemoryAssertionId, TenantId, FleetId),
    FOREIGN KEY (MemoryNodeId, TenantId, FleetId) REFERENCES MemoryNodes (MemoryNodeId, TenantId, FleetId),
    FOREIGN KEY (SupersededBy, TenantId, FleetId)
        REFERENCES MemoryAssertions (MemoryAssertionId, TenantId, FleetId) DEFERRABLE INITIALLY DEFERRED,
    FOREIGN KEY (SourceRuleId, TenantId, FleetId) REFERENCES SourceRules (SourceRuleId, TenantId, FleetId)
) STRICT;

CREATE INDEX IX_MemoryAssertions_Node ON MemoryAssertions (MemoryNodeId, MemoryAssertionId);
CREATE INDEX IX_MemoryAssertions_Graph ON MemoryAssertions (GraphId, MemoryAssertionId);
CREATE INDEX IX_MemoryAssertions_SupersededBy ON MemoryAssertions (SupersededBy) WHERE SupersededBy IS NOT NULL;
CREATE INDEX IX_MemoryAssertions_Rule ON MemoryAssertions (SourceRuleId) WHERE SourceRuleId IS NOT NULL;

CREATE TABLE EvidenceReferences (
    EvidenceReferenceId BLOB    NOT NULL CHECK (length(EvidenceReferenceId) = 16),
    TenantId            BLOB    NOT NULL,
    FleetId             BLOB    NOT NULL,
    GraphId             BLOB    NOT NULL,
    MemoryAssertionId   BLOB    NOT NULL,
    EvidenceType        TEXT    NOT NULL,
    Reference           TEXT    NOT NULL,
    Details             TEXT,
    RecordedAt          INTEGER NOT NULL,
    PRIMARY KEY (EvidenceReferenceId, TenantId, FleetId),
    FOREIGN KEY (MemoryAssertionId, TenantId, FleetId)
        REFERENCES MemoryAssertions (MemoryAssertionId, TenantId, FleetId) ON DELETE CASCADE
) STRICT;

CREATE INDEX IX_EvidenceReferences_Assertion ON EvidenceReferences (MemoryAssertionId, EvidenceReferenceId);
CREATE INDEX IX_EvidenceReferences_Graph ON EvidenceReferences (GraphId, EvidenceReferenceId);

-- Edges with the interval in which they are active: their own and their rule's (SEMANTICS 3).
CREATE VIEW ActiveEdges AS
SELECT e.MemoryEdgeId, e.TenantId, e.FleetId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup,
       e.MinSupport, e.Weight,
       CASE WHEN COALESCE(r.EffectiveAt, -62135596800000000) > COALESCE(e.EffectiveFrom, -62135596800000000)
            THEN r.EffectiveAt ELSE COALESCE(e.EffectiveFrom, -62135596800000000) END AS ActiveFrom,
       CASE WHEN COALESCE(r.ExpiresAt, 253402300799999999) < COALESCE(e.EffectiveTo, 253402300799999999)
            THEN r.ExpiresAt ELSE COALESCE(e.EffectiveTo, 253402300799999999) END AS ActiveTo
FROM MemoryEdges AS e
LEFT JOIN SourceRules AS r
    ON r.SourceRuleId = e.SourceRuleId AND r.TenantId = e.TenantId AND r.FleetId = e.FleetId;
