"""Appending to a log so that a crash costs at most the input in hand and two processes never interleave lines.

One input is one write of whole lines under an exclusive lock (``flock``, as the Rust tools take it). A crash can
leave a last line without its end; opening cuts it off and warns.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from ..errors import AutoHeuristicWarning, LogError
from . import text
from .metadata import Metadata
from .reader import CHOICE, FEEDBACK, GZIP, Dirt, PathLike, Rows, open_text, read_head

try:
    import fcntl
except ImportError:  # Windows: the writes are still whole lines, but nothing keeps two writers apart.
    fcntl = None  # type: ignore[assignment]

HINT = "write to another file, or run with what the log was begun with"


class LogWriter:
    """A log open for appending. Use it as a context manager, or ``close`` it."""

    def __init__(self, path: PathLike, metadata: Metadata):
        """Opens the log at ``path``, or makes it with this metadata.

        Raises:
            MetadataError: The log there is of another run; the message names each key that differs.
            LogError: The file is not a log.
            OSError: The file cannot be opened or written.

        """
        self.path = os.fspath(path)
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        self._file: BinaryIO = open(self.path, "a+b", buffering=0)  # noqa: SIM115 (held open)
        self.features = metadata.features
        try:
            with self._locked():
                self._begin(metadata)
        except BaseException:
            self._file.close()
            raise

    def append(self, features: Mapping[str, Any], samples: Iterable[tuple[str, float]]) -> None:
        """Appends the samples of one input: (choice, milliseconds), infinite for a failure."""
        prefix = [text.value(features[name]) for name in self.features]
        lines = [text.row([*prefix, choice, text.number(ms)]) + "\n" for choice, ms in samples]
        with self._locked():
            # Another process may have been killed in the middle of its write since the log was opened.
            self._cut_torn_line()
            self._write("".join(lines))

    def inputs(self, features: list[str] | None = None) -> dict[str, dict[str, list[float]]]:
        """Returns the inputs that the log holds, each with the times of each choice.

        An input is the text of its features as it stands in a row, or in the order of ``features``.
        """
        table: dict[str, dict[str, list[float]]] = {}
        with self._locked(), open_text(self.path) as file:
            metadata, columns = read_head(file, self.path)
            for values, choice, ms in Rows(metadata, columns, features or self.features, self.path).read(
                file, Dirt(), False
            ):
                key = text.row(map(text.value, values))
                table.setdefault(key, {}).setdefault(choice, []).append(ms)
        return table

    def key(self, features: Mapping[str, Any]) -> str:
        """Returns the features' text as it stands in a row: the identity of an input."""
        return text.row(text.value(features[name]) for name in self.features)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _begin(self, metadata: Metadata) -> None:
        head = metadata.to_json() + "\n" + text.row([*self.features, CHOICE, FEEDBACK]) + "\n"
        self._file.seek(0)
        begin = self._file.read(len(head.encode()))
        if len(begin) < len(head.encode()) and head.encode().startswith(begin):
            # An empty file, or the part of a head that a crash left.
            self._file.truncate(0)
            self._write(head)
            return
        if begin.startswith(GZIP):
            raise LogError(f"{self.path}: it is packed with gzip; unpack it, or write to another file")
        with open_text(self.path) as file:
            found, columns = read_head(file, self.path)
        found.agree(metadata, self.path, HINT)
        self.features = [column for column in columns if column not in (CHOICE, FEEDBACK)]
        if torn := self._cut_torn_line():
            warnings.warn(f"{self.path}: cut off a torn last line: {torn!r}", AutoHeuristicWarning, stacklevel=4)

    def _cut_torn_line(self) -> str:
        """Cuts off what stands behind the last line end, and returns it."""
        end = self._file.seek(0, os.SEEK_END)
        tail, start = b"", end
        while start > 0 and b"\n" not in tail:
            step = min(start, 65536)
            start -= step
            self._file.seek(start)
            tail = self._file.read(step) + tail
        torn = tail[tail.rfind(b"\n") + 1 :]
        if torn:
            self._file.truncate(end - len(torn))
        return torn.decode(errors="replace")

    def _write(self, lines: str) -> None:
        data = lines.encode()
        while data:
            data = data[self._file.write(data) :]
