-- System time. SQL Server stamps rows with the time at which their transaction began (SEMANTICS 5).

-- One row per fleet. Every writer changes it first, so its period is kept by the server and its ValidFrom is the stamp of
-- the open transaction, or else that of the last commit. It needs no history.
CREATE TABLE dbo.FleetClocks (
    TenantId  UNIQUEIDENTIFIER NOT NULL,
    FleetId   UNIQUEIDENTIFIER NOT NULL,
    Writes    BIGINT           NOT NULL,
    ValidFrom DATETIME2(6) GENERATED ALWAYS AS ROW START NOT NULL,
    ValidTo   DATETIME2(6) GENERATED ALWAYS AS ROW END NOT NULL,
    PERIOD FOR SYSTEM_TIME (ValidFrom, ValidTo),
    CONSTRAINT PK_FleetClocks PRIMARY KEY CLUSTERED (TenantId, FleetId)
);
GO

-- The latest time later than its last commit for which a fleet was answered: every stamp to come exceeds it.
CREATE TABLE dbo.FleetPromises (
    TenantId UNIQUEIDENTIFIER NOT NULL,
    FleetId  UNIQUEIDENTIFIER NOT NULL,
    AsOf     DATETIME2(6)     NOT NULL,
    CONSTRAINT PK_FleetPromises PRIMARY KEY CLUSTERED (TenantId, FleetId)
);
GO
