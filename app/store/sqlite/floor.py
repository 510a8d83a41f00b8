"""A system time that every later stamp must exceed, kept beside the database file.

A reader that asks for a time later than the last commit makes a promise for it (SEMANTICS 5). While a writer of another
fleet holds the database's only write lock, the promise cannot be written there, and the reader shall not wait: it is
written here.
"""

import os
from datetime import datetime
from pathlib import Path
from threading import Lock

from app.domain.errors import Busy
from app.store.sqlite.codec import from_micros, to_micros


class Floor:
    """Only ever rises, survives a crash, and is shared by the processes that open the database."""

    def __init__(self, database: Path) -> None:
        self._file = database.with_name(database.name + "-floor")
        self._raising = Lock()

    def read(self) -> datetime:
        try:
            return from_micros(int(self._file.read_text(encoding="ascii")))
        except FileNotFoundError:
            return from_micros(0)

    def raise_to(self, as_of: datetime) -> None:
        """Return once it is on the disk."""
        with self._raising:
            if as_of <= self.read():
                return
            try:
                self._replace(str(to_micros(as_of)))
            except OSError as error:
                raise Busy(f"{self._file} cannot be written: {error.strerror}.") from error

    def _replace(self, text: str) -> None:
        fresh = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        with fresh.open("w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._file)
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
