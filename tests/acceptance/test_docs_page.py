"""The documentation page in a real browser, with nothing but this machine to load from."""

import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest
import uvicorn

from app.main import create_app
from app.settings import Settings

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,2400",
    "--virtual-time-budget=20000",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # no other host exists
]
EXTERNAL = re.compile(r"(https?:)?//")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    """The address of a running service on an empty folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = Settings.load(database_url=f"sqlite:///{tmp_path / 'docs.db'}", port=port)
    server = uvicorn.Server(uvicorn.Config(create_app(settings), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = monotonic() + 30
    while not server.started and monotonic() < deadline:
        sleep(0.05)
    assert server.started
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


class _Links(HTMLParser):
    """Collects every address that a page loads something from."""

    def __init__(self) -> None:
        super().__init__()
        self.assets: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in {"script", "img", "iframe"} and given.get("src"):
            self.assets.append(str(given["src"]))
        if tag == "link" and given.get("href"):
            self.assets.append(str(given["href"]))


def test_every_asset_comes_from_this_service(service: str) -> None:
    page = httpx.get(f"{service}/docs")
    assert page.status_code == 200
    assert page.headers["Content-Security-Policy"].startswith("default-src 'self'")
    links = _Links()
    links.feed(page.text)
    assert links.assets
    for asset in links.assets:
        assert not EXTERNAL.match(asset)
        assert httpx.get(f"{service}/{asset.removeprefix('./')}").status_code == 200
    assert httpx.get(f"{service}/openapi.json").json()["info"]["title"] == "Memory Graph"


def test_a_browser_shows_the_operations(service: str, tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs a Chromium browser (Debian: apt-get install chromium)")
    command = [chromium, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"{service}/docs"]
    dump = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    for operation in ("invalidate_nodes", "get_snapshot", "import_graph", "create_graph"):
        assert f"-{operation}" in dump
    assert dump.count('class="opblock ') > 30
    assert "No API definition provided" not in dump
    links = _Links()
    links.feed(dump)
    assert not [link for link in links.assets if EXTERNAL.match(link) and service not in link]
