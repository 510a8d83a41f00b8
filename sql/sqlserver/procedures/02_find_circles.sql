-- Finds every node that lies on a circle of the edges in dbo.CircleEdges, and which of them can reach each other: the
-- strongly connected components of more than one node, in dbo.CircleNodes; of one session, the caller's. Uses up the edges.
--
-- What cannot lie on a circle is trimmed off, node by node, in time linear in the edges. Over what is left each node takes
-- the greatest label that reaches it; those that reach the bearer of their label are one component, and no component
-- crosses labels. Labels are as good as random, so expected rounds of labelling grow with the logarithm of the components.
-- LOOP JOIN: each round must cost what its front costs.
CREATE PROCEDURE dbo.FindCircles (
    @SessionId INT)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Found INT;

    CREATE TABLE #Live (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        EdgesIn      INT              NOT NULL,
        EdgesOut     INT              NOT NULL,
        Own          CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
        Label        CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL,
        IsMember     BIT              NOT NULL
    );
    CREATE TABLE #Front (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Label        CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL
    );
    CREATE TABLE #Next (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Label        CHAR(36)         COLLATE Latin1_General_100_BIN2 NOT NULL
    );

    DELETE FROM dbo.CircleNodes WHERE CircleNodes.SessionId = @SessionId;

    WHILE 1 = 1
    BEGIN
        TRUNCATE TABLE #Live;
        INSERT INTO #Live (MemoryNodeId, EdgesIn, EdgesOut, Own, Label, IsMember)
        SELECT b.MemoryNodeId, SUM(b.EdgesIn), SUM(b.EdgesOut), LOWER(CONVERT(CHAR(36), b.MemoryNodeId)),
               LOWER(CONVERT(CHAR(36), b.MemoryNodeId)), 0
        FROM (SELECT e.SourceNodeId AS MemoryNodeId, 0 AS EdgesIn, 1 AS EdgesOut
              FROM dbo.CircleEdges AS e
              WHERE e.SessionId = @SessionId
              UNION ALL
              SELECT e.TargetNodeId, 1, 0
              FROM dbo.CircleEdges AS e
              WHERE e.SessionId = @SessionId) AS b
        GROUP BY b.MemoryNodeId;
        IF @@ROWCOUNT = 0
            BREAK;

        -- Trim: a node without an edge in, or without one out, is on no circle; nor are its edges.
        TRUNCATE TABLE #Front;
        INSERT INTO #Front (MemoryNodeId, Label)
        SELECT l.MemoryNodeId, l.Label
        FROM #Live AS l
        WHERE l.EdgesIn = 0 OR l.EdgesOut = 0;
        SET @Found = @@ROWCOUNT;
        WHILE @Found > 0
        BEGIN
            UPDATE l
            SET EdgesIn = l.EdgesIn - d.Lost
            FROM #Live AS l
            JOIN (SELECT e.TargetNodeId, COUNT(*) AS Lost
                  FROM #Front AS f
                  JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.SourceNodeId = f.MemoryNodeId
                  GROUP BY e.TargetNodeId) AS d ON d.TargetNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            UPDATE l
            SET EdgesOut = l.EdgesOut - d.Lost
            FROM #Live AS l
            JOIN (SELECT e.SourceNodeId, COUNT(*) AS Lost
                  FROM #Front AS f
                  JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.TargetNodeId = f.MemoryNodeId
                  GROUP BY e.SourceNodeId) AS d ON d.SourceNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            DELETE l
            FROM #Live AS l
            JOIN #Front AS f ON f.MemoryNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Next;
            INSERT INTO #Next (MemoryNodeId, Label)
            SELECT l.MemoryNodeId, l.Label
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.SourceNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.TargetNodeId
            WHERE l.EdgesIn = 0
            UNION
            SELECT l.MemoryNodeId, l.Label
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.TargetNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.SourceNodeId
            WHERE l.EdgesOut = 0
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Front;
            INSERT INTO #Front (MemoryNodeId, Label) SELECT x.MemoryNodeId, x.Label FROM #Next AS x;
            SET @Found = @@ROWCOUNT;
        END;

        -- Label: forwards, the greatest wins.
        TRUNCATE TABLE #Front;
        INSERT INTO #Front (MemoryNodeId, Label) SELECT l.MemoryNodeId, l.Label FROM #Live AS l;
        SET @Found = @@ROWCOUNT;
        WHILE @Found > 0
        BEGIN
            TRUNCATE TABLE #Next;
            INSERT INTO #Next (MemoryNodeId, Label)
            SELECT e.TargetNodeId, MAX(f.Label)
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.SourceNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.TargetNodeId
            WHERE f.Label > l.Label
            GROUP BY e.TargetNodeId
            OPTION (LOOP JOIN);
            SET @Found = @@ROWCOUNT;

            UPDATE l
            SET Label = x.Label
            FROM #Live AS l
            JOIN #Next AS x ON x.MemoryNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Front;
            INSERT INTO #Front (MemoryNodeId, Label) SELECT x.MemoryNodeId, x.Label FROM #Next AS x;
        END;

        -- Collect: backwards from the bearers of their own label, within the label.
        TRUNCATE TABLE #Front;
        INSERT INTO #Front (MemoryNodeId, Label) SELECT l.MemoryNodeId, l.Label FROM #Live AS l WHERE l.Label = l.Own;
        SET @Found = @@ROWCOUNT;
        WHILE @Found > 0
        BEGIN
            UPDATE l
            SET IsMember = 1
            FROM #Live AS l
            JOIN #Front AS f ON f.MemoryNodeId = l.MemoryNodeId
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Next;
            INSERT INTO #Next (MemoryNodeId, Label)
            SELECT DISTINCT l.MemoryNodeId, l.Label
            FROM #Front AS f
            JOIN dbo.CircleEdges AS e ON e.SessionId = @SessionId AND e.TargetNodeId = f.MemoryNodeId
            JOIN #Live AS l ON l.MemoryNodeId = e.SourceNodeId
            WHERE l.Label = f.Label AND l.IsMember = 0
            OPTION (LOOP JOIN);

            TRUNCATE TABLE #Front;
            INSERT INTO #Front (MemoryNodeId, Label) SELECT x.MemoryNodeId, x.Label FROM #Next AS x;
            SET @Found = @@ROWCOUNT;
        END;

        INSERT INTO dbo.CircleNodes (SessionId, MemoryNodeId, Circle)
        SELECT @SessionId, l.MemoryNodeId, l.Label
        FROM #Live AS l
        JOIN (SELECT m.Label
              FROM #Live AS m
              WHERE m.IsMember = 1
              GROUP BY m.Label
              HAVING COUNT(*) > 1) AS c ON c.Label = l.Label
        WHERE l.IsMember = 1;

        -- Go on with the edges among nodes that are not settled and bear the same label.
        DELETE FROM dbo.CircleEdges
        WHERE CircleEdges.SessionId = @SessionId
          AND NOT EXISTS (SELECT 1
                          FROM #Live AS s
                          JOIN #Live AS t ON t.Label = s.Label
                          WHERE s.MemoryNodeId = CircleEdges.SourceNodeId AND t.MemoryNodeId = CircleEdges.TargetNodeId
                            AND s.IsMember = 0 AND t.IsMember = 0);
    END;
END;
GO
