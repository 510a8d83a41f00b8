"""Second looks over HTTP: from an invalidation to reviews, tasks, the stream of events and signed deliveries."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest

from tests.acceptance.server import Json, Nursery, Server, load, new_graph, ok, pages, problem

SECONDS = 10


def until(condition: Callable[[], Any]) -> Any:
    """What the condition comes to, once it is true."""
    deadline = monotonic() + SECONDS
    while not (found := condition()):
        assert monotonic() < deadline, "it did not come about"
        sleep(0.02)
    return found


@pytest.fixture
def scope(server: Server) -> Iterator[httpx.Client]:
    """A connection of a fleet of its own."""
    with server.client(uuid4(), uuid4()) as connection:
        yield connection


def doubtful(client: httpx.Client, **settings: object) -> str:
    """A graph in which c rests on a and b."""
    graph = new_graph(client, **settings)
    load(
        client,
        graph,
        *({"kind": "node", "key": key} for key in "abc"),
        {"kind": "edge", "source": "a", "target": "c", "edgeType": "DerivedFrom"},
        {"kind": "edge", "source": "b", "target": "c", "edgeType": "DerivedFrom"},
    )
    return graph


def invalidate(client: httpx.Client, graph: str, key: str) -> Json:
    return ok(client.post("/invalidations", json={"graphId": graph, "rootKeys": [key], "reason": "wrong"}), 201)


def status_of(client: httpx.Client, graph: str, key: str) -> str:
    return str(pages(client, "/memory-nodes", graphId=graph, key=key)[0]["status"])


def test_from_an_invalidation_to_a_review_to_a_correction(scope: httpx.Client) -> None:
    graph = doubtful(scope)
    run = invalidate(scope, graph, "a")

    (review,) = until(lambda: pages(scope, "/reviews"))
    assert (review["key"], review["reviewReason"]) == ("c", "PartialSupport")
    assert {edge["key"]: edge["status"] for edge in review["grounds"]} == {"a": "Invalid", "b": "Valid"}
    assert ok(scope.get(f"/reviews/{review['reviewId']}")) == review

    (look,) = until(lambda: pages(scope, "/revalidations", invalidationRunId=run["runId"]))
    report = ok(scope.get(f"/revalidations/{look['runId']}"))
    assert report["counts"] == {"byOutcome": {"NeedsReview": 1}}
    assert pages(scope, f"/revalidations/{look['runId']}/decisions") == report["decisions"]["items"]

    decided = scope.post(
        f"/reviews/{review['reviewId']}/decision",
        json={"decision": "Accept", "decidedBy": "ana", "ground": review["ground"]},
        headers={"Idempotency-Key": "once"},
    )
    body = ok(decided, 201)
    assert body["revalidationRun"]["counts"] == {"byOutcome": {"RemainsValid": 1}}
    assert body["committedAt"]
    again = scope.post(
        f"/reviews/{review['reviewId']}/decision",
        json={"decision": "Accept", "decidedBy": "ana", "ground": review["ground"]},
        headers={"Idempotency-Key": "once"},
    )
    assert again.content == decided.content
    problem(scope.post(f"/reviews/{review['reviewId']}/decision", json={"decision": "Reject", "decidedBy": "eve"}), 409)

    corrected = scope.post("/revalidations", json={"graphId": graph, "rootKeys": ["a"]})
    assert corrected.headers["Location"] == f"/revalidations/{ok(corrected, 201)['runId']}"
    assert ok(corrected, 201)["counts"]["byOutcome"] == {"Restored": 1, "RemainsValid": 1}
    assert {node["status"] for node in pages(scope, "/memory-nodes", graphId=graph)} == {"Valid"}


def test_a_correction_can_be_left_to_the_worker(scope: httpx.Client) -> None:
    graph = doubtful(scope)
    invalidate(scope, graph, "a")
    until(lambda: pages(scope, "/reviews"))

    answer = scope.post(
        "/revalidations", json={"graphId": graph, "rootKeys": ["a"]}, headers={"Prefer": "respond-async"}
    )

    assert ok(answer, 202)["status"] == "Pending"
    assert answer.headers["Preference-Applied"] == "respond-async"
    until(lambda: ok(scope.get(f"/revalidations/{answer.json()['runId']}"))["status"] == "Completed")
    assert status_of(scope, graph, "c") == "Valid"


def test_an_agent_claims_holds_and_answers(scope: httpx.Client) -> None:
    graph = doubtful(scope, revalidationMode="agent")
    invalidate(scope, graph, "a")
    invalidate(scope, graph, "b")
    until(lambda: not pages(scope, "/outbox", state="Pending"))
    ok(scope.post("/revalidations", json={"graphId": graph, "rootKeys": ["a", "b"]}), 201)
    claim = {"owner": "agent-7", "limit": 5, "leaseSeconds": 30, "graphId": graph}

    (task,) = ok(scope.post("/revalidation-tasks/claim", json=claim), 201)["items"]

    assert (task["key"], task["status"], task["leaseOwner"]) == ("c", "Invalid", "agent-7")
    assert ok(scope.post("/revalidation-tasks/claim", json=claim | {"owner": "agent-8"}), 201)["items"] == []
    assert [row["taskId"] for row in pages(scope, "/revalidation-tasks")] == [task["taskId"]]
    path = f"/revalidation-tasks/{task['taskId']}"
    ok(scope.post(f"{path}/heartbeat", json={"owner": "agent-7", "leaseSeconds": 60}))
    problem(scope.post(f"{path}/heartbeat", json={"owner": "agent-8"}), 409)
    decision = {"owner": "agent-7", "decision": "Accept", "decidedBy": "agent-7", "certainty": 0.9}
    ok(scope.post(f"{path}/decision", json=decision), 201)
    assert status_of(scope, graph, "c") == "Valid"
    problem(scope.post(f"{path}/decision", json=decision), 409)


def test_bad_requests_name_the_field(scope: httpx.Client) -> None:
    graph = doubtful(scope)
    unknown, later = str(uuid4()), "2999-01-01T00:00:00Z"
    for path, body, pointer in (
        ("/revalidations", {}, "/rootNodeIds"),
        ("/revalidations", {"rootKeys": ["a"]}, "/graphId"),
        ("/revalidations", {"graphId": graph, "corrections": [{"content": "x"}]}, "/corrections/0/key"),
        (
            "/revalidations",
            {"graphId": graph, "rootKeys": ["a"], "effectiveTime": later},
            "/effectiveTime",
        ),
        (f"/reviews/{unknown}/decision", {"decision": "Perhaps", "decidedBy": "ana"}, "/decision"),
        (f"/reviews/{unknown}/decision", {"decision": "Supersede", "decidedBy": "ana"}, "/supersededByNodeId"),
        (f"/reviews/{unknown}/decision", {"decision": "Accept"}, "/decidedBy"),
        ("/revalidation-tasks/claim", {"owner": "a", "leaseSeconds": 0}, "/leaseSeconds"),
        ("/webhooks", {"url": "ftp://example.org"}, "/url"),
        ("/webhooks", {"url": "https://example.org", "secret": "short"}, "/secret"),
    ):
        found = problem(scope.post(path, json=body), 422)
        assert pointer in [error["pointer"] for error in found["errors"]], (path, body, found)
    problem(scope.post("/revalidations", json={"graphId": graph, "rootKeys": ["nobody"]}), 404)
    problem(scope.post(f"/reviews/{unknown}/decision", json={"decision": "Accept", "decidedBy": "ana"}), 404)
    problem(scope.post("/outbox/1/retry"), 404)  # another fleet's, or none
    problem(scope.get("/events", headers={"Last-Event-ID": "x"}), 422)


# The stream of events


def read_events(client: httpx.Client, count: int, **params: Any) -> list[tuple[int, str, Json]]:
    """The next events of the stream: id, type and data."""
    found: list[tuple[int, str, Json]] = []
    headers = params.pop("headers", {})
    with client.stream("GET", "/events", params=params, headers=headers, timeout=SECONDS) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        event: dict[str, str] = {}
        for line in answer.iter_lines():
            if line.startswith(":") or (not line and not event):
                continue
            if line:
                name, _, value = line.partition(": ")
                event[name] = value
                continue
            found.append((int(event["id"]), event["event"], orjson.loads(event["data"])))
            event = {}
            if len(found) == count:
                return found
    raise AssertionError("the stream ended")


def test_the_stream_tells_a_fleet_its_own_and_can_be_resumed(scope: httpx.Client, server: Server) -> None:
    graph = doubtful(scope)
    run = invalidate(scope, graph, "a")

    first, second = read_events(scope, 2, lastEventId=0)

    assert (first[1], first[2]["runId"]) == ("InvalidationCompleted", run["runId"])
    assert (second[1], second[2]["byOutcome"]) == ("RevalidationCompleted", {"NeedsReview": 1})
    assert read_events(scope, 1, headers={"Last-Event-ID": str(first[0])}) == [second]

    with server.client(uuid4(), uuid4()) as other:
        invalidate(other, doubtful(other), "a")
        assert read_events(other, 1, lastEventId=0)[0][2]["runId"] != run["runId"]
    assert read_events(scope, 2, lastEventId=0) == [first, second]


def test_without_a_number_the_stream_begins_with_what_happens_next(scope: httpx.Client) -> None:
    graph = doubtful(scope)
    invalidate(scope, graph, "a")
    until(lambda: pages(scope, "/reviews"))
    found: list[tuple[int, str, Json]] = []
    reader = Thread(target=lambda: found.extend(read_events(scope, 1)))
    reader.start()
    sleep(0.5)
    with httpx.Client(base_url=scope.base_url, headers=scope.headers) as second:
        run = invalidate(second, graph, "b")
    reader.join(SECONDS)
    assert [event[2]["runId"] for event in found] == [run["runId"]]


def test_a_server_that_stops_ends_its_streams(nursery: Nursery, tmp_path: Any) -> None:
    server = nursery.start(tmp_path / "memory.db")
    with server.client() as client, client.stream("GET", "/events", timeout=SECONDS) as answer:
        lines = answer.iter_lines()
        assert next(lines) == ": connected"
        started = monotonic()
        server.stop()
        assert list(lines) == [""]
    assert monotonic() - started < 5


# Deliveries


class Receiver(ThreadingHTTPServer):
    """Takes deliveries, and answers with the statuses it is given, then with 204."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.taken: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Not to the terminal."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def test_a_subscriber_gets_signed_events(scope: httpx.Client, receiver: Receiver) -> None:
    hook = ok(scope.post("/webhooks", json={"url": receiver.url}), 201)
    assert [row.get("secret") for row in pages(scope, "/webhooks")] == [None]
    graph = doubtful(scope)
    run = invalidate(scope, graph, "a")

    until(lambda: len(receiver.taken) == 2)

    for headers, body in receiver.taken:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(hook["secret"].encode(), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    told = [orjson.loads(body) for _, body in receiver.taken]
    assert {event["eventType"] for event in told} == {"InvalidationCompleted", "RevalidationCompleted"}
    assert run["runId"] in {event["runId"] for event in told}

    ok(scope.delete(f"/webhooks/{hook['webhookId']}"))
    invalidate(scope, graph, "b")
    until(lambda: not pages(scope, "/outbox", state="Pending"))
    assert len(receiver.taken) == 2


def test_a_delivery_that_failed_is_tried_again_and_holds_nothing_up(scope: httpx.Client, receiver: Receiver) -> None:
    receiver.statuses = [500]
    ok(scope.post("/webhooks", json={"url": receiver.url, "eventTypes": ["InvalidationCompleted"]}), 201)
    graph = doubtful(scope)
    invalidate(scope, graph, "a")

    failed = until(lambda: [e for e in pages(scope, "/outbox", state="Pending") if e["lastError"]])[0]
    assert failed["eventType"] == "WebhookDelivery"
    assert "answered 500" in failed["lastError"]
    assert failed["availableAt"]
    assert pages(scope, "/reviews")  # the fleet's own events went on

    ok(scope.post(f"/outbox/{failed['outboxEventId']}/retry"))
    until(lambda: not pages(scope, "/outbox", state="Pending"))
    (first, _), (second, _) = receiver.taken
    assert first["webhook-id"] == second["webhook-id"]


def test_metrics_tell_how_the_outbox_is_doing(server: Server) -> None:
    with server.client() as client:
        answer = client.get("/metrics")
    assert answer.status_code == 200
    values = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert values.keys() >= {
        'memory_graph_outbox_events{state="waiting"}',
        'memory_graph_outbox_events{state="held"}',
        'memory_graph_outbox_events{state="dead"}',
        "memory_graph_outbox_oldest_age_seconds",
        "memory_graph_outbox_lag_seconds",
    }
    assert all(float(value) >= 0 for value in values.values())
