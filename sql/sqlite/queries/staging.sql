-- An import: lines staged in the work tables of session.sql, resolved, checked and applied kind by kind. Each check names
-- the first line at fault, and begins with the field at fault where there is one. A field that a line leaves out keeps
-- what is stored, so identical lines change nothing.

-- name: staged_clear_rules
DELETE FROM StagedRules;

-- name: staged_clear_nodes
DELETE FROM StagedNodes;

-- name: staged_clear_edges
DELETE FROM StagedEdges;

-- name: staged_clear_assertions
DELETE FROM StagedAssertions;

-- name: staged_clear_evidence
DELETE FROM StagedEvidence;

-- name: stage_rule
INSERT INTO StagedRules (Line, SourceRuleId, Name, Version, Description, EffectiveAt, ExpiresAt)
VALUES (:line, :source_rule_id, :name, :version, :description, :effective_at, :expires_at);

-- name: stage_node
INSERT INTO StagedNodes (Line, MemoryNodeId, IsIdGiven, [Key], Name, NodeType, Category, Status, InvalidSince, Invalidation,
                         Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt)
VALUES (:line, :memory_node_id, :is_id_given, :key, :name, :node_type, :category, :status, :invalid_since, :invalidation,
        :confidence, :base_confidence, :is_pinned, :pinned_by, :pin_reason, :created_at);

-- name: stage_edge
INSERT INTO StagedEdges (Line, MemoryEdgeId, SourceKey, SourceNodeId, TargetKey, TargetNodeId, EdgeType, SupportGroup,
                         MinSupport, Weight, EffectiveFrom, EffectiveTo, RuleName, RuleVersion, SourceRuleId, CreatedAt)
VALUES (:line, :memory_edge_id, :source_key, :source_node_id, :target_key, :target_node_id, :edge_type, :support_group,
        :min_support, :weight, :effective_from, :effective_to, :rule_name, :rule_version, :source_rule_id, :created_at);

-- name: stage_assertion
INSERT INTO StagedAssertions (Line, MemoryAssertionId, NodeKey, MemoryNodeId, Content, Category, Importance, Confidence,
                              ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt, RuleName,
                              RuleVersion, SourceRuleId)
VALUES (:line, :memory_assertion_id, :node_key, :memory_node_id, :content, :category, :importance, :confidence,
        :observed_at, :effective_from, :effective_to, :last_verified_at, :superseded_by, :retracted_at, :rule_name,
        :rule_version, :source_rule_id);

-- name: stage_evidence
INSERT INTO StagedEvidence (Line, EvidenceReferenceId, MemoryAssertionId, EvidenceType, Reference, Details, RecordedAt)
VALUES (:line, :evidence_reference_id, :memory_assertion_id, :evidence_type, :reference, :details, :recorded_at);

-- name: staged_rules_fault
SELECT s.Line, 'rule ' || s.Name || ' ' || s.Version || ' is stored otherwise; a version of a rule does not change' AS Fault
FROM StagedRules AS s
JOIN SourceRules AS r
    ON r.TenantId = :tenant_id AND r.FleetId = :fleet_id
    AND ((r.Name = s.Name AND r.Version = s.Version) OR r.SourceRuleId = s.SourceRuleId)
WHERE r.SourceRuleId <> s.SourceRuleId OR r.Name <> s.Name OR r.Version <> s.Version
   OR r.EffectiveAt <> s.EffectiveAt OR (s.ExpiresAt IS NOT NULL AND r.ExpiresAt IS NOT s.ExpiresAt)
   OR (s.Description IS NOT NULL AND r.Description IS NOT s.Description)
UNION ALL
SELECT s.Line, 'expiresAt must be later than effectiveAt'
FROM StagedRules AS s
CROSS JOIN SystemClock AS k
LEFT JOIN SourceRules AS r
    ON r.SourceRuleId = s.SourceRuleId AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
WHERE s.ExpiresAt <= COALESCE(s.EffectiveAt, r.EffectiveAt, k.TransactionStamp)
UNION ALL
SELECT MAX(s.Line), 'rule ' || MAX(s.Name) || ' ' || MAX(s.Version) || ' stands on an earlier line too'
FROM StagedRules AS s
GROUP BY s.SourceRuleId
HAVING COUNT(*) > 1
UNION ALL
SELECT MAX(s.Line), 'rule ' || s.Name || ' ' || s.Version || ' stands on an earlier line too'
FROM StagedRules AS s
GROUP BY s.Name, s.Version
HAVING COUNT(*) > 1
ORDER BY 1
LIMIT 1;

-- name: staged_rules_insert
INSERT INTO SourceRules (SourceRuleId, TenantId, FleetId, Name, Version, Description, EffectiveAt, ExpiresAt)
SELECT s.SourceRuleId, :tenant_id, :fleet_id, s.Name, s.Version, s.Description,
       COALESCE(s.EffectiveAt, k.TransactionStamp), s.ExpiresAt
FROM StagedRules AS s
CROSS JOIN SystemClock AS k
WHERE NOT EXISTS (SELECT 1 FROM SourceRules AS r
                  WHERE r.SourceRuleId = s.SourceRuleId AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id);

-- name: staged_nodes_take_ids
-- A key that is stored names the node it names there.
UPDATE StagedNodes
SET MemoryNodeId = n.MemoryNodeId
FROM MemoryNodes AS n
WHERE StagedNodes.IsIdGiven = 0 AND n.GraphId = :graph_id AND n.[Key] = StagedNodes.[Key]
  AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id;

-- name: staged_nodes_fault
SELECT MIN(s.Line) AS Line,
       CASE WHEN s.[Key] IS NULL THEN 'memoryNodeId' ELSE 'key ' || s.[Key] END || ' stands on an earlier line too' AS Fault
FROM (SELECT d.MemoryNodeId, d.[Key], MAX(d.Line) AS Line
      FROM StagedNodes AS d GROUP BY d.MemoryNodeId HAVING COUNT(*) > 1) AS s
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'key ' || s.[Key] || ' stands on an earlier line too'
FROM (SELECT d.[Key], MAX(d.Line) AS Line
      FROM StagedNodes AS d WHERE d.[Key] IS NOT NULL GROUP BY d.[Key] HAVING COUNT(*) > 1) AS s
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'memoryNodeId is that of a node with another key or in another graph'
FROM StagedNodes AS s
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = s.MemoryNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
WHERE n.GraphId <> :graph_id OR (s.[Key] IS NOT NULL AND n.[Key] IS NOT s.[Key])
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'key ' || s.[Key] || ' belongs to a node with another id'
FROM StagedNodes AS s
CROSS JOIN MemoryNodes AS n ON n.GraphId = :graph_id AND n.[Key] = s.[Key]
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id AND n.MemoryNodeId <> s.MemoryNodeId
HAVING COUNT(*) > 0
ORDER BY 1
LIMIT 1;

-- name: staged_nodes_fill
-- What a line leaves out of a stored node stays as it is. A status that is given brings its own invalidity.
UPDATE StagedNodes
SET IsKnown = 1,
    [Key] = n.[Key],
    Name = COALESCE(StagedNodes.Name, n.Name),
    NodeType = COALESCE(StagedNodes.NodeType, n.NodeType),
    Category = COALESCE(StagedNodes.Category, n.Category),
    Invalidation = CASE WHEN COALESCE(StagedNodes.Status, n.Status) = 2
                        THEN COALESCE(StagedNodes.Invalidation, n.Invalidation, 'Derived') END,
    InvalidSince = CASE WHEN COALESCE(StagedNodes.Status, n.Status) = 2
                        THEN COALESCE(StagedNodes.InvalidSince, n.InvalidSince, k.TransactionStamp) END,
    Status = COALESCE(StagedNodes.Status, n.Status),
    Confidence = COALESCE(StagedNodes.Confidence, n.Confidence),
    BaseConfidence = COALESCE(StagedNodes.BaseConfidence, n.BaseConfidence),
    PinnedBy = CASE WHEN StagedNodes.IsPinned IS NULL THEN n.PinnedBy ELSE StagedNodes.PinnedBy END,
    PinReason = CASE WHEN StagedNodes.IsPinned IS NULL THEN n.PinReason ELSE StagedNodes.PinReason END,
    IsPinned = COALESCE(StagedNodes.IsPinned, n.IsPinned)
FROM MemoryNodes AS n
CROSS JOIN SystemClock AS k
WHERE n.MemoryNodeId = StagedNodes.MemoryNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id;

-- name: staged_nodes_update
UPDATE MemoryNodes
SET Name = s.Name, NodeType = s.NodeType, Category = s.Category, Status = s.Status, InvalidSince = s.InvalidSince,
    Invalidation = s.Invalidation, Confidence = s.Confidence, BaseConfidence = s.BaseConfidence, IsPinned = s.IsPinned,
    PinnedBy = s.PinnedBy, PinReason = s.PinReason, UpdatedAt = k.TransactionStamp, ValidFrom = k.TransactionStamp,
    Version = MemoryNodes.Version + 1
FROM StagedNodes AS s
CROSS JOIN SystemClock AS k
WHERE s.IsKnown = 1
  AND MemoryNodes.MemoryNodeId = s.MemoryNodeId
  AND MemoryNodes.TenantId = :tenant_id AND MemoryNodes.FleetId = :fleet_id
  AND (MemoryNodes.Name, MemoryNodes.NodeType, MemoryNodes.Category, MemoryNodes.Status, MemoryNodes.InvalidSince,
       MemoryNodes.Invalidation, MemoryNodes.Confidence, MemoryNodes.BaseConfidence, MemoryNodes.IsPinned,
       MemoryNodes.PinnedBy, MemoryNodes.PinReason)
      IS NOT (s.Name, s.NodeType, s.Category, s.Status, s.InvalidSince, s.Invalidation, s.Confidence, s.BaseConfidence,
              s.IsPinned, s.PinnedBy, s.PinReason);

-- name: staged_nodes_insert
INSERT INTO MemoryNodes (
    MemoryNodeId, TenantId, FleetId, GraphId, [Key], Name, NodeType, Category, Status, InvalidSince, Invalidation,
    Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt, ValidFrom, Version)
SELECT
    s.MemoryNodeId, :tenant_id, :fleet_id, :graph_id, s.[Key], COALESCE(s.Name, s.[Key]), s.NodeType, s.Category,
    COALESCE(s.Status, 0), CASE WHEN s.Status = 2 THEN COALESCE(s.InvalidSince, k.TransactionStamp) END,
    CASE WHEN s.Status = 2 THEN COALESCE(s.Invalidation, 'Derived') END,
    COALESCE(s.Confidence, s.BaseConfidence, 1), COALESCE(s.BaseConfidence, s.Confidence, 1), COALESCE(s.IsPinned, 0),
    s.PinnedBy, s.PinReason, COALESCE(s.CreatedAt, k.TransactionStamp), k.TransactionStamp, k.TransactionStamp,
    COALESCE((SELECT MAX(h.Version)
              FROM MemoryNodesHistory AS h
              WHERE h.MemoryNodeId = s.MemoryNodeId AND h.TenantId = :tenant_id AND h.FleetId = :fleet_id), 0) + 1
FROM StagedNodes AS s
CROSS JOIN SystemClock AS k
WHERE s.IsKnown = 0;

-- name: staged_edges_find_sources
UPDATE StagedEdges
SET SourceNodeId = (
    SELECT n.MemoryNodeId
    FROM MemoryNodes AS n
    WHERE n.GraphId = :graph_id AND n.[Key] = StagedEdges.SourceKey
      AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id)
WHERE SourceKey IS NOT NULL;

-- name: staged_edges_find_targets
UPDATE StagedEdges
SET TargetNodeId = (
    SELECT n.MemoryNodeId
    FROM MemoryNodes AS n
    WHERE n.GraphId = :graph_id AND n.[Key] = StagedEdges.TargetKey
      AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id)
WHERE TargetKey IS NOT NULL;

-- name: staged_edges_find_rules
UPDATE StagedEdges
SET SourceRuleId = (
    SELECT r.SourceRuleId
    FROM SourceRules AS r
    WHERE r.Name = StagedEdges.RuleName AND r.Version = StagedEdges.RuleVersion
      AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id)
WHERE RuleName IS NOT NULL;

-- name: staged_edges_without_id
-- Edges named by the ids of their ends, with the names from which their own id is made.
SELECT s.Line, s.EdgeType, CASE WHEN a.GraphId = :graph_id THEN a.[Key] END AS SourceKey, s.SourceNodeId,
       b.[Key] AS TargetKey, s.TargetNodeId, s.SupportGroup
FROM StagedEdges AS s
LEFT JOIN MemoryNodes AS a
    ON a.MemoryNodeId = s.SourceNodeId AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
LEFT JOIN MemoryNodes AS b
    ON b.MemoryNodeId = s.TargetNodeId AND b.TenantId = :tenant_id AND b.FleetId = :fleet_id
WHERE s.MemoryEdgeId IS NULL;

-- name: staged_edge_take_id
UPDATE StagedEdges SET MemoryEdgeId = :memory_edge_id WHERE Line = :line;

-- name: staged_edges_fault
SELECT MIN(s.Line) AS Line,
       CASE WHEN s.SourceKey IS NULL THEN 'sourceNodeId' ELSE 'source ' || s.SourceKey END || ' is not known here' AS Fault
FROM StagedEdges AS s
LEFT JOIN MemoryNodes AS n ON n.MemoryNodeId = s.SourceNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
WHERE n.MemoryNodeId IS NULL
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line),
       CASE WHEN s.TargetKey IS NULL THEN 'targetNodeId' ELSE 'target ' || s.TargetKey END || ' is not known in this graph'
FROM StagedEdges AS s
LEFT JOIN MemoryNodes AS n
    ON n.MemoryNodeId = s.TargetNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id AND n.GraphId = :graph_id
WHERE n.MemoryNodeId IS NULL
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'target is the source: a node cannot depend on itself'
FROM StagedEdges AS s
WHERE s.SourceNodeId = s.TargetNodeId
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line),
       CASE WHEN s.RuleName IS NULL THEN 'sourceRuleId' ELSE 'ruleName ' || s.RuleName END || ' is not known here'
FROM StagedEdges AS s
LEFT JOIN SourceRules AS r ON r.SourceRuleId = s.SourceRuleId AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
WHERE (s.SourceRuleId IS NOT NULL OR s.RuleName IS NOT NULL) AND r.SourceRuleId IS NULL
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'the same edge stands on an earlier line; edges that differ in time only need ids of their own'
FROM (SELECT MAX(d.Line) AS Line FROM StagedEdges AS d GROUP BY d.MemoryEdgeId HAVING COUNT(*) > 1) AS s
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'memoryEdgeId is that of an edge between other nodes or of another type'
FROM StagedEdges AS s
CROSS JOIN MemoryEdges AS e ON e.MemoryEdgeId = s.MemoryEdgeId AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
WHERE e.SourceNodeId <> s.SourceNodeId OR e.TargetNodeId <> s.TargetNodeId OR e.EdgeType <> s.EdgeType
HAVING COUNT(*) > 0
ORDER BY 1
LIMIT 1;

-- name: staged_edges_fill
UPDATE StagedEdges
SET IsKnown = 1,
    SupportGroup = COALESCE(StagedEdges.SupportGroup, e.SupportGroup),
    MinSupport = COALESCE(StagedEdges.MinSupport, e.MinSupport),
    Weight = COALESCE(StagedEdges.Weight, e.Weight),
    EffectiveFrom = COALESCE(StagedEdges.EffectiveFrom, e.EffectiveFrom),
    EffectiveTo = COALESCE(StagedEdges.EffectiveTo, e.EffectiveTo),
    SourceRuleId = COALESCE(StagedEdges.SourceRuleId, e.SourceRuleId)
FROM MemoryEdges AS e
WHERE e.MemoryEdgeId = StagedEdges.MemoryEdgeId AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id;

-- name: staged_edges_reversed
-- An interval can be turned round by what is stored of it.
SELECT MIN(s.Line) AS Line, 'effectiveTo is not later than the effectiveFrom that is stored' AS Fault
FROM StagedEdges AS s
WHERE s.IsKnown = 1 AND s.EffectiveTo <= s.EffectiveFrom
HAVING COUNT(*) > 0;

-- name: staged_edges_update
UPDATE MemoryEdges
SET SupportGroup = s.SupportGroup, MinSupport = s.MinSupport, Weight = s.Weight, EffectiveFrom = s.EffectiveFrom,
    EffectiveTo = s.EffectiveTo, SourceRuleId = s.SourceRuleId, ValidFrom = k.TransactionStamp,
    Version = MemoryEdges.Version + 1
FROM StagedEdges AS s
CROSS JOIN SystemClock AS k
WHERE s.IsKnown = 1
  AND MemoryEdges.MemoryEdgeId = s.MemoryEdgeId
  AND MemoryEdges.TenantId = :tenant_id AND MemoryEdges.FleetId = :fleet_id
  AND (MemoryEdges.SupportGroup, MemoryEdges.MinSupport, MemoryEdges.Weight, MemoryEdges.EffectiveFrom,
       MemoryEdges.EffectiveTo, MemoryEdges.SourceRuleId)
      IS NOT (s.SupportGroup, s.MinSupport, s.Weight, s.EffectiveFrom, s.EffectiveTo, s.SourceRuleId);

-- name: staged_edges_insert
-- In the order in which cascades will read them.
INSERT INTO MemoryEdges (
    MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup, MinSupport, Weight,
    EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, ValidFrom, Version)
SELECT
    s.MemoryEdgeId, :tenant_id, :fleet_id, :graph_id, s.SourceNodeId, s.TargetNodeId, s.EdgeType, s.SupportGroup,
    COALESCE(s.MinSupport, 1), COALESCE(s.Weight, 1), s.EffectiveFrom, s.EffectiveTo, s.SourceRuleId,
    COALESCE(s.CreatedAt, k.TransactionStamp), k.TransactionStamp,
    COALESCE((SELECT MAX(h.Version)
              FROM MemoryEdgesHistory AS h
              WHERE h.MemoryEdgeId = s.MemoryEdgeId AND h.TenantId = :tenant_id AND h.FleetId = :fleet_id), 0) + 1
FROM StagedEdges AS s
CROSS JOIN SystemClock AS k
WHERE s.IsKnown = 0
ORDER BY s.SourceNodeId, s.TargetNodeId;

-- name: staged_assertions_find_nodes
UPDATE StagedAssertions
SET MemoryNodeId = (
    SELECT n.MemoryNodeId
    FROM MemoryNodes AS n
    WHERE n.GraphId = :graph_id AND n.[Key] = StagedAssertions.NodeKey
      AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id)
WHERE NodeKey IS NOT NULL;

-- name: staged_assertions_find_rules
UPDATE StagedAssertions
SET SourceRuleId = (
    SELECT r.SourceRuleId
    FROM SourceRules AS r
    WHERE r.Name = StagedAssertions.RuleName AND r.Version = StagedAssertions.RuleVersion
      AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id)
WHERE RuleName IS NOT NULL;

-- name: staged_assertions_without_id
-- Assertions whose node is named by id, with the name from which their own id is made.
SELECT s.Line, n.[Key] AS NodeKey, s.MemoryNodeId, s.EffectiveFrom, s.Content
FROM StagedAssertions AS s
LEFT JOIN MemoryNodes AS n ON n.MemoryNodeId = s.MemoryNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
WHERE s.MemoryAssertionId IS NULL;

-- name: staged_assertion_take_id
UPDATE StagedAssertions SET MemoryAssertionId = :memory_assertion_id WHERE Line = :line;

-- name: staged_assertions_fault
SELECT MIN(s.Line) AS Line,
       CASE WHEN s.NodeKey IS NULL THEN 'memoryNodeId' ELSE 'node ' || s.NodeKey END || ' is not known in this graph' AS Fault
FROM StagedAssertions AS s
LEFT JOIN MemoryNodes AS n
    ON n.MemoryNodeId = s.MemoryNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id AND n.GraphId = :graph_id
WHERE n.MemoryNodeId IS NULL
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line),
       CASE WHEN s.RuleName IS NULL THEN 'sourceRuleId' ELSE 'ruleName ' || s.RuleName END || ' is not known here'
FROM StagedAssertions AS s
LEFT JOIN SourceRules AS r ON r.SourceRuleId = s.SourceRuleId AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
WHERE (s.SourceRuleId IS NOT NULL OR s.RuleName IS NOT NULL) AND r.SourceRuleId IS NULL
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'the same assertion stands on an earlier line'
FROM (SELECT MAX(d.Line) AS Line FROM StagedAssertions AS d GROUP BY d.MemoryAssertionId HAVING COUNT(*) > 1) AS s
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'supersededBy is not known here'
FROM StagedAssertions AS s
WHERE s.SupersededBy IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM StagedAssertions AS o WHERE o.MemoryAssertionId = s.SupersededBy)
  AND NOT EXISTS (SELECT 1
                  FROM MemoryAssertions AS a
                  WHERE a.MemoryAssertionId = s.SupersededBy AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id)
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'memoryAssertionId is that of an assertion of another node'
FROM StagedAssertions AS s
CROSS JOIN MemoryAssertions AS a
    ON a.MemoryAssertionId = s.MemoryAssertionId AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
WHERE a.MemoryNodeId <> s.MemoryNodeId
HAVING COUNT(*) > 0
ORDER BY 1
LIMIT 1;

-- name: staged_assertions_fill
UPDATE StagedAssertions
SET IsKnown = 1,
    Category = COALESCE(StagedAssertions.Category, a.Category),
    Importance = COALESCE(StagedAssertions.Importance, a.Importance),
    Confidence = COALESCE(StagedAssertions.Confidence, a.Confidence),
    ObservedAt = COALESCE(StagedAssertions.ObservedAt, a.ObservedAt),
    EffectiveFrom = COALESCE(StagedAssertions.EffectiveFrom, a.EffectiveFrom),
    EffectiveTo = COALESCE(StagedAssertions.EffectiveTo, a.EffectiveTo),
    LastVerifiedAt = COALESCE(StagedAssertions.LastVerifiedAt, a.LastVerifiedAt),
    SupersededBy = COALESCE(StagedAssertions.SupersededBy, a.SupersededBy),
    RetractedAt = COALESCE(StagedAssertions.RetractedAt, a.RetractedAt),
    SourceRuleId = COALESCE(StagedAssertions.SourceRuleId, a.SourceRuleId)
FROM MemoryAssertions AS a
WHERE a.MemoryAssertionId = StagedAssertions.MemoryAssertionId
  AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id;

-- name: staged_assertions_reversed
-- An interval can be turned round by what is stored of it.
SELECT MIN(s.Line) AS Line, 'effectiveTo is not later than the effectiveFrom that is stored' AS Fault
FROM StagedAssertions AS s
WHERE s.IsKnown = 1 AND s.EffectiveTo <= s.EffectiveFrom
HAVING COUNT(*) > 0;

-- name: staged_assertions_update
UPDATE MemoryAssertions
SET Content = s.Content, Category = s.Category, Importance = s.Importance, Confidence = s.Confidence,
    ObservedAt = s.ObservedAt, EffectiveFrom = s.EffectiveFrom, EffectiveTo = s.EffectiveTo,
    LastVerifiedAt = s.LastVerifiedAt, SupersededBy = s.SupersededBy, RetractedAt = s.RetractedAt,
    SourceRuleId = s.SourceRuleId, ValidFrom = k.TransactionStamp, Version = MemoryAssertions.Version + 1
FROM StagedAssertions AS s
CROSS JOIN SystemClock AS k
WHERE s.IsKnown = 1
  AND MemoryAssertions.MemoryAssertionId = s.MemoryAssertionId
  AND MemoryAssertions.TenantId = :tenant_id AND MemoryAssertions.FleetId = :fleet_id
  AND (MemoryAssertions.Content, MemoryAssertions.Category, MemoryAssertions.Importance, MemoryAssertions.Confidence,
       MemoryAssertions.ObservedAt, MemoryAssertions.EffectiveFrom, MemoryAssertions.EffectiveTo,
       MemoryAssertions.LastVerifiedAt, MemoryAssertions.SupersededBy, MemoryAssertions.RetractedAt,
       MemoryAssertions.SourceRuleId)
      IS NOT (s.Content, s.Category, s.Importance, s.Confidence, s.ObservedAt, s.EffectiveFrom, s.EffectiveTo,
              s.LastVerifiedAt, s.SupersededBy, s.RetractedAt, s.SourceRuleId);

-- name: staged_assertions_insert
INSERT INTO MemoryAssertions (
    MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance, Confidence, ObservedAt,
    EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt, SourceRuleId, ValidFrom, Version)
SELECT
    s.MemoryAssertionId, :tenant_id, :fleet_id, :graph_id, s.MemoryNodeId, s.Content, s.Category,
    COALESCE(s.Importance, 0.5), COALESCE(s.Confidence, 1), COALESCE(s.ObservedAt, k.TransactionStamp), s.EffectiveFrom,
    s.EffectiveTo, s.LastVerifiedAt, s.SupersededBy, s.RetractedAt, s.SourceRuleId, k.TransactionStamp,
    COALESCE((SELECT MAX(h.Version)
              FROM MemoryAssertionsHistory AS h
              WHERE h.MemoryAssertionId = s.MemoryAssertionId AND h.TenantId = :tenant_id
                AND h.FleetId = :fleet_id), 0) + 1
FROM StagedAssertions AS s
CROSS JOIN SystemClock AS k
WHERE s.IsKnown = 0
ORDER BY s.MemoryNodeId;

-- name: staged_evidence_fault
SELECT MIN(s.Line) AS Line, 'memoryAssertionId is not known in this graph' AS Fault
FROM StagedEvidence AS s
LEFT JOIN MemoryAssertions AS a
    ON a.MemoryAssertionId = s.MemoryAssertionId AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
    AND a.GraphId = :graph_id
WHERE a.MemoryAssertionId IS NULL
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'the same evidence stands on an earlier line'
FROM (SELECT MAX(d.Line) AS Line FROM StagedEvidence AS d GROUP BY d.EvidenceReferenceId HAVING COUNT(*) > 1) AS s
HAVING COUNT(*) > 0
UNION ALL
SELECT MIN(s.Line), 'evidenceReferenceId is that of evidence for another assertion'
FROM StagedEvidence AS s
JOIN EvidenceReferences AS v
    ON v.EvidenceReferenceId = s.EvidenceReferenceId AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id
WHERE v.MemoryAssertionId <> s.MemoryAssertionId
HAVING COUNT(*) > 0
ORDER BY 1
LIMIT 1;

-- name: staged_evidence_insert
INSERT INTO EvidenceReferences (EvidenceReferenceId, TenantId, FleetId, GraphId, MemoryAssertionId, EvidenceType, Reference,
                                Details, RecordedAt)
SELECT s.EvidenceReferenceId, :tenant_id, :fleet_id, :graph_id, s.MemoryAssertionId, s.EvidenceType, s.Reference, s.Details,
       COALESCE(s.RecordedAt, k.TransactionStamp)
FROM StagedEvidence AS s
CROSS JOIN SystemClock AS k
WHERE NOT EXISTS (
    SELECT 1
    FROM EvidenceReferences AS v
    WHERE v.EvidenceReferenceId = s.EvidenceReferenceId AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id);
