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
