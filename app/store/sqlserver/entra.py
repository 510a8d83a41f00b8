"""Entra tokens for Azure SQL, of the identity this process runs under."""

from collections.abc import Callable

from app.domain.errors import Busy

_SCOPE = "https://database.windows.net/.default"


def azure_token() -> Callable[[], str]:
    """Gets a token whenever it is called; azure-identity keeps one until it expires.

    Raises ``Busy``, with what to do, where the extra is not installed.
    """
    try:
        from azure.identity import DefaultAzureCredential  # noqa: PLC0415 - only who asks for it needs it
    except ImportError as error:
        raise Busy("MEMORY_GRAPH_DATABASE_ENTRA needs the extra azure: pip install 'memory-graph[azure]'.") from error
    credential = DefaultAzureCredential()
    return lambda: str(credential.get_token(_SCOPE).token)
