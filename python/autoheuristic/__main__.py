"""``python -m autoheuristic``: the command line. Exit codes are those of all tools (``docs/environment.md``)."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .collect import Summary, collect, find_kernel, read_inputs
from .errors import AutoHeuristicError

OK, IO_FAILED, INTERRUPTED = 0, 4, 130


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m autoheuristic", description="Learned choices for Triton kernels.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "collect",
        help="measure a tuned kernel and append to a log",
        description="Measures all configurations of a kernel on the inputs of a file and appends to a log. "
        "The same command again goes on where a run was cut off.",
    )
    command.add_argument("kernel", metavar="MODULE:KERNEL", help="the kernel under autoheuristic.tune")
    command.add_argument("--inputs", type=Path, required=True, help="CSV; the columns are the example's parameters")
    command.add_argument("--output", "-o", type=Path, default=Path("train.txt"), help="the log [train.txt]")
    command.add_argument("--max-seconds", type=float, default=float("inf"), help="begin no input after this time")
    command.add_argument("--seed", type=int, default=0, help="the order of the inputs [0]")
    options = parser.parse_args(words)
    try:
        kernel = find_kernel(options.kernel)
        assert kernel.arguments is not None
        inputs = read_inputs(options.inputs, kernel.arguments)
        progress = Progress(len(inputs))
        summary = collect(kernel, inputs, options.output, options.seed, options.max_seconds, progress=progress)
    except AutoHeuristicError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return IO_FAILED
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    print(
        f"{options.output}: {summary.measured} inputs measured in {summary.seconds:.0f} s; "
        f"{summary.inputs - summary.measured - summary.passed_over} were there already, "
        f"{summary.passed_over} passed over, {len(inputs) - summary.inputs} left",
        file=sys.stderr,
    )
    return OK


class Progress:
    """Prints a line every five seconds."""

    def __init__(self, count: int):
        """Of this many inputs."""
        self._count = count
        self._next = time.monotonic() + 5

    def __call__(self, summary: Summary) -> None:
        """Tells how far the run is."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 5
            print(f"{summary.inputs} of {self._count} inputs, {summary.seconds:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
