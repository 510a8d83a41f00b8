-- The second wall: whatever a statement asks, the server shows a session the rows of one fleet only. The service names
-- that fleet when it takes a connection and unnames it when it gives it back; a session that named none sees nothing.
-- An operator sees every fleet after EXEC sp_set_session_context N'EveryFleet', 1.
CREATE FUNCTION dbo.InScope (@TenantId UNIQUEIDENTIFIER, @FleetId UNIQUEIDENTIFIER)
RETURNS TABLE
WITH SCHEMABINDING
AS
RETURN
    SELECT 1 AS Allowed
    WHERE (@TenantId = CAST(SESSION_CONTEXT(N'TenantId') AS UNIQUEIDENTIFIER)
           AND @FleetId = CAST(SESSION_CONTEXT(N'FleetId') AS UNIQUEIDENTIFIER))
       OR CAST(SESSION_CONTEXT(N'EveryFleet') AS INT) = 1;
GO

-- History tables are named one by one: the predicate of a table does not reach its history.
CREATE SECURITY POLICY dbo.FleetPolicy
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryGraphs,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.SourceRules,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryNodes,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryNodesHistory,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryEdges,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryEdgesHistory,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryAssertions,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryAssertionsHistory,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.EvidenceReferences,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRequests,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRequestRoots,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRuns,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationImpacts,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.GraphSnapshotDescriptors,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.IdempotencyKeys,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationRuns,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationScope,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationDecisions,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationChildren,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.Reviews,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.Footings,
    ADD FILTER PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.Webhooks,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryGraphs AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.SourceRules AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryNodes AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryEdges AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.MemoryAssertions AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.EvidenceReferences AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRequests AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationRuns AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.InvalidationImpacts AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationRuns AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationScope AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationDecisions AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.RevalidationChildren AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.Reviews AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.Footings AFTER INSERT,
    ADD BLOCK PREDICATE dbo.InScope(TenantId, FleetId) ON dbo.Webhooks AFTER INSERT
    WITH (STATE = ON, SCHEMABINDING = ON);
GO
