"""A log in memory, and as a file: ``docs/log-format.md`` has the format.

The first line is JSON, the second names the columns, each further line is one timing.
"""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Union

from . import text
from .errors import LogError
from .text import Value

CHOICE, FEEDBACK = "choice", "feedback"
OURS = "autoheuristic_rs"
"""The key of the device, the timing policy, the seed and the tool; PyTorch's readers pass it over."""
GZIP = b"\x1f\x8b"
PathLike = Union[str, "os.PathLike[str]"]
Times = Union[float, Sequence[float]]
RowOf = tuple[tuple[Value, ...], str, float]


class Log:
    """The timings of one optimization, as ``ah-train`` learns from them.

    >>> log = Log("softmax", numerical=["rows", "columns"], categorical=["dtype"])
    >>> log.add({"rows": 8, "columns": 1024, "dtype": "torch.float16"}, {"block=256": 0.011, "block=1024": 0.009})
    >>> log.choices
    ['block=1024', 'block=256']

    ``log.write("train.txt")`` writes it, and ``Log.read("train.txt")`` reads it.
    """

    def __init__(self, name: str, numerical: Iterable[str] = (), categorical: Iterable[str] = ()):
        """An empty log of an optimization with these features."""
        self.metadata: dict[str, Any] = {
            "name": name,
            "shared_memory": 0,
            "device_capa": [0, 0],
            "numerical_features": list(numerical),
            "categorical_features": list(categorical),
        }
        """The first line."""
        self.features: list[str] = [*self.metadata["numerical_features"], *self.metadata["categorical_features"]]
        """The features in the order of the columns."""
        self.skipped: list[str] = []
        """The errors of rows that reading passed over."""
        self._rows: list[RowOf] = []
        for column in (CHOICE, FEEDBACK):
            if column in self.features:
                raise LogError(f"{column!r} is the name of a column of every log; rename the feature")

    @property
    def name(self) -> str:
        """The optimization."""
        return str(self.metadata["name"])

    @property
    def choices(self) -> list[str]:
        """All choices, sorted: those of the metadata and those of the rows."""
        return sorted({*(self.metadata.get("choices") or ()), *(choice for _, choice, _ in self._rows)})

    @property
    def collection(self) -> dict[str, Any]:
        """The device, the timing policy, the seed and the tool; empty for a log of PyTorch."""
        return self.metadata.get(OURS) or {}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RowOf]:
        """Returns the rows: the values of the features, the choice, milliseconds."""
        return iter(self._rows)

    def inputs(self) -> dict[tuple[Value, ...], dict[str, list[float]]]:
        """Returns, by input (the values of ``features``), the times of each choice."""
        table: dict[tuple[Value, ...], dict[str, list[float]]] = {}
        for values, choice, feedback in self._rows:
            table.setdefault(values, {}).setdefault(choice, []).append(feedback)
        return table

    def add(self, features: Mapping[str, Any], times: Mapping[str, Times]) -> None:
        """Adds the times of one input: for each choice one, or several repetitions, in milliseconds.

        A choice that failed has the time ``math.inf``.

        Raises:
            LogError: A feature is missing or unknown or has the wrong kind, or a time is not above 0.

        """
        values = self._values(features)
        rows = []
        for choice, feedback in times.items():
            for ms in [feedback] if isinstance(feedback, (int, float)) else feedback:
                if math.isnan(ms) or ms <= 0:
                    raise LogError(
                        f"{choice!r} on {dict(features)}: expected a time in milliseconds above 0, or inf for a "
                        f"failure, found {ms}; leave out what was not measured"
                    )
                rows.append((values, str(choice), float(ms)))
        self._rows += rows

    def _values(self, features: Mapping[str, Any]) -> tuple[Value, ...]:
        if set(features) != set(self.features):
            raise LogError(
                f"expected a value for each of {', '.join(self.features)}, found {', '.join(map(str, features))}; "
                "name the features when the log is made"
            )
        values: list[Value] = []
        for name in self.features:
            value = _plain(features[name])
            if name not in self.metadata["numerical_features"]:
                value = str(value)
            elif not text.is_number(value) or math.isnan(value):
                raise LogError(f"the feature {name!r}: expected a number, found {features[name]!r}")
            values.append(value)
        return tuple(values)

    @classmethod
    def read(cls, path: PathLike, skip_bad_rows: bool = False) -> Log:
        """Reads a log, plain or gzip.

        Raises:
            LogError: With file, line, column, expected and found.
            OSError: The file cannot be read.

        """
        log, shown = cls(""), os.fspath(path)
        with _opened(path) as file:
            try:
                log.metadata = read_metadata(file.readline(), shown)
                columns = _columns(file.readline(), log.metadata, shown)
                log.features = [column for column in columns if column not in (CHOICE, FEEDBACK)]
                numerical = [column in log.metadata["numerical_features"] for column in columns]
                for number, line in enumerate(file, start=3):
                    try:
                        if line.strip():
                            log._rows.append(_row(line.rstrip("\r\n"), columns, numerical))
                    except ValueError as fault:
                        error = f"{shown}, line {number}{fault}; mend the row, or pass over it with skip_bad_rows=True"
                        if not skip_bad_rows:
                            raise LogError(error) from None
                        log.skipped.append(error)
            except UnicodeDecodeError as error:
                raise LogError(f"{shown}: expected text in UTF-8, found {error}; is this a log?") from error
            except EOFError as error:
                raise LogError(f"{shown}: the gzip file is cut short; fetch it again") from error
        return log

    def write(self, path: PathLike) -> None:
        """Writes the whole log to a new file; a path that ends in ``.gz`` is packed.

        The file is complete or absent: it is written beside its place and then moved there.
        """
        path = os.fspath(path)
        beside = f"{path}.{os.getpid()}.tmp"
        body = (self.head() + "".join(line(*row) for row in self._rows)).encode()
        # Without a time stamp, so that the same log gives the same bytes.
        with open(beside, "wb") as file:
            file.write(gzip.compress(body, mtime=0) if path.endswith(".gz") else body)
        os.replace(beside, path)

    def head(self) -> str:
        """Returns the first two lines."""
        metadata = {**self.metadata, "choices": self.choices}
        first = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return f"{first}\n{text.row([*self.features, CHOICE, FEEDBACK])}\n"


def line(values: Iterable[Value], choice: str, ms: float) -> str:
    """Returns one row, with its end."""
    return text.row([*map(text.value, values), choice, text.number(ms)]) + "\n"


def read_metadata(first: str, path: str) -> dict[str, Any]:
    """Reads the first line of a log.

    Raises:
        LogError: It is not one.

    """
    if not first:
        raise LogError(f"{path}, line 1: expected a line of JSON metadata, found an empty file")
    try:
        found: dict[str, Any] = json.loads(first)
        names = [*found["numerical_features"], *found["categorical_features"]]
        if not all(isinstance(name, str) for name in [found["name"], *names, *(found.get("choices") or ())]):
            raise TypeError("a name is no text")
        major, minor = found["device_capa"]
    except (ValueError, KeyError, TypeError) as error:
        raise LogError(
            f"{path}, line 1: expected a JSON object with name, device_capa, numerical_features and "
            f"categorical_features, found {first[:80]!r} ({type(error).__name__}: {error}); "
            "is this a log of AutoHeuristic?"
        ) from error
    if twice := [name for name in names if names.count(name) > 1]:
        raise LogError(f"{path}, line 1: expected distinct features, found {twice[0]!r} twice; rename one")
    return found


def _opened(path: PathLike) -> IO[str]:
    """Opens a log for reading; gzip is known by its first bytes, not by its name."""
    with open(path, "rb") as file:
        packed = file.read(2) == GZIP
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", newline="\n")
    return open(path, encoding="utf-8", newline="\n")


def _columns(header: str, metadata: Mapping[str, Any], path: str) -> list[str]:
    wanted = [*metadata["numerical_features"], *metadata["categorical_features"], CHOICE, FEEDBACK]
    try:
        found = text.split(header.rstrip("\r\n"))
    except ValueError as error:
        raise LogError(f"{path}, line 2: expected a CSV header, found {error}; close the quote") from error
    if sorted(found) != sorted(wanted):
        raise LogError(
            f"{path}, line 2: expected each of the columns {', '.join(wanted)} once, "
            f"found {', '.join(found)}; mend the header, or the features in line 1"
        )
    return found


def _row(line: str, columns: Sequence[str], numerical: Sequence[bool]) -> RowOf:
    """Reads a row.

    Raises:
        ValueError: It is malformed; the message begins with the column.

    """
    try:
        fields = text.split(line)
    except ValueError as error:
        raise ValueError(f": expected a closed quote, found {error}") from error
    if len(fields) != len(columns):
        raise ValueError(f": expected {len(columns)} fields, found {len(fields)}")
    values: list[Value] = []
    choice, ms = "", math.nan
    for column, is_number, field in zip(columns, numerical, fields):
        if column == CHOICE:
            choice = field
        elif column == FEEDBACK:
            ms = text.parse_number(field) or math.nan
            if not ms > 0:
                expected = "a time in milliseconds above 0, or inf"
                raise ValueError(f", column {FEEDBACK!r}: expected {expected}, found {field!r}")
        else:
            number = text.parse_number(field) if is_number else field
            if number is None:
                raise ValueError(f", column {column!r}: expected a number, found {field!r}")
            values.append(number)
    if not choice:
        raise ValueError(f", column {CHOICE!r}: expected a choice's name, found nothing")
    return tuple(values), choice, float(ms)


def _plain(value: Any) -> Any:
    """Returns the Python number of a numpy scalar, and anything else as it is."""
    item = getattr(value, "item", None)
    return item() if callable(item) else value
