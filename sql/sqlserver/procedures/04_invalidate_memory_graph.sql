-- Cascading invalidation (SEMANTICS 4): request, run, impacts, node updates and the outbox event in one transaction.
--
--     DECLARE @RunId UNIQUEIDENTIFIER;
--     EXEC dbo.InvalidateMemoryGraph @TenantId, @FleetId, @RootNodeId, @Reason, @EffectiveTime, @RunId OUTPUT;
--
-- More roots come as a JSON array of ids in @RootNodeIds. @EffectiveTime NULL is now, @Policy and @Propagation NULL are those
-- on which the graphs of the roots agree. @DryRun computes the same report and changes nothing. With @Report = 1 it answers
-- two result sets: the run, and its impacts by depth and id.
--
-- The same roots, effective time and options return the first run, unless a root was restored since; so does the same
-- @IdempotencyKey. Pending runs that the request covers are superseded.
--
-- Called outside a transaction, it takes the fleet's lock, begins and commits its own. Inside one, the lock is the
-- transaction's, and commit or rollback the caller's. Without roots but with @RunId it carries out a run that the caller has
-- recorded in the open transaction; so the service calls it.
--
-- Errors: 51404 not known in this fleet, 51422 not valid, 51503 try the whole transaction again; and the server's own.
CREATE PROCEDURE dbo.InvalidateMemoryGraph
    @TenantId       UNIQUEIDENTIFIER,
    @FleetId        UNIQUEIDENTIFIER,
    @RootNodeId     UNIQUEIDENTIFIER,
    @Reason         NVARCHAR(4000),
    @EffectiveTime  DATETIMEOFFSET = NULL,
    @RunId          UNIQUEIDENTIFIER = NULL OUTPUT,
    @RootNodeIds    NVARCHAR(MAX) = NULL,
    @Status         VARCHAR(20) = 'Invalid',
    @Policy         VARCHAR(20) = NULL,
    @Propagation    VARCHAR(20) = NULL,
    @OverridePinned BIT = 0,
    @DryRun         BIT = 0,
    @IdempotencyKey NVARCHAR(255) = NULL,
    @Report         BIT = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    IF @RootNodeId IS NULL AND @RootNodeIds IS NULL AND @RunId IS NOT NULL
    BEGIN
        IF @@TRANCOUNT = 0
            THROW 51422, 'A recorded run is carried out in the transaction that records it.', 1;
        EXEC dbo.CascadeInvalidation @TenantId, @FleetId, @RunId;
        RETURN;
    END;

    DECLARE @Level TINYINT = CASE @Status WHEN 'Invalid' THEN 2 WHEN 'PotentiallyStale' THEN 1 END,
            @Time DATETIME2(6) = CAST(SWITCHOFFSET(@EffectiveTime, '+00:00') AS DATETIME2(6)),
            @IsOwn BIT = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END,
            @IsLocked BIT = 0, @Owner VARCHAR(20), @Resource NVARCHAR(255), @Result INT, @Message NVARCHAR(2048),
            @OldTenant SQL_VARIANT = SESSION_CONTEXT(N'TenantId'), @OldFleet SQL_VARIANT = SESSION_CONTEXT(N'FleetId'),
            @Stamp DATETIME2(6), @Since DATETIME2(6), @RequestId UNIQUEIDENTIFIER = NEWID(),
            @FirstRunId UNIQUEIDENTIFIER, @FirstFingerprint VARCHAR(64),
            @Named NVARCHAR(MAX), @Fingerprint CHAR(64), @Hash VARBINARY(32), @At INT = 1, @Byte INT;
    SET @RunId = NULL;

    IF @Level IS NULL
        THROW 51422, '@Status must be Invalid or PotentiallyStale.', 1;
    IF @Policy NOT IN ('evidential', 'strict')
        THROW 51422, '@Policy must be evidential or strict.', 1;
    IF @Propagation NOT IN ('frontier', 'transitive')
        THROW 51422, '@Propagation must be frontier or transitive.', 1;
    IF @Reason IS NULL OR DATALENGTH(@Reason) = 0
        THROW 51422, '@Reason must say why.', 1;
    IF @RootNodeIds IS NOT NULL AND ISJSON(@RootNodeIds) = 0
        THROW 51422, '@RootNodeIds must be a JSON array of ids.', 1;

    CREATE TABLE #Roots (MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, GraphId UNIQUEIDENTIFIER NULL);
    CREATE TABLE #Covered (RunId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY, InvalidSince DATETIME2(6) NOT NULL);
    INSERT INTO #Roots (MemoryNodeId)
    SELECT @RootNodeId WHERE @RootNodeId IS NOT NULL
    UNION
    SELECT CAST(j.value AS UNIQUEIDENTIFIER) FROM OPENJSON(COALESCE(@RootNodeIds, N'[]')) AS j;
    IF @@ROWCOUNT NOT BETWEEN 1 AND 1000
        THROW 51422, 'Name 1 to 1,000 roots.', 1;

    EXEC sp_set_session_context @key = N'TenantId', @value = @TenantId;
    EXEC sp_set_session_context @key = N'FleetId', @value = @FleetId;
    SET @Owner = CASE WHEN @IsOwn = 1 THEN 'Session' ELSE 'Transaction' END;
    SET @Resource = CONCAT(N'MemoryGraph/', LOWER(CONVERT(CHAR(36), @TenantId)),
                           N'/', LOWER(CONVERT(CHAR(36), @FleetId)));
    BEGIN TRY
        -- Before the transaction begins: then begin order is commit order (SEMANTICS 5).
        EXEC @Result = sp_getapplock @Resource = @Resource, @LockMode = 'Exclusive', @LockOwner = @Owner, @LockTimeout = 30000;
        IF @Result < 0
            THROW 51503, 'Other writers of the fleet have kept it busy for too long; try again shortly.', 2;
        SET @IsLocked = @IsOwn;
        IF @IsOwn = 1
            BEGIN TRANSACTION;
        ELSE IF @DryRun = 1
            SAVE TRANSACTION DryRun;
        EXEC dbo.TakeStamp @TenantId, @FleetId, @Stamp OUTPUT;

        IF @Time > @Stamp
            THROW 51422, '@EffectiveTime lies in the future.', 1;
        UPDATE r
        SET GraphId = n.GraphId
        FROM #Roots AS r
        JOIN dbo.MemoryNodes AS n ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = r.MemoryNodeId;
        IF EXISTS (SELECT 1 FROM #Roots AS r WHERE r.GraphId IS NULL)
        BEGIN
            SELECT @Message = CONCAT(N'Root node ', MIN(LOWER(CONVERT(CHAR(36), r.MemoryNodeId))), N' is not known here.')
            FROM #Roots AS r
            WHERE r.GraphId IS NULL;
            THROW 51404, @Message, 1;
        END;
        IF @Policy IS NULL AND 1 < (SELECT COUNT(DISTINCT g.Policy)
                                    FROM dbo.MemoryGraphs AS g
                                    WHERE g.TenantId = @TenantId AND g.FleetId = @FleetId
                                      AND g.GraphId IN (SELECT r.GraphId FROM #Roots AS r))
            THROW 51422, 'The graphs of the roots differ in their policy; choose one.', 1;
        IF @Propagation IS NULL AND 1 < (SELECT COUNT(DISTINCT g.Propagation)
                                         FROM dbo.MemoryGraphs AS g
                                         WHERE g.TenantId = @TenantId AND g.FleetId = @FleetId
                                           AND g.GraphId IN (SELECT r.GraphId FROM #Roots AS r))
            THROW 51422, 'The graphs of the roots differ in their propagation; choose one.', 1;
        SELECT @Policy = COALESCE(@Policy, MIN(g.Policy)), @Propagation = COALESCE(@Propagation, MIN(g.Propagation))
        FROM dbo.MemoryGraphs AS g
        WHERE g.TenantId = @TenantId AND g.FleetId = @FleetId
          AND g.GraphId IN (SELECT r.GraphId FROM #Roots AS r);

        -- The SHA-256 of what makes two requests the same, as the service writes it: in lower-case hexadecimal.
        SELECT @Named = STRING_AGG(CAST(LOWER(CONVERT(CHAR(36), r.MemoryNodeId)) AS NVARCHAR(MAX)), N',')
                        WITHIN GROUP (ORDER BY LOWER(CONVERT(CHAR(36), r.MemoryNodeId)))
        FROM #Roots AS r;
        SET @Named = CONCAT(@Status, N'|', COALESCE(CAST(DATEDIFF_BIG(MICROSECOND, '0001-01-01', @Time) AS NVARCHAR(20)), N''),
                            N'|', @Policy, N'|', @Propagation, N'|', CAST(@OverridePinned AS INT), N'|', @Named);
        SET @Hash = HASHBYTES('SHA2_256', CAST(@Named AS VARCHAR(MAX)));
        SET @Fingerprint = '';
        WHILE @At <= 32
        BEGIN
            SET @Byte = CAST(SUBSTRING(@Hash, @At, 1) AS INT);
            SET @Fingerprint = CONCAT(RTRIM(@Fingerprint), SUBSTRING('0123456789abcdef', @Byte / 16 + 1, 1),
                                      SUBSTRING('0123456789abcdef', @Byte % 16 + 1, 1));
            SET @At = @At + 1;
        END;

        -- The run of the same request, by its key or by what it asks.
        IF @IdempotencyKey IS NOT NULL
        BEGIN
            SELECT @FirstFingerprint = i.Fingerprint,
                   @FirstRunId = CAST(JSON_VALUE(CAST(CAST(i.Body AS VARCHAR(MAX)) AS NVARCHAR(MAX)), '$.runId')
                                      AS UNIQUEIDENTIFIER)
            FROM dbo.IdempotencyKeys AS i
            WHERE i.TenantId = @TenantId AND i.FleetId = @FleetId AND i.IdempotencyKey = @IdempotencyKey;
            IF @FirstFingerprint <> @Fingerprint
                THROW 51422, 'The idempotency key was used for another request; choose a new one.', 1;
        END;
        IF @FirstRunId IS NULL AND @Time IS NOT NULL
        BEGIN
            SELECT TOP (1) @FirstRunId = r.InvalidationRunId
            FROM dbo.InvalidationRequests AS q
            JOIN dbo.InvalidationRuns AS r
                ON r.TenantId = q.TenantId AND r.FleetId = q.FleetId AND r.InvalidationRequestId = q.InvalidationRequestId
            WHERE q.TenantId = @TenantId AND q.FleetId = @FleetId AND q.Fingerprint = @Fingerprint
            ORDER BY q.RequestedAt DESC;
            IF EXISTS (SELECT 1
                       FROM dbo.InvalidationRuns AS r
                       JOIN dbo.InvalidationImpacts AS i
                           ON i.TenantId = r.TenantId AND i.FleetId = r.FleetId
                           AND i.InvalidationRunId = r.InvalidationRunId
                       JOIN dbo.MemoryNodes FOR SYSTEM_TIME ALL AS n
                           ON n.TenantId = i.TenantId AND n.FleetId = i.FleetId AND n.MemoryNodeId = i.MemoryNodeId
                       WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @FirstRunId
                         AND i.Depth = 0 AND i.Carried > 0 AND n.ValidFrom > r.CommittedAt AND n.Status < i.NewStatus)
                SET @FirstRunId = NULL;
        END;

        IF @FirstRunId IS NOT NULL
            SET @RunId = @FirstRunId;
        ELSE
        BEGIN
            SET @RunId = NEWID();
            SET @Since = COALESCE(@Time, @Stamp);
            INSERT INTO dbo.InvalidationRequests (
                InvalidationRequestId, TenantId, FleetId, Reason, RequestedStatus, EffectiveTime, InvalidSince, Policy,
                Propagation, OverridePinned, IsDerived, Fingerprint, RequestedAt)
            VALUES (
                @RequestId, @TenantId, @FleetId, @Reason, @Level, @Since, @Since, @Policy,
                @Propagation, @OverridePinned, 0, CASE WHEN @Time IS NOT NULL THEN @Fingerprint END, @Stamp);
            INSERT INTO dbo.InvalidationRequestRoots (InvalidationRequestId, TenantId, FleetId, MemoryNodeId)
            SELECT @RequestId, @TenantId, @FleetId, r.MemoryNodeId
            FROM #Roots AS r;
            INSERT INTO dbo.InvalidationRuns (InvalidationRunId, TenantId, FleetId, InvalidationRequestId, RunStatus,
                                              CommittedAt, InvalidationRunIdText)
            VALUES (@RunId, @TenantId, @FleetId, @RequestId, 'Completed', @Stamp, LOWER(CONVERT(CHAR(36), @RunId)));

            -- Runs that have not begun and that this one covers end here, and hand on their earlier time.
            INSERT INTO #Covered (RunId, InvalidSince)
            SELECT r.InvalidationRunId, q.InvalidSince
            FROM dbo.InvalidationRuns AS r
            JOIN dbo.InvalidationRequests AS q
                ON q.TenantId = r.TenantId AND q.FleetId = r.FleetId AND q.InvalidationRequestId = r.InvalidationRequestId
            WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.RunStatus = 'Pending'
              AND q.EffectiveTime < @Since AND q.RequestedStatus <= @Level AND q.OverridePinned <= @OverridePinned
              AND (q.Policy = 'evidential' OR @Policy = 'strict')
              AND (q.Propagation = 'frontier' OR @Propagation = 'transitive')
              AND NOT EXISTS (SELECT 1
                              FROM dbo.InvalidationRequestRoots AS t
                              WHERE t.TenantId = q.TenantId AND t.FleetId = q.FleetId
                                AND t.InvalidationRequestId = q.InvalidationRequestId
                                AND t.MemoryNodeId NOT IN (SELECT m.MemoryNodeId FROM #Roots AS m));
            IF @@ROWCOUNT > 0
            BEGIN
                UPDATE dbo.InvalidationRequests
                SET InvalidSince = (SELECT MIN(c.InvalidSince) FROM #Covered AS c)
                WHERE InvalidationRequests.TenantId = @TenantId AND InvalidationRequests.FleetId = @FleetId
                  AND InvalidationRequests.InvalidationRequestId = @RequestId
                  AND InvalidationRequests.InvalidSince > (SELECT MIN(c.InvalidSince) FROM #Covered AS c);
                UPDATE r
                SET RunStatus = 'Superseded', SupersededByRunId = @RunId, CommittedAt = @Stamp
                FROM dbo.InvalidationRuns AS r
                JOIN #Covered AS c ON c.RunId = r.InvalidationRunId
                WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId;
            END;

            EXEC dbo.CascadeInvalidation @TenantId, @FleetId, @RunId;
            IF @IdempotencyKey IS NOT NULL AND @DryRun = 0
                INSERT INTO dbo.IdempotencyKeys (TenantId, FleetId, IdempotencyKey, Fingerprint, StatusCode, Body, CreatedAt)
                VALUES (@TenantId, @FleetId, @IdempotencyKey, @Fingerprint, 201,
                        CAST(CONCAT('{"runId":"', LOWER(CONVERT(CHAR(36), @RunId)), '"}') AS VARBINARY(MAX)), @Stamp);
        END;

        IF @IsOwn = 1 AND @DryRun = 0
        BEGIN
            -- Before the report, so that a slow reader holds up nobody.
            COMMIT TRANSACTION;
            EXEC sp_releaseapplock @Resource = @Resource, @LockOwner = 'Session';
            SET @IsLocked = 0;
        END;
        IF @Report = 1
        BEGIN
            SELECT r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason, q.RequestedStatus,
                   q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
            FROM dbo.InvalidationRuns AS r
            JOIN dbo.InvalidationRequests AS q
                ON q.TenantId = r.TenantId AND q.FleetId = r.FleetId AND q.InvalidationRequestId = r.InvalidationRequestId
            WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @RunId;

            SELECT i.MemoryNodeId, n.[Key], i.Depth, i.OldStatus, i.NewStatus, i.Outcome, i.ViaEdgeId, i.Component
            FROM dbo.InvalidationImpacts AS i
            LEFT JOIN dbo.MemoryNodes AS n
                ON n.TenantId = i.TenantId AND n.FleetId = i.FleetId AND n.MemoryNodeId = i.MemoryNodeId
            WHERE i.TenantId = @TenantId AND i.FleetId = @FleetId AND i.InvalidationRunId = @RunId
            ORDER BY i.Depth, i.MemoryNodeIdText;
        END;
        IF @DryRun = 1 AND @IsOwn = 0
            ROLLBACK TRANSACTION DryRun;
        IF @DryRun = 1 AND @IsOwn = 1
            ROLLBACK TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @IsOwn = 1 AND @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF @IsLocked = 1
            EXEC sp_releaseapplock @Resource = @Resource, @LockOwner = 'Session';
        EXEC sp_set_session_context @key = N'TenantId', @value = @OldTenant;
        EXEC sp_set_session_context @key = N'FleetId', @value = @OldFleet;
        THROW;
    END CATCH;

    IF @IsLocked = 1
        EXEC sp_releaseapplock @Resource = @Resource, @LockOwner = 'Session';
    EXEC sp_set_session_context @key = N'TenantId', @value = @OldTenant;
    EXEC sp_set_session_context @key = N'FleetId', @value = @OldFleet;
END;
GO
