DECLARE @after_id UNIQUEIDENTIFIER, @as_of DATETIME2(6), @created_at DATETIME2(6), @edge_type VARCHAR(20),
        @effective_from DATETIME2(6), @effective_time DATETIME2(6), @effective_to DATETIME2(6), @end_time DATETIME2(6),
        @fleet_id UNIQUEIDENTIFIER, @graph_id UNIQUEIDENTIFIER, @limit BIGINT, @memory_edge_id UNIQUEIDENTIFIER,
        @memory_node_id UNIQUEIDENTIFIER, @min_support INT, @source_node_id UNIQUEIDENTIFIER,
        @source_rule_id UNIQUEIDENTIFIER, @start_time DATETIME2(6), @superseded_id UNIQUEIDENTIFIER,
        @superseder_id UNIQUEIDENTIFIER, @support_group NVARCHAR(512), @target_node_id UNIQUEIDENTIFIER,
        @tenant_id UNIQUEIDENTIFIER, @weight FLOAT;

-- name: edge_insert
-- Versions go on where those of an earlier row of this id ended, so that no ETag stands for two rows.
INSERT INTO dbo.MemoryEdges (
    MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup, MinSupport,
    Weight, EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, Version, MemoryEdgeIdText)
SELECT
    @memory_edge_id, @tenant_id, @fleet_id, @graph_id, @source_node_id, @target_node_id, @edge_type,
    @support_group, @min_support, @weight, @effective_from, @effective_to, @source_rule_id, @created_at,
    COALESCE((SELECT MAX(h.Version)
              FROM dbo.MemoryEdgesHistory AS h
              WHERE h.MemoryEdgeId = @memory_edge_id AND h.TenantId = @tenant_id AND h.FleetId = @fleet_id), 0) + 1,
    LOWER(CONVERT(CHAR(36), @memory_edge_id));

-- name: edge_find
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom,
       CAST(NULL AS DATETIME2(6)) AS ValidTo, e.Version
FROM dbo.MemoryEdges AS e
WHERE e.MemoryEdgeId = @memory_edge_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id;

-- name: edge_page_by_graph
-- By id, after a given one.
SELECT TOP (@limit) e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom,
       CAST(NULL AS DATETIME2(6)) AS ValidTo, e.Version
FROM dbo.MemoryEdges AS e
WHERE e.GraphId = @graph_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND (@source_node_id IS NULL OR e.SourceNodeId = @source_node_id)
  AND (@target_node_id IS NULL OR e.TargetNodeId = @target_node_id)
  AND (@after_id IS NULL OR e.MemoryEdgeIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY e.MemoryEdgeIdText;

-- name: edge_page_by_source
-- By id, after a given one.
SELECT TOP (@limit) e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom,
       CAST(NULL AS DATETIME2(6)) AS ValidTo, e.Version
FROM dbo.MemoryEdges AS e
WHERE e.SourceNodeId = @source_node_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND (@target_node_id IS NULL OR e.TargetNodeId = @target_node_id)
  AND (@graph_id IS NULL OR e.GraphId = @graph_id)
  AND (@after_id IS NULL OR e.MemoryEdgeIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY e.MemoryEdgeIdText;

-- name: edge_page_by_target
-- By id, after a given one.
SELECT TOP (@limit) e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom,
       CAST(NULL AS DATETIME2(6)) AS ValidTo, e.Version
FROM dbo.MemoryEdges AS e
WHERE e.TargetNodeId = @target_node_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND (@source_node_id IS NULL OR e.SourceNodeId = @source_node_id)
  AND (@graph_id IS NULL OR e.GraphId = @graph_id)
  AND (@after_id IS NULL OR e.MemoryEdgeIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY e.MemoryEdgeIdText;

-- name: edge_update
UPDATE e
SET SupportGroup = @support_group,
    MinSupport = @min_support,
    Weight = @weight,
    EffectiveFrom = @effective_from,
    EffectiveTo = @effective_to,
    SourceRuleId = @source_rule_id,
    Version = e.Version + 1
FROM dbo.MemoryEdges AS e
WHERE e.MemoryEdgeId = @memory_edge_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id;

-- name: edge_delete
DELETE FROM dbo.MemoryEdges
WHERE MemoryEdgeId = @memory_edge_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: edges_as_of
-- A graph's rows as the database knew them, by id.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, e.ValidTo, e.Version
FROM dbo.MemoryEdges FOR SYSTEM_TIME AS OF @as_of AS e
WHERE e.GraphId = @graph_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
ORDER BY e.MemoryEdgeIdText;

-- name: edges_between
-- Versions known at the start and closed by the end, and versions known at the end and begun since, by id.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, e.ValidTo, e.Version
FROM dbo.MemoryEdges FOR SYSTEM_TIME BETWEEN @start_time AND @end_time AS e
WHERE e.GraphId = @graph_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND ((e.ValidFrom <= @start_time AND e.ValidTo > @start_time AND e.ValidTo <= @end_time)
       OR (e.ValidFrom > @start_time AND e.ValidFrom <= @end_time AND e.ValidTo > @end_time))
ORDER BY e.MemoryEdgeIdText, e.ValidFrom;

-- name: edges_of_node
-- Every edge that touches a node, by id.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom,
       CAST(NULL AS DATETIME2(6)) AS ValidTo, e.Version
FROM dbo.MemoryEdges AS e
WHERE (e.SourceNodeId = @memory_node_id OR e.TargetNodeId = @memory_node_id)
  AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
ORDER BY e.MemoryEdgeIdText;

-- name: edges_delete_of_node
DELETE FROM dbo.MemoryEdges
WHERE (SourceNodeId = @memory_node_id OR TargetNodeId = @memory_node_id)
  AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: edge_end_supports
-- What replaces a node does not rest on it: the active supports from the replaced to the replacing node end.
UPDATE e
SET EffectiveTo = @effective_time, Version = e.Version + 1
FROM dbo.MemoryEdges AS e
WHERE e.SourceNodeId = @superseded_id AND e.TargetNodeId = @superseder_id
  AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND (e.EffectiveFrom IS NULL OR e.EffectiveFrom < @effective_time)
  AND (e.EffectiveTo IS NULL OR e.EffectiveTo > @effective_time);

-- name: edge_drop_supports
-- The same for supports that were to begin later: nothing of their interval is left.
DELETE FROM dbo.MemoryEdges
WHERE SourceNodeId = @superseded_id AND TargetNodeId = @superseder_id AND TenantId = @tenant_id AND FleetId = @fleet_id
  AND EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND EffectiveFrom >= @effective_time;

-- name: edge_closes_circle
-- Whether the superseded node still reaches its superseder: then the replacement lies in a circle and does not count.
-- A procedure: recursion in T-SQL would walk every path, not every node.
EXEC dbo.ReplacementClosesCircle @TenantId = @tenant_id, @FleetId = @fleet_id, @SupersededId = @superseded_id,
     @SupersederId = @superseder_id, @EffectiveTime = @effective_time;

-- name: superseders
-- The active replacements of a node, with the status of the node that replaces it.
SELECT n.MemoryNodeId, n.[Key], n.Name, n.Status, e.MemoryEdgeId
FROM dbo.ActiveEdges AS e
JOIN dbo.MemoryNodes AS n ON n.MemoryNodeId = e.SourceNodeId AND n.TenantId = e.TenantId AND n.FleetId = e.FleetId
WHERE e.TargetNodeId = @memory_node_id AND e.EdgeType = 'Supersedes'
  AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
ORDER BY e.MemoryEdgeIdText;
