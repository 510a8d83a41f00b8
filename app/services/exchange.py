"""Graphs in as NDJSON: all lines or none, and importing again changes nothing (SEMANTICS 4, Idempotency)."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import IO, BinaryIO, cast
from uuid import UUID

import orjson
from pydantic import ValidationError

from app.domain.errors import BadLine, TooLarge
from app.domain.models import Principal
from app.schemas import AssertionLine, EdgeLine, EvidenceLine, ImportLine, NewGraph, NodeLine, RuleLine
from app.services import graphs
from app.services.once import Stored, once
from app.services.staged import rows_of, take_missing_ids
from app.store.ports import Store
from app.store.repositories.staging import KINDS, Staging
from app.store.unit import UnitOfWork

MAX_LINE_BYTES = 1 << 20
MAX_UNPACKED_BYTES = 8 << 30
"""What a body may hold once it is unpacked: a small gzip file must not fill the disk."""

MAX_BLANK_LINES = 100_000
"""A few bytes of gzip can hold very many of them."""

_BATCH = 5_000
_FIELDS = {
    field.alias
    for model in (NodeLine, EdgeLine, AssertionLine, EvidenceLine, RuleLine)
    for field in model.model_fields.values()
}
_LINE_KINDS = frozenset({"node", "edge", "assertion", "evidence", "rule"})
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"

Counts = dict[str, dict[str, int]]


def import_lines(
    store: Store,
    who: Principal,
    graph_id: UUID,
    lines: BinaryIO,
    *,
    key: str | None = None,
    fingerprint: str = "",
    progress: Callable[[int], None] | None = None,
    new_graph: NewGraph | None = None,
) -> Stored:
    """Load a graph's lines as they say, cascading nothing. Plain or gzip; ``progress`` hears how many lines were read.

    The lines are read and checked before the write lock is taken, so a slow reader holds up nobody. Raises ``BadLine``
    for the first line at fault, ``NotFound`` for an unknown graph; then nothing is kept. ``new_graph``, with that
    id, is made in the same transaction.
    """
    if new_graph is None:
        with store.read(who) as view:
            graphs.get(view, graph_id)

    start = lines.tell()

    def prepare(staging: Staging) -> None:
        lines.seek(start)
        _stage(staging, who, graph_id, _unpacked(lines), progress)

    def encode(counts: Counts, stamp: datetime) -> tuple[int, bytes]:
        return 200, orjson.dumps({"committedAt": stamp, "graphId": graph_id, **counts}, option=orjson.OPT_UTC_Z)

    return once(
        store,
        who,
        lambda uow: _apply(uow, graph_id, new_graph),
        key=key,
        fingerprint=fingerprint,
        encode=encode,
        prepare=prepare,
    )


def is_gzip(file: IO[bytes]) -> bool:
    """Whether a file, read from its start, is gzip."""
    start = file.read(len(_GZIP))
    file.seek(0)
    return start == _GZIP


def _unpacked(lines: BinaryIO) -> BinaryIO:
    if not is_gzip(lines):
        return lines
    return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=lines)), MAX_LINE_BYTES))


def _numbered(lines: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, blank ones left out; never more than one line in memory."""
    number = size = blank = 0
    try:
        while line := lines.readline(MAX_LINE_BYTES + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            size += len(line)
            if len(line) > MAX_LINE_BYTES:
                raise BadLine(number, f"The line is longer than {MAX_LINE_BYTES:,} bytes.")
            if size > MAX_UNPACKED_BYTES:
                raise TooLarge(f"The lines hold more than {MAX_UNPACKED_BYTES:,} bytes once unpacked.")
            if not line.strip():
                blank += 1
                if blank > MAX_BLANK_LINES:
                    raise BadLine(number, f"More than {MAX_BLANK_LINES:,} lines are blank.")
                continue
            yield number, line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadLine(number + 1, f"The gzip stream cannot be read on: {error}.") from error


def _stage(
    staging: Staging, who: Principal, graph_id: UUID, lines: BinaryIO, progress: Callable[[int], None] | None
) -> None:
    staging.clear()
    batches: dict[str, list[dict[str, object]]] = {kind: [] for kind in KINDS}
    waiting = 0
    for number, raw in _numbered(lines):
        try:
            line = ImportLine.validate_json(raw)
        except ValidationError as error:
            raise _bad_line(number, error) from error
        for kind, row in rows_of(number, line, who, graph_id):
            batches[kind].append(row)
        waiting += 1
        if waiting == _BATCH:
            _flush(staging, batches)
            if progress:
                progress(waiting)
            waiting = 0
    _flush(staging, batches)
    if progress:
        progress(waiting)


def _flush(staging: Staging, batches: dict[str, list[dict[str, object]]]) -> None:
    for kind, rows in batches.items():
        staging.add(kind, rows)
        rows.clear()


def _bad_line(number: int, error: ValidationError) -> BadLine:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    parts = [str(part) for part in first["loc"] if part not in _LINE_KINDS]
    pointer = "/" + "/".join(parts) if parts else None
    return BadLine(number, f"Line {number}: {'.'.join(parts) + ': ' if parts else ''}{first['msg']}.", pointer)


def _apply(uow: UnitOfWork, graph_id: UUID, new_graph: NewGraph | None) -> Counts:
    """Kind by kind, so that every name a line uses is stored when its turn comes."""
    if new_graph is None:
        graphs.get(uow, graph_id)
    else:
        graphs.create(uow, new_graph)
    added: dict[str, int] = {}
    changed: dict[str, int] = {}
    for kind in KINDS:
        uow.staging.resolve(kind, graph_id)
        take_missing_ids(uow.staging, kind, graph_id)
        applied = uow.staging.apply(kind, graph_id)
        if applied.fault:
            line, fault = applied.fault
            field = fault.partition(" ")[0]
            raise BadLine(line, f"Line {line}: {fault}.", f"/{field}" if field in _FIELDS else None)
        added[kind], changed[kind] = applied.added, applied.changed
    uow.staging.clear()
    return {"added": added, "changed": changed}
