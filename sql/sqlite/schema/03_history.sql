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
