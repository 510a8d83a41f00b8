"""The cascade of SEMANTICS 4 runs on the server: ``dbo.InvalidateMemoryGraph``."""

from app.store.ports import CascadeOrder
from app.store.sqlserver.session import SqlServerSession


class SqlServerCascade:
    """See ``app.store.ports.Cascade``. The procedure reads what it is to do from the recorded request."""

    def __init__(self, session: SqlServerSession) -> None:
        self._session = session

    def run(self, order: CascadeOrder) -> None:
        self._session.execute("cascade_run", run_id=order.run_id)
