"""Server processes for the acceptance tests."""

from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.server import Nursery, Server


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Where servers come from."""
    with Nursery(tmp_path_factory.mktemp("servers")) as started:
        yield started


@pytest.fixture(scope="module")
def server(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on an empty folder; the tests of a module share it, each with graphs of its own."""
    with nursery.running(tmp_path_factory.mktemp("data") / "memory.db") as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    """A connection in the scope of the nil tenant and fleet."""
    with server.client() as connection:
        yield connection
