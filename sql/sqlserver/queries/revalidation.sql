-- Second looks (SEMANTICS 6): the nodes in LookNodes are read level by level, and LookResults is written back as a whole.
DECLARE @after_id UNIQUEIDENTIFIER, @before_time DATETIME2(6), @by_run_id UNIQUEIDENTIFIER, @cause VARCHAR(20),
        @certainty FLOAT, @closed_at DATETIME2(6), @committed_at DATETIME2(6), @decided_at DATETIME2(6),
        @decided_by NVARCHAR(512), @decision VARCHAR(20), @effective_time DATETIME2(6), @explanation NVARCHAR(4000),
        @fleet_id UNIQUEIDENTIFIER, @graph_id UNIQUEIDENTIFIER, @invalid_since DATETIME2(6),
        @invalidation_run_id UNIQUEIDENTIFIER, @limit BIGINT, @memory_node_id UNIQUEIDENTIFIER, @old_status TINYINT,
        @opened_at DATETIME2(6), @outbox_event BIGINT, @outcome VARCHAR(20), @reason NVARCHAR(4000),
        @requested_at DATETIME2(6), @rows NVARCHAR(MAX), @run_id UNIQUEIDENTIFIER, @run_status VARCHAR(20),
        @source_rule_id UNIQUEIDENTIFIER, @tenant_id UNIQUEIDENTIFIER;

-- name: revalidation_insert
INSERT INTO dbo.RevalidationRuns (RevalidationRunId, TenantId, FleetId, Cause, InvalidationRunId, Reason, EffectiveTime,
                              InvalidSince, RunStatus, RequestedAt, OutboxEvent, RevalidationRunIdText)
VALUES (@run_id, @tenant_id, @fleet_id, @cause, @invalidation_run_id, @reason, @effective_time, @invalid_since, 'Pending',
        @requested_at, @outbox_event, LOWER(CONVERT(CHAR(36), @run_id)));

-- name: revalidation_find
SELECT r.RevalidationRunId AS RunId, r.Cause, r.InvalidationRunId, r.RunStatus, r.SupersededByRunId, r.Reason, r.EffectiveTime,
       r.InvalidSince, r.RequestedAt, r.CommittedAt
FROM dbo.RevalidationRuns AS r
WHERE r.RevalidationRunId = @run_id AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id;

-- name: revalidation_find_by_event
-- The run that an event has begun, or that an earlier run has left to it.
SELECT r.RevalidationRunId AS RunId, r.Cause, r.InvalidationRunId, r.RunStatus, r.SupersededByRunId, r.Reason, r.EffectiveTime,
       r.InvalidSince, r.RequestedAt, r.CommittedAt
FROM dbo.RevalidationRuns AS r
WHERE r.OutboxEvent = @outbox_event AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id;

-- name: revalidation_page
-- Runs of the fleet, newest request first, after a given one.
SELECT TOP (@limit) r.RevalidationRunId AS RunId, r.Cause, r.InvalidationRunId, r.RunStatus, r.SupersededByRunId, r.Reason, r.EffectiveTime,
       r.InvalidSince, r.RequestedAt, r.CommittedAt
FROM dbo.RevalidationRuns AS r
WHERE r.TenantId = @tenant_id AND r.FleetId = @fleet_id
  AND (@invalidation_run_id IS NULL OR r.InvalidationRunId = @invalidation_run_id)
  AND (@before_time IS NULL OR r.RequestedAt < @before_time
       OR (r.RequestedAt = @before_time AND r.RevalidationRunIdText > LOWER(CONVERT(CHAR(36), @after_id))))
ORDER BY r.RequestedAt DESC, r.RevalidationRunIdText;

-- name: revalidation_end
UPDATE dbo.RevalidationRuns
SET RunStatus = @run_status, SupersededByRunId = @by_run_id, CommittedAt = @committed_at
WHERE RevalidationRunId = @run_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: revalidation_child_insert
INSERT INTO dbo.RevalidationChildren (RevalidationRunId, TenantId, FleetId, InvalidationRunId)
VALUES (@run_id, @tenant_id, @fleet_id, @invalidation_run_id);

-- name: revalidation_children
-- The cascades that went on from a run.
SELECT c.InvalidationRunId
FROM dbo.RevalidationChildren AS c
WHERE c.RevalidationRunId = @run_id AND c.TenantId = @tenant_id AND c.FleetId = @fleet_id
ORDER BY LOWER(CONVERT(CHAR(36), c.InvalidationRunId));

-- name: revalidation_count_by_outcome
SELECT d.Outcome AS Label, COUNT(*) AS Amount
FROM dbo.RevalidationDecisions AS d
WHERE d.RevalidationRunId = @run_id AND d.TenantId = @tenant_id AND d.FleetId = @fleet_id
GROUP BY d.Outcome
ORDER BY d.Outcome;

-- name: revalidation_count_changed
-- How many nodes a run left in another status than it found.
SELECT COUNT(*) AS Amount
FROM dbo.RevalidationDecisions AS d
WHERE d.RevalidationRunId = @run_id AND d.TenantId = @tenant_id AND d.FleetId = @fleet_id
  AND d.NewStatus <> d.OldStatus;

-- name: decision_page
-- What a run found, by node, after a given one.
SELECT TOP (@limit) d.MemoryNodeId, n.[Key], d.Outcome, d.ReviewReason, d.OldStatus, d.NewStatus, d.OldConfidence, d.NewConfidence,
       d.Decision, d.DecidedBy, d.Explanation, d.Certainty, d.DecidedAt
FROM dbo.RevalidationDecisions AS d
LEFT JOIN dbo.MemoryNodes AS n ON n.MemoryNodeId = d.MemoryNodeId AND n.TenantId = d.TenantId AND n.FleetId = d.FleetId
WHERE d.RevalidationRunId = @run_id AND d.TenantId = @tenant_id AND d.FleetId = @fleet_id
  AND (@outcome IS NULL OR d.Outcome = @outcome)
  AND (@after_id IS NULL OR d.MemoryNodeIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY d.MemoryNodeIdText;

-- name: decision_explain
-- What a person or agent decided, on the row of the look that followed.
UPDATE dbo.RevalidationDecisions
SET Decision = @decision, DecidedBy = @decided_by, Explanation = @explanation, Certainty = @certainty
WHERE RevalidationRunId = @run_id AND MemoryNodeIdText = LOWER(CONVERT(CHAR(36), @memory_node_id))
  AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: decision_insert
-- A decision that no look follows, since another kind of run carries it out.
INSERT INTO dbo.RevalidationDecisions (RevalidationRunId, TenantId, FleetId, MemoryNodeId, Outcome, ReviewReason, OldStatus,
                                   NewStatus, OldConfidence, NewConfidence, DecidedAt, MemoryNodeIdText)
SELECT @run_id, n.TenantId, n.FleetId, n.MemoryNodeId, 'StillInvalid', NULL, @old_status, n.Status, n.Confidence,
       n.Confidence, @decided_at, n.MemoryNodeIdText
FROM dbo.MemoryNodes AS n
WHERE n.MemoryNodeId = @memory_node_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id;

-- name: named_by_invalidation
-- What a cascade left to be looked at: nodes in doubt, those that lost a member of a group, and those that lost their
-- replacement; with their status before it where it reached them. Nodes that were Invalid before and lost a necessary source
-- only matter where they lie on a circle, which it may have held. A node can come twice.
SELECT i.MemoryNodeId, i.OldStatus, 0 AS IsReplaced, 0 AS IsShaken
FROM dbo.InvalidationImpacts AS i
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
  AND i.NewStatus = 1 AND i.Outcome <> 'SkippedPinned'
UNION ALL
SELECT e.TargetNodeId, t.OldStatus, CASE WHEN e.EdgeType = 'Supersedes' THEN 1 ELSE 0 END,
       CASE WHEN e.EdgeType IN ('Requires', 'ValidOnlyWhen') THEN 1 ELSE 0 END
FROM dbo.InvalidationImpacts AS i
JOIN dbo.MemoryEdges AS e ON e.SourceNodeId = i.MemoryNodeId
LEFT JOIN dbo.InvalidationImpacts AS t
    ON t.MemoryNodeId = e.TargetNodeId AND t.InvalidationRunId = i.InvalidationRunId
    AND t.TenantId = i.TenantId AND t.FleetId = i.FleetId
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
  AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
  AND i.NewStatus = 2 AND i.OldStatus < 2
  AND (e.EdgeType IN ('DerivedFrom', 'SupportedBy', 'ObservedFrom', 'Supersedes')
       OR (e.EdgeType IN ('Requires', 'ValidOnlyWhen') AND t.OldStatus = 2))
OPTION (LOOP JOIN);

-- name: named_by_rule
-- The targets of edges under any version of a rule.
SELECT e.TargetNodeId AS MemoryNodeId
FROM dbo.SourceRules AS r
JOIN dbo.SourceRules AS v ON v.TenantId = r.TenantId AND v.FleetId = r.FleetId AND v.Name = r.Name
JOIN dbo.MemoryEdges AS e ON e.SourceRuleId = v.SourceRuleId AND e.TenantId = v.TenantId AND e.FleetId = v.FleetId
WHERE r.SourceRuleId = @source_rule_id AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id
GROUP BY e.TargetNodeId
ORDER BY LOWER(CONVERT(CHAR(36), e.TargetNodeId));

-- name: named_by_graph
-- Every node of a graph, by id.
SELECT n.MemoryNodeId
FROM dbo.MemoryNodes AS n
WHERE n.GraphId = @graph_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
ORDER BY n.MemoryNodeIdText;

-- name: scope_save
INSERT INTO dbo.RevalidationScope (RevalidationRunId, TenantId, FleetId, MemoryNodeId, Footing, OldStatus, IsPending)
SELECT j.run_id, @tenant_id, @fleet_id, j.memory_node_id, j.footing, j.old_status, j.is_pending
FROM OPENJSON(@rows) WITH (
    run_id         UNIQUEIDENTIFIER '$.run_id',
    memory_node_id UNIQUEIDENTIFIER '$.memory_node_id',
    footing        VARCHAR(20)      '$.footing',
    old_status     TINYINT          '$.old_status',
    is_pending     BIT              '$.is_pending') AS j;

-- name: scope_load
SELECT s.MemoryNodeId, s.Footing, s.OldStatus, s.IsPending
FROM dbo.RevalidationScope AS s
WHERE s.RevalidationRunId = @run_id AND s.TenantId = @tenant_id AND s.FleetId = @fleet_id
ORDER BY s.MemoryNodeId;

-- name: scope_clear
DELETE FROM dbo.RevalidationScope
WHERE RevalidationRunId = @run_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: look_clear
DELETE FROM dbo.LookNodes WHERE LookNodes.SessionId = @@SPID;

-- name: look_add
INSERT INTO dbo.LookNodes (SessionId, MemoryNodeId)
SELECT @@SPID, j.memory_node_id
FROM OPENJSON(@rows) WITH (
    memory_node_id UNIQUEIDENTIFIER '$.memory_node_id') AS j;

-- name: look_newer_invalidation
-- The next waiting event of a newer cascade that touched one of the nodes, the cascades of the run itself aside.
SELECT TOP (1) p.OutboxEventId, p.InvalidationRunId, p.EffectiveTime
FROM (
    SELECT TOP (@limit) o.OutboxEventId, o.SubjectId AS InvalidationRunId, q.EffectiveTime
    FROM dbo.OutboxEvents AS o
    JOIN dbo.InvalidationRuns AS i
        ON i.InvalidationRunId = o.SubjectId AND i.TenantId = o.TenantId AND i.FleetId = o.FleetId
    JOIN dbo.InvalidationRequests AS q
        ON q.InvalidationRequestId = i.InvalidationRequestId AND q.TenantId = i.TenantId AND q.FleetId = i.FleetId
    WHERE o.TenantId = @tenant_id AND o.FleetId = @fleet_id AND o.EventState = 'Pending' AND o.Lane IS NULL
      AND o.OutboxEventId > @outbox_event AND o.EventType = 'InvalidationCompleted'
      AND NOT EXISTS (SELECT 1
                      FROM dbo.RevalidationChildren AS c
                      WHERE c.RevalidationRunId = @run_id AND c.InvalidationRunId = o.SubjectId
                        AND c.TenantId = @tenant_id AND c.FleetId = @fleet_id)
    ORDER BY o.OutboxEventId
) AS p
WHERE EXISTS (SELECT 1
              FROM dbo.LookNodes AS w
              JOIN dbo.InvalidationImpacts AS i
                  ON i.MemoryNodeId = w.MemoryNodeId AND i.InvalidationRunId = p.InvalidationRunId
                  AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
              WHERE w.SessionId = @@SPID)
ORDER BY p.OutboxEventId;

-- name: look_links_into
-- What the nodes rest on: their active in-edges, contradictions aside, by their ends.
SELECT e.SourceNodeId, e.TargetNodeId
FROM dbo.LookNodes AS w
JOIN dbo.ActiveEdges AS e ON e.TargetNodeId = w.MemoryNodeId
WHERE w.SessionId = @@SPID AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.EdgeType <> 'Contradicts'
  AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
OPTION (LOOP JOIN);

-- name: look_links_from
-- What rests on the nodes: their active out-edges, contradictions aside, by their ends.
SELECT e.SourceNodeId, e.TargetNodeId
FROM dbo.LookNodes AS w
JOIN dbo.ActiveEdges AS e ON e.SourceNodeId = w.MemoryNodeId
WHERE w.SessionId = @@SPID AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.EdgeType <> 'Contradicts'
  AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
OPTION (LOOP JOIN);

-- name: look_subjects
-- The nodes with the settings of their graph, the decision that stands for them, and what is open about them.
SELECT n.MemoryNodeId, n.GraphId, n.Status, n.Invalidation, n.Confidence, n.BaseConfidence, n.IsPinned, g.Policy,
       g.Propagation, g.RevalidationMode, f.Footing, f.Ground, v.ReviewId, v.ReviewReason
FROM dbo.LookNodes AS w
JOIN dbo.MemoryNodes AS n ON n.MemoryNodeId = w.MemoryNodeId
JOIN dbo.MemoryGraphs AS g ON g.GraphId = n.GraphId AND g.TenantId = n.TenantId AND g.FleetId = n.FleetId
LEFT JOIN dbo.Footings AS f ON f.MemoryNodeId = n.MemoryNodeId AND f.TenantId = n.TenantId AND f.FleetId = n.FleetId
LEFT JOIN dbo.Reviews AS v
    ON v.MemoryNodeId = n.MemoryNodeId AND v.TenantId = n.TenantId AND v.FleetId = n.FleetId AND v.ClosedAt IS NULL
WHERE w.SessionId = @@SPID AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
OPTION (LOOP JOIN);

-- name: look_supports
-- The active edges into the nodes, with the state of their sources; contradictions from both ends.
SELECT e.TargetNodeId, e.SourceNodeId, e.EdgeType, e.SupportGroup, e.MinSupport, e.Weight, s.Status AS SourceStatus,
       s.Confidence AS SourceConfidence, s.BaseConfidence AS SourceBaseConfidence
FROM dbo.LookNodes AS w
JOIN dbo.ActiveEdges AS e ON e.TargetNodeId = w.MemoryNodeId
JOIN dbo.MemoryNodes AS s ON s.MemoryNodeId = e.SourceNodeId
WHERE w.SessionId = @@SPID AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND s.TenantId = @tenant_id AND s.FleetId = @fleet_id
  AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
UNION ALL
SELECT e.SourceNodeId, e.TargetNodeId, e.EdgeType, e.SupportGroup, e.MinSupport, e.Weight, s.Status, s.Confidence,
       s.BaseConfidence
FROM dbo.LookNodes AS w
JOIN dbo.ActiveEdges AS e ON e.SourceNodeId = w.MemoryNodeId
JOIN dbo.MemoryNodes AS s ON s.MemoryNodeId = e.TargetNodeId
WHERE w.SessionId = @@SPID AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND s.TenantId = @tenant_id AND s.FleetId = @fleet_id
  AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time AND e.EdgeType = 'Contradicts'
OPTION (LOOP JOIN);

-- name: look_onwards
-- Where a look goes on from nodes that differ: over all their edges, active or not; contradictions from both ends.
SELECT e.SourceNodeId, e.TargetNodeId, CASE WHEN e.EdgeType = 'Supersedes' THEN 1 ELSE 0 END AS IsReplaced
FROM dbo.LookNodes AS w
JOIN dbo.MemoryEdges AS e ON e.SourceNodeId = w.MemoryNodeId
WHERE w.SessionId = @@SPID AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
UNION ALL
SELECT e.TargetNodeId, e.SourceNodeId, 0
FROM dbo.LookNodes AS w
JOIN dbo.MemoryEdges AS e ON e.TargetNodeId = w.MemoryNodeId AND e.EdgeType = 'Contradicts'
WHERE w.SessionId = @@SPID AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
OPTION (LOOP JOIN);

-- name: look_replaced
-- What the nodes replace.
SELECT DISTINCT e.TargetNodeId AS MemoryNodeId
FROM dbo.LookNodes AS w
JOIN dbo.MemoryEdges AS e ON e.SourceNodeId = w.MemoryNodeId AND e.EdgeType = 'Supersedes'
WHERE w.SessionId = @@SPID AND e.TenantId = @tenant_id AND e.FleetId = @fleet_id
OPTION (LOOP JOIN);

-- name: look_statuses_before
-- The status of the nodes before a cascade, of those that it reached.
SELECT i.MemoryNodeId, i.OldStatus
FROM dbo.LookNodes AS w
JOIN dbo.InvalidationImpacts AS i
    ON i.TenantId = @tenant_id AND i.FleetId = @fleet_id AND i.MemoryNodeId = w.MemoryNodeId
    AND i.InvalidationRunId = @run_id
WHERE w.SessionId = @@SPID
OPTION (LOOP JOIN);

-- name: look_clear_results
DELETE FROM dbo.LookResults WHERE LookResults.SessionId = @@SPID;

-- name: look_add_result
INSERT INTO dbo.LookResults (SessionId, MemoryNodeId, Outcome, ReviewReason, OldStatus, NewStatus, NewInvalidation,
                             OldConfidence, NewConfidence, Ground, ReviewId)
SELECT @@SPID, j.memory_node_id, j.outcome, j.review_reason, j.old_status, j.new_status, j.new_invalidation,
       j.old_confidence, j.new_confidence, j.ground, j.review_id
FROM OPENJSON(@rows) WITH (
    memory_node_id   UNIQUEIDENTIFIER '$.memory_node_id',
    outcome          VARCHAR(20)      '$.outcome',
    review_reason    VARCHAR(20)      '$.review_reason',
    old_status       TINYINT          '$.old_status',
    new_status       TINYINT          '$.new_status',
    new_invalidation VARCHAR(20)      '$.new_invalidation',
    old_confidence   FLOAT            '$.old_confidence',
    new_confidence   FLOAT            '$.new_confidence',
    ground           CHAR(64)         '$.ground',
    review_id        UNIQUEIDENTIFIER '$.review_id') AS j;

-- name: look_update_nodes
-- One update per node row, and none where nothing changes.
UPDATE n
SET Status = r.NewStatus,
    Invalidation = r.NewInvalidation,
    InvalidSince = CASE WHEN r.NewStatus = 2 THEN COALESCE(n.InvalidSince, @invalid_since) END,
    Confidence = r.NewConfidence,
    UpdatedAt = k.ValidFrom,
    Version = n.Version + 1
FROM dbo.LookResults AS r
JOIN dbo.MemoryNodes AS n ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = r.MemoryNodeId
JOIN dbo.FleetClocks AS k ON k.TenantId = @tenant_id AND k.FleetId = @fleet_id
WHERE r.SessionId = @@SPID
  AND (r.NewStatus <> n.Status OR r.NewConfidence <> n.Confidence
       OR EXISTS (SELECT r.NewInvalidation EXCEPT SELECT n.Invalidation))
OPTION (LOOP JOIN);

-- name: look_record_decisions
-- The last look at a node in a run counts, next to the state before the first: what was Invalid then and is Valid is Restored.
UPDATE d
SET Outcome = CASE WHEN r.Outcome = 'RemainsValid' AND d.OldStatus = 2 THEN 'Restored' ELSE r.Outcome END,
    ReviewReason = r.ReviewReason, NewStatus = r.NewStatus, NewConfidence = r.NewConfidence,
    DecidedAt = @decided_at
FROM dbo.LookResults AS r
JOIN dbo.RevalidationDecisions AS d
    ON d.TenantId = @tenant_id AND d.FleetId = @fleet_id AND d.RevalidationRunId = @run_id
    AND d.MemoryNodeIdText = LOWER(CONVERT(CHAR(36), r.MemoryNodeId))
WHERE r.SessionId = @@SPID
OPTION (LOOP JOIN);
INSERT INTO dbo.RevalidationDecisions (RevalidationRunId, TenantId, FleetId, MemoryNodeId, Outcome, ReviewReason, OldStatus,
                                       NewStatus, OldConfidence, NewConfidence, DecidedAt, MemoryNodeIdText)
SELECT @run_id, @tenant_id, @fleet_id, r.MemoryNodeId, r.Outcome, r.ReviewReason, r.OldStatus, r.NewStatus,
       r.OldConfidence, r.NewConfidence, @decided_at, LOWER(CONVERT(CHAR(36), r.MemoryNodeId))
FROM dbo.LookResults AS r
WHERE r.SessionId = @@SPID
  AND NOT EXISTS (SELECT 1
                  FROM dbo.RevalidationDecisions AS d
                  WHERE d.TenantId = @tenant_id AND d.FleetId = @fleet_id AND d.RevalidationRunId = @run_id
                    AND d.MemoryNodeIdText = LOWER(CONVERT(CHAR(36), r.MemoryNodeId)))
OPTION (LOOP JOIN);

-- name: look_close_reviews
-- What is no longer in question closes by itself; a caller's own doubt waits.
UPDATE v
SET ClosedAt = @closed_at, Resolution = 'Resolved'
FROM dbo.LookResults AS r
JOIN dbo.Reviews AS v ON v.TenantId = @tenant_id AND v.FleetId = @fleet_id AND v.MemoryNodeId = r.MemoryNodeId
WHERE r.SessionId = @@SPID AND v.ClosedAt IS NULL AND (v.ReviewReason IS NULL OR v.ReviewReason <> 'Requested')
  AND r.Outcome <> CASE v.ReviewKind WHEN 'Task' THEN 'AwaitingAgent' ELSE 'NeedsReview' END;

-- name: look_refresh_reviews
-- What stays open shows the ground as it is now.
UPDATE v
SET Ground = r.Ground,
    ReviewReason = CASE WHEN v.ReviewReason = 'Requested' THEN 'Requested' ELSE r.ReviewReason END
FROM dbo.LookResults AS r
JOIN dbo.Reviews AS v ON v.TenantId = @tenant_id AND v.FleetId = @fleet_id AND v.MemoryNodeId = r.MemoryNodeId
WHERE r.SessionId = @@SPID AND v.ClosedAt IS NULL;

-- name: look_open_reviews
INSERT INTO dbo.Reviews (ReviewId, TenantId, FleetId, GraphId, MemoryNodeId, ReviewKind, ReviewReason, Ground, OpenedAt,
                         ReviewIdText)
SELECT r.ReviewId, n.TenantId, n.FleetId, n.GraphId, n.MemoryNodeId,
       CASE r.Outcome WHEN 'AwaitingAgent' THEN 'Task' ELSE 'Review' END, r.ReviewReason, r.Ground, @opened_at,
       LOWER(CONVERT(CHAR(36), r.ReviewId))
FROM dbo.LookResults AS r
JOIN dbo.MemoryNodes AS n ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = r.MemoryNodeId
WHERE r.SessionId = @@SPID AND r.Outcome IN ('NeedsReview', 'AwaitingAgent')
  AND NOT EXISTS (SELECT 1
                  FROM dbo.Reviews AS v
                  WHERE v.MemoryNodeId = r.MemoryNodeId AND v.TenantId = @tenant_id AND v.FleetId = @fleet_id
                    AND v.ClosedAt IS NULL)
OPTION (LOOP JOIN);

-- name: footing_clear
DELETE FROM dbo.Footings
WHERE Footings.TenantId = @tenant_id AND Footings.FleetId = @fleet_id
  AND Footings.MemoryNodeId IN (SELECT j.memory_node_id
                                FROM OPENJSON(@rows) WITH (
                                    memory_node_id UNIQUEIDENTIFIER '$.memory_node_id') AS j);

-- name: footing_add
INSERT INTO dbo.Footings (MemoryNodeId, TenantId, FleetId, Footing, Ground, DecidedAt)
SELECT j.memory_node_id, @tenant_id, @fleet_id, j.footing, j.ground, j.decided_at
FROM OPENJSON(@rows) WITH (
    memory_node_id UNIQUEIDENTIFIER '$.memory_node_id',
    footing        VARCHAR(20)      '$.footing',
    ground         CHAR(64)         '$.ground',
    decided_at     DATETIME2(6)     '$.decided_at') AS j;
