-- Second looks (SEMANTICS 6): the nodes in LookNodes are read level by level, and LookResults is written back as a whole.

-- name: revalidation_insert
INSERT INTO RevalidationRuns (RevalidationRunId, TenantId, FleetId, Cause, InvalidationRunId, Reason, EffectiveTime,
                              InvalidSince, RunStatus, RequestedAt, OutboxEvent)
VALUES (:run_id, :tenant_id, :fleet_id, :cause, :invalidation_run_id, :reason, :effective_time, :invalid_since, 'Pending',
        :requested_at, :outbox_event);

-- name: revalidation_find
SELECT r.RevalidationRunId AS RunId, r.Cause, r.InvalidationRunId, r.RunStatus, r.SupersededByRunId, r.Reason, r.EffectiveTime,
       r.InvalidSince, r.RequestedAt, r.CommittedAt
FROM RevalidationRuns AS r
WHERE r.RevalidationRunId = :run_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id;

-- name: revalidation_find_by_event
-- The run that an event has begun, or that an earlier run has left to it.
SELECT r.RevalidationRunId AS RunId, r.Cause, r.InvalidationRunId, r.RunStatus, r.SupersededByRunId, r.Reason, r.EffectiveTime,
       r.InvalidSince, r.RequestedAt, r.CommittedAt
FROM RevalidationRuns AS r
WHERE r.OutboxEvent = :outbox_event AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id;

-- name: revalidation_page
-- Runs of the fleet, newest request first, after a given one.
SELECT r.RevalidationRunId AS RunId, r.Cause, r.InvalidationRunId, r.RunStatus, r.SupersededByRunId, r.Reason, r.EffectiveTime,
       r.InvalidSince, r.RequestedAt, r.CommittedAt
FROM RevalidationRuns AS r
WHERE r.TenantId = :tenant_id AND r.FleetId = :fleet_id
  AND (:invalidation_run_id IS NULL OR r.InvalidationRunId = :invalidation_run_id)
  AND (:before_time IS NULL OR r.RequestedAt < :before_time
       OR (r.RequestedAt = :before_time AND r.RevalidationRunId > :after_id))
ORDER BY r.RequestedAt DESC, r.RevalidationRunId
LIMIT :limit;

-- name: revalidation_end
UPDATE RevalidationRuns
SET RunStatus = :run_status, SupersededByRunId = :by_run_id, CommittedAt = :committed_at
WHERE RevalidationRunId = :run_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: revalidation_child_insert
INSERT INTO RevalidationChildren (RevalidationRunId, TenantId, FleetId, InvalidationRunId)
VALUES (:run_id, :tenant_id, :fleet_id, :invalidation_run_id);

-- name: revalidation_children
-- The cascades that went on from a run.
SELECT c.InvalidationRunId
FROM RevalidationChildren AS c
WHERE c.RevalidationRunId = :run_id AND c.TenantId = :tenant_id AND c.FleetId = :fleet_id
ORDER BY c.InvalidationRunId;

-- name: revalidation_count_by_outcome
SELECT d.Outcome AS Label, COUNT(*) AS Amount
FROM RevalidationDecisions AS d
WHERE d.RevalidationRunId = :run_id AND d.TenantId = :tenant_id AND d.FleetId = :fleet_id
GROUP BY d.Outcome
ORDER BY d.Outcome;

-- name: revalidation_count_changed
-- How many nodes a run left in another status than it found.
SELECT COUNT(*) AS Amount
FROM RevalidationDecisions AS d
WHERE d.RevalidationRunId = :run_id AND d.TenantId = :tenant_id AND d.FleetId = :fleet_id
  AND d.NewStatus <> d.OldStatus;

-- name: decision_page
-- What a run found, by node, after a given one.
SELECT d.MemoryNodeId, n.[Key], d.Outcome, d.ReviewReason, d.OldStatus, d.NewStatus, d.OldConfidence, d.NewConfidence,
       d.Decision, d.DecidedBy, d.Explanation, d.Certainty, d.DecidedAt
FROM RevalidationDecisions AS d
LEFT JOIN MemoryNodes AS n ON n.MemoryNodeId = d.MemoryNodeId AND n.TenantId = d.TenantId AND n.FleetId = d.FleetId
WHERE d.RevalidationRunId = :run_id AND d.TenantId = :tenant_id AND d.FleetId = :fleet_id
  AND (:outcome IS NULL OR d.Outcome = :outcome)
  AND (:after_id IS NULL OR d.MemoryNodeId > :after_id)
ORDER BY d.MemoryNodeId
LIMIT :limit;

-- name: decision_explain
-- What a person or agent decided, on the row of the look that followed.
UPDATE RevalidationDecisions
SET Decision = :decision, DecidedBy = :decided_by, Explanation = :explanation, Certainty = :certainty
WHERE RevalidationRunId = :run_id AND MemoryNodeId = :memory_node_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: decision_insert
-- A decision that no look follows, since another kind of run carries it out.
INSERT INTO RevalidationDecisions (RevalidationRunId, TenantId, FleetId, MemoryNodeId, Outcome, ReviewReason, OldStatus,
                                   NewStatus, OldConfidence, NewConfidence, DecidedAt)
SELECT :run_id, n.TenantId, n.FleetId, n.MemoryNodeId, 'StillInvalid', NULL, :old_status, n.Status, n.Confidence,
       n.Confidence, :decided_at
FROM MemoryNodes AS n
WHERE n.MemoryNodeId = :memory_node_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id;

-- name: named_by_invalidation
-- What a cascade left to be looked at: nodes in doubt, those that lost a member of a group, and those that lost their
-- replacement; with their status before it where it reached them. Nodes that were Invalid before and lost a necessary source
-- only matter where they lie on a circle, which it may have held. A node can come twice.
SELECT i.MemoryNodeId, i.OldStatus, 0 AS IsReplaced, 0 AS IsShaken
FROM InvalidationImpacts AS i
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
  AND i.NewStatus = 1 AND i.Outcome <> 'SkippedPinned'
UNION ALL
SELECT e.TargetNodeId, t.OldStatus, CASE WHEN e.EdgeType = 'Supersedes' THEN 1 ELSE 0 END,
       CASE WHEN e.EdgeType IN ('Requires', 'ValidOnlyWhen') THEN 1 ELSE 0 END
FROM InvalidationImpacts AS i
CROSS JOIN MemoryEdges AS e ON e.SourceNodeId = i.MemoryNodeId
LEFT JOIN InvalidationImpacts AS t INDEXED BY IX_InvalidationImpacts_Node
    ON t.MemoryNodeId = e.TargetNodeId AND t.InvalidationRunId = i.InvalidationRunId
    AND t.TenantId = i.TenantId AND t.FleetId = i.FleetId
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id
  AND e.TenantId = :tenant_id AND e.FleetId = :fleet_id
  AND i.NewStatus = 2 AND i.OldStatus < 2
  AND (e.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom', 'Supersedes')
       OR (e.EdgeType IN ('Requires', 'ValidOnlyWhen') AND t.OldStatus = 2));

-- name: named_by_rule
-- The targets of edges under any version of a rule.
SELECT DISTINCT e.TargetNodeId AS MemoryNodeId
FROM SourceRules AS r
CROSS JOIN SourceRules AS v ON v.TenantId = r.TenantId AND v.FleetId = r.FleetId AND v.Name = r.Name
CROSS JOIN MemoryEdges AS e ON e.SourceRuleId = v.SourceRuleId AND e.TenantId = v.TenantId AND e.FleetId = v.FleetId
WHERE r.SourceRuleId = :source_rule_id AND r.TenantId = :tenant_id AND r.FleetId = :fleet_id
ORDER BY e.TargetNodeId;

-- name: named_by_graph
-- Every node of a graph, by id.
SELECT n.MemoryNodeId
FROM MemoryNodes AS n
WHERE n.GraphId = :graph_id AND n.TenantId = :tenant_id AND n.FleetId = :fleet_id
ORDER BY n.MemoryNodeId;

-- name: scope_save
INSERT INTO RevalidationScope (RevalidationRunId, TenantId, FleetId, MemoryNodeId, Footing, OldStatus, IsPending)
VALUES (:run_id, :tenant_id, :fleet_id, :memory_node_id, :footing, :old_status, :is_pending);

-- name: scope_load
SELECT s.MemoryNodeId, s.Footing, s.OldStatus, s.IsPending
FROM RevalidationScope AS s
WHERE s.RevalidationRunId = :run_id AND s.TenantId = :tenant_id AND s.FleetId = :fleet_id
ORDER BY s.MemoryNodeId;

-- name: scope_clear
DELETE FROM RevalidationScope
WHERE RevalidationRunId = :run_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: look_clear
DELETE FROM LookNodes;

-- name: look_add
INSERT INTO LookNodes (MemoryNodeId) VALUES (:memory_node_id);

-- name: look_newer_invalidation
-- The next waiting event of a newer cascade that touched one of the nodes, the cascades of the run itself aside.
SELECT p.OutboxEventId, p.InvalidationRunId, p.EffectiveTime
FROM (
    SELECT o.OutboxEventId, o.SubjectId AS InvalidationRunId, q.EffectiveTime
    FROM OutboxEvents AS o
    CROSS JOIN InvalidationRuns AS i
        ON i.InvalidationRunId = o.SubjectId AND i.TenantId = o.TenantId AND i.FleetId = o.FleetId
    CROSS JOIN InvalidationRequests AS q
        ON q.InvalidationRequestId = i.InvalidationRequestId AND q.TenantId = i.TenantId AND q.FleetId = i.FleetId
    WHERE o.TenantId = :tenant_id AND o.FleetId = :fleet_id AND o.EventState = 'Pending' AND o.Lane IS NULL
      AND o.OutboxEventId > :outbox_event AND o.EventType = 'InvalidationCompleted'
      AND NOT EXISTS (SELECT 1
                      FROM RevalidationChildren AS c
                      WHERE c.RevalidationRunId = :run_id AND c.InvalidationRunId = o.SubjectId
                        AND c.TenantId = :tenant_id AND c.FleetId = :fleet_id)
    ORDER BY o.OutboxEventId
    LIMIT :limit
) AS p
WHERE EXISTS (SELECT 1
              FROM LookNodes AS w
              CROSS JOIN InvalidationImpacts AS i
                  ON i.MemoryNodeId = w.MemoryNodeId AND i.InvalidationRunId = p.InvalidationRunId
                  AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id)
ORDER BY p.OutboxEventId
LIMIT 1;

-- name: look_links_into
-- What the nodes rest on: their active in-edges, contradictions aside, by their ends.
SELECT e.SourceNodeId, e.TargetNodeId
FROM LookNodes AS w
CROSS JOIN ActiveEdges AS e ON e.TargetNodeId = w.MemoryNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.EdgeType <> 'Contradicts'
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time;

-- name: look_links_from
-- What rests on the nodes: their active out-edges, contradictions aside, by their ends.
SELECT e.SourceNodeId, e.TargetNodeId
FROM LookNodes AS w
CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = w.MemoryNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND e.EdgeType <> 'Contradicts'
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time;

-- name: look_subjects
-- The nodes with the settings of their graph, the decision that stands for them, and what is open about them.
SELECT n.MemoryNodeId, n.GraphId, n.Status, n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, g.Policy,
       g.Propagation, g.RevalidationMode, f.Footing, f.Ground, v.ReviewId, v.ReviewReason
FROM LookNodes AS w
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = w.MemoryNodeId
CROSS JOIN MemoryGraphs AS g ON g.GraphId = n.GraphId AND g.TenantId = n.TenantId AND g.FleetId = n.FleetId
LEFT JOIN Footings AS f ON f.MemoryNodeId = n.MemoryNodeId AND f.TenantId = n.TenantId AND f.FleetId = n.FleetId
LEFT JOIN Reviews AS v
    ON v.MemoryNodeId = n.MemoryNodeId AND v.TenantId = n.TenantId AND v.FleetId = n.FleetId AND v.ClosedAt IS NULL
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id;

-- name: look_supports
-- The active edges into the nodes, with the state of their sources; contradictions from both ends.
SELECT e.TargetNodeId, e.SourceNodeId, e.EdgeType, e.SupportGroup, e.MinSupport, e.Weight, s.Status AS SourceStatus,
       s.Confidence AS SourceConfidence, s.BaseConfidence AS SourceBaseConfidence
FROM LookNodes AS w
CROSS JOIN ActiveEdges AS e ON e.TargetNodeId = w.MemoryNodeId
CROSS JOIN MemoryNodes AS s ON s.MemoryNodeId = e.SourceNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND s.TenantId = :tenant_id AND s.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time
UNION ALL
SELECT e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport, e.Weight, s.Status, s.Confidence,
       s.BaseConfidence
FROM LookNodes AS w
CROSS JOIN ActiveEdges AS e ON e.SourceNodeId = w.MemoryNodeId
CROSS JOIN MemoryNodes AS s ON s.MemoryNodeId = e.TargetNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id AND s.TenantId = :tenant_id AND s.FleetId = :fleet_id
  AND e.ActiveFrom <= :effective_time AND e.ActiveTo > :effective_time AND e.EdgeType = 'Contradicts';

-- name: look_onwards
-- Where a look goes on from nodes that differ: over all their edges, active or not; contradictions from both ends.
SELECT e.SourceNodeId, e.TargetNodeId, CASE WHEN e.EdgeType = 'Supersedes' THEN 1 ELSE 0 END AS IsReplaced
FROM LookNodes AS w
CROSS JOIN MemoryEdges AS e ON e.SourceNodeId = w.MemoryNodeId
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id
UNION ALL
SELECT e.TargetNodeId, e.SourceNodeId, 0
FROM LookNodes AS w
CROSS JOIN MemoryEdges AS e ON e.TargetNodeId = w.MemoryNodeId AND e.EdgeType = 'Contradicts'
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id;

-- name: look_replaced
-- What the nodes replace.
SELECT DISTINCT e.TargetNodeId AS MemoryNodeId
FROM LookNodes AS w
CROSS JOIN MemoryEdges AS e ON e.SourceNodeId = w.MemoryNodeId AND e.EdgeType = 'Supersedes'
WHERE e.TenantId = :tenant_id AND e.FleetId = :fleet_id;

-- name: look_statuses_before
-- The status of the nodes before a cascade, of those that it reached.
SELECT i.MemoryNodeId, i.OldStatus
FROM LookNodes AS w
CROSS JOIN InvalidationImpacts AS i INDEXED BY IX_InvalidationImpacts_Node ON i.MemoryNodeId = w.MemoryNodeId
WHERE i.InvalidationRunId = :run_id AND i.TenantId = :tenant_id AND i.FleetId = :fleet_id;

-- name: look_clear_results
DELETE FROM LookResults;

-- name: look_add_result
INSERT INTO LookResults (MemoryNodeId, Outcome, ReviewReason, OldStatus, NewStatus, NewInvalidation, OldConfidence,
                         NewConfidence, Ground, ReviewId)
VALUES (:memory_node_id, :outcome, :review_reason, :old_status, :new_status, :new_invalidation, :old_confidence,
        :new_confidence, :ground, :review_id);

-- name: look_update_nodes
-- One update per node row, and none where nothing changes. NOT INDEXED makes the results, not all nodes, the loop.
UPDATE MemoryNodes
SET Status = r.NewStatus,
    Invalidation = r.NewInvalidation,
    InvalidSince = CASE WHEN r.NewStatus = 2 THEN COALESCE(MemoryNodes.InvalidSince, :invalid_since) END,
    Confidence = r.NewConfidence,
    UpdatedAt = k.TransactionStamp,
    ValidFrom = k.TransactionStamp,
    Version = MemoryNodes.Version + 1
FROM LookResults AS r NOT INDEXED
CROSS JOIN SystemClock AS k
WHERE MemoryNodes.MemoryNodeId = r.MemoryNodeId
  AND MemoryNodes.TenantId = :tenant_id AND MemoryNodes.FleetId = :fleet_id
  AND (r.NewStatus <> MemoryNodes.Status OR r.NewInvalidation IS NOT MemoryNodes.Invalidation
       OR r.NewConfidence <> MemoryNodes.Confidence);

-- name: look_record_decisions
-- The last look at a node in a run counts, next to the state before the first: what was Invalid then and is Valid is Restored.
INSERT INTO RevalidationDecisions (RevalidationRunId, TenantId, FleetId, MemoryNodeId, Outcome, ReviewReason, OldStatus,
                                   NewStatus, OldConfidence, NewConfidence, DecidedAt)
SELECT :run_id, :tenant_id, :fleet_id, r.MemoryNodeId, r.Outcome, r.ReviewReason, r.OldStatus, r.NewStatus,
       r.OldConfidence, r.NewConfidence, :decided_at
FROM LookResults AS r
WHERE 1 = 1
ON CONFLICT (RevalidationRunId, MemoryNodeId, TenantId, FleetId) DO UPDATE
SET Outcome = CASE WHEN excluded.Outcome = 'RemainsValid' AND RevalidationDecisions.OldStatus = 2 THEN 'Restored'
                   ELSE excluded.Outcome END,
    ReviewReason = excluded.ReviewReason, NewStatus = excluded.NewStatus,
    NewConfidence = excluded.NewConfidence, DecidedAt = excluded.DecidedAt;

-- name: look_close_reviews
-- What is no longer in question closes by itself; a caller's own doubt waits.
UPDATE Reviews INDEXED BY UX_Reviews_Open
SET ClosedAt = :closed_at, Resolution = 'Resolved'
FROM LookResults AS r NOT INDEXED
WHERE Reviews.MemoryNodeId = r.MemoryNodeId AND Reviews.TenantId = :tenant_id AND Reviews.FleetId = :fleet_id
  AND Reviews.ClosedAt IS NULL AND Reviews.ReviewReason IS NOT 'Requested'
  AND r.Outcome <> CASE Reviews.ReviewKind WHEN 'Task' THEN 'AwaitingAgent' ELSE 'NeedsReview' END;

-- name: look_refresh_reviews
-- What stays open shows the ground as it is now.
UPDATE Reviews INDEXED BY UX_Reviews_Open
SET Ground = r.Ground,
    ReviewReason = CASE WHEN Reviews.ReviewReason = 'Requested' THEN 'Requested' ELSE r.ReviewReason END
FROM LookResults AS r NOT INDEXED
WHERE Reviews.MemoryNodeId = r.MemoryNodeId AND Reviews.TenantId = :tenant_id AND Reviews.FleetId = :fleet_id
  AND Reviews.ClosedAt IS NULL;

-- name: look_open_reviews
INSERT INTO Reviews (ReviewId, TenantId, FleetId, GraphId, MemoryNodeId, ReviewKind, ReviewReason, Ground, OpenedAt)
SELECT r.ReviewId, n.TenantId, n.FleetId, n.GraphId, n.MemoryNodeId,
       CASE r.Outcome WHEN 'AwaitingAgent' THEN 'Task' ELSE 'Review' END, r.ReviewReason, r.Ground, :opened_at
FROM LookResults AS r
CROSS JOIN MemoryNodes AS n ON n.MemoryNodeId = r.MemoryNodeId
WHERE n.TenantId = :tenant_id AND n.FleetId = :fleet_id AND r.Outcome IN ('NeedsReview', 'AwaitingAgent')
  AND NOT EXISTS (SELECT 1
                  FROM Reviews AS v
                  WHERE v.MemoryNodeId = r.MemoryNodeId AND v.TenantId = :tenant_id AND v.FleetId = :fleet_id
                    AND v.ClosedAt IS NULL);

-- name: footing_clear
DELETE FROM Footings
WHERE MemoryNodeId = :memory_node_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: footing_add
INSERT INTO Footings (MemoryNodeId, TenantId, FleetId, Footing, Ground, DecidedAt)
VALUES (:memory_node_id, :tenant_id, :fleet_id, :footing, :ground, :decided_at);
