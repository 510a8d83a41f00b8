"""Tells the story of the demo in words."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from app.cli.words import EDGE_WORDS, STATUS_STYLE
from app.demo.story import ASKED, CORRECTION, REASON, ROOT, Story
from app.domain.models import MemoryEdge, MemoryNode

_KINDS = ("Episode", "Rule", "Fact", "Reflection", "Plan")


def tell(story: Story, console: Console) -> None:
    """Print the whole story."""
    console.print()
    console.print("Memory Graph: a sales agent finds out that a document was wrong", style="bold")
    parts: list[tuple[str, Iterable[RenderableType]]] = [
        ("What the agent remembers", _memory(story)),
        ("One document turns out to be wrong", _request(story)),
        ("What fell, and over what", _fallen(story)),
        ("What is only in doubt", _doubtful(story)),
        ("What stayed, though the loss came close", _standing(story)),
        ("Why, for one of them", _cause(story)),
        ("The memory as it was before", _before(story)),
        ("The right document comes in", _again(story)),
        ("Go on from here", _next()),
    ]
    for number, (title, body) in enumerate(parts, 1):
        console.print()
        console.print(Rule(Text(f"{number}. {title}", "bold"), align="left", style="dim"))
        console.print(Padding(Group(*body), (0, 0, 0, 2)))
    console.print()


def _memory(story: Story) -> Iterator[RenderableType]:
    yield (
        f"{len(story.nodes)} things: what it read and heard, the facts in it, and the reflections and plans "
        "made from them. Each says what it rests on."
    )
    yield ""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=False)
    table.add_column("", style="dim", no_wrap=True)
    table.add_column("remembered", ratio=5)
    table.add_column("rests on", ratio=6)
    kinds = {kind: number for number, kind in enumerate(_KINDS)}
    last = None
    for node in sorted(story.nodes.values(), key=lambda node: (kinds[node.node_type or ""], node.name)):
        kind = node.node_type or ""
        name = Text(node.name)
        if node.is_pinned:
            name.append(" (pinned)", "cyan")
        table.add_row(kind if kind != last else "", name, Text("; ".join(_grounds(story, node))))
        last = kind
    yield table


def _grounds(story: Story, node: MemoryNode) -> Iterator[str]:
    alternatives: list[str] = []
    for edge in _into(story, node):
        source = story.nodes[edge.source_node_id].name
        if edge.support_group:
            alternatives.append(source)
        elif edge.edge_type == "Contradicts":
            yield f"contradicts: {source}"
        else:
            yield source
    if alternatives:
        yield " or ".join(alternatives) + " (one is enough)"


def _request(story: Story) -> Iterator[RenderableType]:
    yield Text(f"“{REASON}”", "italic")
    yield Text.assemble("The agent says so, naming that one node: ", (f"invalidate {ROOT}", "bold"))
    counts = story.report.by_status
    yield Text.assemble(
        f"In {story.seconds * 1000:.0f} ms everything that rested on it was found: ",
        (f"{counts['Invalid']} are invalid", "red"),
        ", ",
        (f"{counts['PotentiallyStale']} in doubt", "yellow"),
        f", {len(story.nodes) - sum(counts.values())} stand as before.",
    )


def _fallen(story: Story) -> Iterator[RenderableType]:
    """A tree: each node under the one over which it was first reached."""
    edges = {edge.memory_edge_id: edge for edge in story.edges}
    below: dict[UUID, list[tuple[MemoryNode, MemoryEdge]]] = defaultdict(list)
    for impact in story.impacts("Invalidated"):
        if impact.via_edge_id:
            edge = edges[impact.via_edge_id]
            below[edge.source_node_id].append((story.nodes[impact.memory_node_id], edge))
    root = story.by_key(ROOT)
    tree = Tree(_marked("✗", root, "its own content is wrong"), guide_style="dim")
    waiting = [(root, tree)]
    while waiting:
        node, branch = waiting.pop()
        for child, edge in below[node.memory_node_id]:
            waiting.append((child, branch.add(_marked("✗", child, f"{EDGE_WORDS[edge.edge_type]} it"))))
    yield tree
    for cycle in story.report.cycles:
        names = " and ".join(f"“{story.nodes[id_].name}”" for id_ in cycle.memory_node_ids)
        yield f"{names} rest on each other. Such a circle cannot hold itself up: it fell as a whole."


def _marked(mark: str, node: MemoryNode, remark: str) -> Text:
    return Text.assemble((f"{mark} ", "red"), node.name, (f"  ({remark})", "dim"))


def _doubtful(story: Story) -> Iterator[RenderableType]:
    for impact in story.impacts("MarkedPotentiallyStale"):
        node = story.nodes[impact.memory_node_id]
        yield _item("?", "yellow", node, _doubt(story, node))
    yield "Nobody can tell by the graph alone: an agent or a person has to look at these."


def _doubt(story: Story, node: MemoryNode) -> str:
    near = _into(story, node)
    gone = [_name(story, edge) for edge in near if story.status(edge.source_node_id) == "Invalid"]
    left = [_name(story, edge) for edge in near if story.status(edge.source_node_id) != "Invalid"]
    if any(edge.edge_type == "Contradicts" for edge in near):
        return f"it contradicts {gone[0]}, which fell. It may be right after all."
    return f"it lost {gone[0]}, but still has {left[0]}."


def _standing(story: Story) -> Iterator[RenderableType]:
    close = 0
    for node in sorted(story.nodes.values(), key=lambda node: not node.is_pinned):
        reasons = _holds(story, node)
        if story.status(node.memory_node_id) == "Valid" and reasons:
            close += 1
            yield _item("✓", "green", node, reasons)
    rest = sum(node.status == "Valid" for node in story.now.values()) - close
    yield f"The other {rest} valid ones rest on nothing that fell."


def _holds(story: Story, node: MemoryNode) -> str | None:
    """Why the node is still valid, where something under it is not."""
    near = _into(story, node)
    shaken = [edge for edge in near if story.status(edge.source_node_id) != "Valid"]
    if not shaken:
        return None
    if node.is_pinned:
        return f"pinned by {node.pinned_by}: {node.pin_reason}. It was reached, and left alone."
    lost = _name(story, shaken[0])
    if shaken[0].support_group:
        left = next(_name(story, edge) for edge in near if edge not in shaken)
        return f"{lost} fell, but {left} says the same, and one of the two is enough."
    return f"{lost} is in doubt, and doubt alone brings nothing down."


def _cause(story: Story) -> Iterator[RenderableType]:
    cause = story.asked.causes[0]
    yield Text.assemble("Why does “", (story.by_key(ASKED).name, "bold"), "” no longer hold?")
    yield f"Root cause, {cause.distance} steps away: {cause.name}. {cause.reason}"
    yield Text(" → ".join(step.key or "" for step in story.path), "red")


def _before(story: Story) -> Iterator[RenderableType]:
    yield "Nothing is lost: every state can be read back, to the microsecond it was committed at."
    yield ""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for name in ("snapshot as of", "Valid", "PotentiallyStale", "Invalid"):
        table.add_column(name, justify="left" if name == "snapshot as of" else "right")
    for stamp, nodes in ((story.imported_at, story.then), (story.invalidated_at, story.now)):
        count = Counter(node.status for node in nodes.values())
        table.add_row(_time(stamp), *(str(count[status]) for status in STATUS_STYLE))
    yield table
    yield ""
    asked = story.by_key(ASKED).memory_node_id
    yield (
        f"“{story.then[asked].name}” was {story.then[asked].status} then, "
        f"and is {story.now[asked].status} now. The diff of the two times lists "
        f"{len(story.changed)} changed nodes."
    )


def _again(story: Story) -> Iterator[RenderableType]:
    yield Text(f"“{CORRECTION}”", "italic")
    yield Text.assemble("The agent says so, with the new content: ", (f"revalidate {ROOT}", "bold"))
    counts = story.corrected.by_outcome
    yield Text.assemble(
        "What rested on it is looked at again, in order, and only as far as anything differs: ",
        (f"{counts['Restored']} are restored", "green"),
        f", {counts.get('RemainsValid', 0)} remain valid.",
    )
    if story.waiting:
        yield "What no rule can decide waits for a person, with its ground:"
    for item in story.waiting:
        node = story.nodes[item.review.memory_node_id]
        grounds = "; ".join(f"{edge.name} ({edge.status})" for edge in item.grounds)
        yield _item("?", "yellow", node, f"{item.review.review_reason}. Its sources: {grounds}")


def _next() -> Iterator[RenderableType]:
    yield "The same graph in a database of your own, and the same invalidation:"
    yield Text("  memory-graph demo --lines | memory-graph import - --graph demo", "bold")
    yield Text(f"  memory-graph invalidate demo {ROOT} --reason 'wrong PDF'", "bold")
    yield Text(f"  memory-graph revalidate demo {ROOT}", "bold")
    yield "The HTTP API, with its documentation at http://127.0.0.1:8000/docs:"
    yield Text("  memory-graph serve", "bold")


def _item(mark: str, style: str, node: MemoryNode, remark: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(mark, style), Text.assemble(node.name, (f": {remark}", "dim")))
    return grid


def _into(story: Story, node: MemoryNode) -> list[MemoryEdge]:
    return [edge for edge in story.edges if edge.target_node_id == node.memory_node_id]


def _name(story: Story, edge: MemoryEdge) -> str:
    return f"“{story.nodes[edge.source_node_id].name}”"


def _time(stamp: datetime) -> str:
    return stamp.isoformat().replace("+00:00", "Z")
