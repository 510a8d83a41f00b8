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
       a.SourceRuleId, a.ValidFrom, a.ValidTo, a.Version,
       (SELECT n.[Key]
        FROM MemoryNodesSystemTime AS n
        WHERE n.MemoryNodeId = a.MemoryNodeId AND n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
          AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of) AS NodeKey
FROM MemoryAssertionsSystemTime AS a
WHERE a.GraphId = :graph_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
  AND a.ValidFrom <= :as_of AND a.ValidTo > :as_of
ORDER BY NodeKey, a.MemoryNodeId, a.Content, a.EffectiveFrom, a.MemoryAssertionId;

-- name: export_edges
-- With the keys of their ends in this graph.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, e.ValidTo, e.Version,
       (SELECT n.[Key]
        FROM MemoryNodesSystemTime AS n
        WHERE n.MemoryNodeId = e.SourceNodeId AND n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
          AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of) AS SourceKey,
       (SELECT n.[Key]
        FROM MemoryNodesSystemTime AS n
        WHERE n.MemoryNodeId = e.TargetNodeId AND n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
          AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of) AS TargetKey
FROM MemoryEdgesSystemTime AS e
WHERE e.GraphId = :graph_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.ValidFrom <= :as_of AND e.ValidTo > :as_of
ORDER BY SourceKey, TargetKey, e.EdgeType, e.SupportGroup, e.EffectiveFrom, e.MemoryEdgeId;

-- name: export_evidence
-- Evidence recorded by then for assertions known then, with the node that states them.
SELECT v.EvidenceReferenceId, v.GraphId, v.MemoryAssertionId, v.EvidenceType, v.Reference, v.Details, v.RecordedAt,
       a.MemoryNodeId,
       (SELECT n.[Key]
        FROM MemoryNodesSystemTime AS n
        WHERE n.MemoryNodeId = a.MemoryNodeId AND n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
          AND n.ValidFrom <= :as_of AND n.ValidTo > :as_of) AS NodeKey
FROM EvidenceReferences AS v
JOIN MemoryAssertions AS a
    ON a.MemoryAssertionId = v.MemoryAssertionId AND a.TenantId = v.TenantId AND a.FleetId = v.FleetId
WHERE v.GraphId = :graph_id AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id AND v.RecordedAt <= :as_of
  AND EXISTS (SELECT 1
              FROM MemoryAssertionsSystemTime AS h
              WHERE h.MemoryAssertionId = a.MemoryAssertionId AND h.TenantId = :tenant_id AND h.FleetId = :fleet_id
                AND h.ValidFrom <= :as_of AND h.ValidTo > :as_of)
ORDER BY NodeKey, a.MemoryNodeId, v.EvidenceType, v.Reference, v.EvidenceReferenceId;
