-- name: request_insert
INSERT INTO InvalidationRequests (
    InvalidationRequestId, TenantId, FleetId, Reason, RequestedStatus, EffectiveTime, InvalidSince, Policy, Propagation,
    OverridePinned, IsDerived, Fingerprint, RequestedAt)
VALUES (
    :request_id, :tenant_id, :fleet_id, :reason, :status, :effective_time, :invalid_since, :policy, :propagation,
    :override_pinned, :is_derived, :fingerprint, :requested_at);

-- name: request_insert_root
INSERT INTO InvalidationRequestRoots (InvalidationRequestId, TenantId, FleetId, MemoryNodeId)
VALUES (:request_id, :tenant_id, :fleet_id, :memory_node_id);

-- name: run_insert
INSERT INTO InvalidationRuns (InvalidationRunId, TenantId, FleetId, InvalidationRequestId, ParentRunId, RunStatus, CommittedAt)
VALUES (:run_id, :tenant_id, :fleet_id, :request_id, :parent_run_id, :run_status, :committed_at);

-- name: run_find
SELECT r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason, q.RequestedStatus,
       q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
FROM InvalidationRuns AS r
JOIN InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE r.InvalidationRunId = :run_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id;

-- name: run_find_by_fingerprint
-- The latest run of the same roots, effective time and options, by the order of requests.
SELECT r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason, q.RequestedStatus,
       q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
FROM InvalidationRequests AS q
CROSS JOIN InvalidationRuns AS r
    ON r.InvalidationRequestId = q.InvalidationRequestId AND r.TenantId = q.TenantId AND r.FleetId = q.FleetId
WHERE q.Fingerprint = :fingerprint AND q.TenantId = :tenant_id AND q.FleetId = :fleet_id
ORDER BY q.RequestedAt DESC
LIMIT 1;

-- name: run_page
-- Runs of the fleet, newest request first, after a given one.
SELECT r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason, q.RequestedStatus,
       q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
FROM InvalidationRequests AS q
CROSS JOIN InvalidationRuns AS r
    ON r.InvalidationRequestId = q.InvalidationRequestId AND r.TenantId = q.TenantId AND r.FleetId = q.FleetId
WHERE q.TenantId = :tenant_id AND q.FleetId = :fleet_id
  AND (:before_time IS NULL OR q.RequestedAt < :before_time
       OR (q.RequestedAt = :before_time AND r.InvalidationRunId > :after_id))
ORDER BY q.RequestedAt DESC, r.InvalidationRunId
LIMIT :limit;

-- name: run_roots
SELECT t.MemoryNodeId
FROM InvalidationRuns AS r
JOIN InvalidationRequestRoots AS t
    ON t.InvalidationRequestId = r.InvalidationRequestId AND t.TenantId = r.TenantId AND t.FleetId = r.FleetId
WHERE r.InvalidationRunId = :run_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
ORDER BY t.MemoryNodeId;

-- name: run_count_restored_roots
-- How many roots of a run were, at any time since, better off than it left them.
SELECT COUNT(*)
FROM InvalidationImpacts AS i
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
  AND i.Depth = 0 AND i.Carried > 0
  AND EXISTS (SELECT 1
              FROM MemoryNodesSystemTime AS n
              WHERE n.MemoryNodeId = i.MemoryNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
                AND n.ValidFrom > :committed_at AND n.Status < i.NewStatus);

-- name: runs_pending_covered_by
-- Runs that have not begun and that a newer request supersedes: asked for an earlier time, with weaker or equal options,
-- and with no root that the newer one lacks.
SELECT r.InvalidationRunId AS RunId, q.InvalidSince
FROM InvalidationRequests AS n
CROSS JOIN InvalidationRuns AS r ON r.RunStatus = 'Pending' AND r.TenantId = n.TenantId AND r.FleetId = n.FleetId
JOIN InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE n.InvalidationRequestId = :request_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND q.EffectiveTime < n.EffectiveTime AND q.RequestedStatus <= n.RequestedStatus
  AND q.OverridePinned <= n.OverridePinned AND q.IsDerived >= n.IsDerived
  AND (q.Policy = 'evidential' OR n.Policy = 'strict')
  AND (q.Propagation = 'frontier' OR n.Propagation = 'transitive')
  AND NOT EXISTS (
    SELECT 1
    FROM InvalidationRequestRoots AS t
    LEFT JOIN InvalidationRequestRoots AS m
        ON m.InvalidationRequestId = n.InvalidationRequestId AND m.TenantId = t.TenantId AND m.FleetId = t.FleetId
        AND m.MemoryNodeId = t.MemoryNodeId
    WHERE t.InvalidationRequestId = q.InvalidationRequestId AND t.TenantId = q.TenantId AND t.FleetId = q.FleetId
      AND m.MemoryNodeId IS NULL);

-- name: request_backdate
-- The earlier time that a request takes over from those it supersedes.
UPDATE InvalidationRequests
SET InvalidSince = :invalid_since
WHERE InvalidationRequestId = :request_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: run_supersede
UPDATE InvalidationRuns
SET RunStatus = 'Superseded', SupersededByRunId = :by_run_id, CommittedAt = :committed_at
WHERE InvalidationRunId = :run_id AND TenantId = :tenant_id AND FleetId = :fleet_id AND RunStatus = 'Pending';

-- name: run_complete
UPDATE InvalidationRuns
SET RunStatus = 'Completed', CommittedAt = :committed_at
WHERE InvalidationRunId = :run_id AND TenantId = :tenant_id AND FleetId = :fleet_id AND RunStatus = 'Pending';

-- name: runs_pending_everywhere
-- Runs of every fleet that were accepted and not carried out, oldest first: what a start-up resumes.
SELECT r.TenantId, r.FleetId, r.InvalidationRunId AS RunId
FROM InvalidationRuns AS r
JOIN InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE r.RunStatus = 'Pending'
ORDER BY q.RequestedAt, r.InvalidationRunId;

-- name: impact_page
-- Impacts of a run by depth and id, after a given one.
SELECT i.MemoryNodeId, n.[Key], i.Depth, i.OldStatus, i.NewStatus, i.Outcome, i.ViaEdgeId, i.Component
FROM InvalidationImpacts AS i
LEFT JOIN MemoryNodes AS n
    ON n.MemoryNodeId = i.MemoryNodeId AND n.TenantId = i.TenantId AND n.FleetId = i.FleetId
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
  AND i.Depth >= :after_depth AND (i.Depth > :after_depth OR :after_id IS NULL OR i.MemoryNodeId > :after_id)
  AND (:outcome IS NULL OR i.Outcome = :outcome)
ORDER BY i.Depth, i.MemoryNodeId
LIMIT :limit;

-- name: impact_path
-- The way a run first reached a node, from the node back to a root. An edge is looked up as it was known to the run.
-- INDEXED BY: by the primary key, each step would read through a whole run.
WITH RECURSIVE Way (MemoryNodeId, Depth, ViaEdgeId) AS (
    SELECT i.MemoryNodeId, i.Depth, i.ViaEdgeId
    FROM InvalidationImpacts AS i INDEXED BY IX_InvalidationImpacts_Node
    WHERE i.InvalidationRunId = :run_id AND i.MemoryNodeId = :memory_node_id
      AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
    UNION ALL
    SELECT i.MemoryNodeId, i.Depth, i.ViaEdgeId
    FROM Way AS w
    CROSS JOIN InvalidationImpacts AS i INDEXED BY IX_InvalidationImpacts_Node
        ON i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
        AND i.MemoryNodeId = (
            SELECT CASE WHEN e.TargetNodeId = w.MemoryNodeId THEN e.SourceNodeId ELSE e.TargetNodeId END
            FROM MemoryEdgesSystemTime AS e
            WHERE e.MemoryEdgeId = w.ViaEdgeId AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
              AND e.ValidFrom <= :as_of AND e.ValidTo > :as_of)
    WHERE i.Depth < w.Depth
)
SELECT w.MemoryNodeId, n.[Key], w.Depth, w.ViaEdgeId,
       (
            SELECT e.EdgeType
            FROM MemoryEdgesSystemTime AS e
            WHERE e.MemoryEdgeId = w.ViaEdgeId AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
              AND e.ValidFrom <= :as_of AND e.ValidTo > :as_of) AS EdgeType
FROM Way AS w
LEFT JOIN MemoryNodes AS n
    ON n.MemoryNodeId = w.MemoryNodeId AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
ORDER BY w.Depth;

-- name: impact_count_by_outcome
SELECT i.Outcome AS Label, COUNT(*) AS Amount
FROM InvalidationImpacts AS i
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
GROUP BY i.Outcome
ORDER BY i.Outcome;

-- name: impact_count_by_status
-- Affected nodes by the status the run left them in.
SELECT i.NewStatus, COUNT(*) AS Amount
FROM InvalidationImpacts AS i
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id AND i.Carried > 0
GROUP BY i.NewStatus
ORDER BY i.NewStatus;

-- name: impact_count_by_depth
SELECT i.Depth, COUNT(*) AS Amount
FROM InvalidationImpacts AS i
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
GROUP BY i.Depth
ORDER BY i.Depth;

-- name: impact_components
-- Members of the strongly connected components, component by component.
SELECT i.Component, i.MemoryNodeId
FROM InvalidationImpacts AS i
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id AND i.Component IS NOT NULL
ORDER BY i.Component, i.MemoryNodeId;

-- name: walk_clear
DELETE FROM WalkNodes;

-- name: walk_start
INSERT INTO WalkNodes (MemoryNodeId, Distance) VALUES (:memory_node_id, 0);

-- name: staleness_step
-- One step back from the nodes last reached, to the sources that are not Valid. A node that was invalidated for its own
-- sake explains itself and is not looked behind.
INSERT INTO WalkNodes (MemoryNodeId, Distance)
SELECT DISTINCT s.MemoryNodeId, :distance
FROM (
    SELECT e.SourceNodeId AS MemoryNodeId
    FROM WalkNodes AS w
    CROSS JOIN MemoryNodes AS x ON x.MemoryNodeId = w.MemoryNodeId
    CROSS JOIN ActiveEdges AS e ON e.TargetNodeId = w.MemoryNodeId
    WHERE w.Distance = :distance - 1 AND x.TenantId = :tenant_id AND x.FleetId = :fleet_id
      AND COALESCE(x.Invalidation, 'Derived') = 'Derived'
      AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.EdgeType <> 'Supersedes'
      AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
    UNION
    SELECT e.TargetNodeId
    FROM WalkNodes AS w
    CROSS JOIN MemoryNodes AS x ON x.MemoryNodeId = w.MemoryNodeId
    CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = w.MemoryNodeId AND e.EdgeType = 'Contradicts'
    WHERE w.Distance = :distance - 1 AND x.TenantId = :tenant_id AND x.FleetId = :fleet_id
      AND COALESCE(x.Invalidation, 'Derived') = 'Derived'
      AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
      AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
) AS f
CROSS JOIN MemoryNodes AS s ON s.MemoryNodeId = f.MemoryNodeId
WHERE s.TenantId = :tenant_id AND s.FleetId = :fleet_id AND s.Status > 0
  AND NOT EXISTS (SELECT 1 FROM WalkNodes AS w WHERE w.MemoryNodeId = f.MemoryNodeId);

-- name: staleness_roots
-- Of the nodes walked to, those at which an explanation ends, nearest first: invalidated for their own sake, replaced by a
-- node that stands, or with no source that is not Valid.
SELECT n.MemoryNodeId, n.[Key], n.Name, n.Status, n.Invalidation, w.Distance,
       CASE WHEN EXISTS (
           SELECT 1
           FROM ActiveEdges AS e
           JOIN MemoryNodes AS s ON s.MemoryNodeId = e.SourceNodeId AND s.TenantId = e.TenantId AND s.FleetId = e.FleetId
           WHERE e.TargetNodeId = n.MemoryNodeId AND e.TenantId = n.TenantId AND e.FleetId = n.FleetId AND s.Status > 0
             AND e.EdgeType <> 'Supersedes' AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
           UNION ALL
           SELECT 1
           FROM ActiveEdges AS e
           JOIN MemoryNodes AS s ON s.MemoryNodeId = e.TargetNodeId AND s.TenantId = e.TenantId AND s.FleetId = e.FleetId
           WHERE e.SourceNodeId = n.MemoryNodeId AND e.TenantId = n.TenantId AND e.FleetId = n.FleetId AND s.Status > 0
             AND e.EdgeType = 'Contradicts' AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time)
       THEN 1 ELSE 0 END AS IsLedOn
FROM WalkNodes AS w
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = w.MemoryNodeId
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id
  AND (n.Invalidation = 'Direct' OR IsLedOn = 0
       OR (n.Status = 2 AND EXISTS (
           SELECT 1
           FROM ActiveEdges AS e
           JOIN MemoryNodes AS s ON s.MemoryNodeId = e.SourceNodeId AND s.TenantId = e.TenantId AND s.FleetId = e.FleetId
           WHERE e.TargetNodeId = n.MemoryNodeId AND e.TenantId = n.TenantId AND e.FleetId = n.FleetId
             AND e.EdgeType = 'Supersedes' AND s.Status < 2
             AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time)))
ORDER BY w.Distance, n.MemoryNodeId;

-- name: contradictions
-- Nodes that contradict a node and are not Invalid, by id.
SELECT DISTINCT n.MemoryNodeId, n.[Key], n.Name, n.Status
FROM ActiveEdges AS e
JOIN MemoryNodes AS n
    ON n.MemoryNodeId = CASE WHEN e.SourceNodeId = :memory_node_id THEN e.TargetNodeId ELSE e.SourceNodeId END
    AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
WHERE (e.SourceNodeId = :memory_node_id OR e.TargetNodeId = :memory_node_id)
  AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.EdgeType = 'Contradicts' AND n.Status < 2
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
ORDER BY n.MemoryNodeId;

-- name: staleness_runs
-- The runs that marked a node, or would have, since it was last Valid; newest first.
SELECT r.InvalidationRunId AS RunId, q.Reason, q.EffectiveTime, r.CommittedAt, q.IsDerived
FROM InvalidationImpacts AS i
JOIN InvalidationRuns AS r
    ON r.InvalidationRunId = i.InvalidationRunId AND r.TenantId = i.TenantId AND r.FleetId = i.FleetId
JOIN InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE i.MemoryNodeId = :memory_node_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
  AND i.NewStatus > 0 AND i.Outcome <> 'SkippedPinned'
  AND r.CommittedAt >= COALESCE((
      SELECT MAX(h.ValidTo)
      FROM MemoryNodesHistory AS h
      WHERE h.MemoryNodeId = :memory_node_id AND h.TenantId = :tenant_id AND h.FleetId = :fleet_id AND h.Status = 0), 0)
ORDER BY r.CommittedAt DESC
LIMIT 100;
