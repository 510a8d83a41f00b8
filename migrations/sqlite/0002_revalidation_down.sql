DROP TABLE Webhooks;
DROP TABLE Footings;
DROP TABLE Reviews;
DROP TABLE RevalidationChildren;
DROP TABLE RevalidationDecisions;
DROP TABLE RevalidationScope;
DROP TABLE RevalidationRuns;

ALTER TABLE OutboxEvents RENAME TO OutboxEventsAfter;

CREATE TABLE OutboxEvents (
    OutboxEventId INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    TenantId      BLOB    NOT NULL,
    FleetId       BLOB    NOT NULL,
    EventType     TEXT    NOT NULL CHECK (EventType IN ('InvalidationCompleted', 'EdgeAdded', 'EdgeChanged', 'EdgeRemoved',
                                                        'NodeUnpinned', 'BaseConfidenceChanged', 'RuleVersionAdded')),
    SubjectId     BLOB    NOT NULL,
    CreatedAt     INTEGER NOT NULL
) STRICT;

INSERT INTO OutboxEvents (OutboxEventId, TenantId, FleetId, EventType, SubjectId, CreatedAt)
SELECT o.OutboxEventId, o.TenantId, o.FleetId, o.EventType, o.SubjectId, o.CreatedAt
FROM OutboxEventsAfter AS o
WHERE o.EventState = 'Pending'
  AND o.EventType NOT IN ('RevalidationRequested', 'RevalidationCompleted', 'WebhookDelivery');

DROP TABLE OutboxEventsAfter;
