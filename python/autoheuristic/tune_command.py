"""``autoheuristic tune``: measures a kernel, learns, and writes its heuristic beside its source."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Sequence
from pathlib import Path

from . import tools
from .attachment.learn import TOO_SMALL, heuristic_of
from .environment import file_name
from .errors import UsageError
from .example import find_kernel
from .tuner import heuristic_file

COMPILING, SHAPE, CELL = 1.1, 0.018, 0.0006
"""Seconds on an H100 with Triton 3.6: of one core to compile a configuration, of a shape, and of each of its times."""


def tune(kernel: str, inputs: Path, log: Path | None, max_seconds: float, words: Sequence[str]) -> int:
    """Measures ``MODULE:KERNEL`` on the lines of a CSV file, learns, and writes the heuristic; returns the exit code.

    ``words`` are further arguments of ``ah-train``.

    Raises:
        UsageError: There is no such kernel, or a tool is missing.
        OSError: The inputs cannot be read.

    """
    begin = time.monotonic()
    tools.say(f"importing {kernel}")
    tuner = find_kernel(kernel)
    log = log or Path(f"{file_name(tuner.name)}.txt")
    heuristic = heuristic_file(tuner)
    if not heuristic.parent.is_dir():
        raise UsageError(
            f"{kernel}: expected a kernel in a file, to write {heuristic.name} beside it; move it into one"
        )
    with open(inputs, newline="", encoding="utf-8") as file:
        shapes = max(sum(1 for row in csv.reader(file) if row) - 1, 0)
    choices, cores = len(tuner.configs), os.cpu_count() or 1
    is_limited = max_seconds < float("inf")
    ends = f"; no shape is begun after {max_seconds:.0f} s" if is_limited else ""
    tools.say(
        f"{shapes} shapes with {choices} configurations: on an H100 about {choices * COMPILING / cores:.0f} s to "
        f"compile for each kind of arguments on {cores} cores, then about {shapes * (SHAPE + choices * CELL):.0f} s to "
        f"measure{ends}"
    )
    limit = ["--max-seconds", f"{max_seconds:.0f}"] if is_limited else []
    code = tools.run(tools.collecting([kernel], ["--inputs", str(inputs), "-o", str(log), *limit]))
    if code:
        return code
    tools.say("learning")
    message, code = heuristic_of(log, heuristic, file_name(tuner.name), words)
    if code:
        tools.say(f"error: {message}; add lines to {inputs}" if code == TOO_SMALL else message)
        return code
    print(message)
    tools.say(f"Wrote {heuristic} in {time.monotonic() - begin:.0f} s; autoheuristic.tune asks it from now on.")
    return 0
