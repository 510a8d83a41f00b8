"""The reference model of SEMANTICS 4 against small cases worked out by hand.

Each comment derives the expected answer from SEMANTICS, never from the model. T is 100 throughout.
"""

from __future__ import annotations

import pytest

from tests.reference.cascade import (
    INVALID,
    POTENTIALLY_STALE,
    VALID,
    Edge,
    Node,
    Policy,
    Propagation,
    Report,
    cascade,
)

T = 100
BOTH_POLICIES: tuple[Policy, Policy] = ("evidential", "strict")
BOTH_PROPAGATIONS: tuple[Propagation, Propagation] = ("frontier", "transitive")


def run(
    nodes: str | list[Node],
    edges: list[Edge],
    *roots: str,
    status: int = INVALID,
    policy: Policy = "evidential",
    propagation: Propagation = "frontier",
    override_pinned: bool = False,
    derived_roots: bool = False,
) -> Report:
    """`nodes`: the ids of Valid nodes, one a letter, or nodes with a history."""
    return cascade(
        [Node(letter) for letter in nodes] if isinstance(nodes, str) else nodes,
        edges,
        roots,
        status=status,
        effective_time=T,
        policy=policy,
        propagation=propagation,
        override_pinned=override_pinned,
        derived_roots=derived_roots,
    )


def statuses(report: Report) -> dict[str, int]:
    return {node.id: node.status for node in report.nodes.values() if node.status != VALID}


def outcomes(report: Report) -> dict[str, str]:
    return {impact.node_id: impact.outcome for impact in report.impacts.values()}


def depth_and_via(report: Report, node_id: str) -> tuple[int, str | None]:
    return report.impacts[node_id].depth, report.impacts[node_id].via_edge_id


# Necessary edges


@pytest.mark.parametrize("policy", BOTH_POLICIES)
@pytest.mark.parametrize("propagation", BOTH_PROPAGATIONS)
@pytest.mark.parametrize("necessary", ["Requires", "ValidOnlyWhen"])
def test_invalid_travels_along_necessary_edges(policy: Policy, propagation: Propagation, necessary: str) -> None:
    # a fires in round 1, b in round 2. d is upstream of a: edges are never walked backwards.
    edges = [
        Edge("1", "a", "b", necessary),
        Edge("2", "b", "c", necessary),
        Edge("3", "d", "a", necessary),
    ]
    report = run("abcd", edges, "a", policy=policy, propagation=propagation)
    assert outcomes(report) == dict.fromkeys("abc", "Invalidated")
    assert [depth_and_via(report, node_id) for node_id in "abc"] == [(0, None), (1, "1"), (2, "2")]
    # The root's own content is wrong; the others only lost their ground. All from T on.
    assert report.nodes["a"] == Node("a", INVALID, "Direct", T)
    assert report.nodes["b"] == Node("b", INVALID, "Derived", T)
    assert report.nodes["d"] == Node("d")
    assert report.components == []


def test_doubt_does_not_travel_with_frontier_even_where_the_target_is_looked_at() -> None:
    # Round 1: b is in doubt (contradiction), c falls. Round 2 looks at d by way of c, but x still holds;
    # b, which d requires, does not fire: d stays Valid. With transitive b fires, and d is in doubt with it.
    edges = [
        Edge("1", "a", "b", "Contradicts"),
        Edge("2", "a", "c", "Requires"),
        Edge("3", "b", "d", "Requires"),
        Edge("4", "c", "d", "SupportedBy", "g"),
        Edge("5", "x", "d", "SupportedBy", "g"),
    ]
    assert statuses(run("abcdx", edges, "a")) == {"a": INVALID, "b": POTENTIALLY_STALE, "c": INVALID}
    assert run("abcdx", edges, "a", propagation="transitive").nodes["d"].status == POTENTIALLY_STALE


# Implicit group


@pytest.mark.parametrize("evidential", ["DerivedFrom", "SupportedBy", "ObservedFrom"])
def test_losing_one_of_two_implicit_members(evidential: str) -> None:
    # The type within the class plays no part: a and b form c's implicit group, whatever b's type is.
    edges = [
        Edge("1", "a", "c", evidential),
        Edge("2", "b", "c", "SupportedBy"),
        Edge("3", "c", "d", "Requires"),
    ]
    # evidential: b is not Invalid, so c is PotentiallyStale; with frontier c does not fire, and d is not
    # reached.
    report = run("abcd", edges, "a")
    assert statuses(report) == {"a": INVALID, "c": POTENTIALLY_STALE}
    assert report.nodes["c"] == Node("c", POTENTIALLY_STALE)
    # strict: the maximum C of the firing members is Invalid, so c falls, and d after it.
    assert statuses(run("abcd", edges, "a", policy="strict")) == dict.fromkeys("acd", INVALID)
    # evidential, but every member lost: Invalid.
    assert statuses(run("abcd", edges, "a", "b")) == dict.fromkeys("abcd", INVALID)


def test_an_implicit_member_that_was_invalid_before_counts_as_lost() -> None:
    # N, not C, is asked: b's S is Invalid although this run carries nothing to it.
    nodes = [Node("a"), Node("b", INVALID, "Derived", 50), Node("c")]
    edges = [Edge("1", "a", "c", "SupportedBy"), Edge("2", "b", "c", "SupportedBy")]
    report = run(nodes, edges, "a")
    assert statuses(report) == dict.fromkeys("abc", INVALID)
    assert "b" not in report.impacts  # its C is Valid: not affected, and there is no edge into it


def test_the_last_member_falls_in_a_later_round() -> None:
    # Round 1: b and c hear of a; c has lost a but not b (read at the end of round 0): PotentiallyStale.
    # Round 2: b fires, and now every member is Invalid. Depth and via tell the first reach, not the last.
    edges = [
        Edge("1", "a", "b", "Requires"),
        Edge("2", "a", "c", "SupportedBy"),
        Edge("0", "b", "c", "SupportedBy"),
    ]
    report = run("abc", edges, "a")
    assert outcomes(report) == dict.fromkeys("abc", "Invalidated")
    assert depth_and_via(report, "c") == (1, "2")


# Explicit groups


@pytest.mark.parametrize("policy", BOTH_POLICIES)
@pytest.mark.parametrize(
    ("k", "lost", "expected"),
    [
        (1, "a", VALID),  # b and c hold: 2 ≥ 1
        (1, "ab", VALID),  # c holds: 1 ≥ 1
        (1, "abc", INVALID),  # 0 < 1
        (2, "a", VALID),  # 2 ≥ 2
        (2, "ab", INVALID),  # 1 < 2
        (3, "a", INVALID),  # 2 < 3
        (4, "a", INVALID),  # "k above the number of sources never holds"
    ],
)
def test_an_explicit_group_falls_below_k(policy: Policy, k: int, lost: str, expected: int) -> None:
    # An explicit group is never PotentiallyStale with frontier, and strict does not touch it. k stands on one
    # edge alone: "differing k among active edges: the largest counts".
    edges = [
        Edge("1", "a", "d", "SupportedBy", "g"),
        Edge("2", "b", "d", "ObservedFrom", "g", k),
        Edge("3", "c", "d", "DerivedFrom", "g"),
    ]
    report = run("abcd", edges, *lost, policy=policy)
    assert report.nodes["d"].status == expected
    assert ("d" in report.impacts) == (expected > VALID)  # C stays Valid: neither changed nor reported


def test_a_group_held_by_a_doubtful_source() -> None:
    # b was PotentiallyStale before, and is not Invalid: with frontier it still holds for d (1 ≥ 1). With
    # transitive fewer than k sources are Valid (0 < 1): PotentiallyStale.
    nodes = [Node("a"), Node("b", POTENTIALLY_STALE), Node("d")]
    edges = [Edge("1", "a", "d", "SupportedBy", "g"), Edge("2", "b", "d", "SupportedBy", "g")]
    assert run(nodes, edges, "a").nodes["d"].status == VALID
    assert run(nodes, edges, "a", propagation="transitive").nodes["d"].status == POTENTIALLY_STALE


def test_two_edges_of_one_source_in_a_group_count_once() -> None:
    # Distinct sources are b and c, k = 2. Losing c leaves one source, though two edges.
    edges = [
        Edge("1", "b", "d", "SupportedBy", "g", 2),
        Edge("2", "b", "d", "ObservedFrom", "g", 2),
        Edge("3", "c", "d", "SupportedBy", "g", 2),
    ]
    assert statuses(run("bcd", edges, "c")) == {"c": INVALID, "d": INVALID}


def test_groups_of_one_target_are_judged_apart() -> None:
    # g = {a, b} with k 1 holds by b. h = {a} with k 1 does not hold: Invalid is the maximum.
    edges = [
        Edge("1", "a", "d", "SupportedBy", "g"),
        Edge("2", "b", "d", "SupportedBy", "g"),
        Edge("3", "a", "d", "SupportedBy", "h"),
    ]
    assert statuses(run("abd", edges[:2], "a")) == {"a": INVALID}
    assert statuses(run("abd", edges, "a")) == {"a": INVALID, "d": INVALID}


def test_a_group_that_was_broken_before_is_no_matter_until_a_member_fires() -> None:
    # h has one source against k 2: it never holds. But only b is in it, and b does not fire.
    edges = [Edge("1", "a", "d", "SupportedBy"), Edge("2", "b", "d", "SupportedBy", "h", 2)]
    report = run([Node("a"), Node("b", POTENTIALLY_STALE), Node("d")], edges, "a", propagation="transitive")
    assert report.nodes["d"].status == INVALID  # by its implicit group {a}
    edges.append(Edge("3", "c", "d", "SupportedBy"))
    report = run("abcd", edges, "a")
    assert report.nodes["d"].status == POTENTIALLY_STALE  # c still holds; h is not asked


# Contradiction


@pytest.mark.parametrize(("source", "target"), [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("status", [POTENTIALLY_STALE, INVALID])
def test_contradiction_of_a_root_goes_both_ways(source: str, target: str, status: int) -> None:
    # "from any affected root: PotentiallyStale". The root marked PotentiallyStale does not fire with
    # frontier, so round 1 looks at its Contradicts edges only: c, which requires it, stays Valid (d requires
    # b: the same).
    edges = [
        Edge("1", source, target, "Contradicts"),
        Edge("2", "a", "c", "Requires"),
        Edge("3", "b", "d", "Requires"),
    ]
    report = run("abcd", edges, "a", status=status)
    expected = {"a": status, "b": POTENTIALLY_STALE}
    if status == INVALID:
        expected["c"] = INVALID
    assert statuses(report) == expected
    assert depth_and_via(report, "b") == (1, "1")


def test_contradiction_does_not_chain() -> None:
    # b is PotentiallyStale by contradiction. It is no root and its C is not Invalid: c stays Valid. With
    # transitive b fires, so its edges to c and to the pinned p are looked at, in vain; p has been reached all
    # the same.
    nodes = [Node("a"), Node("b"), Node("c"), Node("p", pinned=True)]
    edges = [
        Edge("1", "a", "b", "Contradicts"),
        Edge("2", "b", "c", "Contradicts"),
        Edge("3", "b", "p", "Contradicts"),
    ]
    doubted = {"a": "Invalidated", "b": "MarkedPotentiallyStale"}
    assert outcomes(run(nodes, edges, "a")) == doubted
    assert outcomes(run(nodes, edges, "a", propagation="transitive")) == {**doubted, "p": "SkippedPinned"}


def test_a_derived_invalid_node_casts_doubt_on_what_contradicts_it() -> None:
    # b has C = Invalid without being a root: enough for c.
    edges = [Edge("1", "a", "b", "Requires"), Edge("2", "c", "b", "Contradicts")]
    assert statuses(run("abc", edges, "a")) == {"a": INVALID, "b": INVALID, "c": POTENTIALLY_STALE}


# Supersedes


def test_a_node_whose_superseder_falls_is_reexamined() -> None:
    # "if it is derived-Invalid and its C is not Invalid when the run ends, it becomes PotentiallyStale".
    # derived: yes. direct: only a correction or decision restores it. standing: it was not Invalid.
    nodes = [
        Node("new"),
        Node("derived", INVALID, "Derived", 50),
        Node("direct", INVALID, "Direct", 50),
        Node("standing", POTENTIALLY_STALE),
        Node("dependent", INVALID, "Derived", 50),
    ]
    edges = [
        Edge("1", "new", "derived", "Supersedes"),
        Edge("2", "new", "direct", "Supersedes"),
        Edge("3", "new", "standing", "Supersedes"),
        Edge("4", "derived", "dependent", "Requires"),
    ]
    report = run(nodes, edges, "new")
    assert outcomes(report) == {
        "new": "Invalidated",
        "derived": "Reexamine",
    }  # nothing rises: nothing goes on
    assert depth_and_via(report, "derived") == (1, "1")
    assert report.nodes["derived"] == Node("derived", POTENTIALLY_STALE)
    assert report.nodes["direct"] == nodes[2]
    # A superseder in doubt has not fallen: its C is not Invalid, whether it fires or not.
    for propagation in BOTH_PROPAGATIONS:
        report = run(nodes, edges, "new", status=POTENTIALLY_STALE, propagation=propagation)
        assert outcomes(report) == {"new": "MarkedPotentiallyStale"}


def test_reexamination_loses_to_a_new_invalidity_and_wins_over_doubt() -> None:
    nodes = [Node("a"), Node("b", INVALID, "Derived", 50)]
    supersedes = Edge("2", "a", "b", "Supersedes")
    # b's C ends Invalid (it also requires a): not re-examined. It was derived-Invalid since 50, which is
    # earlier.
    report = run(nodes, [supersedes, Edge("3", "a", "b", "Requires")], "a")
    assert outcomes(report) == {"a": "Invalidated", "b": "AlreadyAtStatus"}
    assert report.nodes["b"] == nodes[1]
    assert depth_and_via(report, "b") == (1, "3")  # "`Supersedes` edges aside", though 2 < 3
    # b's C ends PotentiallyStale: max(S, C) leaves it Invalid, and re-examination lowers it.
    # Via "(for `Reexamine` …: in the round in which it was first reached, any edge)".
    report = run(nodes, [supersedes, Edge("3", "a", "b", "Contradicts")], "a")
    assert outcomes(report)["b"] == "Reexamine"
    assert report.nodes["b"] == Node("b", POTENTIALLY_STALE)
    assert depth_and_via(report, "b") == (1, "2")
    # The doubt may come later than the first reach: round 2, by way of c. It is the first reach that is told.
    nodes.append(Node("c"))
    edges = [supersedes, Edge("0", "a", "c", "Requires"), Edge("1", "c", "b", "Contradicts")]
    report = run(nodes, edges, "a")
    assert outcomes(report)["b"] == "Reexamine"
    assert depth_and_via(report, "b") == (1, "2")


# Protected nodes


def test_pinned_nodes_are_reached_and_stop_the_run() -> None:
    # b is reached in round 1 by 2 and 3, never changed; c hangs on b and is not reached.
    # d is reached too, though its group {a, e} holds and would have kept it Valid.
    nodes = [Node("a"), Node("b", pinned=True), Node("c"), Node("d", pinned=True), Node("e")]
    edges = [
        Edge("3", "a", "b", "Requires"),
        Edge("2", "a", "b", "Supersedes"),
        Edge("1", "b", "c", "Requires"),
        Edge("4", "a", "d", "SupportedBy", "g"),
        Edge("5", "e", "d", "SupportedBy", "g"),
    ]
    report = run(nodes, edges, "a")
    assert outcomes(report) == {"a": "Invalidated", "b": "SkippedPinned", "d": "SkippedPinned"}
    assert depth_and_via(report, "b") == (1, "2")  # for SkippedPinned: any edge
    assert report.nodes["b"] == nodes[1]
    # With overridePinned a pin protects nothing: b falls by 3, c by 1; the pin itself stays.
    report = run(nodes, edges, "a", override_pinned=True)
    assert outcomes(report) == dict.fromkeys("abc", "Invalidated")
    assert depth_and_via(report, "b") == (1, "3")
    assert report.nodes["b"] == Node("b", INVALID, "Derived", T, pinned=True)


def test_a_pinned_root_is_skipped_in_round_0() -> None:
    # It is not affected, so neither its dependents nor its contradictions hear of it. a, reached again from
    # the other root in round 1, was first reached in round 0.
    nodes = [Node("a", pinned=True), Node("b"), Node("c"), Node("d")]
    edges = [
        Edge("1", "a", "b", "Requires"),
        Edge("2", "a", "c", "Contradicts"),
        Edge("3", "d", "a", "Requires"),
    ]
    report = run(nodes, edges, "a", "d")
    assert outcomes(report) == {"a": "SkippedPinned", "d": "Invalidated"}
    assert depth_and_via(report, "a") == (0, None)


def test_a_pinned_invalid_node_is_not_reexamined_but_counts_with_its_status() -> None:
    # p is Invalid and stays so; as a member of d's implicit group its N is Invalid, so losing a loses all.
    nodes = [Node("a"), Node("p", INVALID, "Derived", 50, pinned=True), Node("d")]
    edges = [
        Edge("1", "a", "p", "Supersedes"),
        Edge("2", "a", "d", "SupportedBy"),
        Edge("3", "p", "d", "SupportedBy"),
    ]
    report = run(nodes, edges, "a")
    assert outcomes(report) == {"a": "Invalidated", "p": "SkippedPinned", "d": "Invalidated"}
    assert report.nodes["p"] == nodes[1]


# Cycles, depth and via


def test_cycles_end_and_are_reported_once() -> None:
    # a → b → c → a is one component by necessary and evidential edges. e and f hold each other up from
    # outside by groups with k 2, so both fall: a second one. d is a tail. Contradicts ties d to c in both
    # directions, but is no edge of a component. x → y → x is a cycle no one reached. The report names
    # components by smallest id.
    edges = [
        Edge("1", "a", "b", "Requires"),
        Edge("2", "b", "c", "SupportedBy"),
        Edge("3", "c", "a", "ValidOnlyWhen"),
        Edge("4", "c", "d", "Requires"),
        Edge("5", "d", "c", "Contradicts"),
        Edge("6", "d", "e", "SupportedBy", "g", 2),
        Edge("7", "f", "e", "SupportedBy", "g", 2),
        Edge("8", "e", "f", "Requires"),
        Edge("9", "x", "y", "Requires"),
        Edge("10", "y", "x", "Requires"),
    ]
    report = run("abcdefxy", edges, "b")
    assert outcomes(report) == dict.fromkeys("abcdef", "Invalidated")
    assert report.components == [["a", "b", "c"], ["e", "f"]]
    assert {i.node_id: i.component for i in report.impacts.values()} == {
        **dict.fromkeys("abc", 0),
        "d": None,
        **dict.fromkeys("ef", 1),
    }
    assert [depth_and_via(report, node_id) for node_id in "bcadef"] == [
        (0, None),
        (1, "2"),
        (2, "3"),
        (2, "4"),
        (3, "6"),
        (4, "8"),
    ]


def test_via_is_the_smallest_id_as_lower_case_text_of_the_first_round() -> None:
    # d is looked at by a9 and B1 in round 1 ("a9" < "b1", though "B1" < "a9" byte for byte), by 00 in round
    # 2.
    edges = [
        Edge("B1", "a", "d", "Requires"),
        Edge("a9", "c", "d", "Requires"),
        Edge("b0", "a", "b", "Requires"),
        Edge("00", "b", "d", "Requires"),
    ]
    report = run("abcd", edges, "a", "c")
    assert depth_and_via(report, "d") == (1, "a9")


# Nodes with a history


def test_a_run_walks_through_nodes_that_were_invalid_before() -> None:
    # b was derived-Invalid since 150: C rises to Invalid all the same, so the later bound moves back to T.
    # c was directly invalid since 50: it stays direct, and 50 is earlier. d was added since, and is repaired.
    # e was PotentiallyStale and falls.
    nodes = [
        Node("a", INVALID, "Derived", 150),
        Node("b", INVALID, "Derived", 150),
        Node("c", INVALID, "Direct", 50),
        Node("d"),
        Node("e", POTENTIALLY_STALE),
    ]
    edges = [
        Edge("1", "a", "b", "Requires"),
        Edge("2", "b", "c", "Requires"),
        Edge("3", "c", "d", "Requires"),
        Edge("4", "d", "e", "Requires"),
    ]
    report = run(nodes, edges, "a")
    assert outcomes(report) == {
        **dict.fromkeys("abc", "AlreadyAtStatus"),
        **dict.fromkeys("de", "Invalidated"),
    }
    # "the roots of a request become directly invalid, also where they were derived-Invalid before"
    assert report.nodes["a"] == Node("a", INVALID, "Direct", T)
    assert report.nodes["b"] == Node("b", INVALID, "Derived", T)
    assert report.nodes["c"] == nodes[2]
    assert report.nodes["d"] == Node("d", INVALID, "Derived", T)
    # "the roots of child runs … are derived"
    assert run(nodes, edges, "a", derived_roots=True).nodes["a"] == Node("a", INVALID, "Derived", T)


def test_doubt_neither_lowers_nor_dates_an_invalid_node() -> None:
    # a (root) and b (by contradiction) have C = PotentiallyStale: N = max(S, C) = Invalid, and
    # "`invalidSince` is set or moved back only where C is Invalid". With frontier a does not fire, for its N
    # is Invalid but not its C: c stays.
    nodes = [Node("a", INVALID, "Derived", 150), Node("b", INVALID, "Direct", 150), Node("c")]
    edges = [Edge("1", "a", "b", "Contradicts"), Edge("2", "a", "c", "Requires")]
    report = run(nodes, edges, "a", status=POTENTIALLY_STALE)
    assert outcomes(report) == dict.fromkeys("ab", "AlreadyAtStatus")
    assert list(report.nodes.values()) == nodes


# Transitive doubt


def test_transitive_doubt_is_three_valued() -> None:
    # Root a in doubt. b requires it: that source's C. c's implicit group {a, x}: not every member Invalid. d:
    # one of {a, x} must be Valid, x is. e: two must be, and only x is. f requires e; g's {a} has none Valid.
    edges = [
        Edge("1", "a", "b", "Requires"),
        Edge("2", "a", "c", "SupportedBy"),
        Edge("3", "x", "c", "SupportedBy"),
        Edge("4", "a", "d", "SupportedBy", "s", 1),
        Edge("5", "x", "d", "SupportedBy", "s", 1),
        Edge("6", "a", "e", "SupportedBy", "s", 2),
        Edge("7", "x", "e", "SupportedBy", "s", 2),
        Edge("8", "e", "f", "Requires"),
        Edge("9", "a", "g", "SupportedBy", "s"),
    ]
    for policy in BOTH_POLICIES:  # strict: the maximum C of the firing members is no more than PotentiallyStale
        report = run("abcdefgx", edges, "a", status=POTENTIALLY_STALE, policy=policy, propagation="transitive")
        assert statuses(report) == dict.fromkeys("abcefg", POTENTIALLY_STALE)
    # With frontier a root in doubt still holds for all of them.
    assert statuses(run("abcdefgx", edges, "a", status=POTENTIALLY_STALE)) == {"a": POTENTIALLY_STALE}
    # Root a Invalid: b and g fall, e (1 < 2) and with it f; c has lost one of two; d has x.
    assert statuses(run("abcdefgx", edges, "a", propagation="transitive")) == {
        **dict.fromkeys("abefg", INVALID),
        "c": POTENTIALLY_STALE,
    }


def test_transitive_doubt_may_be_overtaken_by_invalidity() -> None:
    # Round 1: b is in doubt (x still stands), c falls. Round 2: d, which requires b, is in doubt. b falls
    # too, for it requires c. Round 3: b has risen again and is looked at again: d falls. Its depth stays that
    # of the first reach.
    edges = [
        Edge("1", "a", "b", "SupportedBy"),
        Edge("2", "x", "b", "SupportedBy"),
        Edge("3", "a", "c", "Requires"),
        Edge("4", "c", "b", "Requires"),
        Edge("5", "b", "d", "Requires"),
    ]
    report = run("abcdx", edges, "a", propagation="transitive")
    assert outcomes(report) == dict.fromkeys("abcd", "Invalidated")
    assert depth_and_via(report, "d") == (2, "5")
    # With frontier b does not fire before round 3.
    assert depth_and_via(run("abcdx", edges, "a"), "d") == (3, "5")


def test_doubt_may_meet_invalid_members_and_become_invalidity() -> None:
    # a was Invalid and is only doubted, but with transitive it fires, and every member of b's group has N
    # Invalid. b's C is Invalid, so c falls too. a itself requires c: its C ends Invalid. Asked for as
    # PotentiallyStale, it does not become directly invalid; its date moves back.
    nodes = [Node("a", INVALID, "Derived", 150), Node("b"), Node("c")]
    edges = [
        Edge("1", "a", "b", "SupportedBy"),
        Edge("2", "b", "c", "Requires"),
        Edge("3", "c", "a", "Requires"),
    ]
    report = run(nodes, edges, "a", status=POTENTIALLY_STALE, propagation="transitive")
    assert outcomes(report) == {"a": "AlreadyAtStatus", "b": "Invalidated", "c": "Invalidated"}
    assert report.nodes["a"] == Node("a", INVALID, "Derived", T)


# Activity


@pytest.mark.parametrize(
    ("start", "end", "active"),
    [
        (None, None, True),
        (T, None, True),  # closed at the start
        (T + 1, None, False),
        (None, T, False),  # open at the end
        (None, T + 1, True),
        (T - 2, T - 1, False),
    ],
)
def test_only_edges_active_at_t_are_looked_at(start: int | None, end: int | None, active: bool) -> None:
    # One edge has its own interval, the other a rule's: both bounds are half-open.
    edges = [
        Edge("1", "a", "b", "Requires", effective_from=start, effective_to=end),
        Edge("2", "a", "c", "Requires", rule_from=start, rule_to=end),
    ]
    assert statuses(run("abc", edges, "a")) == dict.fromkeys("abc" if active else "a", INVALID)


def test_inactive_edges_are_no_members_and_bring_no_k() -> None:
    # b is no longer ground for d, so the implicit group is {a}. e's k of 2 stands on an edge whose rule has
    # expired, so one source is enough. Either condition alone makes an edge inactive.
    edges = [
        Edge("1", "a", "d", "SupportedBy"),
        Edge("2", "b", "d", "SupportedBy", effective_to=T, rule_from=0),
        Edge("3", "a", "e", "SupportedBy", "g", 1),
        Edge("4", "b", "e", "SupportedBy", "g", 1),
        Edge("5", "b", "e", "ObservedFrom", "g", 2, rule_to=T),
    ]
    assert statuses(run("abde", edges, "a")) == {"a": INVALID, "d": INVALID}


def test_a_replacement_inside_a_circle_does_not_count() -> None:
    # a and b replace each other, so neither edge counts: b stays as it is when a falls, unreached. c leads back to
    # neither: its replacement by a counts.
    nodes = [Node("a"), Node("b", INVALID, "Derived", 1), Node("c", INVALID, "Derived", 1), Node("p", pinned=True)]
    edges = [
        Edge("1", "a", "b", "Supersedes"),
        Edge("2", "b", "a", "Supersedes"),
        Edge("3", "a", "c", "Supersedes"),
        Edge("4", "a", "p", "Supersedes"),
        Edge("5", "p", "a", "SupportedBy", group="g"),
    ]
    report = run(nodes, edges, "a")
    assert set(report.impacts) == {"a", "c"}
    assert report.impacts["c"].outcome == "Reexamine"
    assert report.nodes["b"].status == INVALID
