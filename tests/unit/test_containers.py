"""The container files keep their promises. ``.ci/containers`` lints them; here stands what a linter cannot know."""

import re

from app.resources import ROOT

COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_no_password_is_written_down_and_a_missing_one_is_named() -> None:
    assert (
        re.findall(r"PASSWORD: (?!\*password|&password \$\{MSSQL_SA_PASSWORD:\?set MSSQL_SA_PASSWORD)", COMPOSE) == []
    )
    assert "://sa@" in COMPOSE


def test_nothing_is_reachable_from_another_machine() -> None:
    published = re.findall(r'^ +- "([^"]+:\d+)"$', COMPOSE, re.MULTILINE)
    assert published == ["127.0.0.1:1433:1433"]
    assert "MEMORY_GRAPH_HOST" not in COMPOSE + DOCKERFILE


def test_the_service_waits_for_its_schema_and_that_for_a_healthy_server() -> None:
    assert COMPOSE.index("service_healthy") < COMPOSE.index("service_completed_successfully")


def test_the_image_runs_as_nobody_in_particular() -> None:
    last_stage = DOCKERFILE.split("\nFROM ")[-1]
    assert re.search(r"^USER 10001:10001$", last_stage, re.MULTILINE)
    assert "gcc" not in last_stage
