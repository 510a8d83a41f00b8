-- A graph as the lines of an export. The order is by key, so that copies of a graph export alike.

-- name: export_nodes
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM MemoryNodesSystemTime AS n
WHERE n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of
ORDER BY n.[Key], n.MemoryNodeId;

-- name: export_assertions
-- In the order of their nodes.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, a.ValidTo, a.Version
FROM MemoryNodesSystemTime AS n
CROSS JOIN MemoryAssertionsSystemTime AS a ON a.MemoryNodeId = n.MemoryNodeId
WHERE n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of
  AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
  AND a.ValidFrom <= :as_of AND a.ValidTo > :as_of
ORDER BY n.[Key], n.MemoryNodeId, a.Content, a.EffectiveFrom, a.MemoryAssertionId;

-- name: export_edges
-- With the keys of their ends in this graph.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, e.ValidTo, e.Version,
       (
           SELECT s.[Key]
           FROM MemoryNodesSystemTime AS s
           WHERE s.MemoryNodeId = e.SourceNodeId AND s.TenantId = :tenant_id AND s.FleetId = :fleet_id
             AND s.GraphId = :graph_id AND s.ValidFrom <= :as_of AND s.ValidTo > :as_of) AS SourceKey,
       (
           SELECT s.[Key]
           FROM MemoryNodesSystemTime AS s
           WHERE s.MemoryNodeId = e.TargetNodeId AND s.TenantId = :tenant_id AND s.FleetId = :fleet_id
             AND s.GraphId = :graph_id AND s.ValidFrom <= :as_of AND s.ValidTo > :as_of) AS TargetKey
FROM MemoryEdgesSystemTime AS e
WHERE e.GraphId = :graph_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.ValidFrom <= :as_of AND e.ValidTo > :as_of
ORDER BY SourceKey, TargetKey, e.EdgeType, e.SupportGroup, e.EffectiveFrom, e.MemoryEdgeId;

-- name: export_evidence
-- Evidence recorded by then, with the key of the node whose assertion it supports.
SELECT v.EvidenceReferenceId, v.GraphId, v.MemoryAssertionId, v.EvidenceType, v.Reference, v.Details, v.RecordedAt,
       n.[Key] AS NodeKey, n.MemoryNodeId
FROM EvidenceReferences AS v
JOIN MemoryAssertionsSystemTime AS a
    ON a.MemoryAssertionId = v.MemoryAssertionId AND a.TenantId = v.TenantId AND a.FleetId = v.FleetId
    AND a.ValidFrom <= :as_of AND a.ValidTo > :as_of
JOIN MemoryNodesSystemTime AS n
    ON n.MemoryNodeId = a.MemoryNodeId AND n.TenantId = a.TenantId AND n.FleetId = a.FleetId
    AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of
WHERE v.GraphId = :graph_id AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id AND v.RecordedAt <= :as_of
ORDER BY n.[Key], n.MemoryNodeId, v.EvidenceType, v.Reference, v.EvidenceReferenceId;
