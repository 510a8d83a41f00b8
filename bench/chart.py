"""A line chart of the time per edge against the size: flat lines are linear cost."""

from collections.abc import Sequence
from itertools import pairwise

from bench.report import shapes_of
from bench.scenarios import Row

_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 320, 60, 30
_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")


def svg(rows: Sequence[Row]) -> str | None:
    """The chart, or None where no shape was measured."""
    shapes = shapes_of(rows)
    if not shapes:
        return None
    top = max(row.per_edge for group in shapes.values() for row in group)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="18">Cascade: microseconds per edge, by size of the graph</text>',
        *_axes(top),
    ]
    for colour, (name, group) in zip(_COLOURS, shapes.items(), strict=False):
        parts += _series(colour, name, [row.per_edge / top for row in group])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(position: float) -> float:
    return round(_LEFT + position * (_WIDTH - _LEFT - 90), 1)


def _y(share: float) -> float:
    return round(_HEIGHT - 40 - share * (_HEIGHT - 40 - _TOP), 1)


def _axes(top: float) -> list[str]:
    lines = []
    for share in (0, 0.5, 1):
        lines.append(f'<line x1="{_LEFT}" x2="{_x(1)}" y1="{_y(share)}" y2="{_y(share)}" stroke="#ddd"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{_y(share) + 4}" text-anchor="end">{share * top:,.0f}</text>')
    for position, label in ((0.25, "¼"), (0.5, "½"), (1, "full size")):
        lines.append(f'<text x="{_x(position)}" y="{_HEIGHT - 18}" text-anchor="middle">{label}</text>')
    return lines


def _series(colour: str, name: str, shares: list[float]) -> list[str]:
    points = [(_x(position), _y(share)) for position, share in zip((0.25, 0.5, 1), shares, strict=True)]
    lines = [
        f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}" stroke="{colour}" stroke-width="2"/>'
        for (a, b), (c, d) in pairwise(points)
    ]
    lines += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in points]
    x, y = points[-1]
    return [*lines, f'<text x="{x + 10}" y="{y + 4}" fill="{colour}">{name}</text>']
