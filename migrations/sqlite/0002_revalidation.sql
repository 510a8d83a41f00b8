ALTER TABLE OutboxEvents RENAME TO OutboxEventsBefore;

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

INSERT INTO OutboxEvents (OutboxEventId, TenantId, FleetId, EventType, SubjectId, CreatedAt)
SELECT o.OutboxEventId, o.TenantId, o.FleetId, o.EventType, o.SubjectId, o.CreatedAt
FROM OutboxEventsBefore AS o;

DROP TABLE OutboxEventsBefore;

CREATE INDEX IX_OutboxEvents_Pending ON OutboxEvents (TenantId, FleetId, Lane, OutboxEventId) WHERE EventState = 'Pending';
CREATE INDEX IX_OutboxEvents_Line ON OutboxEvents (OutboxEventId) WHERE EventState = 'Pending';
CREATE INDEX IX_OutboxEvents_Leased ON OutboxEvents (LeaseOwner) WHERE LeaseOwner IS NOT NULL;
CREATE INDEX IX_OutboxEvents_Handled ON OutboxEvents (EventState, HandledAt) WHERE HandledAt IS NOT NULL;
CREATE INDEX IX_OutboxEvents_Scope ON OutboxEvents (TenantId, FleetId, OutboxEventId);

-- Second looks at nodes whose ground may have changed (SEMANTICS 6), what came of them, and what waits for a decision.
CREATE TABLE RevalidationRuns (
    RevalidationRunId BLOB    NOT NULL CHECK (length(RevalidationRunId) = 16),
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    Cause             TEXT    NOT NULL CHECK (Cause IN ('Invalidation', 'Edge', 'Pin', 'BaseConfidence', 'Rule', 'Correction',
                                                        'Decision', 'ByHand')),
    InvalidationRunId BLOB,
    Reason            TEXT,
    EffectiveTime     INTEGER NOT NULL,
    InvalidSince      INTEGER NOT NULL,
    RunStatus         TEXT    NOT NULL CHECK (RunStatus IN ('Pending', 'Completed', 'Superseded')),
    SupersededByRunId BLOB    CHECK ((SupersededByRunId IS NULL) = (RunStatus <> 'Superseded')),
    RequestedAt       INTEGER NOT NULL,
    CommittedAt       INTEGER CHECK ((CommittedAt IS NULL) = (RunStatus = 'Pending')),
    OutboxEvent       INTEGER,
    PRIMARY KEY (RevalidationRunId, TenantId, FleetId)
) STRICT;

CREATE INDEX IX_RevalidationRuns_Scope ON RevalidationRuns (TenantId, FleetId, RequestedAt);
CREATE INDEX IX_RevalidationRuns_Invalidation ON RevalidationRuns (InvalidationRunId) WHERE InvalidationRunId IS NOT NULL;
CREATE INDEX IX_RevalidationRuns_Event ON RevalidationRuns (OutboxEvent) WHERE OutboxEvent IS NOT NULL;

-- What a run that is not finished has still to do. Footing says on what a node is spared some rules; OldStatus is the status
-- before the run that named it.
CREATE TABLE RevalidationScope (
    RevalidationRunId BLOB    NOT NULL,
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    MemoryNodeId      BLOB    NOT NULL,
    Footing           TEXT    CHECK (Footing IN ('Corrected', 'Accepted')),
    OldStatus         INTEGER,
    IsPending         INTEGER NOT NULL CHECK (IsPending IN (0, 1)),
    PRIMARY KEY (RevalidationRunId, MemoryNodeId, TenantId, FleetId),
    FOREIGN KEY (RevalidationRunId, TenantId, FleetId)
        REFERENCES RevalidationRuns (RevalidationRunId, TenantId, FleetId)
) STRICT, WITHOUT ROWID;

-- What a run found at each node it looked at. Decision, DecidedBy, Explanation and Certainty are those of a person or agent.
CREATE TABLE RevalidationDecisions (
    RevalidationRunId BLOB    NOT NULL,
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    MemoryNodeId      BLOB    NOT NULL,
    Outcome           TEXT    NOT NULL CHECK (Outcome IN ('Restored', 'RemainsValid', 'StillInvalid', 'NeedsReview',
                                                          'AwaitingAgent')),
    ReviewReason      TEXT    CHECK (ReviewReason IN ('PartialSupport', 'Contradiction', 'CircularSupport', 'Requested')),
    OldStatus         INTEGER NOT NULL,
    NewStatus         INTEGER NOT NULL,
    OldConfidence     REAL    NOT NULL,
    NewConfidence     REAL    NOT NULL,
    Decision          TEXT    CHECK (Decision IN ('Correct', 'Accept', 'Reject', 'Supersede')),
    DecidedBy         TEXT,
    Explanation       TEXT,
    Certainty         REAL,
    DecidedAt         INTEGER NOT NULL,
    PRIMARY KEY (RevalidationRunId, MemoryNodeId, TenantId, FleetId),
    FOREIGN KEY (RevalidationRunId, TenantId, FleetId)
        REFERENCES RevalidationRuns (RevalidationRunId, TenantId, FleetId)
) STRICT, WITHOUT ROWID;

CREATE INDEX IX_RevalidationDecisions_Node ON RevalidationDecisions (MemoryNodeId, RevalidationRunId);

-- The cascades that went on from a run.
CREATE TABLE RevalidationChildren (
    RevalidationRunId BLOB    NOT NULL,
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    InvalidationRunId BLOB    NOT NULL,
    PRIMARY KEY (RevalidationRunId, InvalidationRunId, TenantId, FleetId),
    FOREIGN KEY (RevalidationRunId, TenantId, FleetId)
        REFERENCES RevalidationRuns (RevalidationRunId, TenantId, FleetId),
    FOREIGN KEY (InvalidationRunId, TenantId, FleetId)
        REFERENCES InvalidationRuns (InvalidationRunId, TenantId, FleetId)
) STRICT, WITHOUT ROWID;

-- What waits for a person (Review) or an agent (Task); at most one a node is open. Ground tells one state of a node's sources
-- from another. A task is leased to the agent that claimed it.
CREATE TABLE Reviews (
    ReviewId          BLOB    NOT NULL CHECK (length(ReviewId) = 16),
    TenantId          BLOB    NOT NULL,
    FleetId           BLOB    NOT NULL,
    GraphId           BLOB    NOT NULL,
    MemoryNodeId      BLOB    NOT NULL,
    ReviewKind        TEXT    NOT NULL CHECK (ReviewKind IN ('Review', 'Task')),
    ReviewReason      TEXT    CHECK (ReviewReason IN ('PartialSupport', 'Contradiction', 'CircularSupport', 'Requested')),
    Ground            TEXT,
    OpenedAt          INTEGER NOT NULL,
    ClosedAt          INTEGER,
    Resolution        TEXT    CHECK (Resolution IN ('Accept', 'Reject', 'Supersede', 'Correct', 'Resolved')),
    LeaseOwner        TEXT,
    LeaseExpiresAt    INTEGER,
    PRIMARY KEY (ReviewId, TenantId, FleetId),
    CHECK ((ClosedAt IS NULL) = (Resolution IS NULL))
) STRICT;

CREATE UNIQUE INDEX UX_Reviews_Open ON Reviews (MemoryNodeId, TenantId, FleetId) WHERE ClosedAt IS NULL;
CREATE INDEX IX_Reviews_Queue ON Reviews (TenantId, FleetId, ReviewKind, ReviewId) WHERE ClosedAt IS NULL;
CREATE INDEX IX_Reviews_Node ON Reviews (MemoryNodeId, OpenedAt);
CREATE INDEX IX_Reviews_Oldest ON Reviews (TenantId, FleetId, ReviewKind, OpenedAt, ReviewId) WHERE ClosedAt IS NULL;

-- A correction or an acceptance stands until the node's ground changes.
CREATE TABLE Footings (
    MemoryNodeId BLOB    NOT NULL,
    TenantId     BLOB    NOT NULL,
    FleetId      BLOB    NOT NULL,
    Footing      TEXT    NOT NULL CHECK (Footing IN ('Corrected', 'Accepted')),
    Ground       TEXT    NOT NULL,
    DecidedAt    INTEGER NOT NULL,
    PRIMARY KEY (MemoryNodeId, TenantId, FleetId)
) STRICT, WITHOUT ROWID;

-- Who is told of a fleet's events by signed requests. EventTypes is a list with commas, NULL for all.
CREATE TABLE Webhooks (
    WebhookId  BLOB    NOT NULL CHECK (length(WebhookId) = 16),
    TenantId   BLOB    NOT NULL,
    FleetId    BLOB    NOT NULL,
    Url        TEXT    NOT NULL,
    Secret     TEXT    NOT NULL,
    EventTypes TEXT,
    CreatedAt  INTEGER NOT NULL,
    PRIMARY KEY (WebhookId, TenantId, FleetId)
) STRICT;

CREATE INDEX IX_Webhooks_Scope ON Webhooks (TenantId, FleetId, WebhookId);
