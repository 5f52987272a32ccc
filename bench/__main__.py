"""The command: runs the selectors on the tasks, and shows the results."""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import time

from . import __doc__ as purpose
from . import show
from .score import best_fallback, judge
from .selectors import SELECTORS
from .selectors.fitted import Fitted, SkippedError
from .task import ROOT, Input, Task, load

CALLS = 200


def main() -> None:
    """Reads the command line and does all of it."""
    parser = argparse.ArgumentParser(prog="python3 -m bench", description=purpose)
    names = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("logs", type=pathlib.Path, help="a folder of logs; README.md says how to get them")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target/bench", help="for results.json, curves.svg")
    parser.add_argument("--tasks", type=names, help="the tasks to run, joined by commas")
    parser.add_argument("--splits", type=names, default=["inputs", "shapes", "devices"])
    parser.add_argument("--seeds", type=names, default=["0", "1", "2"])
    parser.add_argument("--selectors", type=names, default=list(SELECTORS))
    args = parser.parse_args()
    if not args.logs.is_dir():
        parser.error(f"no folder {args.logs}")
    if unknown := set(args.selectors) - SELECTORS.keys():
        parser.error(f"unknown selectors {', '.join(sorted(unknown))}; there are {', '.join(SELECTORS)}")
    tasks = load(args.logs, set(args.tasks) if args.tasks else None)
    results = [
        {"split": split, "task": name, "seed": seed, "learned": len(train), "judged": len(test), **row}
        for split in args.splits
        for task in tasks.values()
        if not args.tasks or task.name in args.tasks
        # Between devices nothing is drawn: one seed says all.
        for seed in map(int, args.seeds if split != "devices" else args.seeds[:1])
        for name, train, test in task.split(split, seed, tasks)
        for row in run(task, name, train, test, args.selectors)
    ]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "results.json").write_text(json.dumps(results) + "\n")
    print(show.tables(results))
    show.curves(results, args.out / "curves.svg")
    print(f"wrote {args.out / 'results.json'} and curves.svg beside it")


def run(task: Task, name: str, train: list[Input], test: list[Input], selectors: list[str]):
    """Yields a row for each selector that can run."""
    fallback = task.fallback or best_fallback(train)
    for selector in selectors:
        start = time.perf_counter()
        try:
            fitted = SELECTORS[selector](task, train)
        except SkippedError as reason:
            print(f"skipped {selector} on {name}: {reason}", file=sys.stderr, flush=True)
            continue
        seconds = time.perf_counter() - start
        score = judge(test, fitted.choose(test), fallback)
        row = {"selector": selector, "seconds": seconds, "size": fitted.size, "us": microseconds(fitted, test)}
        print(f"{name}: {selector} loses {score.loss:.4f} ({seconds:.1f} s)", file=sys.stderr, flush=True)
        yield {**row, **vars(score)}


def microseconds(fitted: Fitted, test: list[Input]) -> float:
    """The median time of a single decision."""
    one = fitted.one or (lambda i: fitted.choose([i]))
    times = []
    for i in test[:CALLS]:
        start = time.perf_counter_ns()
        one(i)
        times.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(times)


if __name__ == "__main__":
    main()
