-- name: rule_insert
INSERT INTO SourceRules (SourceRuleId, TenantId, FleetId, Name, Version, Description, EffectiveAt, ExpiresAt)
VALUES (:source_rule_id, :tenant_id, :fleet_id, :name, :version, :description, :effective_at, :expires_at);

-- name: rule_find
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM SourceRules AS r
WHERE r.SourceRuleId = :source_rule_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id;

-- name: rule_find_version
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM SourceRules AS r
WHERE r.Name = :name AND r.Version = :version AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id;

-- name: rule_page
-- Rules of the fleet by id, after a given one.
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM SourceRules AS r
WHERE r.TenantId = :tenant_id AND r.FleetId = :fleet_id AND (:name IS NULL OR r.Name = :name)
  AND (:after_id IS NULL OR r.SourceRuleId > :after_id)
ORDER BY r.SourceRuleId
LIMIT :limit;

-- name: rules_in_force
-- The versions of a rule that a new one replaces: those in force when it takes effect.
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM SourceRules AS r
WHERE r.Name = :name AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
  AND r.EffectiveAt <= :effective_time AND (r.ExpiresAt IS NULL OR r.ExpiresAt > :effective_time)
ORDER BY r.SourceRuleId;

-- name: rule_next
-- The version of a rule that begins next after a time.
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM SourceRules AS r
WHERE r.Name = :name AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id AND r.EffectiveAt > :effective_time
ORDER BY r.EffectiveAt
LIMIT 1;

-- name: rule_expire
UPDATE SourceRules
SET ExpiresAt = :expires_at
WHERE SourceRuleId = :source_rule_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: nodes_resting_on_rule
-- Nodes that state something under a rule, by id.
SELECT DISTINCT a.MemoryNodeId
FROM MemoryAssertions AS a
WHERE a.SourceRuleId = :source_rule_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
  AND a.RetractedAt IS NULL AND (a.EffectiveTo IS NULL OR a.EffectiveTo > :effective_time)
ORDER BY a.MemoryNodeId;

-- name: targets_resting_on_rule
-- Nodes with a support that held under a rule, by id.
SELECT DISTINCT e.TargetNodeId AS MemoryNodeId
FROM MemoryEdges AS e
WHERE e.SourceRuleId = :source_rule_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND (e.EffectiveFrom IS NULL OR e.EffectiveFrom < :effective_time)
  AND (e.EffectiveTo IS NULL OR e.EffectiveTo > :effective_time)
ORDER BY e.TargetNodeId;

-- name: rules_of_graph
-- The rules that the edges and assertions of a graph rest on, as they were at a system time, by name and version.
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM SourceRules AS r
WHERE r.TenantId = :tenant_id AND r.FleetId = :fleet_id
  AND r.SourceRuleId IN (
    SELECT e.SourceRuleId
    FROM MemoryEdgesSystemTime AS e
    WHERE e.GraphId = :graph_id AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.SourceRuleId IS NOT NULL
      AND e.ValidFrom <= :as_of AND e.ValidTo > :as_of
    UNION
    SELECT a.SourceRuleId
    FROM MemoryAssertionsSystemTime AS a
    WHERE a.GraphId = :graph_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id AND a.SourceRuleId IS NOT NULL
      AND a.ValidFrom <= :as_of AND a.ValidTo > :as_of)
ORDER BY r.Name, r.Version;

-- name: edges_take_rule
-- Edges under another version of the rule, and not ended, go on under this one.
UPDATE MemoryEdges INDEXED BY IX_MemoryEdges_Rule
SET SourceRuleId = :source_rule_id, ValidFrom = k.TransactionStamp, Version = MemoryEdges.Version + 1
FROM SystemClock AS k
WHERE MemoryEdges.TenantId = :tenant_id AND MemoryEdges.FleetId = :fleet_id
  AND (MemoryEdges.EffectiveTo IS NULL OR MemoryEdges.EffectiveTo > k.TransactionStamp)
  AND MemoryEdges.SourceRuleId IS NOT NULL AND MemoryEdges.SourceRuleId IN (
    SELECT v.SourceRuleId
    FROM SourceRules AS r
    JOIN SourceRules AS v ON v.TenantId = r.TenantId AND v.FleetId = r.FleetId AND v.Name = r.Name
    WHERE r.SourceRuleId = :source_rule_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
      AND v.SourceRuleId <> r.SourceRuleId);

-- name: assertions_take_rule
-- Assertions under another version of the rule that still hold go on under this one.
UPDATE MemoryAssertions INDEXED BY IX_MemoryAssertions_Rule
SET SourceRuleId = :source_rule_id, ValidFrom = k.TransactionStamp, Version = MemoryAssertions.Version + 1
FROM SystemClock AS k
WHERE MemoryAssertions.TenantId = :tenant_id AND MemoryAssertions.FleetId = :fleet_id
  AND MemoryAssertions.RetractedAt IS NULL
  AND (MemoryAssertions.EffectiveTo IS NULL OR MemoryAssertions.EffectiveTo > k.TransactionStamp)
  AND MemoryAssertions.SourceRuleId IS NOT NULL AND MemoryAssertions.SourceRuleId IN (
    SELECT v.SourceRuleId
    FROM SourceRules AS r
    JOIN SourceRules AS v ON v.TenantId = r.TenantId AND v.FleetId = r.FleetId AND v.Name = r.Name
    WHERE r.SourceRuleId = :source_rule_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
      AND v.SourceRuleId <> r.SourceRuleId);
