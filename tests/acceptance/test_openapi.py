"""The OpenAPI document: kept in the repository as it is served, and complete."""

import os
from typing import Any

import orjson
import pytest
from jsonschema_rs import Draft202012Validator

from app.main import create_app
from app.settings import Settings
from tests.acceptance.server import PROBLEM, ROOT, Server

DOCUMENT: dict[str, Any] = create_app(Settings()).openapi()
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
METHODS_OF_ISSUE = {
    "POST /memory-graphs",
    "GET /memory-graphs",
    "GET /memory-graphs/{graphId}",
    "POST /memory-graphs/{graphId}/import",
    "GET /memory-graphs/{graphId}/export",
    "GET /memory-graphs/{graphId}/snapshot",
    "GET /memory-graphs/{graphId}/diff",
    "POST /memory-graphs/{graphId}/snapshots",
    "GET /memory-graphs/{graphId}/snapshots",
    "POST /memory-nodes",
    "GET /memory-nodes/{memoryNodeId}/history",
    "GET /memory-nodes/{memoryNodeId}/staleness",
    "POST /memory-edges",
    "POST /memory-assertions",
    "POST /evidence-references",
    "POST /source-rules",
    "POST /invalidations",
    "GET /invalidations/{runId}/impacts/{memoryNodeId}/path",
    "GET /health/live",
    "GET /health/ready",
}

each_operation = pytest.mark.parametrize("name", OPERATIONS)


def test_the_file_is_the_document() -> None:
    file = ROOT / "openapi" / "openapi.json"
    advice = "write it again: memory-graph openapi -o openapi/openapi.json"
    assert file.is_file(), advice
    assert orjson.loads(file.read_bytes()) == orjson.loads(orjson.dumps(DOCUMENT)), advice


def test_the_service_serves_it(server: Server) -> None:
    with server.client() as client:
        assert client.get("/openapi.json").json() == orjson.loads(orjson.dumps(DOCUMENT))


def test_the_document_does_not_depend_on_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "MEMORY_GRAPH_PORT", "9999")
    monkeypatch.setitem(os.environ, "MEMORY_GRAPH_DATABASE_URL", "sqlite:////tmp/elsewhere.db")
    assert create_app(Settings.load()).openapi() == DOCUMENT


def test_operations() -> None:
    assert OPERATIONS.keys() >= METHODS_OF_ISSUE
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    known = {tag["name"] for tag in DOCUMENT["tags"]}
    assert {tag for operation in OPERATIONS.values() for tag in operation["tags"]} <= known


@each_operation
def test_operation_is_described(name: str) -> None:
    operation = OPERATIONS[name]
    assert operation["summary"]
    assert operation["description"]
    for parameter in operation.get("parameters", []):
        assert parameter["schema"].get("title"), parameter["name"]


@each_operation
def test_operation_has_examples(name: str) -> None:
    operation = OPERATIONS[name]
    if "requestBody" in operation:
        for media_type, content in operation["requestBody"]["content"].items():
            assert _example(content) is not None or content["schema"].get("format") == "binary", media_type
    for status, response in operation["responses"].items():
        for media_type, content in response.get("content", {}).items():
            if media_type in {"application/json", PROBLEM}:
                assert _example(content) is not None, (status, media_type)


@each_operation
def test_operation_documents_its_problems(name: str) -> None:
    operation = OPERATIONS[name]
    statuses = {int(status) for status in operation["responses"]}
    assert any(status < 300 for status in statuses)
    if not name.endswith("/live"):
        assert 503 in statuses
    if "/health/" not in name:
        assert 422 in statuses
    if "{" in name:
        assert 404 in statuses
    if "requestBody" in operation:
        assert statuses >= {400, 413, 415, 422}
    if any(parameter["name"] == "If-Match" for parameter in operation.get("parameters", [])):
        assert 412 in statuses
    for status, response in operation["responses"].items():
        assert response["description"]
        if int(status) >= 400:
            assert list(response["content"]) == [PROBLEM]


@each_operation
def test_writes_take_an_idempotency_key(name: str) -> None:
    headers = {parameter["name"] for parameter in OPERATIONS[name].get("parameters", [])}
    assert ("Idempotency-Key" in headers) == (not name.startswith("GET"))
    assert ({"X-Tenant-Id", "X-Fleet-Id"} <= headers) == ("/health/" not in name and not name.endswith("/metrics"))


@pytest.mark.parametrize("name", sorted(DOCUMENT["components"]["schemas"]))
def test_every_field_has_a_title_and_an_example_that_holds(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    for field, property_ in schema.get("properties", {}).items():
        if "const" in property_:  # the kind of a line
            continue
        assert property_.get("title"), field
        assert property_.get("examples"), field
        for example in property_["examples"]:
            _validator(property_).validate(example)
    for example in schema.get("examples", []):
        _validator(schema).validate(example)


@each_operation
def test_examples_hold(name: str) -> None:
    operation = OPERATIONS[name]
    for response in [operation.get("requestBody", {}), *operation["responses"].values()]:
        for media_type, content in response.get("content", {}).items():
            if "json" in media_type and "ndjson" not in media_type:
                _validator(content["schema"]).validate(_example(content))


def _validator(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator(schema | {"components": DOCUMENT["components"]})


def _example(content: dict[str, Any]) -> Any:
    """Of the content itself, of its schema, or put together from the examples of its fields."""
    if "example" in content:
        return content["example"]
    if "examples" in content:
        return next(iter(content["examples"].values()))["value"]
    return _example_of(content["schema"])


def _example_of(schema: dict[str, Any]) -> Any:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "examples" in schema:
        return schema["examples"][0]
    if "properties" in schema:
        return {name: _example_of(property_) for name, property_ in schema["properties"].items()}
    return None
