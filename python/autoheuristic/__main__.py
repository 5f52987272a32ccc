"""``autoheuristic``: the command line. Exit codes are those of all tools (``docs/environment.md``)."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from . import tools
from .attachment import calls, learn, replay
from .attachment.settings import MODES, Settings, default_folder
from .environment import VERSION
from .errors import INTERRUPTED, AutoHeuristicError, UsageError

OK, IO_FAILED = 0, 4
STARTUP = Path(__file__).resolve().parent / "attachment" / "startup"
"""Holds the ``sitecustomize`` by which the Python processes of a program attach when they start."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    given = list(sys.argv[1:] if words is None else words)
    # What stands behind -- is another program's.
    end = given.index("--") if "--" in given else len(given)
    options = _parser().parse_args(given[:end])
    try:
        code: int = options.run(options, given[end + 1 :])
        return code
    except (AutoHeuristicError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code if isinstance(error, AutoHeuristicError) else IO_FAILED
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "triton"):
            raise
        print(f"error: kernels need PyTorch and Triton; {sys.executable} has no {error.name}", file=sys.stderr)
        return UsageError.exit_code
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="autoheuristic", description="Learned choices for Triton kernels.")
    parser.add_argument("--version", action="version", version=f"autoheuristic {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser(
        "tune",
        usage="autoheuristic tune MODULE:KERNEL --inputs FILE [--max-seconds S] [--log FILE] [--out FILE] "
        "[-- AH_TRAIN_OPTION...]",
        help="measure a kernel, learn, and write its heuristic beside its source",
        description="Measures the kernel on each input of a CSV file, learns, and writes MODULE.KERNEL.heuristic.py "
        "beside its source, where autoheuristic.tune finds it. The same command continues a run.",
    )
    command.add_argument("kernel", metavar="MODULE:KERNEL", help="the kernel under autoheuristic.tune")
    command.add_argument("--inputs", type=Path, required=True, help="a CSV file: a line for each shape")
    command.add_argument("--log", type=Path, help="where the times go [MODULE.KERNEL.txt]")
    command.add_argument("--out", type=Path, help="where the heuristic goes [beside the source]")
    command.add_argument("--same-bits", action="store_true", help="pick only among configurations of equal outputs")
    command.add_argument("--invariant", action="append", default=[], metavar="FEATURE", help="one class for all values")
    _seconds(command)
    command.set_defaults(run=_tune)

    command = commands.add_parser("worker", help="answer the requests of ah-collect (docs/workers.md)")
    command.add_argument("kernel", metavar="MODULE:KERNEL", help="one under tune, or attach:KERNEL_HASH of a journal")
    command.add_argument("--journal", type=Path, help="the journal of attach:KERNEL_HASH")
    command.add_argument("--bits", type=Path, help="a file that gets the digests of outputs")
    command.add_argument("--observed", default="", help="features that only the calls show, such as grid_0,grid_1")
    command.add_argument("--compiling-seconds", type=float, default=600.0, help="leave out what takes longer")
    command.add_argument("--after", type=int, help="use the device when this process has ended")
    command.set_defaults(run=_worker)

    command = commands.add_parser(
        "fleet",
        usage="autoheuristic fleet [--ray ADDRESS] --shards N [--folder DIR] -- ah-collect --draws N ...",
        help="measure on the nodes of a Ray cluster",
        description="Each shard is a Ray task that runs ah-collect on a free device; a shard whose node dies goes on "
        "elsewhere. DIR gets a log for each shard and one for each kind of device.",
    )
    command.add_argument("--ray", metavar="ADDRESS", default="auto", help="[auto]: the cluster of this machine")
    command.add_argument("--shards", type=int, required=True, help="parts of the sequence: 4 to 16 for each device")
    command.add_argument("--folder", type=Path, default=Path("fleet"), help="[%(default)s]")
    command.add_argument("--gpus", type=float, default=0.0, help="GPUs that Ray reserves for a shard [0]")
    command.add_argument("--cpus", type=float, default=1.0, help="processors that Ray reserves for a shard [1]")
    command.add_argument("--hang-seconds", type=float, default=600.0, help="start a shard again after this pause [600]")
    command.set_defaults(run=_fleet)

    command = commands.add_parser(
        "attach",
        usage="autoheuristic attach PACKAGE... [--mode MODE] [--folder DIR] [--max-seconds S] -- PROGRAM...",
        help="run a program whose packages ask heuristics",
        description="Runs a program. Each triton.autotune kernel of the packages asks its heuristic; without one its "
        "own autotuner runs as before. With --mode collect, the program's inputs are measured when it has ended.",
    )
    command.add_argument("packages", metavar="PACKAGE", nargs="+", help="an import name, such as fla; * is every one")
    command.add_argument("--mode", choices=MODES, default="serve", help="[serve]; collect measures each new input")
    _seconds(command)
    _folder(command)
    command.set_defaults(run=_attach)

    command = commands.add_parser(
        "learn",
        usage="autoheuristic learn [--folder DIR] [-- AH_TRAIN_OPTION...]",
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
        "shapes, and measures them.",
    )
    _folder(command)
    _seconds(command)
    command.set_defaults(run=lambda options, words: replay.replay(options.folder.resolve(), options.max_seconds))
    return parser


def _folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("--folder", type=Path, default=default_folder(), help="logs and heuristics [%(default)s]")


def _seconds(command: argparse.ArgumentParser) -> None:
    command.add_argument("--max-seconds", type=float, default=float("inf"), help="of measuring [no limit]")


def _tune(options: argparse.Namespace, words: Sequence[str]) -> int:
    from .tune_command import tune  # Imports Triton, which most commands do without.

    return tune(options, words)


def _worker(options: argparse.Namespace, words: Sequence[str]) -> int:
    from .attachment import detach
    from .example import Example, find_kernel
    from .worker import serve

    detach()  # What the environment attaches is not measured.
    source, colon, stem = options.kernel.partition(":")
    if source == "attach" and options.journal:
        from .attachment.recorded import Recorded

        return serve(lambda: Recorded(stem, options.journal, options.compiling_seconds), options.after)
    observed = [*filter(None, options.observed.split(","))]
    return serve(lambda: Example(find_kernel(options.kernel), observed), bits=options.bits)


def _fleet(options: argparse.Namespace, words: Sequence[str]) -> int:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UsageError(f"{sys.executable} has no Ray: pip install 'autoheuristic[ray]'") from error
    from .fleet import fleet

    try:
        ray.init(address=options.ray, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError) as error:
        raise UsageError(f"no Ray cluster at {options.ray} ({error}); start one: ray start --head") from error
    resources = {"num_gpus": options.gpus, "num_cpus": options.cpus}
    return fleet(words, options.folder, options.shards, options.hang_seconds, resources)


def _attach(options: argparse.Namespace, words: Sequence[str]) -> int:
    if not words:
        raise UsageError("expected a program after --, for example: attach fla -- python train.py; found none")
    folder = options.folder.resolve()
    settings = Settings(tuple(options.packages), folder, options.mode)
    try:
        code = subprocess.run(words, env={**tools.environment(STARTUP), **settings.variables()}).returncode
    except OSError as error:
        raise UsageError(f"cannot run {words[0]} ({error}); give the program after --") from error
    code = code if code >= 0 else 128 - code
    if options.mode != "collect":
        return code
    if code:
        print(f"the program ended with {code}; measure its calls with: autoheuristic replay", file=sys.stderr)
        return code
    return replay.replay(folder, options.max_seconds)


def _learn(options: argparse.Namespace, words: Sequence[str]) -> int:
    code = OK
    for message, failed in learn.learn(options.folder, words):
        print(message, flush=True)
        code = failed or code
    return code


def _report(options: argparse.Namespace, words: Sequence[str]) -> int:
    journals = calls.journals(options.folder)
    if not journals:
        raise UsageError(
            f"{options.folder}: expected DEVICE/{calls.FILE}, found none; attach to a program that calls such kernels"
        )
    print("\n\n".join(map(replay.table, journals)))
    return OK


if __name__ == "__main__":
    sys.exit(main())
