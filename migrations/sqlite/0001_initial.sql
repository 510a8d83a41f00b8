-- System time. One row: the last stamp given out, and the stamp of the open transaction (NULL between transactions).
-- A stamp is taken once per transaction, under the write lock, and exceeds every earlier one (SEMANTICS 5).
-- Times are microseconds since 1970-01-01T00:00:00Z; 253402300799999999 is the end of time.
CREATE TABLE SystemClock (
    SystemClockId    INTEGER NOT NULL PRIMARY KEY CHECK (SystemClockId = 1),
    LastStamp        INTEGER NOT NULL,
    TransactionStamp INTEGER
) STRICT;

INSERT INTO SystemClock (SystemClockId, LastStamp, TransactionStamp) VALUES (1, 0, NULL);
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
-- System versioning. A row that is changed or deleted goes to its history table, closed at the transaction's stamp;
-- triggers see to it, so no statement can leave history out, and history itself takes no change.
-- Every statement that writes a versioned row sets ValidFrom to the open transaction's stamp; without one it is refused.

CREATE TABLE MemoryNodesHistory (
    MemoryNodeId   BLOB    NOT NULL,
    TenantId       BLOB    NOT NULL,
    FleetId        BLOB    NOT NULL,
    GraphId        BLOB    NOT NULL,
    [Key]          TEXT,
    Name           TEXT    NOT NULL,
    NodeType       TEXT,
    Category       TEXT,
    Status         INTEGER NOT NULL,
    InvalidSince   INTEGER,
    Invalidation   TEXT,
    Confidence     REAL    NOT NULL,
    BaseConfidence REAL    NOT NULL,
    IsPinned       INTEGER NOT NULL,
    PinnedBy       TEXT,
    PinReason      TEXT,
    CreatedAt      INTEGER NOT NULL,
    UpdatedAt      INTEGER NOT NULL,
    ValidFrom      INTEGER NOT NULL,
    ValidTo        INTEGER NOT NULL,
    Version        INTEGER NOT NULL
) STRICT;

CREATE INDEX IX_MemoryNodesHistory_Graph ON MemoryNodesHistory (GraphId, ValidTo, ValidFrom);
CREATE INDEX IX_MemoryNodesHistory_MemoryNode ON MemoryNodesHistory (MemoryNodeId, ValidTo, ValidFrom);

CREATE TRIGGER TR_MemoryNodes_Insert AFTER INSERT ON MemoryNodes
WHEN NEW.ValidFrom IS NOT (SELECT TransactionStamp FROM SystemClock)
BEGIN
    SELECT RAISE(ABORT, 'ValidFrom must be the stamp of the open transaction');
END;

CREATE TRIGGER TR_MemoryNodes_Update AFTER UPDATE ON MemoryNodes
BEGIN
    SELECT RAISE(ABORT, 'ValidFrom must be the stamp of the open transaction')
    WHERE NEW.ValidFrom IS NOT (SELECT TransactionStamp FROM SystemClock);
    SELECT RAISE(ABORT, 'the identity of a versioned row does not change')
    WHERE NEW.MemoryNodeId <> OLD.MemoryNodeId OR NEW.TenantId <> OLD.TenantId OR NEW.FleetId <> OLD.FleetId;
    INSERT INTO MemoryNodesHistory (
        MemoryNodeId, TenantId, FleetId, GraphId, [Key], Name, NodeType, Category, Status, InvalidSince,
        Invalidation, Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt,
        ValidFrom, ValidTo, Version)
    SELECT
        OLD.MemoryNodeId, OLD.TenantId, OLD.FleetId, OLD.GraphId, OLD.[Key], OLD.Name, OLD.NodeType,
        OLD.Category, OLD.Status, OLD.InvalidSince, OLD.Invalidation, OLD.Confidence, OLD.BaseConfidence,
        OLD.IsPinned, OLD.PinnedBy, OLD.PinReason, OLD.CreatedAt, OLD.UpdatedAt, OLD.ValidFrom,
        c.TransactionStamp, OLD.Version
    FROM SystemClock AS c
    WHERE OLD.ValidFrom < c.TransactionStamp;
END;

CREATE TRIGGER TR_MemoryNodes_Delete AFTER DELETE ON MemoryNodes
BEGIN
    SELECT RAISE(ABORT, 'a versioned row is deleted in a stamped transaction only')
    WHERE (SELECT TransactionStamp FROM SystemClock) IS NULL;
    INSERT INTO MemoryNodesHistory (
        MemoryNodeId, TenantId, FleetId, GraphId, [Key], Name, NodeType, Category, Status, InvalidSince,
        Invalidation, Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt,
        ValidFrom, ValidTo, Version)
    SELECT
        OLD.MemoryNodeId, OLD.TenantId, OLD.FleetId, OLD.GraphId, OLD.[Key], OLD.Name, OLD.NodeType,
        OLD.Category, OLD.Status, OLD.InvalidSince, OLD.Invalidation, OLD.Confidence, OLD.BaseConfidence,
        OLD.IsPinned, OLD.PinnedBy, OLD.PinReason, OLD.CreatedAt, OLD.UpdatedAt, OLD.ValidFrom,
        c.TransactionStamp, OLD.Version
    FROM SystemClock AS c
    WHERE OLD.ValidFrom < c.TransactionStamp;
END;

CREATE TRIGGER TR_MemoryNodesHistory_Insert BEFORE INSERT ON MemoryNodesHistory
WHEN NEW.ValidTo IS NOT (SELECT TransactionStamp FROM SystemClock)
BEGIN
    SELECT RAISE(ABORT, 'history is written by its triggers only');
END;

CREATE TRIGGER TR_MemoryNodesHistory_Update BEFORE UPDATE ON MemoryNodesHistory
BEGIN
    SELECT RAISE(ABORT, 'history does not change');
END;

CREATE TRIGGER TR_MemoryNodesHistory_Delete BEFORE DELETE ON MemoryNodesHistory
BEGIN
    SELECT RAISE(ABORT, 'history does not change');
END;

-- What SQL Server calls MemoryNodes FOR SYSTEM_TIME ALL. With the CAST both halves have one affinity, without which SQLite
-- would not read them in index order but sort them all.
CREATE VIEW MemoryNodesSystemTime AS
SELECT
    MemoryNodeId, TenantId, FleetId, GraphId, [Key], Name, NodeType, Category, Status, InvalidSince,
    Invalidation, Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt,
    ValidFrom, CAST(253402300799999999 AS INTEGER) AS ValidTo, Version
FROM MemoryNodes
UNION ALL
SELECT
    MemoryNodeId, TenantId, FleetId, GraphId, [Key], Name, NodeType, Category, Status, InvalidSince,
    Invalidation, Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt,
    ValidFrom, ValidTo, Version
FROM MemoryNodesHistory;

CREATE TABLE MemoryEdgesHistory (
    MemoryEdgeId  BLOB    NOT NULL,
    TenantId      BLOB    NOT NULL,
    FleetId       BLOB    NOT NULL,
    GraphId       BLOB    NOT NULL,
    SourceNodeId  BLOB    NOT NULL,
    TargetNodeId  BLOB    NOT NULL,
    EdgeType      TEXT    NOT NULL,
    SupportGroup  TEXT,
    MinSupport    INTEGER NOT NULL,
    Weight        REAL    NOT NULL,
    EffectiveFrom INTEGER,
    EffectiveTo   INTEGER,
    SourceRuleId  BLOB,
    CreatedAt     INTEGER NOT NULL,
    ValidFrom     INTEGER NOT NULL,
    ValidTo       INTEGER NOT NULL,
    Version       INTEGER NOT NULL
) STRICT;

CREATE INDEX IX_MemoryEdgesHistory_Graph ON MemoryEdgesHistory (GraphId, ValidTo, ValidFrom);
CREATE INDEX IX_MemoryEdgesHistory_MemoryEdge ON MemoryEdgesHistory (MemoryEdgeId, ValidTo, ValidFrom);

CREATE TRIGGER TR_MemoryEdges_Insert AFTER INSERT ON MemoryEdges
WHEN NEW.ValidFrom IS NOT (SELECT TransactionStamp FROM SystemClock)
BEGIN
    SELECT RAISE(ABORT, 'ValidFrom must be the stamp of the open transaction');
END;

CREATE TRIGGER TR_MemoryEdges_Update AFTER UPDATE ON MemoryEdges
BEGIN
    SELECT RAISE(ABORT, 'ValidFrom must be the stamp of the open transaction')
    WHERE NEW.ValidFrom IS NOT (SELECT TransactionStamp FROM SystemClock);
    SELECT RAISE(ABORT, 'the identity of a versioned row does not change')
    WHERE NEW.MemoryEdgeId <> OLD.MemoryEdgeId OR NEW.TenantId <> OLD.TenantId OR NEW.FleetId <> OLD.FleetId;
    INSERT INTO MemoryEdgesHistory (
        MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup,
        MinSupport, Weight, EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, ValidFrom, ValidTo,
        Version)
    SELECT
        OLD.MemoryEdgeId, OLD.TenantId, OLD.FleetId, OLD.GraphId, OLD.SourceNodeId, OLD.TargetNodeId,
        OLD.EdgeType, OLD.SupportGroup, OLD.MinSupport, OLD.Weight, OLD.EffectiveFrom, OLD.EffectiveTo,
        OLD.SourceRuleId, OLD.CreatedAt, OLD.ValidFrom, c.TransactionStamp, OLD.Version
    FROM SystemClock AS c
    WHERE OLD.ValidFrom < c.TransactionStamp;
END;

CREATE TRIGGER TR_MemoryEdges_Delete AFTER DELETE ON MemoryEdges
BEGIN
    SELECT RAISE(ABORT, 'a versioned row is deleted in a stamped transaction only')
    WHERE (SELECT TransactionStamp FROM SystemClock) IS NULL;
    INSERT INTO MemoryEdgesHistory (
        MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup,
        MinSupport, Weight, EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, ValidFrom, ValidTo,
        Version)
    SELECT
        OLD.MemoryEdgeId, OLD.TenantId, OLD.FleetId, OLD.GraphId, OLD.SourceNodeId, OLD.TargetNodeId,
        OLD.EdgeType, OLD.SupportGroup, OLD.MinSupport, OLD.Weight, OLD.EffectiveFrom, OLD.EffectiveTo,
        OLD.SourceRuleId, OLD.CreatedAt, OLD.ValidFrom, c.TransactionStamp, OLD.Version
    FROM SystemClock AS c
    WHERE OLD.ValidFrom < c.TransactionStamp;
END;

CREATE TRIGGER TR_MemoryEdgesHistory_Insert BEFORE INSERT ON MemoryEdgesHistory
WHEN NEW.ValidTo IS NOT (SELECT TransactionStamp FROM SystemClock)
BEGIN
    SELECT RAISE(ABORT, 'history is written by its triggers only');
END;

CREATE TRIGGER TR_MemoryEdgesHistory_Update BEFORE UPDATE ON MemoryEdgesHistory
BEGIN
    SELECT RAISE(ABORT, 'history does not change');
END;

CREATE TRIGGER TR_MemoryEdgesHistory_Delete BEFORE DELETE ON MemoryEdgesHistory
BEGIN
    SELECT RAISE(ABORT, 'history does not change');
END;

-- What SQL Server calls MemoryEdges FOR SYSTEM_TIME ALL.
CREATE VIEW MemoryEdgesSystemTime AS
SELECT
    MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup,
    MinSupport, Weight, EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, ValidFrom,
    CAST(253402300799999999 AS INTEGER) AS ValidTo, Version
FROM MemoryEdges
UNION ALL
SELECT
    MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup,
    MinSupport, Weight, EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, ValidFrom, ValidTo,
    Version
FROM MemoryEdgesHistory;

CREATE TABLE MemoryAssertionsHistory (
    MemoryAssertionId BLOB    NOT NULL,
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    GraphId           BLOB    NOT NULL,
    MemoryNodeId      BLOB    NOT NULL,
    Content           TEXT    NOT NULL,
    Category          TEXT,
    Importance        REAL    NOT NULL,
    Confidence        REAL    NOT NULL,
    ObservedAt        INTEGER NOT NULL,
    EffectiveFrom     INTEGER,
    EffectiveTo       INTEGER,
    LastVerifiedAt    INTEGER,
    SupersededBy      BLOB,
    RetractedAt       INTEGER,
    SourceRuleId      BLOB,
    ValidFrom         INTEGER NOT NULL,
    ValidTo           INTEGER NOT NULL,
    Version           INTEGER NOT NULL
) STRICT;

CREATE INDEX IX_MemoryAssertionsHistory_Graph ON MemoryAssertionsHistory (GraphId, ValidTo, ValidFrom);
CREATE INDEX IX_MemoryAssertionsHistory_MemoryAssertion ON MemoryAssertionsHistory (MemoryAssertionId, ValidTo, ValidFrom);

CREATE TRIGGER TR_MemoryAssertions_Insert AFTER INSERT ON MemoryAssertions
WHEN NEW.ValidFrom IS NOT (SELECT TransactionStamp FROM SystemClock)
BEGIN
    SELECT RAISE(ABORT, 'ValidFrom must be the stamp of the open transaction');
END;

CREATE TRIGGER TR_MemoryAssertions_Update AFTER UPDATE ON MemoryAssertions
BEGIN
    SELECT RAISE(ABORT, 'ValidFrom must be the stamp of the open transaction')
    WHERE NEW.ValidFrom IS NOT (SELECT TransactionStamp FROM SystemClock);
    SELECT RAISE(ABORT, 'the identity of a versioned row does not change')
    WHERE NEW.MemoryAssertionId <> OLD.MemoryAssertionId OR NEW.TenantId <> OLD.TenantId OR NEW.FleetId <> OLD.FleetId;
    INSERT INTO MemoryAssertionsHistory (
        MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance,
        Confidence, ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt,
        SourceRuleId, ValidFrom, ValidTo, Version)
    SELECT
        OLD.MemoryAssertionId, OLD.TenantId, OLD.FleetId, OLD.GraphId, OLD.MemoryNodeId, OLD.Content,
        OLD.Category, OLD.Importance, OLD.Confidence, OLD.ObservedAt, OLD.EffectiveFrom, OLD.EffectiveTo,
        OLD.LastVerifiedAt, OLD.SupersededBy, OLD.RetractedAt, OLD.SourceRuleId, OLD.ValidFrom,
        c.TransactionStamp, OLD.Version
    FROM SystemClock AS c
    WHERE OLD.ValidFrom < c.TransactionStamp;
END;

CREATE TRIGGER TR_MemoryAssertions_Delete AFTER DELETE ON MemoryAssertions
BEGIN
    SELECT RAISE(ABORT, 'a versioned row is deleted in a stamped transaction only')
    WHERE (SELECT TransactionStamp FROM SystemClock) IS NULL;
    INSERT INTO MemoryAssertionsHistory (
        MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance,
        Confidence, ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt,
        SourceRuleId, ValidFrom, ValidTo, Version)
    SELECT
        OLD.MemoryAssertionId, OLD.TenantId, OLD.FleetId, OLD.GraphId, OLD.MemoryNodeId, OLD.Content,
        OLD.Category, OLD.Importance, OLD.Confidence, OLD.ObservedAt, OLD.EffectiveFrom, OLD.EffectiveTo,
        OLD.LastVerifiedAt, OLD.SupersededBy, OLD.RetractedAt, OLD.SourceRuleId, OLD.ValidFrom,
        c.TransactionStamp, OLD.Version
    FROM SystemClock AS c
    WHERE OLD.ValidFrom < c.TransactionStamp;
END;

CREATE TRIGGER TR_MemoryAssertionsHistory_Insert BEFORE INSERT ON MemoryAssertionsHistory
WHEN NEW.ValidTo IS NOT (SELECT TransactionStamp FROM SystemClock)
BEGIN
    SELECT RAISE(ABORT, 'history is written by its triggers only');
END;

CREATE TRIGGER TR_MemoryAssertionsHistory_Update BEFORE UPDATE ON MemoryAssertionsHistory
BEGIN
    SELECT RAISE(ABORT, 'history does not change');
END;

CREATE TRIGGER TR_MemoryAssertionsHistory_Delete BEFORE DELETE ON MemoryAssertionsHistory
BEGIN
    SELECT RAISE(ABORT, 'history does not change');
END;

-- What SQL Server calls MemoryAssertions FOR SYSTEM_TIME ALL.
CREATE VIEW MemoryAssertionsSystemTime AS
SELECT
    MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance,
    Confidence, ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt,
    SourceRuleId, ValidFrom, CAST(253402300799999999 AS INTEGER) AS ValidTo, Version
FROM MemoryAssertions
UNION ALL
SELECT
    MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance,
    Confidence, ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt,
    SourceRuleId, ValidFrom, ValidTo, Version
FROM MemoryAssertionsHistory;
-- Requests, the runs that carry them out, and what each run did to each node it reached (SEMANTICS 4).
CREATE TABLE InvalidationRequests (
    InvalidationRequestId BLOB    NOT NULL CHECK (length(InvalidationRequestId) = 16),
    TenantId              BLOB    NOT NULL,
    FleetId               BLOB    NOT NULL,
    Reason                TEXT    NOT NULL,
    RequestedStatus       INTEGER NOT NULL CHECK (RequestedStatus IN (1, 2)),
    EffectiveTime         INTEGER NOT NULL,
    InvalidSince          INTEGER NOT NULL,
    Policy                TEXT    NOT NULL CHECK (Policy IN ('evidential', 'strict')),
    Propagation           TEXT    NOT NULL CHECK (Propagation IN ('frontier', 'transitive')),
    OverridePinned        INTEGER NOT NULL CHECK (OverridePinned IN (0, 1)),
    IsDerived             INTEGER NOT NULL CHECK (IsDerived IN (0, 1)),
    Fingerprint           TEXT,
    RequestedAt           INTEGER NOT NULL,
    PRIMARY KEY (InvalidationRequestId, TenantId, FleetId)
) STRICT;

-- The same roots, explicit effective time and options are the same request.
CREATE INDEX IX_InvalidationRequests_Fingerprint ON InvalidationRequests (Fingerprint, TenantId, FleetId, RequestedAt);
CREATE INDEX IX_InvalidationRequests_Scope ON InvalidationRequests (TenantId, FleetId, RequestedAt);

CREATE TABLE InvalidationRequestRoots (
    InvalidationRequestId BLOB    NOT NULL,
    TenantId              BLOB    NOT NULL,
    FleetId               BLOB    NOT NULL,
    MemoryNodeId          BLOB    NOT NULL,
    PRIMARY KEY (InvalidationRequestId, TenantId, FleetId, MemoryNodeId),
    FOREIGN KEY (InvalidationRequestId, TenantId, FleetId)
        REFERENCES InvalidationRequests (InvalidationRequestId, TenantId, FleetId)
) STRICT, WITHOUT ROWID;

CREATE TABLE InvalidationRuns (
    InvalidationRunId     BLOB    NOT NULL CHECK (length(InvalidationRunId) = 16),
    TenantId              BLOB    NOT NULL,
    FleetId               BLOB    NOT NULL,
    InvalidationRequestId BLOB    NOT NULL,
    ParentRunId           BLOB,
    RunStatus             TEXT    NOT NULL CHECK (RunStatus IN ('Pending', 'Completed', 'Superseded')),
    SupersededByRunId     BLOB    CHECK ((SupersededByRunId IS NULL) = (RunStatus <> 'Superseded')),
    CommittedAt           INTEGER CHECK ((CommittedAt IS NULL) = (RunStatus = 'Pending')),
    PRIMARY KEY (InvalidationRunId, TenantId, FleetId),
    FOREIGN KEY (InvalidationRequestId, TenantId, FleetId)
        REFERENCES InvalidationRequests (InvalidationRequestId, TenantId, FleetId)
) STRICT;

CREATE INDEX IX_InvalidationRuns_Request ON InvalidationRuns (InvalidationRequestId, TenantId, FleetId);
CREATE INDEX IX_InvalidationRuns_Pending ON InvalidationRuns (TenantId, FleetId) WHERE RunStatus = 'Pending';

-- Carried is what the run brought to the node (C of SEMANTICS 4); the node is affected where it is above 0.
CREATE TABLE InvalidationImpacts (
    InvalidationRunId BLOB    NOT NULL,
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    Depth             INTEGER NOT NULL,
    MemoryNodeId      BLOB    NOT NULL,
    Carried           INTEGER NOT NULL,
    OldStatus         INTEGER NOT NULL,
    NewStatus         INTEGER NOT NULL,
    Outcome           TEXT    NOT NULL CHECK (Outcome IN ('Invalidated', 'MarkedPotentiallyStale', 'AlreadyAtStatus',
                                                          'SkippedPinned', 'Reexamine')),
    ViaEdgeId         BLOB,
    Component         INTEGER,
    PRIMARY KEY (InvalidationRunId, Depth, MemoryNodeId, TenantId, FleetId),
    FOREIGN KEY (InvalidationRunId, TenantId, FleetId)
        REFERENCES InvalidationRuns (InvalidationRunId, TenantId, FleetId)
) STRICT, WITHOUT ROWID;

CREATE INDEX IX_InvalidationImpacts_Node ON InvalidationImpacts (MemoryNodeId, InvalidationRunId);
-- Events for workers, written in the transaction of what they tell of; ids rise in the order of commits.
CREATE TABLE OutboxEvents (
    OutboxEventId INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    TenantId      BLOB    NOT NULL,
    FleetId       BLOB    NOT NULL,
    EventType     TEXT    NOT NULL CHECK (EventType IN ('InvalidationCompleted', 'EdgeAdded', 'EdgeChanged', 'EdgeRemoved',
                                                        'NodeUnpinned', 'BaseConfidenceChanged', 'RuleVersionAdded')),
    SubjectId     BLOB    NOT NULL,
    CreatedAt     INTEGER NOT NULL
) STRICT;

-- A named system time of a graph.
CREATE TABLE GraphSnapshotDescriptors (
    SnapshotId  BLOB    NOT NULL CHECK (length(SnapshotId) = 16),
    TenantId    BLOB    NOT NULL,
    FleetId     BLOB    NOT NULL,
    GraphId     BLOB    NOT NULL,
    Name        TEXT    NOT NULL,
    AsOf        INTEGER NOT NULL,
    RequestedAt INTEGER NOT NULL,
    PRIMARY KEY (SnapshotId, TenantId, FleetId),
    FOREIGN KEY (GraphId, TenantId, FleetId) REFERENCES MemoryGraphs (GraphId, TenantId, FleetId)
) STRICT;

CREATE INDEX IX_GraphSnapshotDescriptors_Graph ON GraphSnapshotDescriptors (GraphId, SnapshotId);

-- The first answer under each idempotency key, kept in the transaction of the effect it reports.
CREATE TABLE IdempotencyKeys (
    TenantId       BLOB    NOT NULL,
    FleetId        BLOB    NOT NULL,
    IdempotencyKey TEXT    NOT NULL,
    Fingerprint    TEXT    NOT NULL,
    StatusCode     INTEGER NOT NULL,
    Body           BLOB    NOT NULL,
    CreatedAt      INTEGER NOT NULL,
    PRIMARY KEY (TenantId, FleetId, IdempotencyKey)
) STRICT;
