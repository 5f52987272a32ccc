"""The log of an attached kernel, which grows by one input at a time.

An input is one write of whole lines under an exclusive lock (``flock``, as the Rust tools take it), so a crash costs at
most the input in hand, and two processes never interleave lines. The reasons of failures are kept beside the log.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .. import device, text
from ..errors import AutoHeuristicWarning, LogError, MetadataError
from ..log import GZIP, OURS, Log, line, read_metadata
from ..outcome import Outcome

try:
    import fcntl
except ImportError:  # Windows: the writes are still whole lines, but nothing keeps two writers apart.
    fcntl = None  # type: ignore[assignment]

TOOL = "autoheuristic-python 0.1.0"
Inputs = dict[tuple[text.Value, ...], dict[str, list[float]]]


class Recorder:
    """A log that a running program appends to."""

    def __init__(self, path: Path, name: str, timing: Mapping[str, Any] | None):
        """The log is made by the first input, which shows the kinds of the features.

        ``timing`` is the timing policy; ``None`` where the package measures by its own clock.
        """
        self.path, self._name, self._timing = path, name, timing
        self._log: Log | None = None
        self._known: Inputs = {}

    def known(self, features: Mapping[str, Any], choices: Sequence[str]) -> dict[str, Outcome]:
        """Returns what the log holds of this input.

        Raises:
            LogError: The log at this path is of another run, or the input does not fit it.
            OSError: The file cannot be opened.

        """
        log = self._log or self._begin(features, choices)
        for name in log.features:
            if name not in features:
                raise LogError(f"{self.path}: the log has the feature {name!r}, which this call lacks; use another log")
            if (name in log.metadata["numerical_features"]) != text.is_number(features[name]):
                kind = "number" if name in log.metadata["numerical_features"] else "category"
                raise LogError(f"{self.path}: {name!r} is a {kind} there, found {features[name]!r}; use another log")
        times = self._known.get(_key(log, features), {})
        failed = Outcome(reason="failed when the log was written")
        return {choice: failed if ms[0] == float("inf") else Outcome(ms) for choice, ms in times.items()}

    def inputs(self) -> Collection[Mapping[str, list[float]]]:
        """Returns the times of each input in the log; none before ``known`` was asked."""
        return self._known.values()

    def add(self, features: Mapping[str, Any], outcomes: Mapping[str, Outcome]) -> None:
        """Appends an input; ``known`` was asked before."""
        assert self._log is not None
        key = _key(self._log, features)
        rows = {choice: outcome.rows or [float("inf")] for choice, outcome in outcomes.items()}
        with _locked(self.path) as file:
            # Another process may have been killed in the middle of its write.
            _cut_torn_line(file)
            _write(file, "".join(line(key, choice, ms) for choice, times in rows.items() for ms in times))
        self._known[key] = rows
        shown = text.row(map(text.value, key))
        failures = [
            json.dumps({"input": shown, "choice": choice, "outcome": "failed", "reason": outcome.reason}) + "\n"
            for choice, outcome in outcomes.items()
            if outcome.reason is not None
        ]
        if failures:
            with open(f"{self.path}.outcomes.jsonl", "ab", buffering=0) as beside:
                beside.write("".join(failures).encode())

    def _begin(self, features: Mapping[str, Any], choices: Sequence[str]) -> Log:
        identity = device.current()
        numerical = [name for name, value in features.items() if text.is_number(value)]
        log = Log(self._name, numerical, [name for name in features if name not in numerical])
        log.metadata.update(
            shared_memory=identity["shared_memory"],
            device_capa=list(identity["capability"][:2]),
            choices=sorted(choices),
        )
        timing = {} if self._timing is None else {"timing": dict(self._timing)}
        log.metadata[OURS] = {"format": 1, "device": identity, **timing, "seed": 0, "tool": TOOL}
        begin_log(self.path, log)
        found = Log.read(self.path)
        self._log, self._known = found, found.inputs()
        return found


def begin_log(path: Path, log: Log) -> None:
    """Writes the head of a log, or checks that the log at this path may take rows of this one, and mends its end.

    Raises:
        MetadataError: The log there is of another run; the message names each key that differs.
        LogError: The file is not a log.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path) as file:
        head = log.head().encode()
        file.seek(0)
        begin = file.read(len(head))
        if len(begin) < len(head) and head.startswith(begin):
            # An empty file, or the part of a head that a crash left.
            file.truncate(0)
            _write(file, head.decode())
            return
        if begin.startswith(GZIP):
            raise LogError(f"{path}: it is packed with gzip; unpack it, or write to another file")
        file.seek(0)
        found = read_metadata(file.readline().decode(errors="replace"), str(path))
        if differences := list(_differences("", *_comparable(found, log.metadata))):
            raise MetadataError(
                f"{path}: the metadata differ in {'; '.join(differences)}; "
                "write to another file, or run with what the log was begun with"
            )
        if torn := _cut_torn_line(file):
            warnings.warn(f"{path}: cut off a torn last line: {torn!r}", AutoHeuristicWarning, stacklevel=3)


def _key(log: Log, features: Mapping[str, Any]) -> tuple[text.Value, ...]:
    """Returns the values of an input as reading the log returns them."""
    numerical = log.metadata["numerical_features"]
    values = ((name, text.value(features[name])) for name in log.features)
    return tuple(text.parse_number(value) if name in numerical else value for name, value in values)  # type: ignore[misc]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    with open(path, "a+b", buffering=0) as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file  # Closing the file ends the lock.


def _write(file: BinaryIO, lines: str) -> None:
    data = lines.encode()
    while data:
        data = data[file.write(data) :]


def _cut_torn_line(file: BinaryIO) -> str:
    """Cuts off what stands behind the last line end, and returns it."""
    end = file.seek(0, os.SEEK_END)
    tail, start = b"", end
    while start > 0 and b"\n" not in tail:
        step = min(start, 65536)
        start -= step
        file.seek(start)
        tail = file.read(step) + tail
    torn = tail[tail.rfind(b"\n") + 1 :]
    if torn:
        file.truncate(end - len(torn))
    return torn.decode(errors="replace")


def _comparable(*metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns what must agree: lists of features as sets, choices and timing policy only where all give one."""
    found: list[dict[str, Any]] = [json.loads(json.dumps(each)) for each in metadata]
    for each in found:
        for kind in ("numerical_features", "categorical_features"):
            each[kind].sort()
        if not all(other.get("choices") for other in metadata):
            each.pop("choices", None)
        ours = each.get(OURS) or {}
        ours.pop("tool", None)
        # A program may add its own timings to a log of a collector.
        if not all((other.get(OURS) or {}).get("timing") for other in metadata):
            ours.pop("timing", None)
    return found


def _differences(key: str, log: Any, other: Any) -> Iterator[str]:
    if isinstance(log, dict) and isinstance(other, dict):
        for name in sorted({*log, *other}):
            yield from _differences(f"{key}.{name}" if key else name, log.get(name), other.get(name))
    elif log != other:
        shown = ["absent" if value is None else json.dumps(value) for value in (log, other)]
        yield f"{key} (log: {shown[0]}, other: {shown[1]})"
