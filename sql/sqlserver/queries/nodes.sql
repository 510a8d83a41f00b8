DECLARE @after_id UNIQUEIDENTIFIER, @after_time DATETIME2(6), @as_of DATETIME2(6), @base_confidence FLOAT,
        @category NVARCHAR(200), @confidence FLOAT, @created_at DATETIME2(6), @end_time DATETIME2(6),
        @fleet_id UNIQUEIDENTIFIER, @graph_id UNIQUEIDENTIFIER, @invalid_since DATETIME2(6), @invalidation VARCHAR(20),
        @is_pinned BIT, @key NVARCHAR(512), @limit BIGINT, @memory_node_id UNIQUEIDENTIFIER, @name NVARCHAR(512),
        @node_type NVARCHAR(200), @pin_reason NVARCHAR(4000), @pinned_by NVARCHAR(512), @start_time DATETIME2(6),
        @status TINYINT, @tenant_id UNIQUEIDENTIFIER, @updated_at DATETIME2(6);

-- name: node_insert
-- Versions go on where those of an earlier row of this id ended, so that no ETag stands for two rows.
INSERT INTO dbo.MemoryNodes (
    MemoryNodeId, TenantId, FleetId, [Key], GraphId, Name, NodeType, Category, Status, InvalidSince, Invalidation,
    Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt, Version, KeyExact, MemoryNodeIdText)
SELECT
    @memory_node_id, @tenant_id, @fleet_id, @key, @graph_id, @name, @node_type, @category, @status, @invalid_since,
    @invalidation, @confidence, @base_confidence, @is_pinned, @pinned_by, @pin_reason, @created_at, @updated_at,
    COALESCE((SELECT MAX(h.Version)
              FROM dbo.MemoryNodesHistory AS h
              WHERE h.MemoryNodeId = @memory_node_id AND h.TenantId = @tenant_id AND h.FleetId = @fleet_id), 0) + 1,
    ISNULL(@key + NCHAR(1), CONVERT(NCHAR(36), @memory_node_id)), LOWER(CONVERT(CHAR(36), @memory_node_id));

-- name: node_find
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, CAST(NULL AS DATETIME2(6)) AS ValidTo, n.Version
FROM dbo.MemoryNodes AS n
WHERE n.MemoryNodeId = @memory_node_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id;

-- name: node_page
-- By id, after a given one.
SELECT TOP (@limit) n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, CAST(NULL AS DATETIME2(6)) AS ValidTo, n.Version
FROM dbo.MemoryNodes AS n
WHERE n.GraphId = @graph_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
  AND (@key IS NULL OR n.KeyExact = @key + NCHAR(1))
  AND (@status IS NULL OR n.Status = @status)
  AND (@after_id IS NULL OR n.MemoryNodeIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY n.MemoryNodeIdText;

-- name: node_update
UPDATE n
SET Name = @name,
    NodeType = @node_type,
    Category = @category,
    Confidence = @confidence,
    BaseConfidence = @base_confidence,
    IsPinned = @is_pinned,
    PinnedBy = @pinned_by,
    PinReason = @pin_reason,
    UpdatedAt = k.ValidFrom,
    Version = n.Version + 1
FROM dbo.MemoryNodes AS n
JOIN dbo.FleetClocks AS k ON k.TenantId = n.TenantId AND k.FleetId = n.FleetId
WHERE n.MemoryNodeId = @memory_node_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id;

-- name: node_delete
DELETE FROM dbo.MemoryNodes
WHERE MemoryNodeId = @memory_node_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: node_history
-- Every version of a row, oldest first, after a given time.
SELECT TOP (@limit) n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM dbo.MemoryNodes FOR SYSTEM_TIME ALL AS n
WHERE n.MemoryNodeId = @memory_node_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.ValidFrom > @after_time
ORDER BY n.ValidFrom;

-- name: nodes_as_of
-- A graph's rows as the database knew them, by id.
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM dbo.MemoryNodes FOR SYSTEM_TIME AS OF @as_of AS n
WHERE n.GraphId = @graph_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
ORDER BY n.MemoryNodeIdText;

-- name: nodes_between
-- Versions known at the start and closed by the end, and versions known at the end and begun since, by id.
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM dbo.MemoryNodes FOR SYSTEM_TIME BETWEEN @start_time AND @end_time AS n
WHERE n.GraphId = @graph_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
  AND ((n.ValidFrom <= @start_time AND n.ValidTo > @start_time AND n.ValidTo <= @end_time)
       OR (n.ValidFrom > @start_time AND n.ValidFrom <= @end_time AND n.ValidTo > @end_time))
ORDER BY n.MemoryNodeIdText, n.ValidFrom;

-- name: node_find_by_key
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, CAST(NULL AS DATETIME2(6)) AS ValidTo, n.Version
FROM dbo.MemoryNodes AS n
WHERE n.GraphId = @graph_id AND n.KeyExact = @key + NCHAR(1) AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id;

-- name: external_nodes_as_of
-- Nodes of other graphs that the edges of a graph reach, by id. A fleet of one graph has none and is not searched.
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name
FROM (SELECT DISTINCT e.SourceNodeId
      FROM dbo.MemoryEdges FOR SYSTEM_TIME AS OF @as_of AS e
      WHERE e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.GraphId = @graph_id
        AND EXISTS (SELECT 1
                    FROM dbo.MemoryGraphs AS g
                    WHERE g.TenantId = @tenant_id AND g.FleetId = @fleet_id AND g.GraphId <> @graph_id)) AS s
JOIN dbo.MemoryNodes FOR SYSTEM_TIME AS OF @as_of AS n
    ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.SourceNodeId
WHERE n.GraphId <> @graph_id
ORDER BY n.MemoryNodeIdText;

-- name: node_last_known
-- The node as it is, or as it last was.
SELECT TOP (1) n.MemoryNodeId, n.[Key], n.Name, n.Status, n.ValidFrom
FROM dbo.MemoryNodes FOR SYSTEM_TIME ALL AS n
WHERE n.MemoryNodeId = @memory_node_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
ORDER BY n.ValidFrom DESC;
