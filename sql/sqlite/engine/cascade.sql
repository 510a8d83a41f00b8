-- The rounds of SEMANTICS 4, one statement a step, over the work tables of session.sql.

-- name: cascade_order
-- What a recorded run is to do.
SELECT q.RequestedStatus, q.EffectiveTime, q.InvalidSince, q.Policy, q.Propagation, q.OverridePinned, q.IsDerived
FROM InvalidationRuns AS r
JOIN InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE r.InvalidationRunId = :run_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id;

-- name: cascade_clear_nodes
DELETE FROM CascadeNodes;

-- name: cascade_clear_risen
DELETE FROM CascadeRisen;

-- name: cascade_clear_looked
DELETE FROM CascadeLooked;

-- name: cascade_clear_groups
DELETE FROM CascadeGroups;

-- name: cascade_clear_replacements
DELETE FROM CascadeReplacements;

-- name: cascade_start
-- Round 0: every root that is not protected is affected.
INSERT INTO CascadeNodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, Carried, Depth,
                          ReachedDepth, FiredDepth)
SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
       CASE WHEN n.IsPinned = 1 AND :override_pinned = 0 THEN 1 ELSE 0 END, 1,
       CASE WHEN n.IsPinned = 1 AND :override_pinned = 0 THEN 0 ELSE :status END, 0, 0,
       CASE WHEN (n.IsPinned = 0 OR :override_pinned = 1) AND (:status = 2 OR :transitive = 1) THEN 0 END
FROM InvalidationRuns AS r
CROSS JOIN InvalidationRequestRoots AS t
    ON t.InvalidationRequestId = r.InvalidationRequestId AND t.TenantId = r.TenantId AND t.FleetId = r.FleetId
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = t.MemoryNodeId AND n.TenantId = t.TenantId AND n.FleetId = t.FleetId
WHERE r.InvalidationRunId = :run_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id;

-- name: cascade_start_risen
INSERT INTO CascadeRisen (MemoryNodeId, Carried, StatusBefore, StatusAfter, IsRoot, Fires, Depth)
SELECT c.MemoryNodeId, c.Carried, c.OldStatus,
       CASE WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
       1, CASE WHEN c.Carried = 2 OR :transitive = 1 THEN 1 ELSE 0 END, 0
FROM CascadeNodes AS c
WHERE c.IsProtected = 0;

-- name: cascade_look
-- Active out-edges of the firing nodes that rose in the round before; contradictions count from both ends, and of
-- roots also where they do not fire. Supersedes edges raise nothing: they are looked at once, when the rounds are over.
INSERT INTO CascadeLooked (TargetNodeId, MemoryEdgeId, SourceNodeId, EdgeType, SupportGroup,
                           Carried, StatusBefore, StatusAfter, IsRoot)
SELECT e.TargetNodeId, e.MemoryEdgeId, e.SourceNodeId, e.EdgeType, COALESCE(e.SupportGroup, ''),
       r.Carried, r.StatusBefore, r.StatusAfter, r.IsRoot
FROM CascadeRisen AS r
CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = r.MemoryNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time AND e.EdgeType <> 'Supersedes'
  AND (r.Fires = 1 OR (r.IsRoot = 1 AND e.EdgeType = 'Contradicts'))
UNION ALL
SELECT e.SourceNodeId, e.MemoryEdgeId, e.TargetNodeId, e.EdgeType, '',
       r.Carried, r.StatusBefore, r.StatusAfter, r.IsRoot
FROM CascadeRisen AS r
CROSS JOIN ActiveEdges AS e ON e.TargetNodeId = r.MemoryNodeId AND e.EdgeType = 'Contradicts'
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
  AND (r.Fires = 1 OR r.IsRoot = 1);

-- name: cascade_reach
-- Nodes reached for the first time, with the smallest edge that reached them.
INSERT INTO CascadeNodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, Carried,
                          Depth, ViaEdgeId, ReachedDepth, ReachedVia)
SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
       CASE WHEN n.IsPinned = 1 AND :override_pinned = 0 THEN 1 ELSE 0 END, 0, 0, :depth, l.ViaEdgeId, :depth, l.ViaEdgeId
FROM (SELECT k.TargetNodeId, MIN(k.MemoryEdgeId) AS ViaEdgeId FROM CascadeLooked AS k GROUP BY k.TargetNodeId) AS l
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = l.TargetNodeId
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND NOT EXISTS (SELECT 1 FROM CascadeNodes AS c WHERE c.MemoryNodeId = l.TargetNodeId);

-- name: cascade_looks_at_groups
-- Whether a round has looked at a support at all; most rounds of a long chain of requirements have not.
SELECT EXISTS (SELECT 1 FROM CascadeLooked AS k WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom'));

-- name: cascade_recount_groups
-- Groups counted in an earlier round lose the members that fell in the round before. DoubtfulMembers is kept right
-- under transitive propagation only, the one that reads it.
UPDATE CascadeGroups
SET InvalidMembers = CascadeGroups.InvalidMembers + d.Fallen,
    DoubtfulMembers = CascadeGroups.DoubtfulMembers + d.Doubted
FROM (
    SELECT k.TargetNodeId, k.SupportGroup,
           COUNT(DISTINCT CASE WHEN k.StatusBefore < 2 AND k.StatusAfter = 2 THEN k.SourceNodeId END) AS Fallen,
           COUNT(DISTINCT CASE WHEN k.StatusBefore = 0 AND k.StatusAfter > 0 THEN k.SourceNodeId END) AS Doubted
    FROM CascadeLooked AS k
    WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')
    GROUP BY k.TargetNodeId, k.SupportGroup
) AS d
WHERE CascadeGroups.TargetNodeId = d.TargetNodeId AND CascadeGroups.SupportGroup = d.SupportGroup;

-- name: cascade_count_groups
-- All support groups of targets looked at through one for the first time, as the round before left their members.
INSERT INTO CascadeGroups (TargetNodeId, SupportGroup, MinSupport, Members, InvalidMembers, DoubtfulMembers)
SELECT e.TargetNodeId, COALESCE(e.SupportGroup, ''), MAX(e.MinSupport), COUNT(DISTINCT e.SourceNodeId),
       COUNT(DISTINCT CASE WHEN n.Status = 2 OR c.Carried = 2 THEN e.SourceNodeId END),
       COUNT(DISTINCT CASE WHEN n.Status > 0 OR c.Carried > 0 THEN e.SourceNodeId END)
FROM (
    SELECT DISTINCT k.TargetNodeId
    FROM CascadeLooked AS k
    WHERE k.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')
      AND NOT EXISTS (SELECT 1 FROM CascadeGroups AS g WHERE g.TargetNodeId = k.TargetNodeId)
) AS t
CROSS JOIN ActiveEdges AS e ON e.TargetNodeId = t.TargetNodeId
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = e.SourceNodeId
LEFT JOIN CascadeNodes AS c ON c.MemoryNodeId = e.SourceNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND e.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
GROUP BY e.TargetNodeId, COALESCE(e.SupportGroup, '');

-- name: cascade_rise
-- The targets whose C rises, by the highest of what their edges bring.
INSERT INTO CascadeRisen (MemoryNodeId, Carried, StatusBefore, StatusAfter, IsRoot, Fires, Depth, ViaEdgeId)
SELECT c.MemoryNodeId, v.Carried,
       CASE WHEN c.Carried > c.OldStatus THEN c.Carried ELSE c.OldStatus END,
       CASE WHEN v.Carried > c.OldStatus THEN v.Carried ELSE c.OldStatus END,
       c.IsRoot,
       CASE WHEN v.Carried = 2 OR :transitive = 1 THEN 1 ELSE 0 END,
       CASE WHEN c.Carried = 0 THEN :depth ELSE c.Depth END,
       CASE WHEN c.Carried = 0 THEN v.ViaEdgeId ELSE c.ViaEdgeId END
FROM (
    SELECT k.TargetNodeId,
           MIN(k.MemoryEdgeId) AS ViaEdgeId,
           MAX(CASE
               WHEN k.EdgeType IN ('Requires', 'ValidOnlyWhen') THEN k.Carried
               WHEN k.EdgeType = 'Contradicts' THEN CASE WHEN k.Carried = 2 OR k.IsRoot = 1 THEN 1 ELSE 0 END
               WHEN k.SupportGroup = '' THEN CASE WHEN g.InvalidMembers = g.Members THEN 2
                                                  WHEN :strict = 1 THEN k.Carried ELSE 1 END
               WHEN g.Members - g.InvalidMembers < g.MinSupport THEN 2
               WHEN :transitive = 1 AND g.Members - g.DoubtfulMembers < g.MinSupport THEN 1
               ELSE 0 END) AS Carried
    FROM CascadeLooked AS k
    LEFT JOIN CascadeGroups AS g ON g.TargetNodeId = k.TargetNodeId AND g.SupportGroup = k.SupportGroup
    GROUP BY k.TargetNodeId
) AS v
CROSS JOIN CascadeNodes AS c ON c.MemoryNodeId = v.TargetNodeId
WHERE v.Carried > c.Carried AND c.IsProtected = 0;

-- name: cascade_apply
-- The row always exists: the conflict is what finds it, so the work follows the risen nodes, not the reached ones.
INSERT INTO CascadeNodes (MemoryNodeId, OldStatus, IsProtected, IsRoot, Carried, Depth, ViaEdgeId, ReachedDepth,
                          FiredDepth)
SELECT r.MemoryNodeId, 0, 0, 0, r.Carried, r.Depth, r.ViaEdgeId, 0, CASE WHEN r.Fires = 1 THEN :depth END
FROM CascadeRisen AS r
WHERE 1 = 1
ON CONFLICT (MemoryNodeId) DO UPDATE
SET Carried = excluded.Carried, Depth = excluded.Depth, ViaEdgeId = excluded.ViaEdgeId,
    FiredDepth = COALESCE(CascadeNodes.FiredDepth, excluded.FiredDepth);

-- name: cascade_find_replacements
INSERT INTO CascadeReplacements (MemoryEdgeId, SourceNodeId, TargetNodeId, Depth, IsFallen)
SELECT e.MemoryEdgeId, e.SourceNodeId, e.TargetNodeId, s.FiredDepth + 1, CASE WHEN s.Carried = 2 THEN 1 ELSE 0 END
FROM CascadeNodes AS s
CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = s.MemoryNodeId AND e.EdgeType = 'Supersedes'
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = e.TargetNodeId
WHERE s.FiredDepth IS NOT NULL AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
  AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND (n.Invalidation = 'Derived' OR (n.IsPinned = 1 AND :override_pinned = 0));

-- name: cascade_circle_pairs
-- Every active edge but contradictions that lies behind a replaced node: what can close a circle with its replacement.
WITH RECURSIVE Reached (MemoryNodeId) AS (
    SELECT p.TargetNodeId
    FROM CascadeReplacements AS p
    UNION
    SELECT e.TargetNodeId
    FROM Reached AS r
    JOIN ActiveEdges AS e ON e.SourceNodeId = r.MemoryNodeId
    WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.EdgeType <> 'Contradicts'
      AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
)
SELECT e.SourceNodeId, e.TargetNodeId
FROM Reached AS r
CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = r.MemoryNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.EdgeType <> 'Contradicts'
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time;

-- name: cascade_replacement_pairs
SELECT p.SourceNodeId, p.TargetNodeId
FROM CascadeReplacements AS p;

-- name: cascade_drop_replacement
-- One inside a circle does not count (SEMANTICS 3).
DELETE FROM CascadeReplacements WHERE SourceNodeId = :source_node_id AND TargetNodeId = :target_node_id;

-- name: cascade_reach_replaced
-- The first look at a node can have been over a replacement.
INSERT INTO CascadeNodes (MemoryNodeId, OldStatus, OldInvalidation, OldInvalidSince, IsProtected, IsRoot, Carried,
                          Depth, ReachedDepth, ReachedVia)
SELECT n.MemoryNodeId, n.Status, n.Invalidation, n.InvalidSince,
       CASE WHEN n.IsPinned = 1 AND :override_pinned = 0 THEN 1 ELSE 0 END, 0, 0, p.Depth, p.Depth, p.ViaEdgeId
FROM (
    SELECT q.TargetNodeId, q.Depth, MIN(q.MemoryEdgeId) AS ViaEdgeId
    FROM CascadeReplacements AS q
    WHERE q.Depth = (SELECT MIN(o.Depth) FROM CascadeReplacements AS o WHERE o.TargetNodeId = q.TargetNodeId)
    GROUP BY q.TargetNodeId, q.Depth
) AS p
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = p.TargetNodeId
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id
ON CONFLICT (MemoryNodeId) DO UPDATE
SET ReachedDepth = excluded.ReachedDepth, ReachedVia = excluded.ReachedVia
WHERE excluded.ReachedDepth < CascadeNodes.ReachedDepth
   OR (excluded.ReachedDepth = CascadeNodes.ReachedDepth AND excluded.ReachedVia < CascadeNodes.ReachedVia);

-- name: cascade_reexamine
-- What a fallen node superseded is to be looked at again, where it is Invalid for want of ground only.
UPDATE CascadeNodes
SET IsReexamined = 1
WHERE OldInvalidation = 'Derived' AND Carried < 2 AND IsProtected = 0
  AND MemoryNodeId IN (SELECT p.TargetNodeId FROM CascadeReplacements AS p WHERE p.IsFallen = 1);

-- name: cascade_conclude
-- The state every reached node is left in. Direct is what a caller's root becomes, derived or not before.
UPDATE CascadeNodes
SET NewStatus = CASE WHEN IsReexamined = 1 THEN 1 WHEN Carried > OldStatus THEN Carried ELSE OldStatus END,
    NewInvalidation = CASE WHEN IsReexamined = 1 THEN NULL
                           WHEN Carried = 2 AND IsRoot = 1 AND :status = 2 AND :is_derived = 0 THEN 'Direct'
                           WHEN Carried = 2 THEN COALESCE(OldInvalidation, 'Derived')
                           ELSE OldInvalidation END,
    NewInvalidSince = CASE WHEN IsReexamined = 1 THEN NULL
                           WHEN Carried = 2 AND (OldInvalidSince IS NULL OR OldInvalidSince > :invalid_since)
                           THEN :invalid_since
                           ELSE OldInvalidSince END,
    Depth = CASE WHEN IsReexamined = 1 OR IsProtected = 1 THEN ReachedDepth ELSE Depth END,
    ViaEdgeId = CASE WHEN IsReexamined = 1 OR IsProtected = 1 THEN ReachedVia ELSE ViaEdgeId END;

-- name: cascade_support_pairs
-- Edges among affected nodes that can close a circle, by the ordinals of their ends.
SELECT s.Ordinal AS SourceOrdinal, t.Ordinal AS TargetOrdinal
FROM CascadeNodes AS s
CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = s.MemoryNodeId
CROSS JOIN CascadeNodes AS t ON t.MemoryNodeId = e.TargetNodeId
WHERE s.Carried > 0 AND t.Carried > 0 AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND e.EdgeType IN ('Requires', 'ValidOnlyWhen', 'DerivedFrom', 'SupportedBy', 'ObservedFrom')
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time;

-- name: cascade_node_ids
-- Ids of the nodes by ordinal.
SELECT c.Ordinal, c.MemoryNodeId
FROM CascadeNodes AS c
WHERE c.Carried > 0;

-- name: cascade_set_component
UPDATE CascadeNodes SET Component = :component WHERE Ordinal = :ordinal;

-- name: cascade_record_impacts
INSERT INTO InvalidationImpacts (InvalidationRunId, TenantId, FleetId, Depth, MemoryNodeId, Carried, OldStatus, NewStatus,
                                 Outcome, ViaEdgeId, Component)
SELECT :run_id, :tenant_id, :fleet_id, c.Depth, c.MemoryNodeId, c.Carried, c.OldStatus, c.NewStatus,
       CASE WHEN c.IsProtected = 1 THEN 'SkippedPinned'
            WHEN c.IsReexamined = 1 THEN 'Reexamine'
            WHEN c.NewStatus = c.OldStatus THEN 'AlreadyAtStatus'
            WHEN c.NewStatus = 2 THEN 'Invalidated'
            ELSE 'MarkedPotentiallyStale' END,
       c.ViaEdgeId, c.Component
FROM CascadeNodes AS c
WHERE c.Carried > 0 OR c.IsProtected = 1 OR c.IsReexamined = 1
ORDER BY c.Depth, c.MemoryNodeId;

-- name: cascade_update_nodes
-- One update per node row, and none where nothing changes. NOT INDEXED makes the reached nodes, not all nodes, the loop.
UPDATE MemoryNodes
SET Status = c.NewStatus,
    Invalidation = c.NewInvalidation,
    InvalidSince = c.NewInvalidSince,
    UpdatedAt = k.TransactionStamp,
    ValidFrom = k.TransactionStamp,
    Version = MemoryNodes.Version + 1
FROM CascadeNodes AS c NOT INDEXED
CROSS JOIN SystemClock AS k
WHERE MemoryNodes.MemoryNodeId = c.MemoryNodeId
  AND MemoryNodes.TenantId = :tenant_id AND MemoryNodes.FleetId = :fleet_id
  AND (c.NewStatus <> c.OldStatus OR c.NewInvalidation IS NOT c.OldInvalidation
       OR c.NewInvalidSince IS NOT c.OldInvalidSince);

-- name: cascade_tell
-- The event from which workers learn of the run.
INSERT INTO OutboxEvents (TenantId, FleetId, EventType, SubjectId, CreatedAt)
SELECT :tenant_id, :fleet_id, 'InvalidationCompleted', :run_id, k.TransactionStamp
FROM SystemClock AS k;
