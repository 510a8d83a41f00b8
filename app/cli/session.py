"""From the options of a command to a store and a graph."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID

from sqlalchemy.engine import make_url

from app.cli.faults import Refused
from app.domain.errors import Busy
from app.domain.models import MemoryGraph, Principal
from app.services import graphs
from app.services.retrying import retrying
from app.settings import Settings
from app.store.ports import Store
from app.store.unit import UnitOfWork, View
from app.wiring import open_store

Result = TypeVar("Result")

_PAGE = 1000
_NAMED = 10


@contextmanager
def opened(database_url: str | None, *, start: bool = False) -> Iterator[Store]:
    """The store that the settings name, with the schema it needs."""
    settings = Settings.load(database_url=database_url)
    store = open_store(settings)
    try:
        if start:
            store.start()
        else:
            _check(store, settings.database_url)
        yield store
    finally:
        store.dispose()


def _check(store: Store, database_url: str) -> None:
    try:
        store.check()
    except Busy as error:
        advice = "--database-url names another database."
        raise Refused(f"{shown_url(database_url)}: {error.detail}", advice) from error


def shown_url(database_url: str) -> str:
    """The URL without its password."""
    return make_url(database_url).render_as_string(hide_password=True)


def committed(store: Store, who: Principal, work: Callable[[UnitOfWork], Result]) -> Result:
    """Work in a transaction of its own, tried again where the store was busy."""

    def transaction() -> Result:
        with store.write(who) as uow:
            result = work(uow)
            uow.commit()
        return result

    return retrying(transaction)


def known_graph(view: View, name_or_id: str) -> MemoryGraph:
    """The graph of that id or name; ``Refused`` where there is none, or more than one."""
    graph = find_graph(view, name_or_id)
    if graph is None:
        names = sorted(graph.name for graph in _all(view))
        shown = ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
        advice = f"Known here: {shown}." if names else "There is none yet: memory-graph import makes the first."
        raise Refused(f"there is no graph {name_or_id!r} in this database for this tenant and fleet.", advice)
    return graph


def find_graph(view: View, name_or_id: str) -> MemoryGraph | None:
    """The graph of that id or name, if there is one; names need not be unique, so ``Refused`` where they are not."""
    by_id = view.graphs.find(UUID(name_or_id)) if is_id(name_or_id) else None
    if by_id:
        return by_id
    named = [graph for graph in _all(view) if graph.name == name_or_id]
    if len(named) > 1:
        ids = ", ".join(str(graph.graph_id) for graph in named[:_NAMED])
        raise Refused(f"{len(named)} graphs have the name {name_or_id!r}.", f"Name one by its id: {ids}.")
    return named[0] if named else None


def is_id(text: str) -> bool:
    """Whether ``text`` is a UUID in its usual form."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def _all(view: View) -> Iterator[MemoryGraph]:
    cursor = None
    while True:
        page = graphs.page(view, _PAGE, cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return
