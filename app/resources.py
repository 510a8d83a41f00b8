"""Finds the SQL scripts and migrations, in a source tree or in an installed package."""

from pathlib import Path

_INSTALLED = Path(__file__).parent / "data"
ROOT = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parent.parent

SQL = ROOT / "sql"
MIGRATIONS = ROOT / "migrations"
