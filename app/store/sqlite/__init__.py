"""The embedded engine: one SQLite file, system-versioned by triggers."""
