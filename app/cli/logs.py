"""Log lines of the server on stderr: for people at a terminal, as JSON elsewhere."""

import logging
import sys

import structlog
from structlog.typing import Processor

_QUIET = ("alembic", "asyncio")
"""Loggers whose INFO is of no use to an operator."""


def configure(level: str) -> None:
    """Send every logger of the process through one handler."""
    stamps: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers: list[Processor] = (
        [structlog.dev.ConsoleRenderer(pad_event_to=0)]
        if sys.stderr.isatty()
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=stamps,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
