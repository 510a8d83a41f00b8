-- A graph as the lines of an export. The order is by key, so that copies of a graph export alike.
DECLARE @as_of DATETIME2(6), @fleet_id UNIQUEIDENTIFIER, @graph_id UNIQUEIDENTIFIER, @tenant_id UNIQUEIDENTIFIER;

-- name: export_nodes
SELECT n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.NodeType, n.Category, n.Status, n.InvalidSince,
       n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy, n.PinReason, n.CreatedAt,
       n.UpdatedAt, n.ValidFrom, n.ValidTo, n.Version
FROM dbo.MemoryNodes FOR SYSTEM_TIME AS OF @as_of AS n
WHERE n.GraphId = @graph_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
ORDER BY n.[Key], n.MemoryNodeIdText;

-- name: export_assertions
-- In the order of their nodes.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, a.ValidTo, a.Version,
       (SELECT n.[Key]
        FROM dbo.MemoryNodes FOR SYSTEM_TIME AS OF @as_of AS n
        WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = a.MemoryNodeId
          AND n.GraphId = @graph_id) AS NodeKey
FROM dbo.MemoryAssertions FOR SYSTEM_TIME AS OF @as_of AS a
WHERE a.GraphId = @graph_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id
ORDER BY NodeKey, LOWER(CONVERT(CHAR(36), a.MemoryNodeId)), a.Content, a.EffectiveFrom, a.MemoryAssertionIdText;

-- name: export_edges
-- With the keys of their ends in this graph.
SELECT e.MemoryEdgeId, e.GraphId, e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport,
       e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId, e.CreatedAt, e.ValidFrom, e.ValidTo, e.Version,
       (SELECT n.[Key]
        FROM dbo.MemoryNodes FOR SYSTEM_TIME AS OF @as_of AS n
        WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = e.SourceNodeId
          AND n.GraphId = @graph_id) AS SourceKey,
       (SELECT n.[Key]
        FROM dbo.MemoryNodes FOR SYSTEM_TIME AS OF @as_of AS n
        WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = e.TargetNodeId
          AND n.GraphId = @graph_id) AS TargetKey
FROM dbo.MemoryEdges FOR SYSTEM_TIME AS OF @as_of AS e
WHERE e.GraphId = @graph_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
ORDER BY SourceKey, TargetKey, e.EdgeType, e.SupportGroup, e.EffectiveFrom, e.MemoryEdgeIdText;

-- name: export_evidence
-- Evidence recorded by then for assertions known then, with the node that states them.
SELECT v.EvidenceReferenceId, v.GraphId, v.MemoryAssertionId, v.EvidenceType, v.Reference, v.Details, v.RecordedAt,
       a.MemoryNodeId,
       (SELECT n.[Key]
        FROM dbo.MemoryNodes FOR SYSTEM_TIME AS OF @as_of AS n
        WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = a.MemoryNodeId
          AND n.GraphId = @graph_id) AS NodeKey
FROM dbo.EvidenceReferences AS v
JOIN dbo.MemoryAssertions AS a
    ON a.MemoryAssertionId = v.MemoryAssertionId AND a.TenantId = v.TenantId AND a.FleetId = v.FleetId
WHERE v.GraphId = @graph_id AND v.TenantId = @tenant_id AND v.FleetId = @fleet_id AND v.RecordedAt <= @as_of
  AND EXISTS (SELECT 1
              FROM dbo.MemoryAssertions FOR SYSTEM_TIME AS OF @as_of AS h
              WHERE h.MemoryAssertionId = a.MemoryAssertionId AND h.TenantId = @tenant_id AND h.FleetId = @fleet_id)
ORDER BY NodeKey, LOWER(CONVERT(CHAR(36), a.MemoryNodeId)), v.EvidenceType, v.Reference, v.EvidenceReferenceIdText;
