"""A log in memory."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Union

from ..errors import LogError
from . import text
from .metadata import Metadata
from .reader import CHOICE, FEEDBACK, Dirt, PathLike, Rows, open_text, read_head
from .text import Value

Times = Union[float, Sequence[float]]


class Row(NamedTuple):
    """One timing."""

    features: dict[str, Value]
    choice: str
    feedback: float
    """Milliseconds; infinite where the choice failed."""


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
        self.metadata = Metadata(name, list(numerical), list(categorical))
        self.features: list[str] = self.metadata.features
        """The features in the order of the columns."""
        self.dirt = Dirt()
        """What reading passed over."""
        self._rows: list[tuple[tuple[Value, ...], str, float]] = []
        for column in (CHOICE, FEEDBACK):
            if column in self.features:
                raise LogError(f"{column!r} is the name of a column of every log; rename the feature")

    @property
    def name(self) -> str:
        """The optimization."""
        return self.metadata.name

    @property
    def choices(self) -> list[str]:
        """All choices, sorted: those of the metadata and those of the rows."""
        return sorted({*(self.metadata.choices or ()), *(choice for _, choice, _ in self._rows)})

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (Row(dict(zip(self.features, values)), choice, ms) for values, choice, ms in self._rows)

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
        numerical = set(self.metadata.numerical_features)
        values: list[Value] = []
        for name in self.features:
            value = _plain(features[name])
            if name not in numerical:
                value = str(value)
            elif not text.is_number(value) or math.isnan(value):
                raise LogError(f"the feature {name!r}: expected a number, found {features[name]!r}")
            values.append(value)
        return tuple(values)

    # Files

    @classmethod
    def read(cls, *paths: PathLike, skip_bad_rows: bool = False) -> Log:
        """Reads one log, or several with the same metadata as one; plain or gzip.

        Raises:
            LogError: With file, line, column, expected and found.
            MetadataError: The files do not belong together.
            OSError: A file cannot be read.

        """
        if not paths:
            raise LogError("expected at least one path, found none")
        log: Log | None = None
        for path in paths:
            shown = os.fspath(path)
            with open_text(path) as file:
                metadata, columns = read_head(file, shown)
                if log is None:
                    log = cls.__new__(cls)
                    log.metadata, log.dirt, log._rows = metadata, Dirt(), []
                    log.features = [c for c in columns if c not in (CHOICE, FEEDBACK)]
                else:
                    hint = "logs of different devices or features cannot be merged; learn from each alone"
                    log.metadata.agree(metadata, shown, hint, ignore=("autoheuristic_rs.seed", "choices"))
                rows = Rows(metadata, columns, log.features, shown)
                log._rows.extend(rows.read(file, log.dirt, skip_bad_rows))
        assert log is not None
        return log

    def write(self, path: PathLike) -> None:
        """Writes the whole log to a new file; a path that ends in ``.gz`` is packed.

        The file is complete or absent: it is written beside its place and then moved there.
        """
        path = os.fspath(path)
        beside = f"{path}.{os.getpid()}.tmp"
        # Without a time stamp, so that the same log gives the same bytes.
        with open(beside, "wb") as raw:
            packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.endswith(".gz") else raw
            packed.write(self._text().encode())
            if packed is not raw:
                packed.close()
        os.replace(beside, path)

    def _text(self) -> str:
        head = Metadata(**{**vars(self.metadata), "choices": self.choices})
        lines = [head.to_json(), text.row([*self.features, CHOICE, FEEDBACK])]
        lines += (text.row([*map(text.value, v), choice, text.number(ms)]) for v, choice, ms in self._rows)
        return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """Returns the Python number of a numpy scalar, and anything else as it is."""
    item = getattr(value, "item", None)
    return item() if callable(item) else value
