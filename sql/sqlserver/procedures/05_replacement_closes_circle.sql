-- Whether a superseded node still reaches its superseder over active edges but contradictions: then the replacement lies in a
-- circle and does not count (SEMANTICS 3). Goes on node by node, not path by path, and stops where it has arrived.
CREATE PROCEDURE dbo.ReplacementClosesCircle (
    @TenantId      UNIQUEIDENTIFIER,
    @FleetId       UNIQUEIDENTIFIER,
    @SupersededId  UNIQUEIDENTIFIER,
    @SupersederId  UNIQUEIDENTIFIER,
    @EffectiveTime DATETIME2(6))
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @Distance INT = 0, @Found INT = 1;
    CREATE TABLE #Reached (
        MemoryNodeId UNIQUEIDENTIFIER NOT NULL PRIMARY KEY,
        Distance     INT              NOT NULL
    );
    INSERT INTO #Reached (MemoryNodeId, Distance) VALUES (@SupersededId, 0);

    WHILE @Found > 0 AND NOT EXISTS (SELECT 1 FROM #Reached AS r WHERE r.MemoryNodeId = @SupersederId)
    BEGIN
        SET @Distance = @Distance + 1;
        INSERT INTO #Reached (MemoryNodeId, Distance)
        SELECT DISTINCT e.TargetNodeId, @Distance
        FROM #Reached AS r
        JOIN dbo.ActiveEdges AS e
            ON e.TenantId = @TenantId AND e.FleetId = @FleetId AND e.SourceNodeId = r.MemoryNodeId
        WHERE r.Distance = @Distance - 1 AND e.EdgeType <> 'Contradicts'
          AND e.ActiveFrom <= @EffectiveTime AND e.ActiveTo > @EffectiveTime
          AND NOT EXISTS (SELECT 1 FROM #Reached AS o WHERE o.MemoryNodeId = e.TargetNodeId)
        OPTION (LOOP JOIN);
        SET @Found = @@ROWCOUNT;
    END;

    SELECT COUNT(*) AS ClosesCircle FROM #Reached AS r WHERE r.MemoryNodeId = @SupersederId;
END;
GO
