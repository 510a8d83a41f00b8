-- name: edge_insert
-- Versions go on where those of an earlier row of this id ended, so that no ETag stands for two rows.
INSERT INTO MemoryEdges (
    MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup, MinSupport,
    Weight, EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, ValidFrom, Version)
SELECT
    :memory_edge_id, :tenant_id, :fleet_id, :graph_id, :source_node_id, :target_node_id, :edge_type,
    :support_group, :min_support, :weight, :effective_from, :effective_to, :source_rule_id, :created_at,
    k.TransactionStamp,
    COALESCE((SELECT MAX(h.Version)
              FROM MemoryEdgesHistory AS h
              WHERE h.MemoryEdgeId = :memory_edge_id AND h.TenantId = :tenant_id AND h.FleetId = :fleet_id), 0) + 1
FROM SystemClock AS k;

-- name: edge_find
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, NULL AS ValidTo, e.Version
FROM MemoryEdges AS e
WHERE e.MemoryEdgeId = :memory_edge_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id;

-- name: edge_page_by_graph
-- By id, after a given one.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, NULL AS ValidTo, e.Version
FROM MemoryEdges AS e
WHERE e.GraphId = :graph_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND (:source_node_id IS NULL OR e.SourceNodeId = :source_node_id)
  AND (:target_node_id IS NULL OR e.TargetNodeId = :target_node_id)
  AND (:after_id IS NULL OR e.MemoryEdgeId > :after_id)
ORDER BY e.MemoryEdgeId
LIMIT :limit;

-- name: edge_page_by_source
-- By id, after a given one.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, NULL AS ValidTo, e.Version
FROM MemoryEdges AS e
WHERE e.SourceNodeId = :source_node_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND (:target_node_id IS NULL OR e.TargetNodeId = :target_node_id)
  AND (:graph_id IS NULL OR e.GraphId = :graph_id)
  AND (:after_id IS NULL OR e.MemoryEdgeId > :after_id)
ORDER BY e.MemoryEdgeId
LIMIT :limit;

-- name: edge_page_by_target
-- By id, after a given one.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, NULL AS ValidTo, e.Version
FROM MemoryEdges AS e
WHERE e.TargetNodeId = :target_node_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND (:source_node_id IS NULL OR e.SourceNodeId = :source_node_id)
  AND (:graph_id IS NULL OR e.GraphId = :graph_id)
  AND (:after_id IS NULL OR e.MemoryEdgeId > :after_id)
ORDER BY e.MemoryEdgeId
LIMIT :limit;

-- name: edge_update
UPDATE MemoryEdges
SET SupportGroup = :support_group,
    MinSupport = :min_support,
    Weight = :weight,
    EffectiveFrom = :effective_from,
    EffectiveTo = :effective_to,
    SourceRuleId = :source_rule_id,
    ValidFrom = k.TransactionStamp,
    Version = MemoryEdges.Version + 1
FROM SystemClock AS k
WHERE MemoryEdges.MemoryEdgeId = :memory_edge_id AND MemoryEdges.TenantId = :tenant_id AND MemoryEdges.FleetId = :fleet_id;

-- name: edge_delete
DELETE FROM MemoryEdges
WHERE MemoryEdgeId = :memory_edge_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: edges_as_of
-- A graph's rows as the database knew them, by id.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, e.ValidTo, e.Version
FROM MemoryEdgesSystemTime AS e
WHERE e.GraphId = :graph_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.ValidFrom <= :as_of AND e.ValidTo > :as_of
ORDER BY e.MemoryEdgeId;

-- name: edges_between
-- Versions known at the start and closed by the end, and versions known at the end and begun since, by id.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, e.ValidTo, e.Version
FROM MemoryEdgesSystemTime AS e
WHERE e.GraphId = :graph_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND ((e.ValidFrom <= :start_time AND e.ValidTo > :start_time AND e.ValidTo <= :end_time)
       OR (e.ValidFrom > :start_time AND e.ValidFrom <= :end_time AND e.ValidTo > :end_time))
ORDER BY e.MemoryEdgeId, e.ValidFrom;

-- name: edges_of_node
-- Every edge that touches a node, by id.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, NULL AS ValidTo, e.Version
FROM MemoryEdges AS e
WHERE (e.SourceNodeId = :memory_node_id OR e.TargetNodeId = :memory_node_id)
  AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
ORDER BY e.MemoryEdgeId;

-- name: edges_delete_of_node
DELETE FROM MemoryEdges
WHERE (SourceNodeId = :memory_node_id OR TargetNodeId = :memory_node_id)
  AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: edge_end_supports
-- What replaces a node does not rest on it: the active supports from the replaced to the replacing node end.
UPDATE MemoryEdges
SET EffectiveTo = :effective_time, ValidFrom = k.TransactionStamp, Version = MemoryEdges.Version + 1
FROM SystemClock AS k
WHERE MemoryEdges.SourceNodeId = :superseded_id AND MemoryEdges.TargetNodeId = :superseder_id
  AND MemoryEdges.TenantId = :tenant_id AND MemoryEdges.FleetId = :fleet_id
  AND MemoryEdges.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND (MemoryEdges.EffectiveFrom IS NULL OR MemoryEdges.EffectiveFrom < :effective_time)
  AND (MemoryEdges.EffectiveTo IS NULL OR MemoryEdges.EffectiveTo > :effective_time);

-- name: edge_drop_supports
-- The same for supports that were to begin later: nothing of their interval is left.
DELETE FROM MemoryEdges
WHERE SourceNodeId = :superseded_id AND TargetNodeId = :superseder_id AND TenantId = :tenant_id AND FleetId = :fleet_id
  AND EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND EffectiveFrom >= :effective_time;

-- name: edge_closes_circle
-- Whether the superseded node still reaches its superseder: then the replacement lies in a circle and does not count.
WITH RECURSIVE Reached (MemoryNodeId) AS (
    SELECT :superseded_id
    UNION
    SELECT e.TargetNodeId
    FROM Reached AS r
    JOIN ActiveEdges AS e ON e.SourceNodeId = r.MemoryNodeId
    WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.EdgeType <> 'Contradicts'
      AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
)
SELECT COUNT(*) FROM Reached AS r WHERE r.MemoryNodeId = :superseder_id;

-- name: superseders
-- The active replacements of a node, with the status of the node that replaces it.
SELECT n.MemoryNodeId, n.[Key], n.Name, n.Status, e.MemoryEdgeId
FROM ActiveEdges AS e
JOIN MemoryNodes AS n ON n.MemoryNodeId = e.SourceNodeId AND n.TenantId = e.TenantId AND n.FleetId = e.FleetId
WHERE e.TargetNodeId = :memory_node_id AND e.EdgeType = 'Supersedes'
  AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
ORDER BY e.MemoryEdgeId;
