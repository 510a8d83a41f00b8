-- How a session takes its scope, its turn and its stamp. What only this engine runs.
DECLARE @as_of DATETIME2(6), @fleet_id UNIQUEIDENTIFIER, @mode VARCHAR(20), @resource NVARCHAR(255),
        @run_id UNIQUEIDENTIFIER, @tenant_id UNIQUEIDENTIFIER, @wait INT, @Result INT, @Stamp DATETIME2(6);

-- name: scope_enter
-- What the security policy lets the session see from here on.
EXEC sp_set_session_context @key = N'TenantId', @value = @tenant_id;
EXEC sp_set_session_context @key = N'FleetId', @value = @fleet_id;

-- name: scope_enter_all
-- For the service itself, where it asks across fleets.
EXEC sp_set_session_context @key = N'EveryFleet', @value = 1;

-- name: turn_take
-- Wait for a turn: Exclusive to write for a fleet, Shared to wait for its writers only. Below 0: it did not come in time.
EXEC @Result = sp_getapplock @Resource = @resource, @LockMode = @mode, @LockOwner = 'Session', @LockTimeout = @wait;
SELECT @Result AS Result;

-- name: turn_end
EXEC @Result = sp_releaseapplock @Resource = @resource, @LockOwner = 'Session';
SELECT @Result AS Result;

-- name: clock_open
-- The stamp of the transaction that has just begun.
EXEC dbo.TakeStamp @tenant_id, @fleet_id, @Stamp OUTPUT;
SELECT @Stamp AS StampAt;

-- name: clock_now
-- The clock, or the stamp of the last commit where that is later.
SELECT MAX(t.NowAt) AS NowAt
FROM (SELECT CAST(SYSUTCDATETIME() AS DATETIME2(6)) AS NowAt
      UNION ALL
      SELECT k.ValidFrom
      FROM dbo.FleetClocks AS k
      WHERE k.TenantId = @tenant_id AND k.FleetId = @fleet_id) AS t;

-- name: clock_promise
-- Every later stamp exceeds a time that was answered for.
UPDATE dbo.FleetPromises
SET AsOf = @as_of
WHERE FleetPromises.TenantId = @tenant_id AND FleetPromises.FleetId = @fleet_id AND FleetPromises.AsOf < @as_of;

-- name: cascade_run
-- Carry out a run that is recorded in the open transaction.
EXEC dbo.InvalidateMemoryGraph @TenantId = @tenant_id, @FleetId = @fleet_id, @RootNodeId = NULL, @Reason = NULL,
     @RunId = @run_id;
