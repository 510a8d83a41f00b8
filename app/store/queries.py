"""Loads the named statements of one engine from its ``.sql`` files.

A statement begins with ``-- name: find_node`` and runs to the next name; comment lines are dropped. SQLite binds
``:tenant_id``. T-SQL is written with variables, ``@tenant_id``, so that a compiler can check a file and a person can
paste it: the ``DECLARE`` before the first name types them. Variables in snake_case are bound, others are local.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_NAME = re.compile(r"--\s*name:\s*([a-z_]+)\s*")
_BIND = re.compile(r"(?<![:\w]):([a-z_]+)")
_VARIABLE = re.compile(r"(?<![@\w])@(\w+)")
_DECLARED = re.compile(r"@(\w+)\s+(\w+(?:\s*\([^)]*\))?)")


class Statement(NamedTuple):
    """One named statement, the parameters it binds, and the types of its variables where it is T-SQL."""

    name: str
    sql: str
    binds: frozenset[str]
    variables: Mapping[str, str]


def load_queries(*folders: Path) -> Mapping[str, Statement]:
    """Every statement in the folders by name; a name given twice is an error."""
    statements: dict[str, Statement] = {}
    for file in sorted(file for folder in folders for file in folder.glob("*.sql")):
        declared, named = _split(file)
        for name, sql in named:
            if name in statements:
                raise ValueError(f"{file}: the statement {name} is defined twice")
            statements[name] = _statement(name, sql, declared)
    return statements


def _statement(name: str, sql: str, declared: Mapping[str, str]) -> Statement:
    variables = {variable: declared[variable] for variable in _VARIABLE.findall(sql) if variable in declared}
    binds = (variable for variable in variables if variable.islower()) if declared else _BIND.findall(sql)
    return Statement(name, sql, frozenset(binds), variables)


def _split(file: Path) -> tuple[Mapping[str, str], Iterator[tuple[str, str]]]:
    """The variables that a file declares, and its statements by name."""
    lines = file.read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if line.strip() and (_NAME.fullmatch(line) or not line.lstrip().startswith("--"))]
    starts = [number for number, line in enumerate(code) if _NAME.fullmatch(line)]
    head = "\n".join(code[: starts[0]] if starts else code)
    return dict(_DECLARED.findall(head)), _bodies(file, code, starts)


def _bodies(file: Path, code: list[str], starts: list[int]) -> Iterator[tuple[str, str]]:
    for start, end in zip(starts, [*starts[1:], len(code)], strict=True):
        name = code[start].partition(":")[2].strip()
        if end == start + 1:
            raise ValueError(f"{file}: the statement {name} is empty")
        yield name, "\n".join(code[start + 1 : end]).rstrip().removesuffix(";")
