-- What waits for a person or an agent.

-- name: review_insert
INSERT INTO Reviews (ReviewId, TenantId, FleetId, GraphId, MemoryNodeId, ReviewKind, ReviewReason, Ground, OpenedAt)
VALUES (:review_id, :tenant_id, :fleet_id, :graph_id, :memory_node_id, 'Review', 'Requested', NULL, :opened_at);

-- name: reviews_asked_by_run
-- The roots that a caller's own request left PotentiallyStale and that still are, unless it was decided on them since; an
-- open review is now the caller's.
SELECT i.MemoryNodeId, n.GraphId, v.ReviewId
FROM InvalidationRuns AS u
JOIN InvalidationRequests AS q
    ON q.InvalidationRequestId = u.InvalidationRequestId AND q.TenantId = u.TenantId AND q.FleetId = u.FleetId
JOIN InvalidationImpacts AS i
    ON i.InvalidationRunId = u.InvalidationRunId AND i.TenantId = u.TenantId AND i.FleetId = u.FleetId AND i.Depth = 0
JOIN MemoryNodes AS n ON n.MemoryNodeId = i.MemoryNodeId AND n.TenantId = i.TenantId AND n.FleetId = i.FleetId
LEFT JOIN Reviews AS v
    ON v.MemoryNodeId = i.MemoryNodeId AND v.TenantId = i.TenantId AND v.FleetId = i.FleetId AND v.ClosedAt IS NULL
WHERE u.InvalidationRunId = :run_id AND u.TenantId = :tenant_id AND u.FleetId = :fleet_id
  AND q.RequestedStatus = 1 AND q.IsDerived = 0 AND i.NewStatus = 1 AND i.Outcome <> 'SkippedPinned'
  AND n.Status = 1
  AND NOT EXISTS (SELECT 1
                  FROM Reviews AS d
                  WHERE d.MemoryNodeId = i.MemoryNodeId AND d.TenantId = i.TenantId AND d.FleetId = i.FleetId
                    AND d.ClosedAt IS NOT NULL AND d.OpenedAt >= u.CommittedAt)
ORDER BY i.MemoryNodeId;

-- name: review_find
SELECT v.ReviewId, v.ReviewKind, v.ReviewReason, v.Ground, v.OpenedAt, v.ClosedAt, v.Resolution, v.LeaseOwner,
       v.LeaseExpiresAt, n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.Status, n.Confidence
FROM Reviews AS v
JOIN MemoryNodes AS n ON n.MemoryNodeId = v.MemoryNodeId AND n.TenantId = v.TenantId AND n.FleetId = v.FleetId
WHERE v.ReviewId = :review_id AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id;

-- name: review_page
-- What is open of one kind, by id, after a given one.
SELECT v.ReviewId, v.ReviewKind, v.ReviewReason, v.Ground, v.OpenedAt, v.ClosedAt, v.Resolution, v.LeaseOwner,
       v.LeaseExpiresAt, n.MemoryNodeId, n.[Key], n.GraphId, n.Name, n.Status, n.Confidence
FROM Reviews AS v
JOIN MemoryNodes AS n ON n.MemoryNodeId = v.MemoryNodeId AND n.TenantId = v.TenantId AND n.FleetId = v.FleetId
WHERE v.TenantId = :tenant_id AND v.FleetId = :fleet_id AND v.ReviewKind = :review_kind AND v.ClosedAt IS NULL
  AND (:graph_id IS NULL OR v.GraphId = :graph_id)
  AND (:after_id IS NULL OR v.ReviewId > :after_id)
ORDER BY v.ReviewId
LIMIT :limit;

-- name: review_ground
-- The sources of the nodes in LookNodes as they are now, for a person to see; contradictions from both ends.
SELECT e.TargetNodeId, s.MemoryNodeId, s.[Key], s.Name, e.EdgeType, e.SupportGroup, e.MinSupport, e.Weight, s.Status,
       s.Confidence
FROM LookNodes AS w
CROSS JOIN ActiveEdges AS e ON e.TargetNodeId = w.MemoryNodeId
CROSS JOIN MemoryNodes AS s ON s.MemoryNodeId = e.SourceNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND s.TenantId = :tenant_id AND s.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
UNION ALL
SELECT e.SourceNodeId, s.MemoryNodeId, s.[Key], s.Name, e.EdgeType, e.SupportGroup, e.MinSupport, e.Weight, s.Status,
       s.Confidence
FROM LookNodes AS w
CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = w.MemoryNodeId
CROSS JOIN MemoryNodes AS s ON s.MemoryNodeId = e.TargetNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND s.TenantId = :tenant_id AND s.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time AND e.EdgeType = 'Contradicts';

-- name: review_request
-- A review that the rules opened becomes a caller's, put up anew.
UPDATE Reviews
SET ReviewReason = 'Requested', ReviewKind = 'Review', OpenedAt = :opened_at
WHERE ReviewId = :review_id AND TenantId = :tenant_id AND FleetId = :fleet_id AND ReviewReason IS NOT 'Requested';

-- name: review_close_of_node
UPDATE Reviews
SET ClosedAt = :closed_at, Resolution = :resolution
WHERE MemoryNodeId = :memory_node_id AND TenantId = :tenant_id AND FleetId = :fleet_id AND ClosedAt IS NULL;

-- name: reviews_close_fallen
-- Nodes that a cascade made Invalid are no longer in question; a caller's own doubt waits.
UPDATE Reviews
SET ClosedAt = :closed_at, Resolution = 'Resolved'
WHERE TenantId = :tenant_id AND FleetId = :fleet_id AND ClosedAt IS NULL AND ReviewReason IS NOT 'Requested'
  AND MemoryNodeId IN (SELECT i.MemoryNodeId
                       FROM InvalidationImpacts AS i
                       WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
                         AND i.NewStatus = 2 AND i.OldStatus < 2);

-- name: reviews_close_overruled
-- A caller's doubt about a node ends when a caller says that it is wrong.
UPDATE Reviews
SET ClosedAt = :closed_at, Resolution = 'Resolved'
WHERE TenantId = :tenant_id AND FleetId = :fleet_id AND ClosedAt IS NULL
  AND MemoryNodeId IN (
    SELECT i.MemoryNodeId
    FROM InvalidationRuns AS u
    JOIN InvalidationRequests AS q
        ON q.InvalidationRequestId = u.InvalidationRequestId AND q.TenantId = u.TenantId AND q.FleetId = u.FleetId
    JOIN InvalidationImpacts AS i
        ON i.InvalidationRunId = u.InvalidationRunId AND i.TenantId = u.TenantId AND i.FleetId = u.FleetId AND i.Depth = 0
    WHERE u.InvalidationRunId = :run_id AND u.TenantId = :tenant_id AND u.FleetId = :fleet_id
      AND q.RequestedStatus = 2 AND q.IsDerived = 0 AND i.Carried = 2);

-- name: tasks_free
-- Open tasks that nobody holds, oldest first. A lease that reaches further than any can was made by a clock gone astray.
SELECT v.ReviewId
FROM Reviews AS v
JOIN MemoryNodes AS n ON n.MemoryNodeId = v.MemoryNodeId AND n.TenantId = v.TenantId AND n.FleetId = v.FleetId
WHERE v.TenantId = :tenant_id AND v.FleetId = :fleet_id AND v.ReviewKind = 'Task' AND v.ClosedAt IS NULL
  AND (:graph_id IS NULL OR v.GraphId = :graph_id)
  AND (v.LeaseExpiresAt IS NULL OR v.LeaseExpiresAt <= :now OR v.LeaseExpiresAt > :longest)
ORDER BY v.OpenedAt, v.ReviewId
LIMIT :limit;

-- name: task_lease
UPDATE Reviews
SET LeaseOwner = :owner, LeaseExpiresAt = :expires_at
WHERE ReviewId = :review_id AND TenantId = :tenant_id AND FleetId = :fleet_id AND ClosedAt IS NULL;
