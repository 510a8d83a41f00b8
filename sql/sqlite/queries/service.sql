-- name: idempotency_find
SELECT i.Fingerprint, i.StatusCode, i.Body
FROM IdempotencyKeys AS i
WHERE i.TenantId = :tenant_id AND i.FleetId = :fleet_id AND i.IdempotencyKey = :key;

-- name: idempotency_record
INSERT INTO IdempotencyKeys (TenantId, FleetId, IdempotencyKey, Fingerprint, StatusCode, Body, CreatedAt)
VALUES (:tenant_id, :fleet_id, :key, :fingerprint, :status_code, :body, :created_at);
