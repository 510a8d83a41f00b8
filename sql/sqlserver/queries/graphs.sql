DECLARE @after_id UNIQUEIDENTIFIER, @as_of DATETIME2(6), @created_at DATETIME2(6), @fleet_id UNIQUEIDENTIFIER,
        @graph_id UNIQUEIDENTIFIER, @limit BIGINT, @name NVARCHAR(512), @policy VARCHAR(20), @propagation VARCHAR(20),
        @requested_at DATETIME2(6), @revalidation_mode VARCHAR(20), @snapshot_id UNIQUEIDENTIFIER,
        @tenant_id UNIQUEIDENTIFIER;

-- name: graph_insert
INSERT INTO dbo.MemoryGraphs (GraphId, TenantId, FleetId, Name, RevalidationMode, Policy, Propagation, CreatedAt,
                              GraphIdText)
VALUES (@graph_id, @tenant_id, @fleet_id, @name, @revalidation_mode, @policy, @propagation, @created_at,
        LOWER(CONVERT(CHAR(36), @graph_id)));

-- name: graph_find
SELECT g.GraphId, g.Name, g.RevalidationMode, g.Policy, g.Propagation, g.CreatedAt
FROM dbo.MemoryGraphs AS g
WHERE g.GraphId = @graph_id AND g.TenantId = @tenant_id AND g.FleetId = @fleet_id;

-- name: graph_page
-- Graphs of the fleet by id, after a given one.
SELECT TOP (@limit) g.GraphId, g.Name, g.RevalidationMode, g.Policy, g.Propagation, g.CreatedAt
FROM dbo.MemoryGraphs AS g
WHERE g.TenantId = @tenant_id AND g.FleetId = @fleet_id
  AND (@after_id IS NULL OR g.GraphIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY g.GraphIdText;

-- name: graph_update
UPDATE dbo.MemoryGraphs
SET Name = @name, RevalidationMode = @revalidation_mode, Policy = @policy, Propagation = @propagation
WHERE GraphId = @graph_id AND TenantId = @tenant_id AND FleetId = @fleet_id;

-- name: bookmark_insert
INSERT INTO dbo.GraphSnapshotDescriptors (SnapshotId, TenantId, FleetId, GraphId, Name, AsOf, RequestedAt,
                                          SnapshotIdText)
VALUES (@snapshot_id, @tenant_id, @fleet_id, @graph_id, @name, @as_of, @requested_at,
        LOWER(CONVERT(CHAR(36), @snapshot_id)));

-- name: bookmark_page
-- Bookmarks of a graph by id, after a given one.
SELECT TOP (@limit) d.SnapshotId, d.GraphId, d.Name, d.AsOf, d.RequestedAt
FROM dbo.GraphSnapshotDescriptors AS d
WHERE d.GraphId = @graph_id AND d.TenantId = @tenant_id AND d.FleetId = @fleet_id
  AND (@after_id IS NULL OR d.SnapshotIdText > LOWER(CONVERT(CHAR(36), @after_id)))
ORDER BY d.SnapshotIdText;
