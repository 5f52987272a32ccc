"""``autoheuristic fleet``: measures the shards of one seeded sequence on the nodes of a Ray cluster.

Each shard is a Ray task that runs ``ah-collect`` and yields the new lines of its log every second; this process appends
them to a copy. A shard whose node dies starts on another node with the lines of that copy. There are more shards than
devices: a device that is done takes the next shard, so a slow node delays one shard, not a fixed part of the work.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from .errors import ConfigError, MeasureError
from .tools import say

USAGE, OTHER_RUN = 2, 3
"""Exit codes of ``ah-collect``: wrong flags, which no other node repairs; the log of another run or device."""
TRIES = 3
"""A shard that fails so often is given up. A lost node is no failure of the shard."""


@dataclass
class Shard:
    """A part of the sequence: the copies of its files, and what is known of its measuring."""

    files: list[Path]
    state: str = "waits"
    node: str = ""
    rows: int = 0
    starts: int = 0
    failures: int = 0
    began: float = 0.0
    ended: float = 0.0

    def measured(self) -> list[bytes]:
        """The whole lines of the copies, and cuts off what an append that failed halfway left there."""
        for file in self.files:
            with file.open("ab") as copy:
                copy.truncate(len(_lines_after(file, 0)))
        self.rows = max(self.files[0].read_bytes().count(b"\n") - 2, 0)
        return [file.read_bytes() for file in self.files]

    def take(self, node: str, new: list[bytes] | None) -> None:
        """Keeps what a task yielded. Without lines, what another kind of device measured is set aside by its name."""
        if self.state != "runs":
            self.state, self.node, self.starts = "runs", node, self.starts + 1
            self.began = self.began or time.time()
        if new is None:
            kind = device(self.files[0])
            for file in self.files:
                file.rename(file.with_name(file.name.replace(".txt", f".{kind}.txt", 1)))
            self.rows, new = 0, [b"" for _ in self.files]
        self.rows += new[0].count(b"\n")
        for file, lines in zip(self.files, new):
            with file.open("ab") as copy:
                copy.write(lines)


def _files(log: Path) -> list[Path]:
    """The files of a shard, the log first: the outcomes of an input never come after its rows."""
    return [log, log.with_name(f"{log.name}.outcomes.jsonl")]


def _lines_after(file: Path, size: int) -> bytes:
    """The whole lines of a growing file behind its first `size` bytes."""
    with file.open("rb") as stream:
        stream.seek(size)
        found = stream.read()
    return found[: found.rfind(b"\n") + 1]


def device(log: Path) -> str:
    """The name of the device that a log was measured on, as a part of a file name."""
    with log.open("rb") as lines:
        identity = json.loads(lines.readline() or b"{}").get("autoheuristic_rs", {}).get("device", {})
    return re.sub(r"[^A-Za-z0-9]+", "-", str(identity.get("name") or identity.get("model") or "device")).strip("-")


def _end_with_parent() -> None:
    """A collector whose Ray worker is killed must not measure beside its successor (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def measure(words: list[str], begun: list[bytes], hang_seconds: float) -> Iterator[tuple[str, list[bytes] | None]]:
    """Measures one shard on the node on which Ray runs this task, from what was measured before.

    Yields the node, with the new lines of each file; with ``None`` where the shard begins anew on this kind of device.

    Raises:
        ConfigError: ``ah-collect`` refuses its flags.
        MeasureError: It failed, or its log did not grow for `hang_seconds`.
    """
    node = ray.util.get_node_ip_address()
    yield node, [b"" for _ in begun]
    with tempfile.TemporaryDirectory(prefix="autoheuristic-") as folder, tempfile.TemporaryFile() as talk:
        files = _files(Path(folder) / "shard.txt")
        for file, content in zip(files, begun):
            file.write_bytes(content)
        sizes = [len(content) for content in begun]
        command = [*words, "--output", str(files[0])]
        process = subprocess.Popen(command, stdout=talk, stderr=talk, preexec_fn=_end_with_parent)
        grew, code = time.monotonic(), None
        try:
            while code is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(1.0)
                new = [_lines_after(file, size) for file, size in zip(files, sizes)]
                if any(new):
                    sizes = [size + len(lines) for size, lines in zip(sizes, new)]
                    grew = time.monotonic()
                    yield node, new
                elif time.monotonic() - grew > hang_seconds:
                    raise MeasureError(f"hung: its log did not grow for {hang_seconds:.0f} s")
        finally:
            process.kill()
        talk.seek(0)
        said = talk.read().decode(errors="replace")
    if code == OTHER_RUN and begun[0]:
        yield node, None
        yield from measure(words, [b"" for _ in begun], hang_seconds)
    elif code:
        reason = " ".join(said[said.rfind("error:") if "error:" in said else -500 :][:500].split())
        raise (ConfigError if code == USAGE else MeasureError)(f"ah-collect ended with {code}: {reason}")


def fleet(command: Sequence[str], folder: Path, count: int, hang_seconds: float, resources: dict[str, Any]) -> int:
    """Measures all shards on Ray's cluster, merges their logs, and returns the exit code: 5 where one was given up.

    Raises:
        ConfigError: The command lacks ``--draws``, has flags that each task gets, or ``ah-collect`` refuses it.
    """
    flags = {word.partition("=")[0] for word in command}
    if "--draws" not in flags or flags & {"--shard", "-o", "--output"}:
        raise ConfigError(f"expected ah-collect … --draws N, without --shard and -o; found {' '.join(command)}")
    folder.mkdir(parents=True, exist_ok=True)
    # Ray's own retries do not distinguish a lost node from a collector that fails.
    task = ray.remote(max_retries=0, num_returns="streaming", **resources)(measure)
    shards = [Shard(_files(folder / f"shard.{number + 1}-of-{count}.txt")) for number in range(count)]

    def start(at: int) -> Any:
        return task.remote([*command, "--shard", f"{at + 1}/{count}"], shards[at].measured(), hang_seconds)

    tasks, said = {start(at): at for at in range(count)}, time.monotonic()
    while tasks:
        for news in ray.wait(list(tasks), num_returns=len(tasks), timeout=1.0)[0]:
            shard = shards[at := tasks[news]]
            try:
                shard.take(*ray.get(next(news)))
                continue
            except StopIteration:
                shard.state = "done"
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, ConfigError):
                    raise error.cause from None
                shard.state, shard.failures = f"failed: {error.cause}", shard.failures + 1
            except ray.exceptions.RayError:
                shard.state = "lost"
            del tasks[news]
            shard.ended = time.time()
            if shard.state != "done" and shard.failures < TRIES:
                say(f"shard {at + 1}: {shard.state}; it starts again on a free device")
                tasks[start(at)] = at
        if time.monotonic() - said > 10.0 or not tasks:
            said, states = time.monotonic(), Counter(shard.state for shard in shards)
            say(f"{states['done']} of {count} shards done, {states['runs']} run; {sum(s.rows for s in shards)} rows")
    print(f"{'shard':>5}  {'rows':>7}  {'seconds':>7}  {'starts':>6}  {'node':<15}  {'device':<24}  state")
    for at, shard in enumerate(shards):
        counts = f"{at + 1:>5}  {shard.rows:>7}  {shard.ended - shard.began:>7.0f}  {shard.starts:>6}"
        print(f"{counts}  {shard.node:<15}  {device(shard.files[0])[:24]:<24}  {shard.state}")
    for log in merge(folder, count):
        print(f"log: {log}")
    return 0 if states["done"] == count else MeasureError.exit_code


def merge(folder: Path, count: int) -> list[Path]:
    """Writes one log for each kind of device, beside the shards: their rows, in the order of the shards."""
    merged: list[Path] = []
    for number in range(1, count + 1):
        for log in sorted(folder.glob(f"shard.{number}-of-{count}*.txt")):
            if lines := log.read_bytes().splitlines(keepends=True):
                of_kind = folder / f"{device(log)}.txt"
                is_first = of_kind not in merged
                with of_kind.open("wb" if is_first else "ab") as out:
                    out.writelines(lines if is_first else lines[2:])
                merged += [of_kind] * is_first
    return merged
