-- The outbox: events join the caller's transaction, workers lease them line by line (SEMANTICS 6, Retry).
DECLARE @after_event BIGINT, @after_id UNIQUEIDENTIFIER, @after_time DATETIME2(6), @attempts INT,
        @available_at DATETIME2(6), @before_time DATETIME2(6), @created_at DATETIME2(6), @event_state VARCHAR(20),
        @event_type VARCHAR(30), @event_types VARCHAR(200), @expires_at DATETIME2(6), @fleet_id UNIQUEIDENTIFIER,
        @handled_at DATETIME2(6), @last_error NVARCHAR(4000), @limit BIGINT, @line_fleet_id UNIQUEIDENTIFIER,
        @line_lane UNIQUEIDENTIFIER, @line_tenant_id UNIQUEIDENTIFIER, @longest_lease DATETIME2(6),
        @longest_wait DATETIME2(6), @now DATETIME2(6), @outbox_event BIGINT, @owner NVARCHAR(512), @secret NVARCHAR(400),
        @subject_id UNIQUEIDENTIFIER, @tenant_id UNIQUEIDENTIFIER, @url NVARCHAR(4000), @webhook_id UNIQUEIDENTIFIER;

-- name: outbox_add
INSERT INTO dbo.OutboxEvents (TenantId, FleetId, EventType, SubjectId, CreatedAt)
VALUES (@tenant_id, @fleet_id, @event_type, @subject_id, @created_at);

-- name: outbox_add_done
-- An event that is only told, and asks for no work.
INSERT INTO dbo.OutboxEvents (TenantId, FleetId, EventType, SubjectId, CreatedAt, EventState, HandledAt)
VALUES (@tenant_id, @fleet_id, @event_type, @subject_id, @created_at, 'Done', @created_at);

-- name: outbox_last
-- The newest event of the fleet.
SELECT MAX(o.OutboxEventId) AS LastEvent
FROM dbo.OutboxEvents AS o
WHERE o.TenantId = @tenant_id AND o.FleetId = @fleet_id;

-- name: outbox_find
SELECT o.OutboxEventId, o.EventType, o.SubjectId, o.CreatedAt, o.Lane, o.CauseEvent, o.EventState, o.Attempts,
       o.AvailableAt, o.LeaseOwner, o.LeaseExpiresAt, o.LastError, o.HandledAt
FROM dbo.OutboxEvents AS o
WHERE o.OutboxEventId = @outbox_event AND o.TenantId = @tenant_id AND o.FleetId = @fleet_id;

-- name: outbox_page
-- Events of the fleet in one state, oldest first, after a given one.
SELECT TOP (@limit) o.OutboxEventId, o.EventType, o.SubjectId, o.CreatedAt, o.Lane, o.CauseEvent, o.EventState, o.Attempts,
       o.AvailableAt, o.LeaseOwner, o.LeaseExpiresAt, o.LastError, o.HandledAt
FROM dbo.OutboxEvents AS o
WHERE o.TenantId = @tenant_id AND o.FleetId = @fleet_id
  AND (@event_state IS NULL OR o.EventState = @event_state)
  AND o.OutboxEventId > @after_event
ORDER BY o.OutboxEventId;

-- name: outbox_stream
-- What a fleet is told, in order, after a given event.
SELECT TOP (@limit) o.OutboxEventId, o.EventType, o.SubjectId, o.CreatedAt, o.Lane, o.CauseEvent, o.EventState, o.Attempts,
       o.AvailableAt, o.LeaseOwner, o.LeaseExpiresAt, o.LastError, o.HandledAt
FROM dbo.OutboxEvents AS o
WHERE o.TenantId = @tenant_id AND o.FleetId = @fleet_id
  AND o.EventType IN ('InvalidationCompleted', 'RevalidationCompleted')
  AND o.OutboxEventId > @after_event
ORDER BY o.OutboxEventId;

-- name: outbox_progress
-- Part of the work is done, by whoever still holds the event; what it has cost before is forgotten.
UPDATE dbo.OutboxEvents
SET Attempts = 0
WHERE OutboxEventId = @outbox_event AND TenantId = @tenant_id AND FleetId = @fleet_id
  AND EventState = 'Pending' AND LeaseOwner = @owner;

-- name: outbox_settle
-- The event is handled, by whoever still holds it.
UPDATE dbo.OutboxEvents
SET EventState = 'Done', HandledAt = @handled_at, LeaseOwner = NULL, LeaseExpiresAt = NULL
WHERE OutboxEventId = @outbox_event AND TenantId = @tenant_id AND FleetId = @fleet_id
  AND EventState = 'Pending' AND LeaseOwner = @owner;

-- name: outbox_retry
-- By an operator's wish: from the beginning, at once.
UPDATE dbo.OutboxEvents
SET EventState = 'Pending', Attempts = 0, AvailableAt = NULL, HandledAt = NULL
WHERE OutboxEventId = @outbox_event AND TenantId = @tenant_id AND FleetId = @fleet_id
  AND (EventState = 'Dead' OR (EventState = 'Pending' AND AvailableAt IS NOT NULL));

-- name: outbox_fan_out
-- One delivery for each subscription of the fleet that wants the event.
INSERT INTO dbo.OutboxEvents (TenantId, FleetId, EventType, SubjectId, CreatedAt, Lane, CauseEvent)
SELECT o.TenantId, o.FleetId, 'WebhookDelivery', w.WebhookId, @created_at, w.WebhookId, o.OutboxEventId
FROM dbo.OutboxEvents AS o
JOIN dbo.Webhooks AS w ON w.TenantId = o.TenantId AND w.FleetId = o.FleetId
WHERE o.OutboxEventId = @outbox_event AND o.TenantId = @tenant_id AND o.FleetId = @fleet_id
  AND (w.EventTypes IS NULL OR ',' + w.EventTypes + ',' LIKE '%,' + o.EventType + ',%');

-- name: outbox_next_line
-- The line with the oldest event that can be worked on, and that nobody holds. What lies further ahead than any lease or
-- wait can reach was written by a clock gone astray, and is over.
SELECT TOP (1) o.TenantId, o.FleetId, o.Lane
FROM dbo.OutboxEvents AS o
WHERE o.EventState = 'Pending'
  AND (o.AvailableAt IS NULL OR o.AvailableAt <= @now OR o.AvailableAt > @longest_wait)
  AND NOT EXISTS (SELECT 1
                  FROM dbo.OutboxEvents AS h
                  WHERE h.EventState = 'Pending' AND h.TenantId = o.TenantId AND h.FleetId = o.FleetId
                    AND EXISTS (SELECT h.Lane INTERSECT SELECT o.Lane) AND h.LeaseOwner IS NOT NULL
                    AND h.LeaseExpiresAt > @now AND h.LeaseExpiresAt <= @longest_lease)
ORDER BY o.OutboxEventId;

-- name: outbox_charge
-- A line that is found with a lease run out has cost a worker: that counts as an attempt of the first event leased, which
-- was the one being worked on.
UPDATE dbo.OutboxEvents
SET Attempts = Attempts + 1
WHERE OutboxEventId = (
    SELECT MIN(o.OutboxEventId)
    FROM dbo.OutboxEvents AS o
    WHERE o.EventState = 'Pending' AND o.TenantId = @line_tenant_id AND o.FleetId = @line_fleet_id
      AND EXISTS (SELECT o.Lane INTERSECT SELECT @line_lane) AND o.LeaseOwner IS NOT NULL);

-- name: outbox_claim
-- The oldest events of a line.
UPDATE dbo.OutboxEvents
SET LeaseOwner = @owner, LeaseExpiresAt = @expires_at
WHERE EventState = 'Pending' AND OutboxEventId IN (
    SELECT TOP (@limit) o.OutboxEventId
    FROM dbo.OutboxEvents AS o
    WHERE o.EventState = 'Pending' AND o.TenantId = @line_tenant_id AND o.FleetId = @line_fleet_id
      AND EXISTS (SELECT o.Lane INTERSECT SELECT @line_lane)
      AND (o.AvailableAt IS NULL OR o.AvailableAt <= @now OR o.AvailableAt > @longest_wait)
    ORDER BY o.OutboxEventId);

-- name: outbox_claimed
-- What an owner holds, in order.
SELECT o.TenantId, o.FleetId, o.OutboxEventId, o.EventType, o.SubjectId, o.CreatedAt, o.Lane, o.CauseEvent, o.Attempts
FROM dbo.OutboxEvents AS o
WHERE o.LeaseOwner = @owner AND o.EventState = 'Pending'
ORDER BY o.OutboxEventId;

-- name: outbox_heartbeat
UPDATE dbo.OutboxEvents
SET LeaseExpiresAt = @expires_at
WHERE LeaseOwner = @owner AND EventState = 'Pending';

-- name: outbox_release
UPDATE dbo.OutboxEvents
SET LeaseOwner = NULL, LeaseExpiresAt = NULL
WHERE LeaseOwner = @owner AND EventState = 'Pending';

-- name: outbox_fail
-- What is to become of an event that could not be handled: another attempt later, or the dead letters.
UPDATE dbo.OutboxEvents
SET EventState = @event_state, Attempts = @attempts, AvailableAt = @available_at, HandledAt = @handled_at,
    LastError = @last_error, LeaseOwner = NULL, LeaseExpiresAt = NULL
WHERE OutboxEventId = @outbox_event AND LeaseOwner = @owner AND EventState = 'Pending';

-- name: outbox_deliver
-- A delivery that was answered, where no other transaction is open.
UPDATE dbo.OutboxEvents
SET EventState = 'Done', HandledAt = @handled_at, LeaseOwner = NULL, LeaseExpiresAt = NULL
WHERE OutboxEventId = @outbox_event AND LeaseOwner = @owner AND EventState = 'Pending';

-- name: outbox_clean
-- Handled events of long ago, a few at a time.
DELETE FROM dbo.OutboxEvents
WHERE OutboxEventId IN (
    SELECT TOP (@limit) o.OutboxEventId
    FROM dbo.OutboxEvents AS o
    WHERE o.EventState = 'Done' AND o.HandledAt < @before_time
    ORDER BY o.HandledAt);

-- name: outbox_measure
-- Over all fleets: how many events are in which state, and since when the oldest waits.
SELECT o.EventState, CASE WHEN o.LeaseOwner IS NULL THEN 0 ELSE 1 END AS IsLeased, COUNT(*) AS Amount,
       MIN(o.CreatedAt) AS OldestAt
FROM dbo.OutboxEvents AS o
WHERE o.EventState IN ('Pending', 'Dead')
GROUP BY o.EventState, CASE WHEN o.LeaseOwner IS NULL THEN 0 ELSE 1 END
ORDER BY o.EventState, CASE WHEN o.LeaseOwner IS NULL THEN 0 ELSE 1 END;

-- name: outbox_recent
-- The events handled last, over all fleets: when each was written and when it was handled.
SELECT TOP (@limit) o.CreatedAt, o.HandledAt
FROM dbo.OutboxEvents AS o
WHERE o.EventState = 'Done' AND o.HandledAt >= @after_time AND o.EventType <> 'RevalidationCompleted'
ORDER BY o.HandledAt DESC;

-- name: webhook_insert
INSERT INTO dbo.Webhooks (WebhookId, TenantId, FleetId, Url, Secret, EventTypes, CreatedAt, WebhookIdText)
VALUES (@webhook_id, @tenant_id, @fleet_id, @url, @secret, @event_types, @created_at, LOWER(CONVERT(CHAR(36), @webhook_id)));

-- name: webhook_find
SELECT w.WebhookId, w.Url, w.Secret, w.EventTypes, w.CreatedAt
FROM dbo.Webhooks AS w
WHERE w.WebhookId = @webhook_id AND w.TenantId = @tenant_id AND w.FleetId = @fleet_id;

-- name: webhook_page
SELECT TOP (@limit) w.WebhookId, w.Url, w.Secret, w.EventTypes, w.CreatedAt
FROM dbo.Webhooks AS w
WHERE w.TenantId = @tenant_id AND w.FleetId = @fleet_id AND (@after_id IS NULL OR w.WebhookIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY w.WebhookIdText;

-- name: webhook_delete
-- Its deliveries find no subscription any more, and end.
DELETE FROM dbo.Webhooks
WHERE WebhookId = @webhook_id AND TenantId = @tenant_id AND FleetId = @fleet_id;
