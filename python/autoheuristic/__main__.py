"""``python -m autoheuristic``: the command line. Exit codes are those of all tools (``docs/environment.md``)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .attachment import calls, learn, program, report
from .attachment.settings import MODES, Settings, default_folder
from .collect import collect
from .errors import AutoHeuristicError, UsageError

OK, IO_FAILED, INTERRUPTED = 0, 4, 130


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    given = list(sys.argv[1:] if words is None else words)
    # What stands behind -- is another program's.
    end = given.index("--") if "--" in given else len(given)
    options = _parser().parse_args(given[:end])
    try:
        code: int = options.run(options, given[end + 1 :])
        return code
    except AutoHeuristicError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return IO_FAILED
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autoheuristic", description="Learned choices for Triton kernels.")
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser(
        "collect",
        usage="python -m autoheuristic collect MODULE:KERNEL --inputs FILE [AH_COLLECT_OPTION...]",
        help="measure a tuned kernel with ah-collect",
        description="Starts ah-collect collect with the kernel as its worker. The same command continues a run.",
    )
    command.add_argument("kernel", metavar="MODULE:KERNEL", help="the kernel under autoheuristic.tune")
    command.add_argument("options", nargs=argparse.REMAINDER, help="those of ah-collect collect")
    command.set_defaults(run=_collect)

    command = commands.add_parser("worker", help="answer the requests of ah-collect (docs/workers.md)")
    command.add_argument("kernel", metavar="MODULE:KERNEL", help="the kernel under autoheuristic.tune")
    command.set_defaults(run=_worker)

    command = commands.add_parser(
        "attach",
        usage="python -m autoheuristic attach PACKAGE... [--mode MODE] [--folder DIR] -- PROGRAM...",
        help="run a program whose packages ask heuristics",
        description="Runs a program. Each triton.autotune kernel of the packages asks its heuristic; without one its "
        "own autotuner runs as before, and what it measures becomes a log.",
    )
    command.add_argument("packages", metavar="PACKAGE", nargs="+", help="an import name, such as fla; * is every one")
    command.add_argument("--mode", choices=MODES, default="serve", help="[serve]; collect measures each new input")
    command.add_argument("--max-seconds", type=float, default=float("inf"), help="of measuring, in collect")
    _folder(command)
    command.set_defaults(run=_attach)

    command = commands.add_parser(
        "learn",
        usage="python -m autoheuristic learn [--folder DIR] [-- AH_TRAIN_OPTION...]",
        help="learn a heuristic from each log of attached kernels",
        description="Learns with ah-train from each log that has grown since its heuristic was made.",
    )
    _folder(command)
    command.set_defaults(run=_learn)

    command = commands.add_parser("report", help="what attached kernels were asked, who chose, and what is unmeasured")
    _folder(command)
    command.set_defaults(run=_report)

    command = commands.add_parser(
        "replay",
        help="measure the inputs that no heuristic decided",
        description="Makes the calls again that no heuristic decided, with random numbers in tensors of the same "
        "shapes, and measures all configurations on them.",
    )
    _folder(command)
    command.add_argument("--max-seconds", type=float, default=float("inf"), help="of measuring")
    command.set_defaults(run=_replay)
    return parser


def _folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("--folder", type=Path, default=default_folder(), help="logs and heuristics [%(default)s]")


def _collect(options: argparse.Namespace, words: Sequence[str]) -> int:
    return collect(options.kernel, options.options)


def _worker(options: argparse.Namespace, words: Sequence[str]) -> int:
    from .worker import serve  # Imports Triton, which the other commands do without.

    return serve(options.kernel)


def _attach(options: argparse.Namespace, words: Sequence[str]) -> int:
    if not words:
        raise UsageError("expected a program after --, for example: attach fla -- python train.py; found none")
    folder = options.folder.resolve()
    return program.run(Settings(tuple(options.packages), folder, options.mode, options.max_seconds), words)


def _learn(options: argparse.Namespace, words: Sequence[str]) -> int:
    code = OK
    for learned in learn.learn(options.folder, words):
        not_learned = "" if learned.heuristic else f"{learned.log.stem}: nothing is learned: "
        print(f"{not_learned}{learned.message}", flush=True)
        # A log with few inputs is no failure: the kernel was called with few shapes so far.
        if learned.exit_code not in (OK, learn.TOO_SMALL):
            code = learned.exit_code
    return code


def _report(options: argparse.Namespace, words: Sequence[str]) -> int:
    journals = calls.journals(options.folder)
    if not journals:
        raise UsageError(f"{options.folder}: expected DEVICE/{calls.FILE}, found none; attach to a program first")
    print("\n\n".join(map(report.table, journals)))
    return OK


def _replay(options: argparse.Namespace, words: Sequence[str]) -> int:
    from .attachment import replay  # Imports Triton, which the other commands do without.

    print(replay.replay(options.folder, options.max_seconds), file=sys.stderr)
    return OK


if __name__ == "__main__":
    sys.exit(main())
