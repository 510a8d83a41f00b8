DECLARE @fleet_id UNIQUEIDENTIFIER, @tenant_id UNIQUEIDENTIFIER;

-- name: clock_last
-- The stamp of the fleet's last commit that can be seen (SEMANTICS 5).
SELECT COALESCE(MAX(k.ValidFrom), CAST('1970-01-01' AS DATETIME2(6))) AS LastStampAt
FROM dbo.FleetClocks AS k
WHERE k.TenantId = @tenant_id AND k.FleetId = @fleet_id;
