DECLARE @after_id UNIQUEIDENTIFIER, @as_of DATETIME2(6), @category NVARCHAR(200), @confidence FLOAT,
        @content NVARCHAR(MAX), @details NVARCHAR(4000), @effective_from DATETIME2(6), @effective_to DATETIME2(6),
        @end_time DATETIME2(6), @evidence_reference_id UNIQUEIDENTIFIER, @evidence_type NVARCHAR(200),
        @fleet_id UNIQUEIDENTIFIER, @graph_id UNIQUEIDENTIFIER, @importance FLOAT, @last_verified_at DATETIME2(6),
        @limit BIGINT, @memory_assertion_id UNIQUEIDENTIFIER, @memory_node_id UNIQUEIDENTIFIER,
        @observed_at DATETIME2(6), @recorded_at DATETIME2(6), @reference NVARCHAR(4000), @retracted_at DATETIME2(6),
        @source_rule_id UNIQUEIDENTIFIER, @start_time DATETIME2(6), @superseded_by UNIQUEIDENTIFIER,
        @tenant_id UNIQUEIDENTIFIER;

-- name: assertion_insert
-- Versions go on where those of an earlier row of this id ended, so that no ETag stands for two rows.
INSERT INTO dbo.MemoryAssertions (
    MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance, Confidence,
    ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt, SourceRuleId, Version,
    MemoryAssertionIdText)
SELECT
    @memory_assertion_id, @tenant_id, @fleet_id, @graph_id, @memory_node_id, @content, @category, @importance,
    @confidence, @observed_at, @effective_from, @effective_to, @last_verified_at, @superseded_by, @retracted_at,
    @source_rule_id,
    COALESCE((SELECT MAX(h.Version)
              FROM dbo.MemoryAssertionsHistory AS h
              WHERE h.TenantId = @tenant_id AND h.FleetId = @fleet_id
                AND h.MemoryAssertionId = @memory_assertion_id), 0) + 1,
    LOWER(CONVERT(CHAR(36), @memory_assertion_id));

-- name: assertion_find
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, CAST(NULL AS DATETIME2(6)) AS ValidTo, a.Version
FROM dbo.MemoryAssertions AS a
WHERE a.MemoryAssertionId = @memory_assertion_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id;

-- name: assertion_page_by_graph
-- By id, after a given one.
SELECT TOP (@limit) a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, CAST(NULL AS DATETIME2(6)) AS ValidTo, a.Version
FROM dbo.MemoryAssertions AS a
WHERE a.GraphId = @graph_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id
  AND (@after_id IS NULL OR a.MemoryAssertionIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY a.MemoryAssertionIdText;

-- name: assertion_page_by_node
-- By id, after a given one.
SELECT TOP (@limit) a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, CAST(NULL AS DATETIME2(6)) AS ValidTo, a.Version
FROM dbo.MemoryAssertions AS a
WHERE a.MemoryNodeId = @memory_node_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id
  AND (@after_id IS NULL OR a.MemoryAssertionIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY a.MemoryAssertionIdText;

-- name: assertion_update
UPDATE a
SET Category = @category,
    Importance = @importance,
    Confidence = @confidence,
    EffectiveFrom = @effective_from,
    EffectiveTo = @effective_to,
    Version = a.Version + 1
FROM dbo.MemoryAssertions AS a
WHERE a.MemoryAssertionId = @memory_assertion_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id;

-- name: assertion_retract
-- It never was so.
UPDATE a
SET RetractedAt = @retracted_at, Version = a.Version + 1
FROM dbo.MemoryAssertions AS a
WHERE a.MemoryAssertionId = @memory_assertion_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id;

-- name: assertion_delete
DELETE FROM dbo.MemoryAssertions
WHERE MemoryAssertionId = @memory_assertion_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: assertions_as_of
-- A graph's rows as the database knew them, by id.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, a.ValidTo, a.Version
FROM dbo.MemoryAssertions FOR SYSTEM_TIME AS OF @as_of AS a
WHERE a.GraphId = @graph_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id
ORDER BY a.MemoryAssertionIdText;

-- name: assertions_between
-- Versions known at the start and closed by the end, and versions known at the end and begun since, by id.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, a.ValidTo, a.Version
FROM dbo.MemoryAssertions FOR SYSTEM_TIME BETWEEN @start_time AND @end_time AS a
WHERE a.GraphId = @graph_id AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id
  AND ((a.ValidFrom <= @start_time AND a.ValidTo > @start_time AND a.ValidTo <= @end_time)
       OR (a.ValidFrom > @start_time AND a.ValidFrom <= @end_time AND a.ValidTo > @end_time))
ORDER BY a.MemoryAssertionIdText, a.ValidFrom;

-- name: assertions_forget_superseder
-- What a deleted assertion had superseded no longer names it.
UPDATE a
SET SupersededBy = NULL, Version = a.Version + 1
FROM dbo.MemoryAssertions AS a
WHERE a.SupersededBy = @memory_assertion_id
  AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id;

-- name: assertions_forget_superseding_node
-- The same for every assertion of a deleted node.
UPDATE a
SET SupersededBy = NULL, Version = a.Version + 1
FROM dbo.MemoryAssertions AS a
WHERE a.SupersededBy IN (
    SELECT o.MemoryAssertionId
    FROM dbo.MemoryAssertions AS o
    WHERE o.MemoryNodeId = @memory_node_id AND o.TenantId = @tenant_id AND o.FleetId = @fleet_id)
  AND a.TenantId = @tenant_id AND a.FleetId = @fleet_id;

-- name: assertions_delete_of_node
DELETE FROM dbo.MemoryAssertions
WHERE MemoryNodeId = @memory_node_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: evidence_insert
INSERT INTO dbo.EvidenceReferences (EvidenceReferenceId, TenantId, FleetId, GraphId, MemoryAssertionId, EvidenceType,
                                    Reference, Details, RecordedAt, EvidenceReferenceIdText)
VALUES (@evidence_reference_id, @tenant_id, @fleet_id, @graph_id, @memory_assertion_id, @evidence_type, @reference,
        @details, @recorded_at, LOWER(CONVERT(CHAR(36), @evidence_reference_id)));

-- name: evidence_find
SELECT v.EvidenceReferenceId, v.GraphId, v.MemoryAssertionId, v.EvidenceType, v.Reference, v.Details, v.RecordedAt
FROM dbo.EvidenceReferences AS v
WHERE v.EvidenceReferenceId = @evidence_reference_id AND v.TenantId = @tenant_id AND v.FleetId = @fleet_id;

-- name: evidence_page
-- Evidence of an assertion by id, after a given one.
SELECT TOP (@limit) v.EvidenceReferenceId, v.GraphId, v.MemoryAssertionId, v.EvidenceType, v.Reference, v.Details,
       v.RecordedAt
FROM dbo.EvidenceReferences AS v
WHERE v.MemoryAssertionId = @memory_assertion_id AND v.TenantId = @tenant_id AND v.FleetId = @fleet_id
  AND (@after_id IS NULL OR v.EvidenceReferenceIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY v.EvidenceReferenceIdText;

-- name: evidence_delete
DELETE FROM dbo.EvidenceReferences
WHERE EvidenceReferenceId = @evidence_reference_id AND TenantId = @tenant_id AND FleetId = @fleet_id;
