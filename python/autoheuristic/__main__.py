"""``autoheuristic``: the command line. Exit codes are those of all tools (``docs/environment.md``)."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from . import tools
from .attachment import learn, replay
from .attachment.settings import MODES, Settings, default_folder
from .environment import VERSION
from .errors import INTERRUPTED, AutoHeuristicError, ConfigError

IO_FAILED = 4
STARTUP = Path(__file__).resolve().parent / "attachment" / "startup"
"""Holds the ``sitecustomize`` by which the Python processes of a program attach when they start."""
Run = Callable[[argparse.Namespace, Sequence[str]], int]
"""Of a command: from its options, and the words behind ``--``, to the exit code."""


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
        if error.name not in ("torch", "triton", "ray"):
            raise
        print(f"error: {sys.executable} has no {error.name}; pip install {error.name}", file=sys.stderr)
        return ConfigError.exit_code
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="autoheuristic", description="Learned choices for Triton kernels.")
    parser.add_argument("--version", action="version", version=f"autoheuristic {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True)
    folder, seconds = (argparse.ArgumentParser(add_help=False) for _ in range(2))
    folder.add_argument("--folder", type=Path, default=default_folder(), help="logs and heuristics [%(default)s]")
    seconds.add_argument("--max-seconds", type=float, default=float("inf"), help="of measuring [no limit]")

    def add(name: str, run: Run, what: str, *flags: argparse.ArgumentParser, usage: str = "") -> Any:
        words = f"%(prog)s {usage}" if usage else None
        command = commands.add_parser(name, help=what, description=f"{what}.", usage=words, parents=flags)
        command.set_defaults(run=run)
        return command

    usage = "MODULE:KERNEL --inputs FILE [OPTION...] [-- AH_TRAIN_OPTION...]"
    tune = add("tune", _tune, "measure a kernel, learn, write its heuristic beside its source", seconds, usage=usage)
    tune.add_argument("kernel", metavar="MODULE:KERNEL", help="the kernel under autoheuristic.tune")
    tune.add_argument("--inputs", type=Path, required=True, help="a CSV file: a line for each shape")
    tune.add_argument("--log", type=Path, help="where the times go [MODULE.KERNEL.txt]")
    tune.add_argument("--out", type=Path, help="where the heuristic goes [MODULE.KERNEL.heuristic.py by the source]")
    tune.add_argument("--same-bits", action="store_true", help="pick only among configurations of equal outputs")
    tune.add_argument("--invariant", action="append", default=[], metavar="FEATURE", help="one class for all values")

    worker = add("worker", _worker, "answer the requests of ah-collect (docs/workers.md)")
    worker.add_argument("kernel", metavar="MODULE:KERNEL", help="one under tune, or attach:KERNEL_HASH of a journal")
    worker.add_argument("--journal", type=Path, help="the journal of attach:KERNEL_HASH")
    worker.add_argument("--bits", type=Path, help="a file that gets the digests of outputs")
    worker.add_argument("--observed", default="", help="features that only the calls show, such as grid_0,grid_1")
    worker.add_argument("--compiling-seconds", type=float, default=600.0, help="leave out what takes longer")
    worker.add_argument("--after", type=int, help="use the device when this process has ended")

    usage = "--shards N [OPTION...] -- ah-collect --draws N ..."
    fleet = add("fleet", _fleet, "measure on the nodes of a Ray cluster (docs/clusters.md)", usage=usage)
    fleet.add_argument("--ray", metavar="ADDRESS", default="auto", help="[auto]: the cluster of this machine")
    fleet.add_argument("--shards", type=int, required=True, help="parts of the sequence: 4 to 16 for each device")
    fleet.add_argument("--folder", type=Path, default=Path("fleet"), help="[%(default)s]")
    fleet.add_argument("--gpus", type=float, default=0.0, help="GPUs that Ray reserves for a shard [0]")
    fleet.add_argument("--cpus", type=float, default=1.0, help="processors that Ray reserves for a shard [1]")
    fleet.add_argument("--hang-seconds", type=float, default=600.0, help="start a shard again after this pause [600]")

    usage = "PACKAGE... [OPTION...] -- PROGRAM..."
    attach = add("attach", _attach, "run a program whose packages ask heuristics", folder, seconds, usage=usage)
    attach.add_argument("packages", metavar="PACKAGE", nargs="+", help="an import name, such as fla; * is every one")
    attach.add_argument("--mode", choices=MODES, default="serve", help="[serve]; collect measures each new input")

    usage, what = "[--folder DIR] [-- AH_TRAIN_OPTION...]", "learn from each log of attached kernels that has grown"
    add("learn", lambda given, words: learn.learn(given.folder, words), what, folder, usage=usage)
    what = "what attached kernels were asked, who chose, and what is unmeasured"
    add("report", lambda given, words: replay.report(given.folder), what, folder)
    what = "measure the calls that no heuristic decided"
    add("replay", lambda given, words: replay.replay(given.folder, given.max_seconds), what, folder, seconds)
    return parser


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
    import ray

    from .fleet import fleet

    try:
        ray.init(address=options.ray, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError) as error:
        raise ConfigError(f"no Ray cluster at {options.ray} ({error}); start one: ray start --head") from error
    resources = {"num_gpus": options.gpus, "num_cpus": options.cpus}
    return fleet(words, options.folder, options.shards, options.hang_seconds, resources)


def _attach(options: argparse.Namespace, words: Sequence[str]) -> int:
    if not words:
        raise ConfigError("expected a program after --, for example: attach fla -- python train.py; found none")
    folder = options.folder.resolve()
    settings = Settings(tuple(options.packages), folder, options.mode)
    try:
        code = subprocess.run(words, env={**tools.environment(STARTUP), **settings.variables()}).returncode
    except OSError as error:
        raise ConfigError(f"cannot run {words[0]} ({error}); give the program after --") from error
    code = code if code >= 0 else 128 - code
    if code and options.mode == "collect":
        print(f"the program ended with {code}; measure its calls with: autoheuristic replay", file=sys.stderr)
    return code or (replay.replay(folder, options.max_seconds) if options.mode == "collect" else 0)


if __name__ == "__main__":
    sys.exit(main())
