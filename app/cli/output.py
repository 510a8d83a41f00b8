"""Where a command's bytes go: standard output, or a file that appears only once it is whole."""

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from app.cli.faults import Refused


@contextmanager
def sink(path: Path | None) -> Iterator[BinaryIO]:
    """Standard output without a path. What ends in ``.gz`` is packed, the same content always to the same bytes."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    packed = path.suffix == ".gz"
    if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
        with path.open("wb") as file, _maybe_packed(file, packed) as out:
            yield out
        return
    if not path.parent.is_dir():
        raise Refused(f"there is no folder {path.parent}.", "Make it first, or write elsewhere.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file, _maybe_packed(file, packed) as out:
            yield out
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _maybe_packed(file: BinaryIO, packed: bool) -> Iterator[BinaryIO]:
    if not packed:
        yield file
        return
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as out:
        yield cast(BinaryIO, out)
