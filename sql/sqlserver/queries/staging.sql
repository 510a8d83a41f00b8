-- An import: lines staged in the work tables of the session, resolved, checked and applied kind by kind. Each check names the
-- first line at fault, and begins with the field at fault where there is one. A field that a line leaves out keeps what is
-- stored, so identical lines change nothing. Rows come as one JSON text.
--
-- NCHAR(1) at the end of a text keeps its trailing blanks from being ignored. EXISTS (… EXCEPT …) tells rows apart, NULLs
-- included. (SELECT …) IS NULL seeks a row for each line, also where the rows were stored a statement ago and no statistics
-- tell of them.
DECLARE @fleet_id UNIQUEIDENTIFIER, @graph_id UNIQUEIDENTIFIER, @rows NVARCHAR(MAX), @tenant_id UNIQUEIDENTIFIER;

-- name: staged_clear_rules
DELETE FROM dbo.StagedRules WHERE StagedRules.SessionId = @@SPID;

-- name: staged_clear_nodes
DELETE FROM dbo.StagedNodes WHERE StagedNodes.SessionId = @@SPID;

-- name: staged_clear_edges
DELETE FROM dbo.StagedEdges WHERE StagedEdges.SessionId = @@SPID;

-- name: staged_clear_assertions
DELETE FROM dbo.StagedAssertions WHERE StagedAssertions.SessionId = @@SPID;

-- name: staged_clear_evidence
DELETE FROM dbo.StagedEvidence WHERE StagedEvidence.SessionId = @@SPID;

-- name: stage_rule
INSERT INTO dbo.StagedRules (SessionId, Line, SourceRuleId, Name, Version, Description, EffectiveAt, ExpiresAt)
SELECT @@SPID, j.line, j.source_rule_id, j.name, j.version, j.description, j.effective_at, j.expires_at
FROM OPENJSON(@rows) WITH (
    line           INT              '$.line',
    source_rule_id UNIQUEIDENTIFIER '$.source_rule_id',
    name           NVARCHAR(512)    '$.name',
    version        NVARCHAR(200)    '$.version',
    description    NVARCHAR(4000)   '$.description',
    effective_at   DATETIME2(6)     '$.effective_at',
    expires_at     DATETIME2(6)     '$.expires_at') AS j;

-- name: stage_node
INSERT INTO dbo.StagedNodes (SessionId, Line, MemoryNodeId, IsIdGiven, IsKnown, [Key], Name, NodeType, Category, Status,
                             InvalidSince, Invalidation, Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt)
SELECT @@SPID, j.line, j.memory_node_id, j.is_id_given, 0, j.[key], j.name, j.node_type, j.category, j.status,
       j.invalid_since, j.invalidation, j.confidence, j.base_confidence, j.is_pinned, j.pinned_by, j.pin_reason,
       j.created_at
FROM OPENJSON(@rows) WITH (
    line            INT              '$.line',
    memory_node_id  UNIQUEIDENTIFIER '$.memory_node_id',
    is_id_given     BIT              '$.is_id_given',
    [key]           NVARCHAR(512)    '$.key',
    name            NVARCHAR(512)    '$.name',
    node_type       NVARCHAR(200)    '$.node_type',
    category        NVARCHAR(200)    '$.category',
    status          TINYINT          '$.status',
    invalid_since   DATETIME2(6)     '$.invalid_since',
    invalidation    VARCHAR(20)      '$.invalidation',
    confidence      FLOAT            '$.confidence',
    base_confidence FLOAT            '$.base_confidence',
    is_pinned       BIT              '$.is_pinned',
    pinned_by       NVARCHAR(512)    '$.pinned_by',
    pin_reason      NVARCHAR(4000)   '$.pin_reason',
    created_at      DATETIME2(6)     '$.created_at') AS j;

-- name: stage_edge
INSERT INTO dbo.StagedEdges (SessionId, Line, MemoryEdgeId, IsKnown, SourceKey, SourceNodeId, TargetKey, TargetNodeId,
                             EdgeType, SupportGroup, MinSupport, Weight, EffectiveFrom, EffectiveTo, RuleName, RuleVersion,
                             SourceRuleId, CreatedAt)
SELECT @@SPID, j.line, j.memory_edge_id, 0, j.source_key, j.source_node_id, j.target_key, j.target_node_id,
       j.edge_type, j.support_group, j.min_support, j.weight, j.effective_from, j.effective_to, j.rule_name,
       j.rule_version, j.source_rule_id, j.created_at
FROM OPENJSON(@rows) WITH (
    line           INT              '$.line',
    memory_edge_id UNIQUEIDENTIFIER '$.memory_edge_id',
    source_key     NVARCHAR(512)    '$.source_key',
    source_node_id UNIQUEIDENTIFIER '$.source_node_id',
    target_key     NVARCHAR(512)    '$.target_key',
    target_node_id UNIQUEIDENTIFIER '$.target_node_id',
    edge_type      VARCHAR(20)      '$.edge_type',
    support_group  NVARCHAR(512)    '$.support_group',
    min_support    INT              '$.min_support',
    weight         FLOAT            '$.weight',
    effective_from DATETIME2(6)     '$.effective_from',
    effective_to   DATETIME2(6)     '$.effective_to',
    rule_name      NVARCHAR(512)    '$.rule_name',
    rule_version   NVARCHAR(200)    '$.rule_version',
    source_rule_id UNIQUEIDENTIFIER '$.source_rule_id',
    created_at     DATETIME2(6)     '$.created_at') AS j;

-- name: stage_assertion
INSERT INTO dbo.StagedAssertions (SessionId, Line, MemoryAssertionId, IsKnown, NodeKey, MemoryNodeId, Content, Category,
                                  Importance, Confidence, ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt,
                                  SupersededBy, RetractedAt, RuleName, RuleVersion, SourceRuleId)
SELECT @@SPID, j.line, j.memory_assertion_id, 0, j.node_key, j.memory_node_id, j.content, j.category,
       j.importance, j.confidence, j.observed_at, j.effective_from, j.effective_to, j.last_verified_at,
       j.superseded_by, j.retracted_at, j.rule_name, j.rule_version, j.source_rule_id
FROM OPENJSON(@rows) WITH (
    line                INT              '$.line',
    memory_assertion_id UNIQUEIDENTIFIER '$.memory_assertion_id',
    node_key            NVARCHAR(512)    '$.node_key',
    memory_node_id      UNIQUEIDENTIFIER '$.memory_node_id',
    content             NVARCHAR(MAX)    '$.content',
    category            NVARCHAR(200)    '$.category',
    importance          FLOAT            '$.importance',
    confidence          FLOAT            '$.confidence',
    observed_at         DATETIME2(6)     '$.observed_at',
    effective_from      DATETIME2(6)     '$.effective_from',
    effective_to        DATETIME2(6)     '$.effective_to',
    last_verified_at    DATETIME2(6)     '$.last_verified_at',
    superseded_by       UNIQUEIDENTIFIER '$.superseded_by',
    retracted_at        DATETIME2(6)     '$.retracted_at',
    rule_name           NVARCHAR(512)    '$.rule_name',
    rule_version        NVARCHAR(200)    '$.rule_version',
    source_rule_id      UNIQUEIDENTIFIER '$.source_rule_id') AS j;

-- name: stage_evidence
INSERT INTO dbo.StagedEvidence (SessionId, Line, EvidenceReferenceId, MemoryAssertionId, EvidenceType, Reference, Details,
                                RecordedAt)
SELECT @@SPID, j.line, j.evidence_reference_id, j.memory_assertion_id, j.evidence_type, j.reference, j.details,
       j.recorded_at
FROM OPENJSON(@rows) WITH (
    line                  INT              '$.line',
    evidence_reference_id UNIQUEIDENTIFIER '$.evidence_reference_id',
    memory_assertion_id   UNIQUEIDENTIFIER '$.memory_assertion_id',
    evidence_type         NVARCHAR(200)    '$.evidence_type',
    reference             NVARCHAR(4000)   '$.reference',
    details               NVARCHAR(4000)   '$.details',
    recorded_at           DATETIME2(6)     '$.recorded_at') AS j;

-- name: staged_rules_fault
SELECT TOP (1) f.Line, f.Fault
FROM (
    SELECT s.Line,
           N'rule ' + s.Name + N' ' + s.Version + N' is stored otherwise; a version of a rule does not change' AS Fault
    FROM dbo.StagedRules AS s
    JOIN dbo.SourceRules AS r
        ON r.TenantId = @tenant_id AND r.FleetId = @fleet_id
        AND ((r.NameExact = s.Name + NCHAR(1) AND r.VersionExact = s.Version + NCHAR(1)) OR r.SourceRuleId = s.SourceRuleId)
    WHERE s.SessionId = @@SPID
      AND (r.SourceRuleId <> s.SourceRuleId OR r.NameExact <> s.Name + NCHAR(1) OR r.VersionExact <> s.Version + NCHAR(1)
           OR r.EffectiveAt <> s.EffectiveAt
           OR (s.ExpiresAt IS NOT NULL AND (r.ExpiresAt IS NULL OR r.ExpiresAt <> s.ExpiresAt))
           OR (s.Description IS NOT NULL
               AND (r.Description IS NULL OR r.Description + NCHAR(1) <> s.Description + NCHAR(1))))
    UNION ALL
    SELECT s.Line, N'expiresAt must be later than effectiveAt'
    FROM dbo.StagedRules AS s
    JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
    LEFT JOIN dbo.SourceRules AS r
        ON r.TenantId = @tenant_id AND r.FleetId = @fleet_id AND r.SourceRuleId = s.SourceRuleId
    WHERE s.SessionId = @@SPID AND s.ExpiresAt <= COALESCE(s.EffectiveAt, r.EffectiveAt, k.ValidFrom)
    UNION ALL
    SELECT MAX(s.Line), N'rule ' + MAX(s.Name) + N' ' + MAX(s.Version) + N' stands on an earlier line too'
    FROM dbo.StagedRules AS s
    WHERE s.SessionId = @@SPID
    GROUP BY s.SourceRuleId
    HAVING COUNT(*) > 1
    UNION ALL
    SELECT MAX(s.Line), N'rule ' + MAX(s.Name) + N' ' + MAX(s.Version) + N' stands on an earlier line too'
    FROM dbo.StagedRules AS s
    WHERE s.SessionId = @@SPID
    GROUP BY s.Name + NCHAR(1), s.Version + NCHAR(1)
    HAVING COUNT(*) > 1
) AS f
ORDER BY f.Line;

-- name: staged_rules_insert
INSERT INTO dbo.SourceRules (SourceRuleId, TenantId, FleetId, Name, Version, Description, EffectiveAt, ExpiresAt, NameExact,
                             VersionExact, SourceRuleIdText)
SELECT s.SourceRuleId, @tenant_id, @fleet_id, s.Name, s.Version, s.Description,
       COALESCE(s.EffectiveAt, k.ValidFrom), s.ExpiresAt, s.Name + NCHAR(1), s.Version + NCHAR(1),
       LOWER(CONVERT(CHAR(36), s.SourceRuleId))
FROM dbo.StagedRules AS s
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE s.SessionId = @@SPID
  AND NOT EXISTS (SELECT 1
                  FROM dbo.SourceRules AS r
                  WHERE r.TenantId = @tenant_id AND r.FleetId = @fleet_id AND r.SourceRuleId = s.SourceRuleId);

-- name: staged_nodes_take_ids
-- A key that is stored names the node it names there.
UPDATE s
SET MemoryNodeId = n.MemoryNodeId
FROM dbo.StagedNodes AS s
JOIN dbo.MemoryNodes AS n
    ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.GraphId = @graph_id AND n.KeyExact = s.[Key] + NCHAR(1)
WHERE s.SessionId = @@SPID AND s.IsIdGiven = 0;

-- name: staged_nodes_fault
SELECT TOP (1) f.Line, f.Fault
FROM (
    SELECT MAX(s.Line) AS Line,
           CASE WHEN MAX(s.[Key]) IS NULL THEN N'memoryNodeId' ELSE N'key ' + MAX(s.[Key]) END
           + N' stands on an earlier line too' AS Fault
    FROM dbo.StagedNodes AS s
    WHERE s.SessionId = @@SPID
    GROUP BY s.MemoryNodeId
    HAVING COUNT(*) > 1
    UNION ALL
    SELECT MAX(s.Line), N'key ' + MAX(s.[Key]) + N' stands on an earlier line too'
    FROM dbo.StagedNodes AS s
    WHERE s.SessionId = @@SPID AND s.[Key] IS NOT NULL
    GROUP BY s.[Key] + NCHAR(1)
    HAVING COUNT(*) > 1
    UNION ALL
    SELECT s.Line, N'memoryNodeId is that of a node with another key or in another graph'
    FROM dbo.StagedNodes AS s
    JOIN dbo.MemoryNodes AS n ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.MemoryNodeId
    WHERE s.SessionId = @@SPID
      AND (n.GraphId <> @graph_id OR (s.[Key] IS NOT NULL AND n.KeyExact <> s.[Key] + NCHAR(1)))
    UNION ALL
    SELECT s.Line, N'key ' + s.[Key] + N' belongs to a node with another id'
    FROM dbo.StagedNodes AS s
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.GraphId = @graph_id AND n.KeyExact = s.[Key] + NCHAR(1)
    WHERE s.SessionId = @@SPID AND n.MemoryNodeId <> s.MemoryNodeId
) AS f
ORDER BY f.Line;

-- name: staged_nodes_fill
-- What a line leaves out of a stored node stays as it is. A status that is given brings its own invalidity.
UPDATE s
SET IsKnown = 1,
    [Key] = n.[Key],
    Name = COALESCE(s.Name, n.Name),
    NodeType = COALESCE(s.NodeType, n.NodeType),
    Category = COALESCE(s.Category, n.Category),
    Invalidation = CASE WHEN COALESCE(s.Status, n.Status) = 2
                        THEN COALESCE(s.Invalidation, n.Invalidation, 'Derived') END,
    InvalidSince = CASE WHEN COALESCE(s.Status, n.Status) = 2
                        THEN COALESCE(s.InvalidSince, n.InvalidSince, k.ValidFrom) END,
    Status = COALESCE(s.Status, n.Status),
    Confidence = COALESCE(s.Confidence, n.Confidence),
    BaseConfidence = COALESCE(s.BaseConfidence, n.BaseConfidence),
    PinnedBy = CASE WHEN s.IsPinned IS NULL THEN n.PinnedBy ELSE s.PinnedBy END,
    PinReason = CASE WHEN s.IsPinned IS NULL THEN n.PinReason ELSE s.PinReason END,
    IsPinned = COALESCE(s.IsPinned, n.IsPinned)
FROM dbo.StagedNodes AS s
JOIN dbo.MemoryNodes AS n ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.MemoryNodeId
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE s.SessionId = @@SPID;

-- name: staged_nodes_update
UPDATE n
SET Name = s.Name, NodeType = s.NodeType, Category = s.Category, Status = s.Status, InvalidSince = s.InvalidSince,
    Invalidation = s.Invalidation, Confidence = s.Confidence, BaseConfidence = s.BaseConfidence, IsPinned = s.IsPinned,
    PinnedBy = s.PinnedBy, PinReason = s.PinReason, UpdatedAt = k.ValidFrom, Version = n.Version + 1
FROM dbo.StagedNodes AS s
JOIN dbo.MemoryNodes AS n ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.MemoryNodeId
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE s.SessionId = @@SPID AND s.IsKnown = 1
  AND EXISTS (SELECT s.Name + NCHAR(1), s.NodeType + NCHAR(1), s.Category + NCHAR(1), s.Status, s.InvalidSince,
                     s.Invalidation, s.Confidence, s.BaseConfidence, s.IsPinned, s.PinnedBy + NCHAR(1),
                     s.PinReason + NCHAR(1)
              EXCEPT
              SELECT n.Name + NCHAR(1), n.NodeType + NCHAR(1), n.Category + NCHAR(1), n.Status, n.InvalidSince,
                     n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, n.PinnedBy + NCHAR(1),
                     n.PinReason + NCHAR(1));

-- name: staged_nodes_insert
INSERT INTO dbo.MemoryNodes (
    MemoryNodeId, TenantId, FleetId, GraphId, [Key], Name, NodeType, Category, Status, InvalidSince, Invalidation,
    Confidence, BaseConfidence, IsPinned, PinnedBy, PinReason, CreatedAt, UpdatedAt, Version, KeyExact, MemoryNodeIdText)
SELECT
    s.MemoryNodeId, @tenant_id, @fleet_id, @graph_id, s.[Key], COALESCE(s.Name, s.[Key]), s.NodeType, s.Category,
    COALESCE(s.Status, 0), CASE WHEN s.Status = 2 THEN COALESCE(s.InvalidSince, k.ValidFrom) END,
    CASE WHEN s.Status = 2 THEN COALESCE(s.Invalidation, 'Derived') END,
    COALESCE(s.Confidence, s.BaseConfidence, 1), COALESCE(s.BaseConfidence, s.Confidence, 1), COALESCE(s.IsPinned, 0),
    s.PinnedBy, s.PinReason, COALESCE(s.CreatedAt, k.ValidFrom), k.ValidFrom,
    COALESCE((SELECT MAX(h.Version)
              FROM dbo.MemoryNodesHistory AS h
              WHERE h.TenantId = @tenant_id AND h.FleetId = @fleet_id AND h.MemoryNodeId = s.MemoryNodeId), 0) + 1,
    ISNULL(s.[Key] + NCHAR(1), CONVERT(NCHAR(36), s.MemoryNodeId)), LOWER(CONVERT(CHAR(36), s.MemoryNodeId))
FROM dbo.StagedNodes AS s
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE s.SessionId = @@SPID AND s.IsKnown = 0;

-- name: staged_edges_find_sources
UPDATE s
SET SourceNodeId = n.MemoryNodeId
FROM dbo.StagedEdges AS s
JOIN dbo.MemoryNodes AS n
    ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.GraphId = @graph_id AND n.KeyExact = s.SourceKey + NCHAR(1)
WHERE s.SessionId = @@SPID AND s.SourceKey IS NOT NULL;

-- name: staged_edges_find_targets
UPDATE s
SET TargetNodeId = n.MemoryNodeId
FROM dbo.StagedEdges AS s
JOIN dbo.MemoryNodes AS n
    ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.GraphId = @graph_id AND n.KeyExact = s.TargetKey + NCHAR(1)
WHERE s.SessionId = @@SPID AND s.TargetKey IS NOT NULL;

-- name: staged_edges_find_rules
UPDATE s
SET SourceRuleId = r.SourceRuleId
FROM dbo.StagedEdges AS s
JOIN dbo.SourceRules AS r
    ON r.TenantId = @tenant_id AND r.FleetId = @fleet_id
    AND r.NameExact = s.RuleName + NCHAR(1) AND r.VersionExact = s.RuleVersion + NCHAR(1)
WHERE s.SessionId = @@SPID AND s.RuleName IS NOT NULL;

-- name: staged_edges_without_id
-- Edges named by the ids of their ends, with the names from which their own id is made.
SELECT s.Line, s.EdgeType, CASE WHEN a.GraphId = @graph_id THEN a.[Key] END AS SourceKey, s.SourceNodeId,
       b.[Key] AS TargetKey, s.TargetNodeId, s.SupportGroup
FROM dbo.StagedEdges AS s
LEFT JOIN dbo.MemoryNodes AS a
    ON a.TenantId = @tenant_id AND a.FleetId = @fleet_id AND a.MemoryNodeId = s.SourceNodeId
LEFT JOIN dbo.MemoryNodes AS b
    ON b.TenantId = @tenant_id AND b.FleetId = @fleet_id AND b.MemoryNodeId = s.TargetNodeId
WHERE s.SessionId = @@SPID AND s.MemoryEdgeId IS NULL;

-- name: staged_edge_take_id
UPDATE s
SET MemoryEdgeId = j.memory_edge_id
FROM dbo.StagedEdges AS s
JOIN OPENJSON(@rows) WITH (
    line           INT              '$.line',
    memory_edge_id UNIQUEIDENTIFIER '$.memory_edge_id') AS j ON j.line = s.Line
WHERE s.SessionId = @@SPID;

-- name: staged_edges_fault
SELECT TOP (1) f.Line, f.Fault
FROM (
    SELECT s.Line,
           CASE WHEN s.SourceKey IS NULL THEN N'sourceNodeId' ELSE N'source ' + s.SourceKey END
           + N' is not known here' AS Fault
    FROM dbo.StagedEdges AS s
    WHERE s.SessionId = @@SPID
      AND (SELECT n.MemoryNodeId
           FROM dbo.MemoryNodes AS n
           WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.SourceNodeId) IS NULL
    UNION ALL
    SELECT s.Line,
           CASE WHEN s.TargetKey IS NULL THEN N'targetNodeId' ELSE N'target ' + s.TargetKey END
           + N' is not known in this graph'
    FROM dbo.StagedEdges AS s
    WHERE s.SessionId = @@SPID
      AND (SELECT CASE WHEN n.GraphId = @graph_id THEN 1 END
           FROM dbo.MemoryNodes AS n
           WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.TargetNodeId) IS NULL
    UNION ALL
    SELECT s.Line, N'target is the source: a node cannot depend on itself'
    FROM dbo.StagedEdges AS s
    WHERE s.SessionId = @@SPID AND s.SourceNodeId = s.TargetNodeId
    UNION ALL
    SELECT s.Line,
           CASE WHEN s.RuleName IS NULL THEN N'sourceRuleId' ELSE N'ruleName ' + s.RuleName END + N' is not known here'
    FROM dbo.StagedEdges AS s
    LEFT JOIN dbo.SourceRules AS r
        ON r.TenantId = @tenant_id AND r.FleetId = @fleet_id AND r.SourceRuleId = s.SourceRuleId
    WHERE s.SessionId = @@SPID AND (s.SourceRuleId IS NOT NULL OR s.RuleName IS NOT NULL) AND r.SourceRuleId IS NULL
    UNION ALL
    SELECT MAX(s.Line), N'the same edge stands on an earlier line; edges that differ in time only need ids of their own'
    FROM dbo.StagedEdges AS s
    WHERE s.SessionId = @@SPID
    GROUP BY s.MemoryEdgeId
    HAVING COUNT(*) > 1
    UNION ALL
    SELECT s.Line, N'memoryEdgeId is that of an edge between other nodes or of another type'
    FROM dbo.StagedEdges AS s
    JOIN dbo.MemoryEdges AS e ON e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.MemoryEdgeId = s.MemoryEdgeId
    WHERE s.SessionId = @@SPID
      AND (e.SourceNodeId <> s.SourceNodeId OR e.TargetNodeId <> s.TargetNodeId OR e.EdgeType <> s.EdgeType)
) AS f
ORDER BY f.Line;

-- name: staged_edges_fill
UPDATE s
SET IsKnown = 1,
    SupportGroup = COALESCE(s.SupportGroup, e.SupportGroup),
    MinSupport = COALESCE(s.MinSupport, e.MinSupport),
    Weight = COALESCE(s.Weight, e.Weight),
    EffectiveFrom = COALESCE(s.EffectiveFrom, e.EffectiveFrom),
    EffectiveTo = COALESCE(s.EffectiveTo, e.EffectiveTo),
    SourceRuleId = COALESCE(s.SourceRuleId, e.SourceRuleId)
FROM dbo.StagedEdges AS s
JOIN dbo.MemoryEdges AS e ON e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.MemoryEdgeId = s.MemoryEdgeId
WHERE s.SessionId = @@SPID;

-- name: staged_edges_reversed
-- An interval can be turned round by what is stored of it.
SELECT TOP (1) s.Line, N'effectiveTo is not later than the effectiveFrom that is stored' AS Fault
FROM dbo.StagedEdges AS s
WHERE s.SessionId = @@SPID AND s.IsKnown = 1 AND s.EffectiveTo <= s.EffectiveFrom
ORDER BY s.Line;

-- name: staged_edges_update
UPDATE e
SET SupportGroup = s.SupportGroup, MinSupport = s.MinSupport, Weight = s.Weight, EffectiveFrom = s.EffectiveFrom,
    EffectiveTo = s.EffectiveTo, SourceRuleId = s.SourceRuleId, Version = e.Version + 1
FROM dbo.StagedEdges AS s
JOIN dbo.MemoryEdges AS e ON e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.MemoryEdgeId = s.MemoryEdgeId
WHERE s.SessionId = @@SPID AND s.IsKnown = 1
  AND EXISTS (SELECT s.SupportGroup + NCHAR(1), s.MinSupport, s.Weight, s.EffectiveFrom, s.EffectiveTo, s.SourceRuleId
              EXCEPT
              SELECT e.SupportGroup + NCHAR(1), e.MinSupport, e.Weight, e.EffectiveFrom, e.EffectiveTo, e.SourceRuleId);

-- name: staged_edges_insert
INSERT INTO dbo.MemoryEdges (
    MemoryEdgeId, TenantId, FleetId, GraphId, SourceNodeId, TargetNodeId, EdgeType, SupportGroup, MinSupport, Weight,
    EffectiveFrom, EffectiveTo, SourceRuleId, CreatedAt, Version, MemoryEdgeIdText)
SELECT
    s.MemoryEdgeId, @tenant_id, @fleet_id, @graph_id, s.SourceNodeId, s.TargetNodeId, s.EdgeType, s.SupportGroup,
    COALESCE(s.MinSupport, 1), COALESCE(s.Weight, 1), s.EffectiveFrom, s.EffectiveTo, s.SourceRuleId,
    COALESCE(s.CreatedAt, k.ValidFrom),
    COALESCE((SELECT MAX(h.Version)
              FROM dbo.MemoryEdgesHistory AS h
              WHERE h.TenantId = @tenant_id AND h.FleetId = @fleet_id AND h.MemoryEdgeId = s.MemoryEdgeId), 0) + 1,
    LOWER(CONVERT(CHAR(36), s.MemoryEdgeId))
FROM dbo.StagedEdges AS s
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE s.SessionId = @@SPID AND s.IsKnown = 0;

-- name: staged_assertions_find_nodes
UPDATE s
SET MemoryNodeId = n.MemoryNodeId
FROM dbo.StagedAssertions AS s
JOIN dbo.MemoryNodes AS n
    ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.GraphId = @graph_id AND n.KeyExact = s.NodeKey + NCHAR(1)
WHERE s.SessionId = @@SPID AND s.NodeKey IS NOT NULL;

-- name: staged_assertions_find_rules
UPDATE s
SET SourceRuleId = r.SourceRuleId
FROM dbo.StagedAssertions AS s
JOIN dbo.SourceRules AS r
    ON r.TenantId = @tenant_id AND r.FleetId = @fleet_id
    AND r.NameExact = s.RuleName + NCHAR(1) AND r.VersionExact = s.RuleVersion + NCHAR(1)
WHERE s.SessionId = @@SPID AND s.RuleName IS NOT NULL;

-- name: staged_assertions_without_id
-- Assertions whose node is named by id, with the name from which their own id is made.
SELECT s.Line, n.[Key] AS NodeKey, s.MemoryNodeId, s.EffectiveFrom, s.Content
FROM dbo.StagedAssertions AS s
LEFT JOIN dbo.MemoryNodes AS n
    ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.MemoryNodeId
WHERE s.SessionId = @@SPID AND s.MemoryAssertionId IS NULL;

-- name: staged_assertion_take_id
UPDATE s
SET MemoryAssertionId = j.memory_assertion_id
FROM dbo.StagedAssertions AS s
JOIN OPENJSON(@rows) WITH (
    line                INT              '$.line',
    memory_assertion_id UNIQUEIDENTIFIER '$.memory_assertion_id') AS j ON j.line = s.Line
WHERE s.SessionId = @@SPID;

-- name: staged_assertions_fault
SELECT TOP (1) f.Line, f.Fault
FROM (
    SELECT s.Line,
           CASE WHEN s.NodeKey IS NULL THEN N'memoryNodeId' ELSE N'node ' + s.NodeKey END
           + N' is not known in this graph' AS Fault
    FROM dbo.StagedAssertions AS s
    WHERE s.SessionId = @@SPID
      AND (SELECT CASE WHEN n.GraphId = @graph_id THEN 1 END
           FROM dbo.MemoryNodes AS n
           WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = s.MemoryNodeId) IS NULL
    UNION ALL
    SELECT s.Line,
           CASE WHEN s.RuleName IS NULL THEN N'sourceRuleId' ELSE N'ruleName ' + s.RuleName END + N' is not known here'
    FROM dbo.StagedAssertions AS s
    LEFT JOIN dbo.SourceRules AS r
        ON r.TenantId = @tenant_id AND r.FleetId = @fleet_id AND r.SourceRuleId = s.SourceRuleId
    WHERE s.SessionId = @@SPID AND (s.SourceRuleId IS NOT NULL OR s.RuleName IS NOT NULL) AND r.SourceRuleId IS NULL
    UNION ALL
    SELECT MAX(s.Line), N'the same assertion stands on an earlier line'
    FROM dbo.StagedAssertions AS s
    WHERE s.SessionId = @@SPID
    GROUP BY s.MemoryAssertionId
    HAVING COUNT(*) > 1
    UNION ALL
    SELECT s.Line, N'supersededBy is not known here'
    FROM dbo.StagedAssertions AS s
    WHERE s.SessionId = @@SPID AND s.SupersededBy IS NOT NULL
      AND NOT EXISTS (SELECT 1
                      FROM dbo.StagedAssertions AS o
                      WHERE o.SessionId = @@SPID AND o.MemoryAssertionId = s.SupersededBy)
      AND NOT EXISTS (SELECT 1
                      FROM dbo.MemoryAssertions AS a
                      WHERE a.TenantId = @tenant_id AND a.FleetId = @fleet_id AND a.MemoryAssertionId = s.SupersededBy)
    UNION ALL
    SELECT s.Line, N'memoryAssertionId is that of an assertion of another node'
    FROM dbo.StagedAssertions AS s
    JOIN dbo.MemoryAssertions AS a
        ON a.TenantId = @tenant_id AND a.FleetId = @fleet_id AND a.MemoryAssertionId = s.MemoryAssertionId
    WHERE s.SessionId = @@SPID AND a.MemoryNodeId <> s.MemoryNodeId
) AS f
ORDER BY f.Line;

-- name: staged_assertions_fill
UPDATE s
SET IsKnown = 1,
    Category = COALESCE(s.Category, a.Category),
    Importance = COALESCE(s.Importance, a.Importance),
    Confidence = COALESCE(s.Confidence, a.Confidence),
    ObservedAt = COALESCE(s.ObservedAt, a.ObservedAt),
    EffectiveFrom = COALESCE(s.EffectiveFrom, a.EffectiveFrom),
    EffectiveTo = COALESCE(s.EffectiveTo, a.EffectiveTo),
    LastVerifiedAt = COALESCE(s.LastVerifiedAt, a.LastVerifiedAt),
    SupersededBy = COALESCE(s.SupersededBy, a.SupersededBy),
    RetractedAt = COALESCE(s.RetractedAt, a.RetractedAt),
    SourceRuleId = COALESCE(s.SourceRuleId, a.SourceRuleId)
FROM dbo.StagedAssertions AS s
JOIN dbo.MemoryAssertions AS a
    ON a.TenantId = @tenant_id AND a.FleetId = @fleet_id AND a.MemoryAssertionId = s.MemoryAssertionId
WHERE s.SessionId = @@SPID;

-- name: staged_assertions_reversed
-- An interval can be turned round by what is stored of it.
SELECT TOP (1) s.Line, N'effectiveTo is not later than the effectiveFrom that is stored' AS Fault
FROM dbo.StagedAssertions AS s
WHERE s.SessionId = @@SPID AND s.IsKnown = 1 AND s.EffectiveTo <= s.EffectiveFrom
ORDER BY s.Line;

-- name: staged_assertions_update
UPDATE a
SET Content = s.Content, Category = s.Category, Importance = s.Importance, Confidence = s.Confidence,
    ObservedAt = s.ObservedAt, EffectiveFrom = s.EffectiveFrom, EffectiveTo = s.EffectiveTo,
    LastVerifiedAt = s.LastVerifiedAt, SupersededBy = s.SupersededBy, RetractedAt = s.RetractedAt,
    SourceRuleId = s.SourceRuleId, Version = a.Version + 1
FROM dbo.StagedAssertions AS s
JOIN dbo.MemoryAssertions AS a
    ON a.TenantId = @tenant_id AND a.FleetId = @fleet_id AND a.MemoryAssertionId = s.MemoryAssertionId
WHERE s.SessionId = @@SPID AND s.IsKnown = 1
  AND EXISTS (SELECT s.Content + NCHAR(1), s.Category + NCHAR(1), s.Importance, s.Confidence, s.ObservedAt, s.EffectiveFrom,
                     s.EffectiveTo, s.LastVerifiedAt, s.SupersededBy, s.RetractedAt, s.SourceRuleId
              EXCEPT
              SELECT a.Content + NCHAR(1), a.Category + NCHAR(1), a.Importance, a.Confidence, a.ObservedAt, a.EffectiveFrom,
                     a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt, a.SourceRuleId);

-- name: staged_assertions_insert
INSERT INTO dbo.MemoryAssertions (
    MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance, Confidence, ObservedAt,
    EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt, SourceRuleId, Version, MemoryAssertionIdText)
SELECT
    s.MemoryAssertionId, @tenant_id, @fleet_id, @graph_id, s.MemoryNodeId, s.Content, s.Category,
    COALESCE(s.Importance, 0.5), COALESCE(s.Confidence, 1), COALESCE(s.ObservedAt, k.ValidFrom), s.EffectiveFrom,
    s.EffectiveTo, s.LastVerifiedAt, s.SupersededBy, s.RetractedAt, s.SourceRuleId,
    COALESCE((SELECT MAX(h.Version)
              FROM dbo.MemoryAssertionsHistory AS h
              WHERE h.TenantId = @tenant_id AND h.FleetId = @fleet_id
                AND h.MemoryAssertionId = s.MemoryAssertionId), 0) + 1,
    LOWER(CONVERT(CHAR(36), s.MemoryAssertionId))
FROM dbo.StagedAssertions AS s
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE s.SessionId = @@SPID AND s.IsKnown = 0;

-- name: staged_evidence_fault
SELECT TOP (1) f.Line, f.Fault
FROM (
    SELECT s.Line, N'memoryAssertionId is not known in this graph' AS Fault
    FROM dbo.StagedEvidence AS s
    WHERE s.SessionId = @@SPID
      AND (SELECT CASE WHEN a.GraphId = @graph_id THEN 1 END
           FROM dbo.MemoryAssertions AS a
           WHERE a.TenantId = @tenant_id AND a.FleetId = @fleet_id
             AND a.MemoryAssertionId = s.MemoryAssertionId) IS NULL
    UNION ALL
    SELECT MAX(s.Line), N'the same evidence stands on an earlier line'
    FROM dbo.StagedEvidence AS s
    WHERE s.SessionId = @@SPID
    GROUP BY s.EvidenceReferenceId
    HAVING COUNT(*) > 1
    UNION ALL
    SELECT s.Line, N'evidenceReferenceId is that of evidence for another assertion'
    FROM dbo.StagedEvidence AS s
    JOIN dbo.EvidenceReferences AS v
        ON v.TenantId = @tenant_id AND v.FleetId = @fleet_id AND v.EvidenceReferenceId = s.EvidenceReferenceId
    WHERE s.SessionId = @@SPID AND v.MemoryAssertionId <> s.MemoryAssertionId
) AS f
ORDER BY f.Line;

-- name: staged_evidence_insert
INSERT INTO dbo.EvidenceReferences (EvidenceReferenceId, TenantId, FleetId, GraphId, MemoryAssertionId, EvidenceType,
                                    Reference, Details, RecordedAt, EvidenceReferenceIdText)
SELECT s.EvidenceReferenceId, @tenant_id, @fleet_id, @graph_id, s.MemoryAssertionId, s.EvidenceType, s.Reference, s.Details,
       COALESCE(s.RecordedAt, k.ValidFrom), LOWER(CONVERT(CHAR(36), s.EvidenceReferenceId))
FROM dbo.StagedEvidence AS s
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE s.SessionId = @@SPID
  AND NOT EXISTS (SELECT 1
                  FROM dbo.EvidenceReferences AS v
                  WHERE v.TenantId = @tenant_id AND v.FleetId = @fleet_id AND v.EvidenceReferenceId = s.EvidenceReferenceId);
