"""The cascade of SEMANTICS 4 runs on the server: ``dbo.InvalidateMemoryGraph``."""

from uuid import UUID

from app.store.sqlserver.session import SqlServerSession


class SqlServerCascade:
    """See ``app.store.ports.Cascade``. The procedure reads what it is to do from the recorded request."""

    def __init__(self, session: SqlServerSession) -> None:
        self._session = session

    def run(self, run_id: UUID) -> None:
        self._session.execute("cascade_run", run_id=run_id)
