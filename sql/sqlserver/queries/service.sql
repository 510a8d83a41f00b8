DECLARE @body VARBINARY(MAX), @created_at DATETIME2(6), @event_type VARCHAR(30), @fingerprint VARCHAR(64),
        @fleet_id UNIQUEIDENTIFIER, @key NVARCHAR(255), @status_code INT, @subject_id UNIQUEIDENTIFIER,
        @tenant_id UNIQUEIDENTIFIER;

-- name: outbox_add
INSERT INTO dbo.OutboxEvents (TenantId, FleetId, EventType, SubjectId, CreatedAt)
VALUES (@tenant_id, @fleet_id, @event_type, @subject_id, @created_at);

-- name: idempotency_find
SELECT i.Fingerprint, i.StatusCode, i.Body
FROM dbo.IdempotencyKeys AS i
WHERE i.TenantId = @tenant_id AND i.FleetId = @fleet_id AND i.IdempotencyKey = @key;

-- name: idempotency_record
INSERT INTO dbo.IdempotencyKeys (TenantId, FleetId, IdempotencyKey, Fingerprint, StatusCode, Body, CreatedAt)
VALUES (@tenant_id, @fleet_id, @key, @fingerprint, @status_code, @body, @created_at);
