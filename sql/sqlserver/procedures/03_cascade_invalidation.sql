-- The rounds of SEMANTICS 4 for one recorded run: computes the least fixpoint, records an impact for every node reached,
-- changes each node once, and tells the outbox. Runs in the caller's transaction, whose stamp is taken.
--
-- A round looks at the out-edges of the nodes that rose in the round before, each edge at most twice in a run (a node can
-- rise twice). LOOP JOIN: the work must follow what the round before reached, whatever the statistics say. The twin is
-- sql/sqlite/engine/cascade.sql, statement by statement.
CREATE PROCEDURE dbo.CascadeInvalidation
    @TenantId UNIQUEIDENTIFIER,
    @FleetId  UNIQUEIDENTIFIER,
    @RunId    UNIQUEIDENTIFIER
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Status TINYINT, @EffectiveTime DATETIME2(6), @InvalidSince DATETIME2(6), @IsStrict BIT, @IsTransitive BIT,
            @OverridePinned BIT, @IsDerived BIT, @Depth INT, @Found INT;

    SELECT @Status = q.RequestedStatus, @EffectiveTime = q.EffectiveTime, @InvalidSince = q.InvalidSince,
           @IsStrict = CASE WHEN q.Policy = 'strict' THEN 1 ELSE 0 END,
           @IsTransitive = CASE WHEN q.Propagation = 'transitive' THEN 1 ELSE 0 END,
           @OverridePinned = q.OverridePinned, @IsDerived = q.IsDerived
    FROM dbo.InvalidationRuns AS r
    JOIN dbo.InvalidationRequests AS q
        ON q.TenantId = r.TenantId AND q.FleetId = r.FleetId AND q.InvalidationRequestId = r.InvalidationRequestId
    WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @RunId;
    IF @Status IS NULL
        THROW 51404, 'The invalidation run is not known in this fleet.', 1;

    -- Every node the cascade has reached. Carried is C of SEMANTICS 4. Depth and ViaEdge tell of the round in which the
    -- node was first affected, ReachedDepth and ReachedVia of the first look at it, FiredDepth of the round in which it
    -- first fired. Edges stand here by the text of their id, by which the smallest is found.
    CREATE TABLE #Nodes (
        MemoryNodeId    UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        OldStatus       TINYINT          NOT NULL,
        OldInvalidation VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
        OldInvalidSince DATETIME2(6)     NULL,
        IsProtected     BIT              NOT NULL,
        IsRoot          BIT              NOT NULL,
        IsReexamined    BIT              NOT NULL,
        Carried         TINYINT          NOT NULL,
        Depth           INT              NOT NULL,
        ViaEdge         CHAR(36)         COLLATE Latin1_General_100_BIN2 NULL,
        ReachedDepth    INT              NOT NULL,
        ReachedVia      CHAR(36)         COLLATE Latin1_General_100_BIN2 NULL,
        FiredDepth      INT              NULL,
        NewStatus       TINYINT          NULL,
        NewInvalidation VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NULL,
        NewInvalidSince DATETIME2(6)     NULL,
        Component       INT              NULL
    );
    -- The nodes whose C rose in the round before: what the next round starts from.
    CREATE TABLE #Risen (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Carried      TINYINT          NOT NULL,
        StatusBefore TINYINT          NOT NULL,
        StatusAfter  TINYINT          NOT NULL,
        IsRoot       BIT              NOT NULL,
        Fires        BIT              NOT NULL,
        Depth        INT              NOT NULL,
        ViaEdge      CHAR(36)         COLLATE Latin1_General_100_BIN2 NULL
    );
    -- The edges looked at in this round, with what their source brings.
    CREATE TABLE #Looked (
        TargetNodeId UNIQUEIDENTIFIER NOT NULL,
        Edge         CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
        SourceNodeId UNIQUEIDENTIFIER NOT NULL,
        EdgeType     VARCHAR(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,
        SupportGroup NVARCHAR(513)    COLLATE Latin1_General_100_BIN2 NOT NULL,
        Carried      TINYINT          NOT NULL,
        StatusBefore TINYINT          NOT NULL,
        StatusAfter  TINYINT          NOT NULL,
        IsRoot       BIT              NOT NULL
    );
    -- Support groups of reached nodes; '' is the implicit group. Counted once, then kept up round by round: a hub whose
    -- sources fall one after another must not be counted again each time. A clustered key would be too long for some names.
    CREATE TABLE #Groups (
        TargetNodeId    UNIQUEIDENTIFIER NOT NULL,
        SupportGroup    NVARCHAR(513)    COLLATE Latin1_General_100_BIN2 NOT NULL,
        MinSupport      INT              NOT NULL,
        Members         INT              NOT NULL,
        InvalidMembers  INT              NOT NULL,
        DoubtfulMembers INT              NOT NULL,
        PRIMARY KEY NONCLUSTERED (TargetNodeId, SupportGroup)
    );
    -- Active Supersedes edges of nodes that fired, into nodes to which that can matter.
    CREATE TABLE #Replacements (
        Edge         CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY,
        SourceNodeId UNIQUEIDENTIFIER NOT NULL,
        TargetNodeId UNIQUEIDENTIFIER NOT NULL,
        Depth        INT              NOT NULL,
        IsFallen     BIT              NOT NULL
    );
    -- Nodes behind a replaced node.
    CREATE TABLE #Behind (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Distance     INT              NOT NULL
    );

    -- Round 0: every root that is not protected is affected.
    INSERT INTO #Nodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, IsReexamined, Carried,
                        Depth, ReachedDepth, FiredDepth)
    SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
           CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 1 ELSE 0 END, 1, 0,
           CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 0 ELSE @Status END, 0, 0,
           CASE WHEN (n.IsPinned = 0 OR @OverridePinned = 1) AND (@Status = 2 OR @IsTransitive = 1) THEN 0 END
    FROM dbo.InvalidationRuns AS r
    JOIN dbo.InvalidationRequestRoots AS t
        ON t.TenantId = r.TenantId AND t.FleetId = r.FleetId AND t.InvalidationRequestId = r.InvalidationRequestId
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = t.TenantId AND n.FleetId = t.FleetId AND n.MemoryNodeId = t.MemoryNodeId
    WHERE r.TenantId = @TenantId AND r.FleetId = @FleetId AND r.InvalidationRunId = @RunId;

    INSERT INTO #Risen (MemoryNodeId, Carried, StatusBefore, StatusAfter, IsRoot, Fires, Depth)
    SELECT c.MemoryNodeId, c.Carried, c.OldStatus, CASE WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
           1, CASE WHEN c.Carried = 2 OR @IsTransitive = 1 THEN 1 ELSE 0 END, 0
    FROM #Nodes AS c
    WHERE c.IsProtected = 0;

    SET @Depth = 0;
    WHILE 1 = 1
    BEGIN
        -- Active out-edges of the firing nodes that rose in the round before; contradictions count from both ends, and of
        -- roots also where they do not fire. Supersedes edges raise nothing: they are looked at when the rounds are over.
        TRUNCATE TABLE #Looked;
        INSERT INTO #Looked (TargetNodeId, Edge, SourceNodeId, EdgeType, SupportGroup, Carried, StatusBefore, StatusAfter,
                             IsRoot)
        SELECT e.TargetNodeId, e.MemoryEdgeIdText, e.SourceNodeId, e.EdgeType, e.SupportGroupExact, r.Carried,
               r.StatusBefore, r.StatusAfter, r.IsRoot
        FROM #Risen AS r
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = r.MemoryNodeId
        WHERE e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime AND e.EdgeType <> 'Supersedes'
          AND (r.Fires = 1 OR (r.IsRoot = 1 AND e.EdgeType = 'Contradicts'))
        UNION ALL
        SELECT e.SourceNodeId, e.MemoryEdgeIdText, e.TargetNodeId, e.EdgeType, N'', r.Carried,
               r.StatusBefore, r.StatusAfter, r.IsRoot
        FROM #Risen AS r
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.TargetNodeId = r.MemoryNodeId
            AND e.EdgeType = 'Contradicts'
        WHERE e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
          AND (r.Fires = 1 OR r.IsRoot = 1)
        OPTION (LOOP JOIN);
        IF @@ROWCOUNT = 0
            BREAK;
        SET @Depth = @Depth + 1;

        -- Nodes reached for the first time, with the smallest edge that reached them.
        INSERT INTO #Nodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, IsReexamined,
                            Carried, Depth, ViaEdge, ReachedDepth, ReachedVia)
        SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
               CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 1 ELSE 0 END, 0, 0,
               0, @Depth, l.ViaEdge, @Depth, l.ViaEdge
        FROM (SELECT k.TargetNodeId, MIN(k.Edge) AS ViaEdge
              FROM #Looked AS k
              WHERE NOT EXISTS (SELECT 1 FROM #Nodes AS c WHERE c.MemoryNodeId = k.TargetNodeId)
              GROUP BY k.TargetNodeId) AS l
        JOIN dbo.MemoryNodes AS n
            ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = l.TargetNodeId
        OPTION (LOOP JOIN);

        -- Most rounds of a long chain of requirements look at no support at all.
        IF EXISTS (SELECT 1 FROM #Looked AS k WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom'))
        BEGIN
            -- Groups counted in an earlier round lose the members that fell in the round before. DoubtfulMembers is kept
            -- right under transitive propagation only, the one that reads it.
            UPDATE g
            SET InvalidMembers = g.InvalidMembers + d.Fallen,
                DoubtfulMembers = g.DoubtfulMembers + d.Doubted
            FROM #Groups AS g
            JOIN (SELECT m.TargetNodeId, m.SupportGroup,
                         SUM(CASE WHEN m.StatusBefore < 2 AND m.StatusAfter = 2 THEN 1 ELSE 0 END) AS Fallen,
                         SUM(CASE WHEN m.StatusBefore = 0 AND m.StatusAfter > 0 THEN 1 ELSE 0 END) AS Doubted
                  FROM (SELECT DISTINCT k.TargetNodeId, k.SupportGroup, k.SourceNodeId, k.StatusBefore, k.StatusAfter
                        FROM #Looked AS k
                        WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')) AS m
                  GROUP BY m.TargetNodeId, m.SupportGroup) AS d
                ON d.TargetNodeId = g.TargetNodeId AND d.SupportGroup = g.SupportGroup
            OPTION (LOOP JOIN);

            -- All support groups of targets looked at through one for the first time, as the round before left their
            -- members. Two edges of one source in one group are one member.
            INSERT INTO #Groups (TargetNodeId, SupportGroup, MinSupport, Members, InvalidMembers, DoubtfulMembers)
            SELECT m.TargetNodeId, m.SupportGroup, MAX(m.MinSupport), COUNT(*),
                   SUM(CASE WHEN m.Status = 2 THEN 1 ELSE 0 END), SUM(CASE WHEN m.Status > 0 THEN 1 ELSE 0 END)
            FROM (SELECT e.TargetNodeId, e.SupportGroupExact AS SupportGroup, e.SourceNodeId,
                         MAX(e.MinSupport) AS MinSupport,
                         MAX(CASE WHEN c.Carried > n.Status THEN c.Carried ELSE n.Status END) AS Status
                  FROM (SELECT DISTINCT k.TargetNodeId
                        FROM #Looked AS k
                        WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')
                          AND NOT EXISTS (SELECT 1 FROM #Groups AS g WHERE g.TargetNodeId = k.TargetNodeId)) AS t
                  JOIN dbo.ActiveEdges AS e
                      ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.TargetNodeId = t.TargetNodeId
                      AND e.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')
                  JOIN dbo.MemoryNodes AS n
                      ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = e.SourceNodeId
                  LEFT JOIN #Nodes AS c ON c.MemoryNodeId = e.SourceNodeId
                  WHERE e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
                  GROUP BY e.TargetNodeId, e.SupportGroupExact, e.SourceNodeId) AS m
            GROUP BY m.TargetNodeId, m.SupportGroup
            OPTION (LOOP JOIN);
        END;

        -- The targets whose C rises, by the highest of what their edges bring.
        TRUNCATE TABLE #Risen;
        INSERT INTO #Risen (MemoryNodeId, Carried, StatusBefore, StatusAfter, IsRoot, Fires, Depth, ViaEdge)
        SELECT c.MemoryNodeId, v.Carried,
               CASE WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
               CASE WHEN v.Carried > c.OldStatus THEN v.Carried ELSE c.OldStatus END,
               c.IsRoot,
               CASE WHEN v.Carried = 2 OR @IsTransitive = 1 THEN 1 ELSE 0 END,
               CASE WHEN c.Carried = 0 THEN @Depth ELSE c.Depth END,
               CASE WHEN c.Carried = 0 THEN v.ViaEdge ELSE c.ViaEdge END
        FROM (SELECT k.TargetNodeId,
                     MIN(k.Edge) AS ViaEdge,
                     MAX(CASE
                         WHEN k.EdgeType IN ('Requires', 'ValidOnlyWhen') THEN k.Carried
                         WHEN k.EdgeType = 'Contradicts' THEN CASE WHEN k.Carried = 2 OR k.IsRoot = 1 THEN 1 ELSE 0 END
                         WHEN k.SupportGroup = N'' THEN CASE WHEN g.InvalidMembers = g.Members THEN 2
                                                             WHEN @IsStrict = 1 THEN k.Carried ELSE 1 END
                         WHEN g.Members - g.InvalidMembers < g.MinSupport THEN 2
                         WHEN @IsTransitive = 1 AND g.Members - g.DoubtfulMembers < g.MinSupport THEN 1
                         ELSE 0 END) AS Carried
              FROM #Looked AS k
              LEFT JOIN #Groups AS g ON g.TargetNodeId = k.TargetNodeId AND g.SupportGroup = k.SupportGroup
              GROUP BY k.TargetNodeId) AS v
        JOIN #Nodes AS c ON c.MemoryNodeId = v.TargetNodeId
        WHERE v.Carried > c.Carried AND c.IsProtected = 0
        OPTION (LOOP JOIN);
        IF @@ROWCOUNT = 0
            BREAK;

        UPDATE c
        SET Carried = r.Carried, Depth = r.Depth, ViaEdge = r.ViaEdge,
            FiredDepth = COALESCE(c.FiredDepth, CASE WHEN r.Fires = 1 THEN @Depth END)
        FROM #Nodes AS c
        JOIN #Risen AS r ON r.MemoryNodeId = c.MemoryNodeId
        OPTION (LOOP JOIN);
    END;

    -- What a fallen node superseded is to be re-examined, unless the replacement lies inside a circle (SEMANTICS 3).
    INSERT INTO #Replacements (Edge, SourceNodeId, TargetNodeId, Depth, IsFallen)
    SELECT e.MemoryEdgeIdText, e.SourceNodeId, e.TargetNodeId, s.FiredDepth + 1, CASE WHEN s.Carried = 2 THEN 1 ELSE 0 END
    FROM #Nodes AS s
    JOIN dbo.ActiveEdges AS e
        ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = s.MemoryNodeId AND e.EdgeType = 'Supersedes'
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = e.TargetNodeId
    WHERE s.FiredDepth IS NOT NULL AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
      AND (n.Invalidation = 'Derived' OR (n.IsPinned = 1 AND @OverridePinned = 0))
    OPTION (LOOP JOIN);
    IF @@ROWCOUNT > 0
    BEGIN
        -- Everything that lies behind a replaced node over active edges but contradictions: what can close a circle.
        INSERT INTO #Behind (MemoryNodeId, Distance) SELECT DISTINCT p.TargetNodeId, 0 FROM #Replacements AS p;
        SET @Depth = 0;
        SET @Found = 1;
        WHILE @Found > 0
        BEGIN
            SET @Depth = @Depth + 1;
            INSERT INTO #Behind (MemoryNodeId, Distance)
            SELECT DISTINCT e.TargetNodeId, @Depth
            FROM #Behind AS b
            JOIN dbo.ActiveEdges AS e
                ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = b.MemoryNodeId
            WHERE b.Distance = @Depth - 1 AND e.EdgeType <> 'Contradicts'
              AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
              AND NOT EXISTS (SELECT 1 FROM #Behind AS o WHERE o.MemoryNodeId = e.TargetNodeId)
            OPTION (LOOP JOIN);
            SET @Found = @@ROWCOUNT;
        END;

        -- A replacement closes a circle only where its source lies behind its target.
        IF EXISTS (SELECT 1 FROM #Replacements AS p JOIN #Behind AS b ON b.MemoryNodeId = p.SourceNodeId)
        BEGIN
            DELETE FROM dbo.CircleEdges WHERE CircleEdges.SessionId = @@SPID;
            INSERT INTO dbo.CircleEdges (SessionId, SourceNodeId, TargetNodeId)
            SELECT DISTINCT @@SPID, e.SourceNodeId, e.TargetNodeId
            FROM #Behind AS b
            JOIN dbo.ActiveEdges AS e
                ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = b.MemoryNodeId
            WHERE e.EdgeType <> 'Contradicts' AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
            OPTION (LOOP JOIN);
            EXEC dbo.FindCircles @SessionId = @@SPID;
            DELETE p
            FROM #Replacements AS p
            JOIN dbo.CircleNodes AS s ON s.SessionId = @@SPID AND s.MemoryNodeId = p.SourceNodeId
            JOIN dbo.CircleNodes AS t ON t.SessionId = @@SPID AND t.MemoryNodeId = p.TargetNodeId
            WHERE s.Circle = t.Circle;
        END;

        -- The first look at a node can have been over a replacement.
        UPDATE c
        SET ReachedDepth = p.Depth, ReachedVia = p.ViaEdge
        FROM #Nodes AS c
        JOIN (SELECT q.TargetNodeId, q.Depth, MIN(q.Edge) AS ViaEdge
              FROM #Replacements AS q
              WHERE q.Depth = (SELECT MIN(o.Depth) FROM #Replacements AS o WHERE o.TargetNodeId = q.TargetNodeId)
              GROUP BY q.TargetNodeId, q.Depth) AS p ON p.TargetNodeId = c.MemoryNodeId
        WHERE p.Depth < c.ReachedDepth OR (p.Depth = c.ReachedDepth AND p.ViaEdge < c.ReachedVia);

        INSERT INTO #Nodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, IsReexamined,
                            Carried, Depth, ReachedDepth, ReachedVia)
        SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
               CASE WHEN n.IsPinned = 1 AND @OverridePinned = 0 THEN 1 ELSE 0 END, 0, 0, 0, p.Depth, p.Depth, p.ViaEdge
        FROM (SELECT q.TargetNodeId, q.Depth, MIN(q.Edge) AS ViaEdge
              FROM #Replacements AS q
              WHERE q.Depth = (SELECT MIN(o.Depth) FROM #Replacements AS o WHERE o.TargetNodeId = q.TargetNodeId)
              GROUP BY q.TargetNodeId, q.Depth) AS p
        JOIN dbo.MemoryNodes AS n
            ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = p.TargetNodeId
        WHERE NOT EXISTS (SELECT 1 FROM #Nodes AS c WHERE c.MemoryNodeId = p.TargetNodeId);

        -- Looked at again is what is Invalid for want of ground only.
        UPDATE #Nodes
        SET IsReexamined = 1
        WHERE OldInvalidation = 'Derived' AND Carried < 2 AND IsProtected = 0
          AND MemoryNodeId IN (SELECT p.TargetNodeId FROM #Replacements AS p WHERE p.IsFallen = 1);
    END;

    -- The state every reached node is left in. Direct is what a caller's root becomes, derived or not before.
    UPDATE c
    SET NewStatus = CASE WHEN c.IsReexamined = 1 THEN 1 WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
        NewInvalidation = CASE WHEN c.IsReexamined = 1 THEN NULL
                               WHEN c.Carried = 2 AND c.IsRoot = 1 AND @Status = 2 AND @IsDerived = 0 THEN 'Direct'
                               WHEN c.Carried = 2 THEN COALESCE(c.OldInvalidation, 'Derived')
                               ELSE c.OldInvalidation END,
        NewInvalidSince = CASE WHEN c.IsReexamined = 1 THEN NULL
                               WHEN c.Carried = 2 AND (c.OldInvalidSince IS NULL OR c.OldInvalidSince > @InvalidSince)
                               THEN @InvalidSince
                               ELSE c.OldInvalidSince END,
        Depth = CASE WHEN c.IsReexamined = 1 OR c.IsProtected = 1 THEN c.ReachedDepth ELSE c.Depth END,
        ViaEdge = CASE WHEN c.IsReexamined = 1 OR c.IsProtected = 1 THEN c.ReachedVia ELSE c.ViaEdge END
    FROM #Nodes AS c;

    -- Circles among the affected nodes. Depth cannot rise along every edge of one, so without an edge that does not lead
    -- deeper there is none.
    IF EXISTS (SELECT 1
               FROM #Nodes AS s
               JOIN dbo.ActiveEdges AS e
                   ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = s.MemoryNodeId
               JOIN #Nodes AS t ON t.MemoryNodeId = e.TargetNodeId
               WHERE s.Carried > 0 AND t.Carried > 0 AND t.Depth <= s.Depth
                 AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
                 AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime)
    BEGIN
        DELETE FROM dbo.CircleEdges WHERE CircleEdges.SessionId = @@SPID;
        INSERT INTO dbo.CircleEdges (SessionId, SourceNodeId, TargetNodeId)
        SELECT DISTINCT @@SPID, e.SourceNodeId, e.TargetNodeId
        FROM #Nodes AS s
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = s.MemoryNodeId
        JOIN #Nodes AS t ON t.MemoryNodeId = e.TargetNodeId
        WHERE s.Carried > 0 AND t.Carried > 0
          AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
          AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
        OPTION (LOOP JOIN);
        EXEC dbo.FindCircles @SessionId = @@SPID;

        -- Numbered by their smallest id.
        UPDATE c
        SET Component = k.Number - 1
        FROM #Nodes AS c
        JOIN dbo.CircleNodes AS m ON m.SessionId = @@SPID AND m.MemoryNodeId = c.MemoryNodeId
        JOIN (SELECT f.Circle, ROW_NUMBER() OVER (ORDER BY f.First) AS Number
              FROM (SELECT o.Circle, MIN(LOWER(CONVERT(CHAR(36), o.MemoryNodeId))) AS First
                    FROM dbo.CircleNodes AS o
                    WHERE o.SessionId = @@SPID
                    GROUP BY o.Circle) AS f) AS k ON k.Circle = m.Circle;
        DELETE FROM dbo.CircleNodes WHERE CircleNodes.SessionId = @@SPID;
    END;

    INSERT INTO dbo.InvalidationImpacts (InvalidationRunId, TenantId, FleetId, Depth, MemoryNodeId, Carried, OldStatus,
                                         NewStatus, Outcome, ViaEdgeId, Component, MemoryNodeIdText)
    SELECT @RunId, @TenantId, @FleetId, c.Depth, c.MemoryNodeId, c.Carried, c.OldStatus, c.NewStatus,
           CASE WHEN c.IsProtected = 1 THEN 'SkippedPinned'
                WHEN c.IsReexamined = 1 THEN 'Reexamine'
                WHEN c.NewStatus = c.OldStatus THEN 'AlreadyAtStatus'
                WHEN c.NewStatus = 2 THEN 'Invalidated'
                ELSE 'MarkedPotentiallyStale' END,
           CONVERT(UNIQUEIDENTIFIER, c.ViaEdge), c.Component, LOWER(CONVERT(CHAR(36), c.MemoryNodeId))
    FROM #Nodes AS c
    WHERE c.Carried > 0 OR c.IsProtected = 1 OR c.IsReexamined = 1;

    -- One update per node row, and none where nothing changes.
    UPDATE n
    SET Status = c.NewStatus,
        Invalidation = c.NewInvalidation,
        InvalidSince = c.NewInvalidSince,
        UpdatedAt = k.ValidFrom,
        Version = n.Version + 1
    FROM #Nodes AS c
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = @TenantId AND n.FleetId = @FleetId AND n.MemoryNodeId = c.MemoryNodeId
    JOIN dbo.FleetClocks AS k ON k.TenantId = @TenantId AND k.FleetId = @FleetId
    WHERE c.NewStatus <> c.OldStatus
       OR EXISTS (SELECT c.NewInvalidation, c.NewInvalidSince EXCEPT SELECT c.OldInvalidation, c.OldInvalidSince)
    OPTION (LOOP JOIN);

    INSERT INTO dbo.OutboxEvents (TenantId, FleetId, EventType, SubjectId, CreatedAt)
    SELECT k.TenantId, k.FleetId, 'InvalidationCompleted', @RunId, k.ValidFrom
    FROM dbo.FleetClocks AS k
    WHERE k.TenantId = @TenantId AND k.FleetId = @FleetId;
END;
GO
