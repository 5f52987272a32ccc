"""Reads a log: ``docs/log-format.md`` has the format. ``ah-collect`` and ``ah-train import`` write them."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import math
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Union

from .errors import LogError, shown

CHOICE, FEEDBACK = "choice", "feedback"
GZIP = b"\x1f\x8b"
Value = Union[int, float, str]
"""A feature's value: a number, or the text of a category."""


class Log:
    """The timings of one optimization, in milliseconds; ``inf`` where a choice failed."""

    def __init__(self, metadata: dict[str, Any], features: list[str]):
        """A log without rows; ``features`` are in the order of the columns."""
        self.metadata, self.features = metadata, features
        self.name = str(metadata["name"])
        """The optimization."""
        self._numerical = {*metadata["numerical_features"]}
        self._inputs: dict[tuple[Value, ...], dict[str, list[float]]] = {}

    @property
    def choices(self) -> list[str]:
        """All choices, sorted: those of the metadata and those of the rows."""
        return sorted({*(self.metadata.get("choices") or ()), *(c for times in self._inputs.values() for c in times)})

    def inputs(self) -> dict[tuple[Value, ...], dict[str, list[float]]]:
        """Returns, by input (the values of ``features``), the times of each choice."""
        return self._inputs

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Log:
        """Reads a log, plain or gzip.

        Raises:
            LogError: It is malformed; with file, line, expected and found.
            OSError: The file cannot be read.
        """
        with open(path, "rb") as file:
            is_packed = file.read(2) == GZIP
        with (gzip.open if is_packed else open)(path, "rt", encoding="utf-8", newline="") as lines:
            at = 1
            try:
                metadata = json.loads(lines.readline())
                rows = csv.DictReader(lines, strict=True)
                at, columns = 2, list(rows.fieldnames or ())
                log = cls(metadata, [column for column in columns if column not in (CHOICE, FEEDBACK)])
                wanted = [*metadata["numerical_features"], *metadata["categorical_features"], CHOICE, FEEDBACK]
                if sorted(columns) != sorted(wanted):
                    raise ValueError(f"expected each of the columns {', '.join(wanted)} once")
                for row in rows:
                    at = rows.line_num + 1
                    log._add(row)
            except (ValueError, KeyError, TypeError, StopIteration, EOFError, csv.Error) as error:
                found = shown(error)
                raise LogError(f"{os.fspath(path)}, line {at}: expected a log of AutoHeuristic ({found})") from error
        return log

    def write(self, path: str | os.PathLike[str], choices: Collection[str]) -> None:
        """Writes a log with the times of these choices alone.

        Raises:
            OSError: The file cannot be written.
        """
        with open(path, "w", newline="", encoding="utf-8") as file:
            file.write(json.dumps({**self.metadata, "choices": sorted(choices)}, separators=(",", ":")) + "\n")
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow([*self.features, CHOICE, FEEDBACK])
            for values, times in self._inputs.items():
                rows.writerows([*values, name, ms] for name, found in times.items() if name in choices for ms in found)

    def _add(self, row: dict[Any, Any]) -> None:
        # Fields that are missing are None; those beyond the columns are a list under None.
        found = sum(len(field) if name is None else field is not None for name, field in row.items())
        if found != len(self.features) + 2:
            raise ValueError(f"expected {len(self.features) + 2} fields, found {found}")
        values = tuple(_number(row[name]) if name in self._numerical else row[name] for name in self.features)
        ms = float(_number(row[FEEDBACK]))
        if not ms > 0:
            raise ValueError(f"expected a time in milliseconds above 0, or inf, found {row[FEEDBACK]!r}")
        self._inputs.setdefault(values, {}).setdefault(row[CHOICE], []).append(ms)


def _number(text: str) -> int | float:
    value = float(text or "nan")
    if math.isnan(value):
        return math.nan  # Missing. One object, so that inputs that lack the same numbers are equal.
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def json_lines(path: Path, begin: int = 0) -> Iterator[dict[str, Any]]:
    """The objects of a file that has one on each line, from this byte on; not those of torn lines."""
    for line in path.read_bytes()[begin:].splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found
