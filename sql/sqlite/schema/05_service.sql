-- Events for workers, written in the transaction of what they tell of; ids rise in the order of commits. Lane keeps the
-- deliveries of one subscription in line; without one, an event stands in its fleet's line. A lease is what its owner has
-- until LeaseExpiresAt; what failed waits until AvailableAt, and others go ahead of it.
CREATE TABLE OutboxEvents (
    OutboxEventId  INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    TenantId       BLOB    NOT NULL,
    FleetId        BLOB    NOT NULL,
    EventType      TEXT    NOT NULL CHECK (EventType IN ('InvalidationCompleted', 'EdgeAdded', 'EdgeChanged', 'EdgeRemoved',
                                                         'NodeUnpinned', 'BaseConfidenceChanged', 'RuleVersionAdded',
                                                         'RevalidationRequested', 'RevalidationCompleted',
                                                         'WebhookDelivery')),
    SubjectId      BLOB    NOT NULL,
    CreatedAt      INTEGER NOT NULL,
    Lane           BLOB,
    CauseEvent     INTEGER,
    EventState     TEXT    NOT NULL DEFAULT 'Pending' CHECK (EventState IN ('Pending', 'Done', 'Dead')),
    Attempts       INTEGER NOT NULL DEFAULT 0,
    AvailableAt    INTEGER,
    LeaseOwner     TEXT,
    LeaseExpiresAt INTEGER,
    LastError      TEXT,
    HandledAt      INTEGER CHECK ((HandledAt IS NULL) = (EventState = 'Pending'))
) STRICT;

CREATE INDEX IX_OutboxEvents_Pending ON OutboxEvents (TenantId, FleetId, Lane, OutboxEventId) WHERE EventState = 'Pending';
CREATE INDEX IX_OutboxEvents_Line ON OutboxEvents (OutboxEventId) WHERE EventState = 'Pending';
CREATE INDEX IX_OutboxEvents_Leased ON OutboxEvents (LeaseOwner) WHERE LeaseOwner IS NOT NULL;
CREATE INDEX IX_OutboxEvents_Handled ON OutboxEvents (EventState, HandledAt) WHERE HandledAt IS NOT NULL;
CREATE INDEX IX_OutboxEvents_Scope ON OutboxEvents (TenantId, FleetId, OutboxEventId);

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
