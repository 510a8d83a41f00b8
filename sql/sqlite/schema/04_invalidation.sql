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
