"""Loads the named statements of one engine from its ``.sql`` files.

A statement begins with ``-- name: find_node`` and runs to the next name. Comment lines are dropped, because
SQLAlchemy would bind a ``:word`` inside them.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import TextClause, text

_NAME = re.compile(r"--\s*name:\s*([a-z_]+)\s*")
_BIND = re.compile(r"(?<![:\w]):([a-z_]+)")


class Statement(NamedTuple):
    """One named statement: its text, as SQLAlchemy runs it, and the parameters it binds."""

    name: str
    sql: str
    clause: TextClause
    binds: frozenset[str]


def load_queries(*folders: Path) -> Mapping[str, Statement]:
    """Every statement in the folders by name; a name given twice is an error."""
    statements: dict[str, Statement] = {}
    for file in sorted(file for folder in folders for file in folder.glob("*.sql")):
        for name, sql in _split(file):
            if name in statements:
                raise ValueError(f"{file}: the statement {name} is defined twice")
            statements[name] = Statement(name, sql, text(sql), frozenset(_BIND.findall(sql)))
    return statements


def _split(file: Path) -> Iterator[tuple[str, str]]:
    name: str | None = None
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        match = _NAME.fullmatch(line)
        if match:
            if name:
                yield name, _body(file, name, lines)
            name, lines = match[1], []
        elif line.strip() and not line.lstrip().startswith("--"):
            lines.append(line)
    if name:
        yield name, _body(file, name, lines)


def _body(file: Path, name: str, lines: list[str]) -> str:
    if not lines:
        raise ValueError(f"{file}: the statement {name} is empty")
    return "\n".join(lines).rstrip().removesuffix(";")
