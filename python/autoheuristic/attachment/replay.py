"""Measures the calls of a journal: for each kernel, ``ah-collect`` with a worker that makes its calls again.

Also reports what attached kernels were asked: for each one the inputs, who chose, and the inputs that no log holds.
"""

from __future__ import annotations

import csv
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import tools
from ..environment import counted
from ..errors import INTERRUPTED, ConfigError, LogError, MeasureError
from ..log import Log
from . import calls
from .calls import key_of

ANSWERS = ("heuristic", "first", "package")
MOST_SHOWN = 3
LEAST_INPUTS = 10
"""A heuristic needs so many."""
Lines = Mapping[str, Sequence[Mapping[str, Any]]]
"""By kernel, the lines of the journal to measure."""
COMPILING_SHARE = 1 / 2
"""The share of a kernel's time after which no configuration begins to compile: the others are left out."""
DEVICE_NAME = "from autoheuristic import device, environment; print(environment.file_name(device.current()['name']))"


def replay(folder: Path, max_seconds: float) -> int:
    """Measures what no heuristic decided and no log holds, kernel by kernel; returns the exit code of ``ah-collect``.

    A kernel that has too few inputs to learn from when the time is over goes on until it has enough.

    Raises:
        ConfigError: There is no journal of this device, or a tool is missing.
    """
    journal = _journal(folder.resolve())
    inputs, reasons = {}, {}
    for stem, lines in calls.to_measure(journal).items():
        can = [line for line in lines if line.get("call")]
        if len(can) < len(lines):
            why = next(line.get("why_not", "no call was described") for line in lines if not line.get("call"))
            reasons[stem] = f"{stem}: {counted(len(lines) - len(can), 'input')} not measured: {why}"
        if len(_measured(journal, stem, can)) < len(can):
            inputs[stem] = can
    begin = time.monotonic()
    codes = _all(journal, inputs, max_seconds, [])
    short = {
        stem: lines
        for stem, lines in inputs.items()
        if not codes.get(stem) and len(_measured(journal, stem, lines)) < min(LEAST_INPUTS, len(lines))
    }
    if short and INTERRUPTED not in codes.values():
        tools.say(f"the time is over; {counted(len(short), 'kernel')} with fewer than {LEAST_INPUTS} inputs will go on")
        codes |= _all(journal, short, math.inf, ["--num-samples", str(LEAST_INPUTS)])
    if INTERRUPTED in codes.values():
        return INTERRUPTED
    for reason in reasons.values():
        tools.say(reason)
    kernels = counted(len(inputs.keys() | reasons.keys()), "kernel")
    measured = sum(bool(_measured(journal, stem, lines)) for stem, lines in inputs.items())
    if not measured and (inputs or reasons):
        tools.say(f"none of {kernels} is measured")
        return max(codes.values(), default=0) or MeasureError.exit_code
    done = f"{measured} of {kernels} measured in {time.monotonic() - begin:.0f} s; " if inputs else ""
    tools.say(f"{done}learn with: autoheuristic learn")
    return 0


def _all(journal: Path, inputs: Lines, max_seconds: float, words: Sequence[str]) -> dict[str, int]:
    """Runs ``ah-collect`` for one kernel after the other, and returns the exit codes."""
    begin, ends = time.monotonic(), 0.0
    codes: dict[str, int] = {}
    queue = list(inputs)

    def start(after: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes]:
        """Starts ``ah-collect`` for the next kernel, which uses the device when ``after`` has ended."""
        nonlocal ends
        stem = queue.pop(0)
        names, table = list(inputs[stem][0]["features"]), journal.parent / f"{stem}.inputs.csv"
        with open(table, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([line["features"][name] for name in names] for line in inputs[stem])
        options = ["-o", str(journal.parent / f"{stem}.txt"), "--inputs", str(table), "-q", *words]
        worker = [f"attach:{stem}", "--journal", str(journal)]
        if after is not None:
            worker += ["--after", str(after.pid)]
        if max_seconds < math.inf:
            share = (max_seconds - ends) / (len(queue) + 1)
            ends += share
            options += ["--max-seconds", f"{max(ends - (time.monotonic() - begin), 0.001):.3f}"]
            worker += ["--compiling-seconds", f"{share * COMPILING_SHARE:.1f}"]
        return subprocess.Popen(tools.collecting(worker, options), env=tools.environment())

    with tools.interruptible():
        following = start(None) if queue else None
        for at, (stem, lines) in enumerate(inputs.items()):
            # The next worker imports the package, which takes seconds, while this one measures.
            running, following = following, start(following) if queue else None
            tools.say(f"[{at + 1} of {len(inputs)}] {stem}: {counted(len(lines), 'input')}")
            assert running is not None
            codes[stem] = code = running.wait()
            if code == INTERRUPTED:
                if following is not None:
                    following.wait()
                break
            if code:
                tools.say(f"{stem}: ah-collect ended with exit code {code}; the next kernel follows")
    return codes


def _journal(folder: Path) -> Path:
    """The journal of the current device. Another process asks for the device, so that none is held here."""
    journals = _journals(folder)
    if len(journals) > 1:
        command = [sys.executable, "-c", DEVICE_NAME]
        name = subprocess.run(command, env=tools.environment(), capture_output=True, text=True).stdout.strip()
        journals = _journals(folder, name)
    return journals[0]


def _journals(folder: Path, device: str = "*") -> list[Path]:
    found = sorted(folder.glob(f"{device}/{calls.FILE}"))
    if not found:
        raise ConfigError(f"{folder}: expected DEVICE/{calls.FILE}, found none; attach to a program with such kernels")
    return found


def _measured(journal: Path, stem: str, lines: Sequence[Mapping[str, Any]]) -> set[tuple[str, ...]]:
    """The inputs of these lines that the kernel's log holds; none if there is no log with these features."""
    names = list(lines[0]["features"]) if lines else []
    try:
        log = Log.read(journal.parent / f"{stem}.txt")
    except (OSError, LogError):
        return set()
    if sorted(log.features) != sorted(names):
        return set()
    logged = {key_of(dict(zip(log.features, values)), names) for values in log.inputs()}
    return logged & {key_of(line["features"], names) for line in lines}


def report(folder: Path) -> int:
    """Prints the report of each device: of its journal, and of the logs beside it. Returns the exit code.

    Raises:
        ConfigError: There is no journal.
        OSError: One cannot be read.
    """
    for journal in _journals(folder):
        found = []
        for stem, lines in calls.inputs(journal).items():
            first = next(iter(lines.values()))
            answers = Counter(line["answer"] for line in lines.values())
            counts = ", ".join(f"{answer} {answers[answer]}" for answer in ANSWERS if answers[answer])
            shown = f"{first.get('module')}.{first.get('function')}: {counted(len(lines), 'input')} ({counts})"
            measured = _measured(journal, stem, [*lines.values()])
            unmeasured = [line["features"].items() for key, line in lines.items() if key not in measured]
            some = [" ".join(f"{name}={value}" for name, value in features) for features in unmeasured[:MOST_SHOWN]]
            if unmeasured:
                some += ["…"] * (len(unmeasured) > MOST_SHOWN)
                shown += f"\n  {len(unmeasured)} never measured: {'; '.join(some)}"
            found.append(shown)
        print("\n".join([f"{journal.parent.name}: who chose, by new input", *sorted(found)]))
    return 0
