"""A short story on a small bundled graph: facts, an invalidation, what fell, and the memory as it was before."""

from pathlib import Path

MEMORY = Path(__file__).parent / "memory.ndjson"
"""The lines of the bundled graph."""
