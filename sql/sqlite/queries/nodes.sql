-- name: node_insert
-- Versions go on where those of an earlier row of this id ended, so that no ETag stands for two rows.
INSERT INTO MemoryNodes (
    MemoryNodeId, TenantId, FleetId, [Key], GraphId, Name, NodeType, Category, Status, InvalidSince, Invalidation,
    Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt, ValidFrom, Version)
SELECT
    :memory_node_id, :tenant_id, :fleet_id, :key, :graph_id, :name, :node_type, :category, :status, :invalid_since,
    :invalidation, :confidence, :base_confidence, :is_pinned, :pinned_by, :pin_reason, :created_at, :updated_at,
    k.TransactionStamp,
    COALESCE((SELECT MAX(h.Version)
              FROM MemoryNodesHistory AS h
              WHERE h.MemoryNodeId = :memory_node_id AND h.TenantId = :tenant_id AND h.FleetId = :fleet_id), 0) + 1
FROM SystemClock AS k;

-- name: node_find
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, NULL AS ValidTo, n.Version
FROM MemoryNodes AS n
WHERE n.MemoryNodeId = :memory_node_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id;

-- name: node_page
-- By id, after a given one.
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, NULL AS ValidTo, n.Version
FROM MemoryNodes AS n
WHERE n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND (:key IS NULL OR n.[Key] = :key)
  AND (:status IS NULL OR n.Status = :status)
  AND (:after_id IS NULL OR n.MemoryNodeId > :after_id)
ORDER BY n.MemoryNodeId
LIMIT :limit;

-- name: node_update
UPDATE MemoryNodes
SET Name = :name,
    NodeType = :node_type,
    Category = :category,
    Confidence = :confidence,
    BaseConfidence = :base_confidence,
    IsPinned = :is_pinned,
    PinnedBy = :pinned_by,
    PinReason = :pin_reason,
    UpdatedAt = k.TransactionStamp,
    ValidFrom = k.TransactionStamp,
    Version = MemoryNodes.Version + 1
FROM SystemClock AS k
WHERE MemoryNodes.MemoryNodeId = :memory_node_id AND MemoryNodes.TenantId = :tenant_id AND MemoryNodes.FleetId = :fleet_id;

-- name: node_delete
DELETE FROM MemoryNodes
WHERE MemoryNodeId = :memory_node_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: node_history
-- Every version of a row, oldest first, after a given time.
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM MemoryNodesSystemTime AS n
WHERE n.MemoryNodeId = :memory_node_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id AND n.ValidFrom > :after_time
ORDER BY n.ValidFrom
LIMIT :limit;

-- name: nodes_as_of
-- A graph's rows as the database knew them, by id.
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM MemoryNodesSystemTime AS n
WHERE n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of
ORDER BY n.MemoryNodeId;

-- name: nodes_between
-- Versions known at the start and closed by the end, and versions known at the end and begun since, by id.
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM MemoryNodesSystemTime AS n
WHERE n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND ((n.ValidFrom <= :start_time AND n.ValidTo > :start_time AND n.ValidTo <= :end_time)
       OR (n.ValidFrom > :start_time AND n.ValidFrom <= :end_time AND n.ValidTo > :end_time))
ORDER BY n.MemoryNodeId, n.ValidFrom;

-- name: node_find_by_key
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, NULL AS ValidTo, n.Version
FROM MemoryNodes AS n
WHERE n.GraphId = :graph_id AND n.[Key] = :key AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id;

-- name: external_nodes_as_of
-- Nodes of other graphs that the edges of a graph reach, by id. A fleet of one graph has none and is not searched.
WITH Sources AS MATERIALIZED (
    SELECT DISTINCT e.SourceNodeId
    FROM (SELECT 1
          FROM MemoryGraphs AS g
          WHERE g.TenantId = :tenant_id AND g.FleetId = :fleet_id AND g.GraphId <> :graph_id
          LIMIT 1) AS o
    CROSS JOIN MemoryEdgesSystemTime AS e
    WHERE e.GraphId = :graph_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
      AND e.ValidFrom <= :as_of AND e.ValidTo > :as_of
)
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name
FROM Sources AS s
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = s.SourceNodeId
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id AND n.GraphId <> :graph_id AND n.ValidFrom <= :as_of
UNION ALL
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name
FROM Sources AS s
CROSS JOIN MemoryNodesHistory AS n ON n.MemoryNodeId = s.SourceNodeId
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id AND n.GraphId <> :graph_id
  AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of
ORDER BY 1;

-- name: node_last_known
-- The node as it is, or as it last was.
SELECT n.MemoryNodeId, n.[Key], n.Name, n.Status, n.ValidFrom
FROM MemoryNodesSystemTime AS n
WHERE n.MemoryNodeId = :memory_node_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
ORDER BY n.ValidFrom DESC
LIMIT 1;
