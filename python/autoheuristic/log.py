"""Reads a log: ``docs/log-format.md`` has the format. ``ah-collect`` and ``ah-train import`` write them."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, Union

from .errors import LogError

CHOICE, FEEDBACK = "choice", "feedback"
GZIP = b"\x1f\x8b"
Value = Union[int, float, str]
"""A feature's value: a number, or the text of a category."""


class Log:
    """The timings of one optimization, in milliseconds; ``inf`` where a choice failed."""

    def __init__(self, metadata: dict[str, Any], features: list[str]):
        """A log without rows; ``features`` are in the order of the columns."""
        self.metadata, self.features = metadata, features
        self.skipped: list[str] = []
        """The errors of rows that reading passed over."""
        self._inputs: dict[tuple[Value, ...], dict[str, list[float]]] = {}

    @property
    def name(self) -> str:
        """The optimization."""
        return str(self.metadata["name"])

    @property
    def choices(self) -> list[str]:
        """All choices, sorted: those of the metadata and those of the rows."""
        return sorted({*(self.metadata.get("choices") or ()), *(c for times in self._inputs.values() for c in times)})

    def __len__(self) -> int:
        """Returns the number of rows."""
        return sum(len(ms) for times in self._inputs.values() for ms in times.values())

    def inputs(self) -> dict[tuple[Value, ...], dict[str, list[float]]]:
        """Returns, by input (the values of ``features``), the times of each choice."""
        return self._inputs

    @classmethod
    def read(cls, path: str | os.PathLike[str], skip_bad_rows: bool = False) -> Log:
        """Reads a log, plain or gzip.

        Raises:
            LogError: It is malformed; with file, line, expected and found.
            OSError: The file cannot be read.

        """
        shown = os.fspath(path)
        with _opened(path) as file:
            try:
                metadata = _metadata(file.readline(), shown)
                rows = csv.reader(file, strict=True)
                columns = next(rows, [])
                numerical = _columns(columns, metadata, shown)
                log = cls(metadata, [column for column in columns if column not in (CHOICE, FEEDBACK)])
                for number, row in _numbered(rows, shown):
                    try:
                        log._add(row, columns, numerical)
                    except ValueError as fault:
                        error = (
                            f"{shown}, line {number}: {fault}; mend the row, or pass over it with skip_bad_rows=True"
                        )
                        if not skip_bad_rows:
                            raise LogError(error) from None
                        log.skipped.append(error)
            except (UnicodeDecodeError, EOFError) as error:
                raise LogError(f"{shown}: expected whole text in UTF-8, found {error}; is this a log?") from error
        return log

    def _add(self, row: Sequence[str], columns: Sequence[str], numerical: Sequence[bool]) -> None:
        if len(row) != len(columns):
            raise ValueError(f"expected {len(columns)} fields, found {len(row)}")
        found = dict(zip(columns, row))
        values = tuple(
            _number(found[column]) if is_number else found[column]
            for column, is_number in zip(columns, numerical)
            if column not in (CHOICE, FEEDBACK)
        )
        ms = float(_number(found[FEEDBACK]))
        if not ms > 0:
            raise ValueError(f"expected a time in milliseconds above 0, or inf, found {found[FEEDBACK]!r}")
        self._inputs.setdefault(values, {}).setdefault(found[CHOICE], []).append(ms)


def _opened(path: str | os.PathLike[str]) -> IO[str]:
    """Opens a log for reading; gzip is known by its first bytes, not by its name."""
    with open(path, "rb") as file:
        packed = file.read(2) == GZIP
    return gzip.open(path, "rt", encoding="utf-8", newline="") if packed else open(path, encoding="utf-8", newline="")


def _metadata(first: str, path: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(first)
        if not all(isinstance(name, str) for name in (found["name"], *_features(found))):
            raise TypeError("a name is no text")
    except (ValueError, KeyError, TypeError) as error:
        raise LogError(
            f"{path}, line 1: expected a JSON object with name, numerical_features and categorical_features, "
            f"found {first[:80]!r} ({type(error).__name__}: {error}); is this a log of AutoHeuristic?"
        ) from error
    return found


def _features(metadata: dict[str, Any]) -> list[str]:
    return [*metadata["numerical_features"], *metadata["categorical_features"]]


def _columns(columns: Sequence[str], metadata: dict[str, Any], path: str) -> list[bool]:
    wanted = [*_features(metadata), CHOICE, FEEDBACK]
    if sorted(columns) != sorted(wanted) or len(set(columns)) < len(columns):
        raise LogError(
            f"{path}, line 2: expected each of the columns {', '.join(wanted)} once, found {', '.join(columns)}; "
            "mend the header, or the features in line 1"
        )
    return [column in metadata["numerical_features"] for column in columns]


def _numbered(rows: Any, path: str) -> Iterator[tuple[int, list[str]]]:
    """Returns the rows that are not blank, with the number of the line in the file."""
    try:
        yield from ((rows.line_num + 1, row) for row in rows if row and row != [""])
    except csv.Error as error:
        raise LogError(f"{path}, line {rows.line_num + 1}: expected a row of CSV, found {error}") from error


def _number(text: str) -> int | float:
    value = float(text)
    if math.isnan(value):
        raise ValueError("expected a number, found NaN")
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
