"""``autoheuristic fleet``: measures the shards of one seeded sequence on the nodes of a Ray cluster.

Each shard is a Ray task that runs ``ah-collect`` and sends the new lines of its log to the `Shelf` on the driver's node
every second. A shard whose node dies starts on another node with the lines that were sent. There are more shards than
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
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as OnNode

from .errors import INTERRUPTED, MeasureError, UsageError
from .tools import say

USAGE, OTHER_RUN = 2, 3
"""Exit codes of ``ah-collect``: wrong flags, which no other node repairs; the log of another run or device."""
TRIES = 3
"""A shard that fails so often is given up. A lost node is no failure of the shard."""
SUFFIXES = ("", ".outcomes.jsonl")
"""The files of a shard, the log first: the outcomes of an input never come after its rows."""


@dataclass
class Shard:
    """A part of the sequence, and what is known of its measuring."""

    number: int
    attempt: str = ""
    state: str = "waits"
    node: str = ""
    device: str = ""
    rows: int = 0
    starts: int = 0
    failures: int = 0
    began: float = 0.0
    seconds: float = 0.0


class Shelf:
    """Keeps the logs of all shards in a folder of the driver's node, and takes lines of the newest attempt alone."""

    def __init__(self, folder: str, count: int) -> None:
        self.shards = [Shard(number + 1) for number in range(count)]
        self.logs = [Path(folder) / f"shard.{number + 1}-of-{count}.txt" for number in range(count)]

    def begin(self, at: int, attempt: str, node: str) -> list[bytes]:
        """Starts an attempt, which ends all earlier ones of this shard. Returns the files to go on from."""
        shard = self.shards[at]
        shard.attempt, shard.node, shard.state, shard.starts = attempt, node, "runs", shard.starts + 1
        shard.began = shard.began or time.time()
        self._look(at)
        return [file.read_bytes() if file.exists() else b"" for file in _files(self.logs[at])]

    def append(self, at: int, attempt: str, sent: Sequence[int], lines: Sequence[bytes]) -> bool:
        """Adds lines to the files of a shard. Returns whether this attempt is still the one that counts."""
        if self.shards[at].attempt != attempt:
            return False
        for file, size, new in zip(_files(self.logs[at]), sent, lines):
            with file.open("ab") as out:
                out.truncate(size)  # What an append that failed halfway left there.
                out.write(new)
        self._look(at)
        return True

    def set_aside(self, at: int) -> None:
        """Keeps what another kind of device measured of the shard, under that device's name."""
        for file in filter(Path.exists, _files(self.logs[at])):
            file.rename(file.with_name(file.name.replace(".txt", f".{self.shards[at].device}.txt", 1)))

    def end(self, at: int, state: str) -> list[Shard]:
        """Notes how an attempt ended. Returns what is known of all shards."""
        shard = self.shards[at]
        shard.state, shard.seconds = state, time.time() - shard.began
        shard.failures += state.startswith("failed")
        return self.shards

    def table(self) -> list[Shard]:
        """What is known of all shards."""
        return self.shards

    def _look(self, at: int) -> None:
        log = self.logs[at]
        if log.exists():
            self.shards[at].rows = max(log.read_bytes().count(b"\n") - 2, 0)
            self.shards[at].device = device(log)


def _files(log: Path) -> list[Path]:
    return [log.with_name(log.name + suffix) for suffix in SUFFIXES]


def _lines_after(file: Path, size: int) -> bytes:
    """The whole lines of a growing file behind its first `size` bytes."""
    if not file.exists():
        return b""
    with file.open("rb") as stream:
        stream.seek(size)
        found = stream.read()
    return found[: found.rfind(b"\n") + 1]


def device(log: Path) -> str:
    """The name of the device that a log was measured on, as a part of a file name."""
    with log.open("rb") as lines:
        identity = json.loads(lines.readline()).get("autoheuristic_rs", {}).get("device", {})
    return re.sub(r"[^A-Za-z0-9]+", "-", str(identity.get("name") or identity.get("model") or "device")).strip("-")


def _end_with_parent() -> None:
    """A collector whose Ray worker is killed must not measure beside its successor (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def measure(shelf: Any, at: int, count: int, command: Sequence[str], hang_seconds: float) -> None:
    """Measures one shard on the node on which Ray runs this task.

    Raises:
        UsageError: ``ah-collect`` refuses its flags.
        MeasureError: It failed, or its log did not grow for `hang_seconds`.
    """
    attempt = uuid.uuid4().hex
    begun = ray.get(shelf.begin.remote(at, attempt, ray.util.get_node_ip_address()))
    with tempfile.TemporaryDirectory(prefix="autoheuristic-") as folder:
        log, talk = Path(folder) / "shard.txt", Path(folder) / "talk"
        for file, content in zip(_files(log), begun):
            if content:
                file.write_bytes(content)
        sent = [len(content) for content in begun]
        words = [*command, "--shard", f"{at + 1}/{count}", "--output", str(log)]
        with talk.open("wb") as stream:
            process = subprocess.Popen(words, stdout=stream, stderr=stream, preexec_fn=_end_with_parent)
        grew = time.monotonic()
        try:
            while True:
                code = process.poll()
                new = [_lines_after(file, size) for file, size in zip(_files(log), sent)]
                if any(new):
                    if not ray.get(shelf.append.remote(at, attempt, sent, new)):
                        return  # Another node has the shard by now.
                    sent = [size + len(lines) for size, lines in zip(sent, new)]
                    grew = time.monotonic()
                if code is not None:
                    break
                if time.monotonic() - grew > hang_seconds:
                    raise MeasureError(f"hung: its log did not grow for {hang_seconds:.0f} s")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)
        finally:
            process.kill()
        said = talk.read_text(errors="replace")
    if code == OTHER_RUN and begun[0]:
        ray.get(shelf.set_aside.remote(at))
        return measure(shelf, at, count, command, hang_seconds)
    if code:
        at_error = said.rfind("error:")
        reason = " ".join((said[-500:] if at_error < 0 else said[at_error:][:500]).split())
        raise (UsageError if code == USAGE else MeasureError)(f"ah-collect ended with {code}: {reason}")


def fleet(command: Sequence[str], folder: Path, count: int, hang_seconds: float, resources: dict[str, Any]) -> int:
    """Measures all shards on the cluster that Ray is connected to, and merges their logs.

    Returns the exit code: 5 where a shard was given up.

    Raises:
        UsageError: The command lacks ``--draws``, has flags that each task gets, or ``ah-collect`` refuses it.
    """
    flags = {word.partition("=")[0] for word in command}
    if "--draws" not in flags or flags & {"--shard", "-o", "--output"}:
        raise UsageError(f"expected ah-collect … --draws N, without --shard and -o; found {' '.join(command)}")
    folder.mkdir(parents=True, exist_ok=True)
    here = OnNode(ray.get_runtime_context().get_node_id(), soft=False)
    shelf = ray.remote(num_cpus=0, scheduling_strategy=here)(Shelf).remote(str(folder.resolve()), count)
    # Ray's own retries do not distinguish a lost node from a collector that fails.
    task = ray.remote(max_retries=0, **resources)(measure)
    tasks = {task.remote(shelf, at, count, list(command), hang_seconds): at for at in range(count)}
    said = 0.0
    try:
        while tasks:
            for ended in ray.wait(list(tasks), timeout=5.0)[0]:
                at, state = tasks.pop(ended), _state(ended)
                shard = ray.get(shelf.end.remote(at, state))[at]
                if state == "lost" or (state != "done" and shard.failures < TRIES):
                    say(f"shard {at + 1}: {state}; it starts again on a free device")
                    tasks[task.remote(shelf, at, count, list(command), hang_seconds)] = at
            if time.monotonic() - said > 10.0 or not tasks:
                said, table = time.monotonic(), ray.get(shelf.table.remote())
                states, rows = Counter(shard.state for shard in table), sum(shard.rows for shard in table)
                say(f"{states['done']} of {count} shards done, {states['runs']} run; {rows} rows")
    except KeyboardInterrupt:
        say(f"interrupted; the same command goes on from the logs in {folder}")
        return INTERRUPTED
    finally:
        for left in tasks:
            ray.cancel(left, force=True)
    print(shown(table))
    for log in merge(folder, count):
        print(f"log: {log}")
    return 0 if states["done"] == count else MeasureError.exit_code


def _state(ended: ray.ObjectRef) -> str:
    """How a task ended. Wrong flags end the fleet: they raise."""
    try:
        ray.get(ended)
    except UsageError as error:
        raise UsageError(str(getattr(error, "cause", error))) from None  # Ray's error is one of both classes.
    except ray.exceptions.RayTaskError as error:
        return f"failed: {error.cause}"
    except ray.exceptions.RayError:
        return "lost"
    return "done"


def merge(folder: Path, count: int) -> list[Path]:
    """Writes one log for each kind of device, beside the shards: their rows, in the order of the shards."""
    kinds: dict[str, list[Path]] = {}
    for number in range(1, count + 1):
        for log in sorted(folder.glob(f"shard.{number}-of-{count}*.txt")):
            kinds.setdefault(device(log), []).append(log)
    for kind, logs in kinds.items():
        new = folder / f".{kind}.new"
        with new.open("wb") as out:
            out.writelines(logs[0].read_bytes().splitlines(keepends=True)[:2])
            for log in logs:
                out.writelines(log.read_bytes().splitlines(keepends=True)[2:])
        new.replace(folder / f"{kind}.txt")
    return [folder / f"{kind}.txt" for kind in kinds]


def shown(table: Sequence[Shard]) -> str:
    """The table of shards that a person reads at the end."""
    lines = [f"{'shard':>5}  {'rows':>7}  {'seconds':>7}  {'starts':>6}  {'node':<15}  {'device':<24}  state"]
    for one in table:
        start = f"{one.number:>5}  {one.rows:>7}  {one.seconds:>7.0f}  {one.starts:>6}"
        lines.append(f"{start}  {one.node:<15}  {one.device[:24]:<24}  {one.state}")
    return "\n".join(lines)
