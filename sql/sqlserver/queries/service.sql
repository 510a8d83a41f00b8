DECLARE @body VARBINARY(MAX), @created_at DATETIME2(6), @fingerprint VARCHAR(64), @fleet_id UNIQUEIDENTIFIER,
        @key NVARCHAR(255), @status_code INT, @tenant_id UNIQUEIDENTIFIER;

-- name: idempotency_find
SELECT i.Fingerprint, i.StatusCode, i.Body
FROM dbo.IdempotencyKeys AS i
WHERE i.TenantId = @tenant_id AND i.FleetId = @fleet_id AND i.IdempotencyKey = @key;

-- name: idempotency_record
INSERT INTO dbo.IdempotencyKeys (TenantId, FleetId, IdempotencyKey, Fingerprint, StatusCode, Body, CreatedAt)
VALUES (@tenant_id, @fleet_id, @key, @fingerprint, @status_code, @body, @created_at);
