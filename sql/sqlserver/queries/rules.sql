DECLARE @after_id UNIQUEIDENTIFIER, @as_of DATETIME2(6), @description NVARCHAR(4000), @effective_at DATETIME2(6),
        @effective_time DATETIME2(6), @expires_at DATETIME2(6), @fleet_id UNIQUEIDENTIFIER, @graph_id UNIQUEIDENTIFIER,
        @limit BIGINT, @name NVARCHAR(512), @source_rule_id UNIQUEIDENTIFIER, @tenant_id UNIQUEIDENTIFIER,
        @version NVARCHAR(200);

-- name: rule_insert
INSERT INTO dbo.SourceRules (SourceRuleId, TenantId, FleetId, Name, Version, Description, EffectiveAt, ExpiresAt, NameExact,
                             VersionExact, SourceRuleIdText)
VALUES (@source_rule_id, @tenant_id, @fleet_id, @name, @version, @description, @effective_at, @expires_at,
        @name + NCHAR(1), @version + NCHAR(1), LOWER(CONVERT(CHAR(36), @source_rule_id)));

-- name: rule_find
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM dbo.SourceRules AS r
WHERE r.SourceRuleId = @source_rule_id AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id;

-- name: rule_find_version
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM dbo.SourceRules AS r
WHERE r.TenantId = @tenant_id AND r.FleetId = @fleet_id
  AND r.NameExact = @name + NCHAR(1) AND r.VersionExact = @version + NCHAR(1);

-- name: rule_page
-- Rules of the fleet by id, after a given one.
SELECT TOP (@limit) r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM dbo.SourceRules AS r
WHERE r.TenantId = @tenant_id AND r.FleetId = @fleet_id AND (@name IS NULL OR r.NameExact = @name + NCHAR(1))
  AND (@after_id IS NULL OR r.SourceRuleIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY r.SourceRuleIdText;

-- name: rules_in_force
-- The versions of a rule that a new one replaces: those in force when it takes effect.
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM dbo.SourceRules AS r
WHERE r.NameExact = @name + NCHAR(1) AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id
  AND r.EffectiveAt <= @effective_time AND (r.ExpiresAt IS NULL OR r.ExpiresAt > @effective_time)
ORDER BY r.SourceRuleIdText;

-- name: rule_next
-- The version of a rule that begins next after a time.
SELECT TOP (1) r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM dbo.SourceRules AS r
WHERE r.TenantId = @tenant_id AND r.FleetId = @fleet_id
  AND r.NameExact = @name + NCHAR(1) AND r.EffectiveAt > @effective_time
ORDER BY r.EffectiveAt;

-- name: rule_expire
UPDATE dbo.SourceRules
SET ExpiresAt = @expires_at
WHERE SourceRuleId = @source_rule_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: nodes_resting_on_rule
-- Nodes that state something under a rule, by id.
SELECT a.MemoryNodeId
FROM dbo.MemoryAssertions AS a
WHERE a.SourceRuleId = @source_rule_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id
  AND a.RetractedAt IS NULL AND (a.EffectiveTo IS NULL OR a.EffectiveTo > @effective_time)
GROUP BY a.MemoryNodeId
ORDER BY LOWER(CONVERT(CHAR(36), a.MemoryNodeId));

-- name: targets_resting_on_rule
-- Nodes with a support that held under a rule, by id.
SELECT e.TargetNodeId AS MemoryNodeId
FROM dbo.MemoryEdges AS e
WHERE e.SourceRuleId = @source_rule_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND (e.EffectiveFrom IS NULL OR e.EffectiveFrom < @effective_time)
  AND (e.EffectiveTo IS NULL OR e.EffectiveTo > @effective_time)
GROUP BY e.TargetNodeId
ORDER BY LOWER(CONVERT(CHAR(36), e.TargetNodeId));

-- name: rules_of_graph
-- The rules that the edges and assertions of a graph rest on, as they were at a system time, by name and version.
SELECT r.SourceRuleId, r.Name, r.Version, r.Description, r.EffectiveAt, r.ExpiresAt
FROM dbo.SourceRules AS r
WHERE r.TenantId = @tenant_id AND r.FleetId = @fleet_id
  AND r.SourceRuleId IN (
    SELECT e.SourceRuleId
    FROM dbo.MemoryEdges FOR SYSTEM_TIME AS OF @as_of AS e
    WHERE e.GraphId = @graph_id AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.SourceRuleId IS NOT NULL
    UNION
    SELECT a.SourceRuleId
    FROM dbo.MemoryAssertions FOR SYSTEM_TIME AS OF @as_of AS a
    WHERE a.GraphId = @graph_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id AND a.SourceRuleId IS NOT NULL)
ORDER BY r.Name, r.Version;

-- name: edges_take_rule
-- Edges under another version of the rule, and not ended, go on under this one.
UPDATE e
SET SourceRuleId = @source_rule_id, Version = e.Version + 1
FROM dbo.SourceRules AS r
JOIN dbo.SourceRules AS v
    ON v.TenantId = r.TenantId AND v.FleetId = r.FleetId AND v.NameExact = r.NameExact AND v.SourceRuleId <> r.SourceRuleId
JOIN dbo.FleetClocks AS k ON k.TenantId = r.TenantId AND k.FleetId = r.FleetId
JOIN dbo.MemoryEdges AS e ON e.TenantId = v.TenantId AND e.FleetId = v.FleetId AND e.SourceRuleId = v.SourceRuleId
WHERE r.SourceRuleId = @source_rule_id AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id
  AND (e.EffectiveTo IS NULL OR e.EffectiveTo > k.ValidFrom);

-- name: assertions_take_rule
-- Assertions under another version of the rule that still hold go on under this one.
UPDATE a
SET SourceRuleId = @source_rule_id, Version = a.Version + 1
FROM dbo.SourceRules AS r
JOIN dbo.SourceRules AS v
    ON v.TenantId = r.TenantId AND v.FleetId = r.FleetId AND v.NameExact = r.NameExact AND v.SourceRuleId <> r.SourceRuleId
JOIN dbo.FleetClocks AS k ON k.TenantId = r.TenantId AND k.FleetId = r.FleetId
JOIN dbo.MemoryAssertions AS a ON a.TenantId = v.TenantId AND a.FleetId = v.FleetId AND a.SourceRuleId = v.SourceRuleId
WHERE r.SourceRuleId = @source_rule_id AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id
  AND a.RetractedAt IS NULL AND (a.EffectiveTo IS NULL OR a.EffectiveTo > k.ValidFrom);
