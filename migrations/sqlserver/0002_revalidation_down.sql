-- Takes away what 0002_revalidation makes. Events that only this version knows are lost.
ALTER SECURITY POLICY dbo.FleetPolicy
    DROP FILTER PREDICATE ON dbo.RevalidationRuns,
    DROP FILTER PREDICATE ON dbo.RevalidationScope,
    DROP FILTER PREDICATE ON dbo.RevalidationDecisions,
    DROP FILTER PREDICATE ON dbo.RevalidationChildren,
    DROP FILTER PREDICATE ON dbo.Reviews,
    DROP FILTER PREDICATE ON dbo.Footings,
    DROP FILTER PREDICATE ON dbo.Webhooks,
    DROP BLOCK PREDICATE ON dbo.RevalidationRuns AFTER INSERT,
    DROP BLOCK PREDICATE ON dbo.RevalidationScope AFTER INSERT,
    DROP BLOCK PREDICATE ON dbo.RevalidationDecisions AFTER INSERT,
    DROP BLOCK PREDICATE ON dbo.RevalidationChildren AFTER INSERT,
    DROP BLOCK PREDICATE ON dbo.Reviews AFTER INSERT,
    DROP BLOCK PREDICATE ON dbo.Footings AFTER INSERT,
    DROP BLOCK PREDICATE ON dbo.Webhooks AFTER INSERT;
GO

DROP TABLE dbo.LookResults;
GO

DROP TABLE dbo.LookNodes;
GO

DROP TABLE dbo.Webhooks;
GO

DROP TABLE dbo.Footings;
GO

DROP TABLE dbo.Reviews;
GO

DROP TABLE dbo.RevalidationChildren;
GO

DROP TABLE dbo.RevalidationDecisions;
GO

DROP TABLE dbo.RevalidationScope;
GO

DROP TABLE dbo.RevalidationRuns;
GO

DELETE FROM dbo.OutboxEvents
WHERE EventState <> 'Pending' OR EventType IN ('RevalidationRequested', 'RevalidationCompleted', 'WebhookDelivery');
GO

DROP INDEX IX_OutboxEvents_Scope ON dbo.OutboxEvents;
GO

DROP INDEX IX_OutboxEvents_Handled ON dbo.OutboxEvents;
GO

DROP INDEX IX_OutboxEvents_Leased ON dbo.OutboxEvents;
GO

DROP INDEX IX_OutboxEvents_Line ON dbo.OutboxEvents;
GO

DROP INDEX IX_OutboxEvents_Pending ON dbo.OutboxEvents;
GO

ALTER TABLE dbo.OutboxEvents DROP CONSTRAINT CK_OutboxEvents_HandledAt, CK_OutboxEvents_EventState,
    CK_OutboxEvents_EventType, DF_OutboxEvents_EventState, DF_OutboxEvents_Attempts;
GO

ALTER TABLE dbo.OutboxEvents DROP COLUMN Lane, CauseEvent, EventState, Attempts, AvailableAt, LeaseOwner, LeaseExpiresAt,
    LastError, HandledAt;
GO

ALTER TABLE dbo.OutboxEvents ADD
    CONSTRAINT CK_OutboxEvents_EventType CHECK (EventType IN ('InvalidationCompleted', 'EdgeAdded', 'EdgeChanged',
                                                              'EdgeRemoved', 'NodeUnpinned', 'BaseConfidenceChanged',
                                                              'RuleVersionAdded'));
GO
