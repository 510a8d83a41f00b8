"""A progress bar on stderr, for whoever watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO


@contextmanager
def progress_over(file: BinaryIO) -> Iterator[Callable[[int], None] | None]:
    """A bar over the bytes of ``file`` as they are read, told of more lines; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - a third of a second that nobody need wait who sees no bar
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    size = file.seek(0, 2)
    file.seek(0)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[lines]:,} lines"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading", total=size, lines=0)
        seen = 0

        def progress(lines: int) -> None:
            nonlocal seen
            seen += lines
            done = min(file.tell(), size)
            bar.update(task, completed=done, lines=seen, description="Storing" if done == size else "Reading")

        yield progress
