DECLARE @after_depth INT, @after_id UNIQUEIDENTIFIER, @as_of DATETIME2(6), @before_time DATETIME2(6),
        @by_run_id UNIQUEIDENTIFIER, @committed_at DATETIME2(6), @distance INT, @effective_time DATETIME2(6),
        @fingerprint VARCHAR(64), @fleet_id UNIQUEIDENTIFIER, @invalid_since DATETIME2(6), @is_derived BIT,
        @limit BIGINT, @memory_node_id UNIQUEIDENTIFIER, @outcome VARCHAR(30), @override_pinned BIT,
        @parent_run_id UNIQUEIDENTIFIER, @policy VARCHAR(20), @propagation VARCHAR(20), @reason NVARCHAR(4000),
        @request_id UNIQUEIDENTIFIER, @requested_at DATETIME2(6), @rows NVARCHAR(MAX), @run_id UNIQUEIDENTIFIER,
        @run_status VARCHAR(20), @status TINYINT, @tenant_id UNIQUEIDENTIFIER;

-- name: request_insert
INSERT INTO dbo.InvalidationRequests (
    InvalidationRequestId, TenantId, FleetId, Reason, RequestedStatus, EffectiveTime, InvalidSince, Policy, Propagation,
    OverridePinned, IsDerived, Fingerprint, RequestedAt)
VALUES (
    @request_id, @tenant_id, @fleet_id, @reason, @status, @effective_time, @invalid_since, @policy, @propagation,
    @override_pinned, @is_derived, @fingerprint, @requested_at);

-- name: request_insert_root
INSERT INTO dbo.InvalidationRequestRoots (InvalidationRequestId, TenantId, FleetId, MemoryNodeId)
SELECT j.request_id, @tenant_id, @fleet_id, j.memory_node_id
FROM OPENJSON(@rows) WITH (
    request_id     UNIQUEIDENTIFIER '$.request_id',
    memory_node_id UNIQUEIDENTIFIER '$.memory_node_id') AS j;

-- name: run_insert
INSERT INTO dbo.InvalidationRuns (InvalidationRunId, TenantId, FleetId, InvalidationRequestId, ParentRunId, RunStatus,
                                  CommittedAt, InvalidationRunIdText)
VALUES (@run_id, @tenant_id, @fleet_id, @request_id, @parent_run_id, @run_status, @committed_at,
        LOWER(CONVERT(CHAR(36), @run_id)));

-- name: run_find
SELECT r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason, q.RequestedStatus,
       q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
FROM dbo.InvalidationRuns AS r
JOIN dbo.InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE r.InvalidationRunId = @run_id AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id;

-- name: run_find_by_fingerprint
-- The latest run of the same roots, effective time and options, by the order of requests.
SELECT TOP (1) r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason,
       q.RequestedStatus, q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
FROM dbo.InvalidationRequests AS q
JOIN dbo.InvalidationRuns AS r
    ON r.InvalidationRequestId = q.InvalidationRequestId AND r.TenantId = q.TenantId AND r.FleetId = q.FleetId
WHERE q.Fingerprint = @fingerprint AND q.TenantId = @tenant_id AND q.FleetId = @fleet_id
ORDER BY q.RequestedAt DESC;

-- name: run_page
-- Runs of the fleet, newest request first, after a given one.
SELECT TOP (@limit) r.InvalidationRunId AS RunId, r.ParentRunId, r.RunStatus, r.SupersededByRunId, q.Reason,
       q.RequestedStatus, q.EffectiveTime, q.Policy, q.Propagation, q.OverridePinned, q.RequestedAt, r.CommittedAt
FROM dbo.InvalidationRequests AS q
JOIN dbo.InvalidationRuns AS r
    ON r.InvalidationRequestId = q.InvalidationRequestId AND r.TenantId = q.TenantId AND r.FleetId = q.FleetId
WHERE q.TenantId = @tenant_id AND q.FleetId = @fleet_id
  AND (@before_time IS NULL OR q.RequestedAt < @before_time
       OR (q.RequestedAt = @before_time AND r.InvalidationRunIdText > LOWER(CONVERT(CHAR(36), @after_id))))
ORDER BY q.RequestedAt DESC, r.InvalidationRunIdText;

-- name: run_roots
SELECT t.MemoryNodeId
FROM dbo.InvalidationRuns AS r
JOIN dbo.InvalidationRequestRoots AS t
    ON t.InvalidationRequestId = r.InvalidationRequestId AND t.TenantId = r.TenantId AND t.FleetId = r.FleetId
WHERE r.InvalidationRunId = @run_id AND r.TenantId = @tenant_id AND r.FleetId = @fleet_id
ORDER BY LOWER(CONVERT(CHAR(36), t.MemoryNodeId));

-- name: run_count_restored_roots
-- How many roots of a run were, at any time since, better off than it left them.
SELECT COUNT(*) AS Amount
FROM dbo.InvalidationImpacts AS i
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
  AND i.Depth = 0 AND i.Carried > 0
  AND EXISTS (SELECT 1
              FROM dbo.MemoryNodes FOR SYSTEM_TIME ALL AS n
              WHERE n.MemoryNodeId = i.MemoryNodeId AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
                AND n.ValidFrom > @committed_at AND n.Status < i.NewStatus);

-- name: runs_pending_covered_by
-- Runs that have not begun and that a newer request supersedes: asked for an earlier time, with weaker or equal options,
-- and with no root that the newer one lacks.
SELECT r.InvalidationRunId AS RunId, q.InvalidSince
FROM dbo.InvalidationRequests AS n
JOIN dbo.InvalidationRuns AS r ON r.RunStatus = 'Pending' AND r.TenantId = n.TenantId AND r.FleetId = n.FleetId
JOIN dbo.InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE n.InvalidationRequestId = @request_id AND n.TenantId = @tenant_id AND n.FleetId = @fleet_id
  AND q.EffectiveTime < n.EffectiveTime AND q.RequestedStatus <= n.RequestedStatus
  AND q.OverridePinned <= n.OverridePinned AND q.IsDerived >= n.IsDerived
  AND (q.Policy = 'evidential' OR n.Policy = 'strict')
  AND (q.Propagation = 'frontier' OR n.Propagation = 'transitive')
  AND NOT EXISTS (
    SELECT 1
    FROM dbo.InvalidationRequestRoots AS t
    LEFT JOIN dbo.InvalidationRequestRoots AS m
        ON m.InvalidationRequestId = n.InvalidationRequestId AND m.TenantId = t.TenantId AND m.FleetId = t.FleetId
        AND m.MemoryNodeId = t.MemoryNodeId
    WHERE t.InvalidationRequestId = q.InvalidationRequestId AND t.TenantId = q.TenantId AND t.FleetId = q.FleetId
      AND m.MemoryNodeId IS NULL);

-- name: request_backdate
-- The earlier time that a request takes over from those it supersedes.
UPDATE dbo.InvalidationRequests
SET InvalidSince = @invalid_since
WHERE InvalidationRequestId = @request_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: run_supersede
UPDATE dbo.InvalidationRuns
SET RunStatus = 'Superseded', SupersededByRunId = @by_run_id, CommittedAt = @committed_at
WHERE InvalidationRunId = @run_id AND TenantId = @tenant_id AND FleetId = @fleet_id AND RunStatus = 'Pending';

-- name: run_complete
UPDATE dbo.InvalidationRuns
SET RunStatus = 'Completed', CommittedAt = @committed_at
WHERE InvalidationRunId = @run_id AND TenantId = @tenant_id AND FleetId = @fleet_id AND RunStatus = 'Pending';

-- name: runs_pending_everywhere
-- Runs of every fleet that were accepted and not carried out, oldest first: what a start-up resumes.
SELECT r.TenantId, r.FleetId, r.InvalidationRunId AS RunId
FROM dbo.InvalidationRuns AS r
JOIN dbo.InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE r.RunStatus = 'Pending'
ORDER BY q.RequestedAt, r.InvalidationRunIdText;

-- name: impact_page
-- Impacts of a run by depth and id, after a given one.
SELECT TOP (@limit) i.MemoryNodeId, n.[Key], i.Depth, i.OldStatus, i.NewStatus, i.Outcome, i.ViaEdgeId, i.Component
FROM dbo.InvalidationImpacts AS i
LEFT JOIN dbo.MemoryNodes AS n
    ON n.MemoryNodeId = i.MemoryNodeId AND n.TenantId = i.TenantId AND n.FleetId = i.FleetId
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
  AND i.Depth >= @after_depth
  AND (i.Depth > @after_depth OR @after_id IS NULL OR i.MemoryNodeIdText > LOWER(CONVERT(CHAR(36), @after_id)))
  AND (@outcome IS NULL OR i.Outcome = @outcome)
ORDER BY i.Depth, i.MemoryNodeIdText;

-- name: impact_path
-- The way a run first reached a node, from the node back to a root. An edge is looked up as it was known to the run.
WITH Way (MemoryNodeId, Depth, ViaEdgeId) AS (
    SELECT i.MemoryNodeId, i.Depth, i.ViaEdgeId
    FROM dbo.InvalidationImpacts AS i
    WHERE i.TenantId = @tenant_id AND i.FleetId = @fleet_id
      AND i.InvalidationRunId = @run_id AND i.MemoryNodeId = @memory_node_id
    UNION ALL
    SELECT i.MemoryNodeId, i.Depth, i.ViaEdgeId
    FROM Way AS w
    JOIN dbo.MemoryEdges FOR SYSTEM_TIME AS OF @as_of AS e
        ON e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.MemoryEdgeId = w.ViaEdgeId
    JOIN dbo.InvalidationImpacts AS i
        ON i.TenantId = @tenant_id AND i.FleetId = @fleet_id AND i.InvalidationRunId = @run_id
        AND i.MemoryNodeId = CASE WHEN e.TargetNodeId = w.MemoryNodeId THEN e.SourceNodeId ELSE e.TargetNodeId END
    WHERE i.Depth < w.Depth
)
SELECT w.MemoryNodeId, n.[Key], w.Depth, w.ViaEdgeId, e.EdgeType
FROM Way AS w
LEFT JOIN dbo.MemoryNodes AS n
    ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = w.MemoryNodeId
LEFT JOIN dbo.MemoryEdges FOR SYSTEM_TIME AS OF @as_of AS e
    ON e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.MemoryEdgeId = w.ViaEdgeId
ORDER BY w.Depth
OPTION (MAXRECURSION 0);

-- name: impact_count_by_outcome
SELECT i.Outcome AS Label, COUNT(*) AS Amount
FROM dbo.InvalidationImpacts AS i
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
GROUP BY i.Outcome
ORDER BY i.Outcome;

-- name: impact_count_by_status
-- Affected nodes by the status the run left them in.
SELECT i.NewStatus, COUNT(*) AS Amount
FROM dbo.InvalidationImpacts AS i
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id AND i.Carried > 0
GROUP BY i.NewStatus
ORDER BY i.NewStatus;

-- name: impact_count_by_depth
SELECT i.Depth, COUNT(*) AS Amount
FROM dbo.InvalidationImpacts AS i
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
GROUP BY i.Depth
ORDER BY i.Depth;

-- name: impact_components
-- Members of the strongly connected components, component by component.
SELECT i.Component, i.MemoryNodeId
FROM dbo.InvalidationImpacts AS i
WHERE i.InvalidationRunId = @run_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id AND i.Component IS NOT NULL
ORDER BY i.Component, i.MemoryNodeIdText;

-- name: walk_clear
DELETE FROM dbo.WalkNodes WHERE WalkNodes.SessionId = @@SPID;

-- name: walk_start
INSERT INTO dbo.WalkNodes (SessionId, MemoryNodeId, Distance) VALUES (@@SPID, @memory_node_id, 0);

-- name: staleness_step
-- One step back from the nodes last reached, to the sources that are not Valid. A node that was invalidated for its own
-- sake explains itself and is not looked behind.
INSERT INTO dbo.WalkNodes (SessionId, MemoryNodeId, Distance)
SELECT @@SPID, s.MemoryNodeId, @distance
FROM (
    SELECT e.SourceNodeId AS MemoryNodeId
    FROM dbo.WalkNodes AS w
    JOIN dbo.MemoryNodes AS x
        ON x.TenantId = @tenant_id AND x.FleetId = @fleet_id AND x.MemoryNodeId = w.MemoryNodeId
    JOIN dbo.ActiveEdges AS e
        ON e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.TargetNodeId = w.MemoryNodeId
    WHERE w.SessionId = @@SPID AND w.Distance = @distance - 1
      AND COALESCE(x.Invalidation, 'Derived') = 'Derived' AND e.EdgeType <> 'Supersedes'
      AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
    UNION
    SELECT e.TargetNodeId
    FROM dbo.WalkNodes AS w
    JOIN dbo.MemoryNodes AS x
        ON x.TenantId = @tenant_id AND x.FleetId = @fleet_id AND x.MemoryNodeId = w.MemoryNodeId
    JOIN dbo.ActiveEdges AS e
        ON e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.SourceNodeId = w.MemoryNodeId
        AND e.EdgeType = 'Contradicts'
    WHERE w.SessionId = @@SPID AND w.Distance = @distance - 1
      AND COALESCE(x.Invalidation, 'Derived') = 'Derived'
      AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
) AS f
JOIN dbo.MemoryNodes AS s ON s.TenantId = @tenant_id AND s.FleetId = @fleet_id AND s.MemoryNodeId = f.MemoryNodeId
WHERE s.Status > 0
  AND NOT EXISTS (SELECT 1
                  FROM dbo.WalkNodes AS w
                  WHERE w.SessionId = @@SPID AND w.MemoryNodeId = f.MemoryNodeId)
OPTION (LOOP JOIN);

-- name: staleness_roots
-- Of the nodes walked to, those at which an explanation ends, nearest first: invalidated for their own sake, replaced by a
-- node that stands, or with no source that is not Valid.
SELECT c.MemoryNodeId, c.[Key], c.Name, c.Status, c.Invalidation, c.Distance, c.IsLedOn
FROM (
    SELECT n.MemoryNodeId, n.MemoryNodeIdText, n.[Key], n.Name, n.Status, n.Invalidation, w.Distance,
           CASE WHEN EXISTS (
               SELECT 1
               FROM dbo.ActiveEdges AS e
               JOIN dbo.MemoryNodes AS s
                   ON s.TenantId = e.TenantId AND s.FleetId = e.FleetId AND s.MemoryNodeId = e.SourceNodeId
               WHERE e.TenantId = n.TenantId AND e.FleetId = n.FleetId AND e.TargetNodeId = n.MemoryNodeId AND s.Status > 0
                 AND e.EdgeType <> 'Supersedes' AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
               UNION ALL
               SELECT 1
               FROM dbo.ActiveEdges AS e
               JOIN dbo.MemoryNodes AS s
                   ON s.TenantId = e.TenantId AND s.FleetId = e.FleetId AND s.MemoryNodeId = e.TargetNodeId
               WHERE e.TenantId = n.TenantId AND e.FleetId = n.FleetId AND e.SourceNodeId = n.MemoryNodeId AND s.Status > 0
                 AND e.EdgeType = 'Contradicts' AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time)
           THEN 1 ELSE 0 END AS IsLedOn,
           CASE WHEN EXISTS (
               SELECT 1
               FROM dbo.ActiveEdges AS e
               JOIN dbo.MemoryNodes AS s
                   ON s.TenantId = e.TenantId AND s.FleetId = e.FleetId AND s.MemoryNodeId = e.SourceNodeId
               WHERE e.TenantId = n.TenantId AND e.FleetId = n.FleetId AND e.TargetNodeId = n.MemoryNodeId
                 AND e.EdgeType = 'Supersedes' AND s.Status < 2
                 AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time)
           THEN 1 ELSE 0 END AS IsReplaced
    FROM dbo.WalkNodes AS w
    JOIN dbo.MemoryNodes AS n
        ON n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.MemoryNodeId = w.MemoryNodeId
    WHERE w.SessionId = @@SPID
) AS c
WHERE c.Invalidation = 'Direct' OR c.IsLedOn = 0 OR (c.Status = 2 AND c.IsReplaced = 1)
ORDER BY c.Distance, c.MemoryNodeIdText;

-- name: contradictions
-- Nodes that contradict a node and are not Invalid, by id.
SELECT n.MemoryNodeId, n.[Key], n.Name, n.Status
FROM dbo.MemoryNodes AS n
WHERE n.TenantId = @tenant_id AND n.FleetId = @fleet_id AND n.Status < 2
  AND n.MemoryNodeId IN (
    SELECT e.TargetNodeId
    FROM dbo.ActiveEdges AS e
    WHERE e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.SourceNodeId = @memory_node_id
      AND e.EdgeType = 'Contradicts' AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time
    UNION
    SELECT e.SourceNodeId
    FROM dbo.ActiveEdges AS e
    WHERE e.TenantId = @tenant_id AND e.FleetId = @fleet_id AND e.TargetNodeId = @memory_node_id
      AND e.EdgeType = 'Contradicts' AND e.ActiveFrom <= @effective_time AND e.ActiveTo > @effective_time)
ORDER BY n.MemoryNodeIdText;

-- name: staleness_runs
-- The runs that marked a node, or would have, since it was last Valid; newest first.
SELECT TOP (100) r.InvalidationRunId AS RunId, q.Reason, q.EffectiveTime, r.CommittedAt, q.IsDerived
FROM dbo.InvalidationImpacts AS i
JOIN dbo.InvalidationRuns AS r
    ON r.InvalidationRunId = i.InvalidationRunId AND r.TenantId = i.TenantId AND r.FleetId = i.FleetId
JOIN dbo.InvalidationRequests AS q
    ON q.InvalidationRequestId = r.InvalidationRequestId AND q.TenantId = r.TenantId AND q.FleetId = r.FleetId
WHERE i.MemoryNodeId = @memory_node_id AND i.TenantId = @tenant_id AND i.FleetId = @fleet_id
  AND i.NewStatus > 0 AND i.Outcome <> 'SkippedPinned'
  AND r.CommittedAt >= COALESCE((
      SELECT MAX(h.ValidTo)
      FROM dbo.MemoryNodesHistory AS h
      WHERE h.MemoryNodeId = @memory_node_id AND h.TenantId = @tenant_id AND h.FleetId = @fleet_id AND h.Status = 0),
      CAST('0001-01-01' AS DATETIME2(6)))
ORDER BY r.CommittedAt DESC;
