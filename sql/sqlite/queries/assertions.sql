-- name: assertion_insert
-- Versions go on where those of an earlier row of this id ended, so that no ETag stands for two rows.
INSERT INTO MemoryAssertions (
    MemoryAssertionId, TenantId, FleetId, GraphId, MemoryNodeId, Content, Category, Importance, Confidence,
    ObservedAt, EffectiveFrom, EffectiveTo, LastVerifiedAt, SupersededBy, RetractedAt, SourceRuleId, ValidFrom,
    Version)
SELECT
    :memory_assertion_id, :tenant_id, :fleet_id, :graph_id, :memory_node_id, :content, :category, :importance,
    :confidence, :observed_at, :effective_from, :effective_to, :last_verified_at, :superseded_by, :retracted_at,
    :source_rule_id, k.TransactionStamp,
    COALESCE((SELECT MAX(h.Version)
              FROM MemoryAssertionsHistory AS h
              WHERE h.MemoryAssertionId = :memory_assertion_id AND h.TenantId = :tenant_id AND h.FleetId = :fleet_id), 0) + 1
FROM SystemClock AS k;

-- name: assertion_find
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, NULL AS ValidTo, a.Version
FROM MemoryAssertions AS a
WHERE a.MemoryAssertionId = :memory_assertion_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id;

-- name: assertion_page_by_graph
-- By id, after a given one.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, NULL AS ValidTo, a.Version
FROM MemoryAssertions AS a
WHERE a.GraphId = :graph_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
  AND (:after_id IS NULL OR a.MemoryAssertionId > :after_id)
ORDER BY a.MemoryAssertionId
LIMIT :limit;

-- name: assertion_page_by_node
-- By id, after a given one.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, NULL AS ValidTo, a.Version
FROM MemoryAssertions AS a
WHERE a.MemoryNodeId = :memory_node_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
  AND (:after_id IS NULL OR a.MemoryAssertionId > :after_id)
ORDER BY a.MemoryAssertionId
LIMIT :limit;

-- name: assertion_update
UPDATE MemoryAssertions
SET Category = :category,
    Importance = :importance,
    Confidence = :confidence,
    EffectiveFrom = :effective_from,
    EffectiveTo = :effective_to,
    ValidFrom = k.TransactionStamp,
    Version = MemoryAssertions.Version + 1
FROM SystemClock AS k
WHERE MemoryAssertions.MemoryAssertionId = :memory_assertion_id AND MemoryAssertions.TenantId = :tenant_id AND MemoryAssertions.FleetId = :fleet_id;

-- name: assertion_retract
-- It never was so.
UPDATE MemoryAssertions
SET RetractedAt = :retracted_at, ValidFrom = k.TransactionStamp, Version = MemoryAssertions.Version + 1
FROM SystemClock AS k
WHERE MemoryAssertions.MemoryAssertionId = :memory_assertion_id AND MemoryAssertions.TenantId = :tenant_id AND MemoryAssertions.FleetId = :fleet_id;

-- name: assertion_delete
DELETE FROM MemoryAssertions
WHERE MemoryAssertionId = :memory_assertion_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: assertions_as_of
-- A graph's rows as the database knew them, by id.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, a.ValidTo, a.Version
FROM MemoryAssertionsSystemTime AS a
WHERE a.GraphId = :graph_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
  AND a.ValidFrom <= :as_of AND a.ValidTo > :as_of
ORDER BY a.MemoryAssertionId;

-- name: assertions_between
-- Versions known at the start and closed by the end, and versions known at the end and begun since, by id.
SELECT a.MemoryAssertionId, a.GraphId, a.MemoryNodeId, a.Content, a.Category, a.Importance, a.Confidence,
       a.ObservedAt, a.EffectiveFrom, a.EffectiveTo, a.LastVerifiedAt, a.SupersededBy, a.RetractedAt,
       a.SourceRuleId, a.ValidFrom, a.ValidTo, a.Version
FROM MemoryAssertionsSystemTime AS a
WHERE a.GraphId = :graph_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id
  AND ((a.ValidFrom <= :start_time AND a.ValidTo > :start_time AND a.ValidTo <= :end_time)
       OR (a.ValidFrom > :start_time AND a.ValidFrom <= :end_time AND a.ValidTo > :end_time))
ORDER BY a.MemoryAssertionId, a.ValidFrom;

-- name: assertions_forget_superseder
-- What a deleted assertion had superseded no longer names it.
UPDATE MemoryAssertions
SET SupersededBy = NULL, ValidFrom = k.TransactionStamp, Version = MemoryAssertions.Version + 1
FROM SystemClock AS k
WHERE MemoryAssertions.SupersededBy = :memory_assertion_id
  AND MemoryAssertions.TenantId = :tenant_id AND MemoryAssertions.FleetId = :fleet_id;

-- name: assertions_forget_superseding_node
-- The same for every assertion of a deleted node.
UPDATE MemoryAssertions
SET SupersededBy = NULL, ValidFrom = k.TransactionStamp, Version = MemoryAssertions.Version + 1
FROM SystemClock AS k
WHERE MemoryAssertions.SupersededBy IN (
    SELECT a.MemoryAssertionId
    FROM MemoryAssertions AS a
    WHERE a.MemoryNodeId = :memory_node_id AND a.TenantId = :tenant_id AND a.FleetId = :fleet_id)
  AND MemoryAssertions.TenantId = :tenant_id AND MemoryAssertions.FleetId = :fleet_id;

-- name: assertions_delete_of_node
DELETE FROM MemoryAssertions
WHERE MemoryNodeId = :memory_node_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: evidence_insert
INSERT INTO EvidenceReferences (EvidenceReferenceId, TenantId, FleetId, GraphId, MemoryAssertionId, EvidenceType, Reference,
                                Details, RecordedAt)
VALUES (:evidence_reference_id, :tenant_id, :fleet_id, :graph_id, :memory_assertion_id, :evidence_type, :reference,
        :details, :recorded_at);

-- name: evidence_find
SELECT v.EvidenceReferenceId, v.GraphId, v.MemoryAssertionId, v.EvidenceType, v.Reference, v.Details, v.RecordedAt
FROM EvidenceReferences AS v
WHERE v.EvidenceReferenceId = :evidence_reference_id AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id;

-- name: evidence_page
-- Evidence of an assertion by id, after a given one.
SELECT v.EvidenceReferenceId, v.GraphId, v.MemoryAssertionId, v.EvidenceType, v.Reference, v.Details, v.RecordedAt
FROM EvidenceReferences AS v
WHERE v.MemoryAssertionId = :memory_assertion_id AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id
  AND (:after_id IS NULL OR v.EvidenceReferenceId > :after_id)
ORDER BY v.EvidenceReferenceId
LIMIT :limit;

-- name: evidence_delete
DELETE FROM EvidenceReferences
WHERE EvidenceReferenceId = :evidence_reference_id AND TenantId = :tenant_id AND FleetId = :fleet_id;
