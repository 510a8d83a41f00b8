"""What inputs refuse, and what they make of what they take."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from app.domain import models
from app.main import create_app
from app.schemas import (
    EdgeLine,
    EdgePatch,
    ImportLine,
    NewAssertion,
    NewBookmark,
    NewEdge,
    NewGraph,
    NewInvalidation,
    NewNode,
    NewRule,
    NodeLine,
    NodePatch,
    outputs,
    runs,
)
from app.schemas.fields import Content, Id, Instant, Key, QueryInstant
from app.settings import Settings, SettingsError

ID = "6f1f3c52-0b5e-5f0e-9d3c-2f6b8f0a4c11"
OTHER = "0c6f2b1a-7d43-5a98-8e21-b0d94c7a5e33"
instants = TypeAdapter(Instant)


def faults(model: type[BaseModel] | TypeAdapter[Any], value: object) -> dict[str, str]:
    """The findings on ``value``: field → message."""
    check = model.validate_python if isinstance(model, TypeAdapter) else model.model_validate
    with pytest.raises(ValidationError) as caught:
        check(value)
    return {"/".join(str(step) for step in e["loc"]): e["msg"] for e in caught.value.errors()}


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31t12:00:00z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31T12:00:00.5+02:00", datetime(2026, 1, 31, 10, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-01-31T23:59:59.999999-00:30", datetime(2026, 2, 1, 0, 29, 59, 999_999, tzinfo=UTC)),
        ("0001-01-01T14:00:00+14:00", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_instants_become_utc(text: str, utc: datetime) -> None:
    assert instants.validate_python(text) == utc
    assert instants.validate_json(f'"{text}"').utcoffset() == utc.utcoffset()


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31T12:00:00",
        "2026-01-31",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00:00.1234567Z",
        "2026-02-30T12:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:00:60Z",
        "2026-01-31T12:00:00+24:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-01:00",
        "٢026-01-31T12:00:00Z",
        "1769860800",
        "",
        1769860800,
        17.5,
        True,
        None,
        datetime(2026, 1, 31),  # noqa: DTZ001
    ],
)
def test_instants_need_an_offset_and_a_time_that_exists(value: object) -> None:
    assert faults(instants, value)


@given(st.datetimes(timezones=st.timezones(), allow_imaginary=False))
def test_an_instant_survives_the_wire(moment: datetime) -> None:
    utc = moment.astimezone(UTC) if 2 < moment.year < 9998 else moment.replace(tzinfo=UTC)
    assert instants.validate_python(utc.isoformat().replace("+00:00", "Z")) == utc


def test_an_unescaped_plus_in_a_query_is_understood() -> None:
    query = TypeAdapter(QueryInstant)
    assert query.validate_python("2026-01-01T02:00:00 02:00") == datetime(2026, 1, 1, tzinfo=UTC)
    assert faults(query, "2026-01-01T02:00:00 02")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1, "0.5", True])
def test_a_confidence_is_a_number_between_0_and_1(value: object) -> None:
    assert list(faults(NewNode, {"graphId": ID, "key": "a", "baseConfidence": value})) == ["baseConfidence"]


@pytest.mark.parametrize("value", [ID.replace("-", ""), "{" + ID + "}", "urn:uuid:" + ID, ID + "\n", "", 7, b"x" * 16])
def test_ids_come_in_one_form(value: object) -> None:
    assert faults(TypeAdapter(Id), value)
    assert str(TypeAdapter(Id).validate_python(ID.upper())) == ID


def test_text_that_no_database_keeps_is_refused() -> None:
    for kind in (Key, Content):
        assert "NUL" in faults(TypeAdapter(kind), "a\0b")[""]
        assert faults(TypeAdapter(kind), "a\ud800b")
        assert faults(TypeAdapter(kind), "")


def test_keys_are_kept_as_they_are() -> None:
    for key in (" a ", "A", "é", "e\u0301", "\u200b", "x" * 256):
        assert NewNode.model_validate({"graphId": ID, "key": key}).key == key
    assert faults(NewNode, {"graphId": ID, "key": "x" * 257})


def test_unknown_fields_are_refused() -> None:
    assert "namme" in faults(NewGraph, {"name": "g", "namme": "h"})


def test_an_interval_ends_after_it_starts() -> None:
    edge = {"sourceNodeId": ID, "targetNodeId": OTHER, "edgeType": "Requires"}
    start, end = "2026-01-01T00:00:00+01:00", "2025-12-31T23:00:00Z"
    assert faults(NewEdge, {**edge, "effectiveFrom": start, "effectiveTo": end}) == {
        "effectiveTo": "must be later than effectiveFrom"
    }
    assert "effectiveTo" in faults(EdgePatch, {"effectiveFrom": start, "effectiveTo": end})
    assert "expiresAt" in faults(NewRule, {"name": "r", "version": "1", "effectiveAt": start, "expiresAt": end})
    assert NewEdge.model_validate({**edge, "effectiveTo": end}).effective_from is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"source": "a"}, "source"),
        ({"sourceNodeId": None}, "source"),
        ({"targetNodeId": None}, "target"),
        ({"targetNodeId": ID}, "targetNodeId"),
        ({"targetNodeId": ID.upper()}, "targetNodeId"),
        ({"edgeType": "Likes"}, "edgeType"),
        ({"supportGroup": "g"}, "supportGroup"),
        ({"edgeType": "SupportedBy", "minSupport": 2}, "minSupport"),
        ({"edgeType": "SupportedBy", "supportGroup": "g", "minSupport": 0}, "minSupport"),
        ({"edgeType": "SupportedBy", "supportGroup": "g", "minSupport": 1.5}, "minSupport"),
        ({"ruleName": "r"}, "ruleVersion"),
        ({"ruleVersion": "1"}, "ruleName"),
        ({"ruleName": "r", "ruleVersion": "1", "sourceRuleId": ID}, "ruleName"),
    ],
)
def test_edges_that_cannot_be(change: dict[str, Any], field: str) -> None:
    edge = {"sourceNodeId": ID, "targetNodeId": OTHER, "edgeType": "Requires"}
    assert list(faults(NewEdge, edge | change)) == [field]


def test_keys_need_their_graph() -> None:
    assert "graphId" in faults(NewEdge, {"source": "a", "target": "b", "edgeType": "Requires"})
    assert "graphId" in faults(NewAssertion, {"node": "a", "content": "x"})
    assert "graphId" in faults(NewInvalidation, {"rootKeys": ["a"], "reason": "r"})


def test_a_node_cannot_depend_on_itself_by_key() -> None:
    edge = {"graphId": ID, "source": "a", "target": "a", "edgeType": "Requires"}
    assert faults(NewEdge, edge) == {"target": "a node cannot depend on itself"}


def test_roots_are_counted_together_and_once() -> None:
    many = [f"{number:08x}-0000-0000-0000-000000000000" for number in range(1000)]
    NewInvalidation.model_validate({"rootNodeIds": many, "reason": "r"})
    repeated = NewInvalidation.model_validate({"rootNodeIds": [OTHER, ID, OTHER.upper()], "reason": "r"})
    assert [str(root) for root in repeated.root_node_ids] == [OTHER, ID]
    assert "rootNodeIds" in faults(NewInvalidation, {"rootNodeIds": [*many, ID], "reason": "r"})
    with_keys = {"rootNodeIds": many, "rootKeys": ["a"], "graphId": ID, "reason": "r"}
    assert "rootNodeIds" in faults(NewInvalidation, with_keys)
    assert "rootNodeIds" in faults(NewInvalidation, {"reason": "r"})
    assert "planToken" in faults(NewInvalidation, with_keys | {"rootNodeIds": [], "dryRun": True, "planToken": "t"})


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({}, ""),
        ({"name": None}, "name"),
        ({"isPinned": None}, "isPinned"),
        ({"isPinned": True, "pinnedBy": "ana"}, "pinReason"),
        ({"isPinned": True, "pinReason": "checked"}, "pinnedBy"),
        ({"isPinned": False}, "pinnedBy"),
        ({"pinnedBy": "ana"}, "isPinned"),
        ({"status": "Valid"}, "status"),
    ],
)
def test_patches_that_say_too_little(patch: dict[str, Any], field: str) -> None:
    assert list(faults(NodePatch, patch)) == [field]


def test_a_patch_knows_what_it_was_given() -> None:
    patch = NodePatch.model_validate({"category": None, "isPinned": False, "pinnedBy": "ana"})
    assert patch.model_fields_set == {"category", "is_pinned", "pinned_by"}


def test_lines_of_an_import() -> None:
    node = ImportLine.validate_json(b'{"kind":"node","key":"libc6","status":null}')
    assert isinstance(node, NodeLine)
    assert (node.name, node.status) == (None, None)  # left out: what is stored stays
    edge = {"source": "a", "target": "b", "edgeType": "Requires", "weight": None}
    assert isinstance(ImportLine.validate_python({"kind": "edge", **edge}), EdgeLine)
    assert NewEdge.model_validate({"graphId": ID, **edge}).weight == 1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{}",
        b'{"kind":"nod"}',
        b'{"kind":"node"}',
        b'{"kind":"node","name":"a"}',
        b'{"kind":"node","memoryNodeId":"' + ID.encode() + b'"}',
        b'{"kind":"node","key":"a","name":""}',
        b'{"kind":"node","key":"a","confidence":NaN}',
        b'{"kind":"node","key":"\\ud800"}',
        b'{"kind":"node","key":"a","invalidation":"Derived"}',
        b'{"kind":"node","key":"a","status":"PotentiallyStale","invalidSince":"2026-01-01T00:00:00Z"}',
        b'{"kind":"edge","source":"a","target":"a","edgeType":"Requires"}',
        b'{"kind":"assertion","content":"x"}',
        b'{"kind":"evidence","evidenceType":"Document","reference":"r"}',
        b'{"kind":"rule","name":"r"}',
        b'{"kind":"node","key":' + b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_lines_that_cannot_be(line: bytes) -> None:
    with pytest.raises(ValidationError):
        ImportLine.validate_json(line)


def test_a_bookmark_has_a_name() -> None:
    assert "name" in faults(NewBookmark, {"name": "x" * 257})


@pytest.mark.parametrize(
    "name",
    [
        "MemoryGraph",
        "MemoryNode",
        "MemoryEdge",
        "MemoryAssertion",
        "EvidenceReference",
        "SourceRule",
        "Impact",
        "InvalidationRun",
        "Bookmark",
    ],
)
def test_answers_are_documented_as_they_are(name: str) -> None:
    renamed = {"run_status": "status"}
    row = {renamed.get(field, field) for field in getattr(models, name)._fields}
    answer = getattr(outputs, name, None) or getattr(runs, name)
    assert set(answer.model_fields) == row


def test_every_documented_field_has_a_title_and_an_example() -> None:
    document = create_app(Settings()).openapi()
    fields = [
        (f"{name}.{field}", schema)
        for name, model in document["components"]["schemas"].items()
        for field, schema in model.get("properties", {}).items()
    ]
    assert len(fields) > 100
    assert not [name for name, schema in fields if not schema.get("title") or not schema.get("examples")]
    assert not [name for name, schema in fields if schema["title"].endswith(" Id")]


def test_settings_name_the_variable_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_GRAPH_PORT", "many")
    monkeypatch.setenv("MEMORY_GRAPH_AUTH", "keys")
    with pytest.raises(SettingsError, match=r"MEMORY_GRAPH_PORT: (?s:.*)") as caught:
        Settings.load()
    assert "MEMORY_GRAPH_AUTH" in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_open_mode_is_for_this_machine_only(host: str) -> None:
    with pytest.raises(SettingsError, match="MEMORY_GRAPH_HOST must be a loopback address"):
        Settings.load(host=host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_addresses(host: str) -> None:
    assert Settings.load(host=host).host == host
