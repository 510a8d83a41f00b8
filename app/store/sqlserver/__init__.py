"""SQL Server: system-versioned by the server itself, reached through pyodbc."""
