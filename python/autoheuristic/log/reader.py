"""Reading a log: plain or gzip, columns by name, every fault with its line."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Union

from ..errors import LogError
from . import text
from .metadata import Metadata
from .text import Value

PathLike = Union[str, "os.PathLike[str]"]
CHOICE, FEEDBACK = "choice", "feedback"
GZIP = b"\x1f\x8b"
SKIP_HINT = "mend the row, or pass over such rows with skip_bad_rows=True"


@dataclass
class Dirt:
    """What was passed over while reading."""

    blank_lines: int = 0
    bad_rows: int = 0
    examples: list[str] = field(default_factory=list)
    """Up to five errors of bad rows."""


def open_text(path: PathLike) -> IO[str]:
    """Opens a log for reading; gzip is known by its first bytes, not by its name."""
    with open(path, "rb") as file:
        packed = file.read(2) == GZIP
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return open(path, encoding="utf-8", newline="\n")


def read_head(file: IO[str], path: str) -> tuple[Metadata, list[str]]:
    """Reads the metadata and the names of the columns."""
    first = file.readline()
    if not first:
        raise LogError(f"{path}, line 1: expected a line of JSON metadata, found an empty file")
    metadata = Metadata.from_json(first, path)
    try:
        columns = text.split(file.readline().rstrip("\r\n"))
    except ValueError as error:
        raise LogError(f"{path}, line 2: expected a CSV header, found {error}; close the quote") from error
    wanted = {*metadata.features, CHOICE, FEEDBACK}
    if len(columns) != len(wanted) or set(columns) != wanted:
        raise LogError(
            f"{path}, line 2: expected each of the columns {', '.join([*metadata.features, CHOICE, FEEDBACK])} once, "
            f"found {', '.join(columns)}; mend the header, or the features in line 1"
        )
    return metadata, columns


class Rows:
    """The rows of one open file, as ``(values of the features, choice, feedback)``."""

    def __init__(self, metadata: Metadata, columns: list[str], features: list[str], path: str):
        """``features`` is the order in which the values are wanted."""
        self.path = path
        self.columns = columns
        numerical = set(metadata.numerical_features)
        self.slots = [(columns.index(name), name, name in numerical) for name in features]
        self.choice = columns.index(CHOICE)
        self.feedback = columns.index(FEEDBACK)

    def read(self, file: IO[str], dirt: Dirt, skip_bad_rows: bool) -> Iterator[tuple[tuple[Value, ...], str, float]]:
        """Reads all rows; the head was read before.

        Raises:
            LogError: A row is malformed, and such rows are not to be skipped.

        """
        lines = enumerate(file, start=3)
        try:
            for number, line in lines:
                line = line.rstrip("\r\n")
                if not line.strip():
                    dirt.blank_lines += 1
                    continue
                try:
                    yield self._row(line)
                except _Fault as fault:
                    error = f"{self.path}, line {number}{fault.args[0]}; {SKIP_HINT}"
                    if not skip_bad_rows:
                        raise LogError(error) from None
                    dirt.bad_rows += 1
                    if len(dirt.examples) < 5:
                        dirt.examples.append(error)
        except UnicodeDecodeError as error:
            raise LogError(f"{self.path}: expected text in UTF-8, found {error}; is this a log?") from error
        except EOFError as error:
            raise LogError(f"{self.path}: the gzip file is cut short; fetch it again") from error

    def _row(self, line: str) -> tuple[tuple[Value, ...], str, float]:
        try:
            fields = text.split(line)
        except ValueError as error:
            raise _Fault(f": expected a closed quote, found {error}") from error
        if len(fields) != len(self.columns):
            raise _Fault(f": expected {len(self.columns)} fields, found {len(fields)}")
        values: list[Any] = []
        for slot, name, numerical in self.slots:
            found: Any = fields[slot]
            if numerical:
                found = text.parse_number(fields[slot])
                if found is None:
                    raise _Fault(f", column {name!r}: expected a number, found {fields[slot]!r}")
            values.append(found)
        choice = fields[self.choice]
        if not choice:
            raise _Fault(f", column {CHOICE!r}: expected a choice's name, found nothing")
        feedback = text.parse_number(fields[self.feedback])
        if feedback is None or feedback <= 0:
            raise _Fault(
                f", column {FEEDBACK!r}: expected a time in milliseconds above 0, or inf, "
                f"found {fields[self.feedback]!r}"
            )
        return tuple(values), choice, float(feedback)


class _Fault(Exception):
    """Why a row cannot be read."""
