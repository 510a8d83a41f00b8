"""The rules of a second look, case by case, worked out by hand from SEMANTICS 6."""

from typing import Any
from uuid import UUID

import pytest

from app.domain.revalidation import Subject, Support, Verdict, decide, ground_of


def id_of(name: str) -> UUID:
    return UUID(int=ord(name))


def node(name: str = "n", status: str = "PotentiallyStale", **more: Any) -> Subject:
    fields: dict[str, Any] = {
        "memory_node_id": id_of(name),
        "graph_id": UUID(int=1),
        "status": status,
        "invalidation": "Derived" if status == "Invalid" else None,
        "confidence": 1.0,
        "base_confidence": 1.0,
        "is_pinned": False,
        "policy": "evidential",
        "propagation": "frontier",
        "revalidation_mode": "automatic",
        "footing": None,
        "ground": None,
        "review_id": None,
        "review_reason": None,
    }
    return Subject(**fields | more)


def edge(source: str, edge_type: str = "Requires", status: str = "Valid", *, to: str = "n", **more: Any) -> Support:
    fields: dict[str, Any] = {
        "target_node_id": id_of(to),
        "source_node_id": id_of(source),
        "edge_type": edge_type,
        "support_group": None,
        "min_support": 1,
        "weight": 1.0,
        "source_status": status,
        "source_confidence": 1.0,
        "source_base_confidence": 1.0,
    }
    return Support(**fields | more)


def verdict(subject: Subject, *supports: Support, **more: Any) -> Verdict:
    return decide([subject], supports, **more)[subject.memory_node_id]


def group(*statuses: str, k: int, name: str = "g") -> list[Support]:
    return [
        edge(source, "SupportedBy", status, support_group=name, min_support=k)
        for source, status in zip("abcdef", statuses, strict=False)
    ]


STRICT, TRANSITIVE, AGENT = {"policy": "strict"}, {"propagation": "transitive"}, {"revalidation_mode": "agent"}
V, PS, INV = "Valid", "PotentiallyStale", "Invalid"

CASES: list[tuple[str, Subject, list[Support], dict[str, Any], tuple[str, str | None, str]]] = [
    # rule 1
    ("no ground is needed", node(), [], {}, ("RemainsValid", None, V)),
    ("a necessary source is Invalid", node(), [edge("a", status=INV)], {}, ("StillInvalid", None, INV)),
    ("ValidOnlyWhen likewise", node(), [edge("a", "ValidOnlyWhen", INV)], {}, ("StillInvalid", None, INV)),
    ("superseded", node(), [], {"superseded": {id_of("n")}}, ("StillInvalid", None, INV)),
    ("a Supersedes edge is no ground", node(), [edge("a", "Supersedes", INV)], {}, ("RemainsValid", None, V)),
    ("all of the implicit group", node(), [edge("a", "DerivedFrom", INV)], {}, ("StillInvalid", None, INV)),
    (
        "one of the implicit group, strict",
        node(**STRICT),
        [edge("a", "DerivedFrom", INV), edge("b", "ObservedFrom")],
        {},
        ("StillInvalid", None, INV),
    ),
    ("fewer than k hold", node(), group(V, INV, INV, k=2), {}, ("StillInvalid", None, INV)),
    ("k above the number of sources never holds", node(), group(V, k=2), {}, ("StillInvalid", None, INV)),
    (
        "the largest k counts",
        node(),
        [
            edge("a", "SupportedBy", support_group="g", min_support=1),
            edge("b", "SupportedBy", INV, support_group="g", min_support=2),
        ],
        {},
        ("StillInvalid", None, INV),
    ),
    (
        "two edges of one source are one member",
        node(),
        [
            edge("a", "SupportedBy", support_group="g", min_support=2),
            edge("a", "ObservedFrom", support_group="g", min_support=2),
        ],
        {},
        ("StillInvalid", None, INV),
    ),
    ("directly Invalid", node(status=INV, invalidation="Direct"), [edge("a")], {}, ("StillInvalid", None, INV)),
    (
        "corrected",
        node(status=INV, invalidation="Direct"),
        [edge("a")],
        {"decided": {id_of("n"): "Corrected"}},
        ("Restored", None, V),
    ),
    (
        "corrected, but its ground is gone",
        node(status=INV, invalidation="Direct"),
        [edge("a", status=INV)],
        {"decided": {id_of("n"): "Corrected"}},
        ("StillInvalid", None, INV),
    ),
    # rule 2
    (
        "one of the implicit group",
        node(),
        [edge("a", "DerivedFrom", INV), edge("b", "SupportedBy")],
        {},
        ("NeedsReview", "PartialSupport", PS),
    ),
    ("k of a group hold", node(), group(V, INV, k=1), {}, ("RemainsValid", None, V)),
    ("doubt of a source stays local", node(), [edge("a", status=PS)], {}, ("RemainsValid", None, V)),
    (
        "doubt of a necessary source travels",
        node(**TRANSITIVE),
        [edge("a", status=PS)],
        {},
        ("NeedsReview", "PartialSupport", PS),
    ),
    (
        "doubt of an implicit member travels",
        node(**TRANSITIVE),
        [edge("a", "DerivedFrom"), edge("b", "DerivedFrom", PS)],
        {},
        ("NeedsReview", "PartialSupport", PS),
    ),
    ("fewer than k are Valid", node(**TRANSITIVE), group(V, PS, k=2), {}, ("NeedsReview", "PartialSupport", PS)),
    ("k are Valid", node(**TRANSITIVE), group(V, PS, k=1), {}, ("RemainsValid", None, V)),
    (
        "a correction is not spared it",
        node(),
        [edge("a", "DerivedFrom", INV), edge("b", "DerivedFrom")],
        {"decided": {id_of("n"): "Corrected"}},
        ("NeedsReview", "PartialSupport", PS),
    ),
    # rule 3
    ("contradicted", node(), [edge("a", "Contradicts")], {}, ("NeedsReview", "Contradiction", PS)),
    ("by one in doubt", node(), [edge("a", "Contradicts", PS)], {}, ("NeedsReview", "Contradiction", PS)),
    ("by one that is Invalid", node(), [edge("a", "Contradicts", INV)], {}, ("RemainsValid", None, V)),
    (
        "a correction is spared it",
        node(),
        [edge("a", "Contradicts")],
        {"decided": {id_of("n"): "Corrected"}},
        ("RemainsValid", None, V),
    ),
    # a caller's doubt
    ("waits for a decision", node(review_reason="Requested"), [edge("a")], {}, ("NeedsReview", "Requested", PS)),
    (
        "falls all the same",
        node(review_reason="Requested"),
        [edge("a", status=INV)],
        {},
        ("StillInvalid", None, INV),
    ),
    (
        "an acceptance is what it waits for",
        node(),
        [edge("a", "Contradicts")],
        {"decided": {id_of("n"): "Accepted"}},
        ("RemainsValid", None, V),
    ),
    # rules 5 and 6
    ("an agent is asked", node(**AGENT), [edge("a")], {}, ("AwaitingAgent", None, PS)),
    ("the status stays", node(status=INV, **AGENT), [edge("a")], {}, ("AwaitingAgent", None, INV)),
    ("not about what falls", node(**AGENT), [edge("a", status=INV)], {}, ("StillInvalid", None, INV)),
    (
        "nor about what is corrected",
        node(status=INV, **AGENT),
        [edge("a")],
        {"decided": {id_of("n"): "Corrected"}},
        ("Restored", None, V),
    ),
    ("restored", node(status=INV), [edge("a")], {}, ("Restored", None, V)),
    ("remains valid", node(status=V), [edge("a")], {}, ("RemainsValid", None, V)),
]


@pytest.mark.parametrize(("subject", "supports", "more", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_one_node(
    subject: Subject, supports: list[Support], more: dict[str, Any], wanted: tuple[str, str | None, str]
) -> None:
    found = verdict(subject, *supports, **more)
    assert (found.outcome, found.review_reason, found.status) == wanted


def circle(*, a: Subject, b: Subject, outside: list[Support], **more: Any) -> dict[str, tuple[str, str | None]]:
    """Two nodes that require each other, and what else they rest on."""
    supports = [
        edge("a", status=a.status, to="b", source_base_confidence=a.base_confidence),
        edge("b", status=b.status, to="a", source_base_confidence=b.base_confidence),
        *outside,
    ]
    verdicts = decide([a, b], supports, **more)
    return {chr(id_.int): (found.outcome, found.review_reason) for id_, found in verdicts.items()}


def test_a_circle_cannot_hold_itself_up() -> None:
    found = circle(a=node("a", INV), b=node("b", INV), outside=[])
    assert found == {"a": ("NeedsReview", "CircularSupport"), "b": ("NeedsReview", "CircularSupport")}


def test_a_circle_is_held_by_a_valid_support_from_outside() -> None:
    found = circle(a=node("a", INV), b=node("b", INV), outside=[edge("x", to="a")])
    assert found == {"a": ("Restored", None), "b": ("Restored", None)}


def test_a_circle_falls_with_what_one_of_it_needs() -> None:
    found = circle(a=node("a", V), b=node("b", V), outside=[edge("x", status=INV, to="a"), edge("y", to="b")])
    assert found == {"a": ("StillInvalid", None), "b": ("StillInvalid", None)}


def test_a_pinned_member_holds_a_circle_and_gets_no_verdict() -> None:
    found = circle(a=node("a", V, is_pinned=True), b=node("b", INV), outside=[])
    assert found == {"b": ("Restored", None)}


def test_a_pinned_member_that_is_invalid_pulls_the_others_down() -> None:
    found = circle(a=node("a", INV, is_pinned=True), b=node("b", V), outside=[edge("x", to="b")])
    assert found == {"b": ("StillInvalid", None)}


def test_a_corrected_member_holds_a_circle() -> None:
    wrong = node("a", INV, invalidation="Direct")
    found = circle(a=wrong, b=node("b", INV), outside=[], decided={id_of("a"): "Corrected"})
    assert found == {"a": ("Restored", None), "b": ("Restored", None)}


def test_the_reason_is_that_of_the_first_round() -> None:
    """Doubt travels round the circle, but the contradiction is where it comes from."""
    a, b = node("a", V, **TRANSITIVE), node("b", V, **TRANSITIVE)
    found = circle(a=a, b=b, outside=[edge("x", to="b"), edge("y", "Contradicts", to="a")])
    assert found == {"a": ("NeedsReview", "Contradiction"), "b": ("NeedsReview", "PartialSupport")}


# Decisions that stand


def test_an_acceptance_stands_as_long_as_the_ground_is_the_same() -> None:
    supports = [edge("a", "DerivedFrom", INV), edge("b", "DerivedFrom")]
    accepted = node(status=V, footing="Accepted", ground=ground_of(supports))
    assert verdict(accepted, *supports)[:3] == ("RemainsValid", None, V)

    changed = [edge("a", "DerivedFrom", INV), edge("b", "DerivedFrom", PS)]
    found = verdict(accepted, *changed)
    assert found[:3] == ("NeedsReview", "PartialSupport", PS)
    assert found.footing is None


def test_a_confidence_is_no_ground() -> None:
    supports = [edge("a", "Contradicts", source_confidence=0.5)]
    corrected = node(status=V, footing="Corrected", ground=ground_of([edge("a", "Contradicts")]))
    assert verdict(corrected, *supports)[:3] == ("RemainsValid", None, V)


def test_what_a_caller_says_later_overrules_a_decision() -> None:
    supports = [edge("a")]
    wrong = node(status=INV, invalidation="Direct", footing="Corrected", ground=ground_of(supports))
    assert verdict(wrong, *supports)[:3] == ("StillInvalid", None, INV)
    doubted = node(review_reason="Requested", footing="Accepted", ground=ground_of(supports))
    assert verdict(doubted, *supports)[:3] == ("NeedsReview", "Requested", PS)


# Confidence


def test_confidence_by_hand() -> None:
    """0.9 · (0.8 · 0.5) · (1 - (1 - 0.5 · 0.6)(1 - 1 · 0.4)) · (1 - (1 - 0.25)) = 0.9 · 0.4 · 0.58 · 0.25"""
    supports = [
        edge("a", source_confidence=0.8),
        edge("a", "ValidOnlyWhen", source_confidence=0.8),  # the same source counts once
        edge("b", "ValidOnlyWhen", source_confidence=0.5),
        edge("c", "DerivedFrom", weight=0.5, source_confidence=0.6),
        edge("d", "SupportedBy", weight=0.2, source_confidence=0.4),
        edge("d", "ObservedFrom", weight=1.0, source_confidence=0.4),  # the larger weight
        edge("e", "SupportedBy", support_group="g", source_confidence=0.25),
        edge("f", "SupportedBy", INV, support_group="g", source_confidence=1.0),  # counts no longer
        edge("h", "Contradicts", INV, source_confidence=0.1),
    ]
    assert verdict(node(base_confidence=0.9), *supports).confidence == pytest.approx(0.0522, abs=1e-12)


def test_without_supports_confidence_is_the_base() -> None:
    assert verdict(node(base_confidence=0.3)).confidence == 0.3


def test_a_group_of_invalid_sources_leaves_nothing() -> None:
    assert verdict(node(), edge("a", "DerivedFrom", INV)).confidence == 0.0


def test_a_source_in_the_circle_counts_with_its_base() -> None:
    a, b = node("a", V, base_confidence=0.5), node("b", V, base_confidence=0.8)
    supports = [
        edge("a", to="b", source_base_confidence=0.5, source_confidence=0.1),
        edge("b", to="a", source_base_confidence=0.8, source_confidence=0.1),
        edge("x", to="a", source_confidence=0.9),
    ]
    found = decide([a, b], supports)
    assert found[id_of("a")].confidence == pytest.approx(0.5 * 0.8 * 0.9)
    assert found[id_of("b")].confidence == pytest.approx(0.8 * 0.5)


def test_a_change_below_a_billionth_is_none() -> None:
    held = node(confidence=0.7, base_confidence=1.0)
    assert verdict(held, edge("a", source_confidence=0.7 + 9e-10)).confidence == 0.7
    assert verdict(held, edge("a", source_confidence=0.7 + 2e-9)).confidence == 0.7 + 2e-9
