"""``autoheuristic tune``: measures a kernel, learns, and writes its heuristic beside its source."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from . import tools
from .attachment.learn import TOO_SMALL, heuristic_of
from .environment import file_name
from .errors import UsageError
from .example import find_kernel
from .tuner import heuristic_file


def tune(kernel: str, inputs: Path, log: Path | None, max_seconds: float, words: Sequence[str]) -> int:
    """Measures ``MODULE:KERNEL`` on the lines of a CSV file, learns, and writes the heuristic; returns the exit code.

    ``words`` are further arguments of ``ah-train``.

    Raises:
        UsageError: There is no such kernel, or a tool is missing.

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
    limit = [] if max_seconds == float("inf") else ["--max-seconds", f"{max_seconds:.0f}"]
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
