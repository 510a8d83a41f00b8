"""Memory graphs and their bookmarks."""

from datetime import datetime
from uuid import UUID

from app.domain.models import Bookmark, MemoryGraph
from app.store.session import Session


class Graphs:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, graph: MemoryGraph) -> None:
        self._session.execute("graph_insert", **graph._asdict())

    def find(self, graph_id: UUID) -> MemoryGraph | None:
        return self._session.one(MemoryGraph, "graph_find", graph_id=graph_id)

    def page(self, after_id: UUID | None, limit: int) -> list[MemoryGraph]:
        """By id, at most ``limit``, those after ``after_id``."""
        return self._session.rows(MemoryGraph, "graph_page", after_id=after_id, limit=limit)

    def update(self, graph: MemoryGraph) -> None:
        self._session.execute("graph_update", **graph._asdict())

    def add_bookmark(self, bookmark: Bookmark) -> None:
        self._session.execute("bookmark_insert", **bookmark._asdict())

    def bookmarks(self, graph_id: UUID, after_id: UUID | None, limit: int) -> list[Bookmark]:
        """By id, at most ``limit``, those after ``after_id``."""
        return self._session.rows(Bookmark, "bookmark_page", graph_id=graph_id, after_id=after_id, limit=limit)

    def last_stamp(self) -> datetime:
        """The stamp of the last commit this view can see."""
        instant: datetime = self._session.codec.instant(self._session.scalar("clock_last"))
        return instant
