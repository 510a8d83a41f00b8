-- Takes away what 0001_initial makes, all memory included.
DROP SECURITY POLICY dbo.FleetPolicy;
GO

DROP FUNCTION dbo.InScope;
GO

DROP PROCEDURE dbo.ReplacementClosesCircle;
GO

DROP PROCEDURE dbo.InvalidateMemoryGraph;
GO

DROP PROCEDURE dbo.CascadeInvalidation;
GO

DROP PROCEDURE dbo.FindCircles;
GO

DROP PROCEDURE dbo.TakeStamp;
GO

DROP VIEW dbo.ActiveEdges;
GO

DROP TABLE dbo.CircleNodes;
GO

DROP TABLE dbo.CircleEdges;
GO

DROP TABLE dbo.WalkNodes;
GO

DROP TABLE dbo.StagedEvidence;
GO

DROP TABLE dbo.StagedAssertions;
GO

DROP TABLE dbo.StagedEdges;
GO

DROP TABLE dbo.StagedNodes;
GO

DROP TABLE dbo.StagedRules;
GO

DROP TABLE dbo.IdempotencyKeys;
GO

DROP TABLE dbo.GraphSnapshotDescriptors;
GO

DROP TABLE dbo.OutboxEvents;
GO

DROP TABLE dbo.InvalidationImpacts;
GO

DROP TABLE dbo.InvalidationRuns;
GO

DROP TABLE dbo.InvalidationRequestRoots;
GO

DROP TABLE dbo.InvalidationRequests;
GO

DROP TABLE dbo.EvidenceReferences;
GO

ALTER TABLE dbo.MemoryAssertions SET (SYSTEM_VERSIONING = OFF);
GO

DROP TABLE dbo.MemoryAssertions;
GO

DROP TABLE dbo.MemoryAssertionsHistory;
GO

ALTER TABLE dbo.MemoryEdges SET (SYSTEM_VERSIONING = OFF);
GO

DROP TABLE dbo.MemoryEdges;
GO

DROP TABLE dbo.MemoryEdgesHistory;
GO

ALTER TABLE dbo.MemoryNodes SET (SYSTEM_VERSIONING = OFF);
GO

DROP TABLE dbo.MemoryNodes;
GO

DROP TABLE dbo.MemoryNodesHistory;
GO

DROP TABLE dbo.SourceRules;
GO

DROP TABLE dbo.MemoryGraphs;
GO

DROP TABLE dbo.FleetPromises;
GO

DROP TABLE dbo.FleetClocks;
GO
