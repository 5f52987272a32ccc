"""Measures the calls of a journal: for each kernel, ``ah-collect`` with a worker that makes its calls again."""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import tools
from ..errors import LogError, UsageError
from ..log import Log
from . import calls
from .calls import key_of

COMPILING_SHARE = 1 / 3
"""The share of a kernel's time after which configurations that are not compiled yet are left out."""
DEVICE_NAME = "from autoheuristic import device, environment; print(environment.file_name(device.current()['name']))"


def replay(folder: Path, max_seconds: float) -> int:
    """Measures what no heuristic decided and no log holds, kernel by kernel; returns the exit code of ``ah-collect``.

    Raises:
        UsageError: There is no journal of this device, or a tool is missing.

    """
    journal = _journal(folder)
    inputs = {
        stem: lines for stem, lines in calls.to_measure(journal).items() if not _is_measured(journal, stem, lines)
    }
    begin, measured = time.monotonic(), 0
    for at, (stem, lines) in enumerate(inputs.items()):
        left = max_seconds - (time.monotonic() - begin)
        if left <= 0:
            break
        seconds = left / (len(inputs) - at)
        _say(f"[{at + 1} of {len(inputs)}] {stem}: {len(lines)} inputs, at most {seconds:.0f} s")
        code = _measure(journal, stem, lines, seconds)
        if code == INTERRUPTED:
            return code
        if code:
            _say(f"{stem}: ah-collect ended with exit code {code}; the next kernel follows")
        measured += not code
    spent = time.monotonic() - begin
    _say(f"{measured} of {len(inputs)} kernels measured in {spent:.0f} s; learn with: autoheuristic learn")
    return 0 if measured or not inputs else code


INTERRUPTED = 130


def _journal(folder: Path) -> Path:
    """Returns the journal of the current device. Another process asks for the device, so that none is held here."""
    journals = calls.journals(folder)
    if len(journals) > 1:
        done = subprocess.run(
            [sys.executable, "-c", DEVICE_NAME], env=tools.environment(), capture_output=True, text=True
        )
        journals = [journal for journal in journals if journal.parent.name == done.stdout.strip()]
    if not journals:
        raise UsageError(
            f"{folder}: expected DEVICE/{calls.FILE} of this device, found none; attach to a program first"
        )
    return journals[0]


def _is_measured(journal: Path, stem: str, lines: Sequence[Mapping[str, Any]]) -> bool:
    known = logged(journal.parent / f"{stem}.txt", list(lines[0]["features"]))
    return all(key_of(line["features"], line["features"]) in known for line in lines)


def logged(path: Path, names: Sequence[str]) -> set[tuple[str, ...]]:
    """Returns the inputs that a log holds; none if there is no such log with these features."""
    try:
        log = Log.read(path)
    except (OSError, LogError):
        return set()
    if sorted(log.features) != sorted(names):
        return set()
    return {key_of(dict(zip(log.features, values)), names) for values in log.inputs()}


def _measure(journal: Path, stem: str, lines: Sequence[Mapping[str, Any]], seconds: float) -> int:
    """Runs ``ah-collect`` for one kernel, and returns its exit code."""
    table = journal.parent / f"{stem}.inputs.csv"
    names = list(lines[0]["features"])
    with open(table, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([line["features"][name] for name in names] for line in lines)
    words = ["-o", str(journal.parent / f"{stem}.txt"), "--inputs", str(table), "-q"]
    worker = [f"attach:{stem}", "--journal", str(journal)]
    if seconds < float("inf"):
        words += ["--max-seconds", f"{seconds:.0f}"]
        worker += ["--compiling-seconds", f"{seconds * COMPILING_SHARE:.0f}"]
    try:
        return tools.run(tools.collecting(worker, words))
    finally:
        table.unlink()


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
