-- name: graph_insert
INSERT INTO MemoryGraphs (GraphId, TenantId, FleetId, Name, RevalidationMode, Policy, Propagation, CreatedAt)
VALUES (:graph_id, :tenant_id, :fleet_id, :name, :revalidation_mode, :policy, :propagation, :created_at);

-- name: graph_find
SELECT g.GraphId, g.Name, g.RevalidationMode, g.Policy, g.Propagation, g.CreatedAt
FROM MemoryGraphs AS g
WHERE g.GraphId = :graph_id AND g.TenantId = :tenant_id AND g.FleetId = :fleet_id;

-- name: graph_page
-- Graphs of the fleet by id, after a given one.
SELECT g.GraphId, g.Name, g.RevalidationMode, g.Policy, g.Propagation, g.CreatedAt
FROM MemoryGraphs AS g
WHERE g.TenantId = :tenant_id AND g.FleetId = :fleet_id AND (:after_id IS NULL OR g.GraphId > :after_id)
ORDER BY g.GraphId
LIMIT :limit;

-- name: graph_update
UPDATE MemoryGraphs
SET Name = :name, RevalidationMode = :revalidation_mode, Policy = :policy, Propagation = :propagation
WHERE GraphId = :graph_id AND TenantId = :tenant_id AND FleetId = :fleet_id;

-- name: bookmark_insert
INSERT INTO GraphSnapshotDescriptors (SnapshotId, TenantId, FleetId, GraphId, Name, AsOf, RequestedAt)
VALUES (:snapshot_id, :tenant_id, :fleet_id, :graph_id, :name, :as_of, :requested_at);

-- name: bookmark_page
-- Bookmarks of a graph by id, after a given one.
SELECT d.SnapshotId, d.GraphId, d.Name, d.AsOf, d.RequestedAt
FROM GraphSnapshotDescriptors AS d
WHERE d.GraphId = :graph_id AND d.TenantId = :tenant_id AND d.FleetId = :fleet_id
  AND (:after_id IS NULL OR d.SnapshotId > :after_id)
ORDER BY d.SnapshotId
LIMIT :limit;
