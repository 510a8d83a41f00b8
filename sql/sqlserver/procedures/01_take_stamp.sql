-- The first act of every transaction that writes: takes the stamp that the server will give all its rows, and makes sure
-- that it exceeds every stamp and every answered time before it (SEMANTICS 5).
--
-- The caller holds the fleet's lock. Error 51503, or the server's own 13535: the clock has not passed the last stamp yet,
-- or was set back; the whole transaction is to be tried again, with a new begin.
CREATE PROCEDURE dbo.TakeStamp
    @TenantId UNIQUEIDENTIFIER,
    @FleetId  UNIQUEIDENTIFIER,
    @Stamp    DATETIME2(6) OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Last DATETIME2(6);

    SELECT @Last = MAX(t.Answered)
    FROM (SELECT k.ValidFrom AS Answered
          FROM dbo.FleetClocks AS k
          WHERE k.TenantId = @TenantId AND k.FleetId = @FleetId
          UNION ALL
          SELECT p.AsOf
          FROM dbo.FleetPromises AS p
          WHERE p.TenantId = @TenantId AND p.FleetId = @FleetId) AS t;

    UPDATE dbo.FleetClocks
    SET Writes = FleetClocks.Writes + 1
    WHERE FleetClocks.TenantId = @TenantId AND FleetClocks.FleetId = @FleetId;
    IF @@ROWCOUNT = 0
    BEGIN
        INSERT INTO dbo.FleetClocks (TenantId, FleetId, Writes) VALUES (@TenantId, @FleetId, 1);
        INSERT INTO dbo.FleetPromises (TenantId, FleetId, AsOf) VALUES (@TenantId, @FleetId, '0001-01-01');
    END;

    SELECT @Stamp = k.ValidFrom
    FROM dbo.FleetClocks AS k
    WHERE k.TenantId = @TenantId AND k.FleetId = @FleetId;

    IF @Stamp <= @Last
        THROW 51503, 'The clock of the database has not passed the last stamp of the fleet yet.', 1;
END;
GO
