#!/usr/bin/env python3
"""Times the steps of the Triton worker on shapes of a matmul with 640 configurations, without ah-collect.

    python3 scripts/triton/steps.py [--out DIR] [--shapes 30] [--profiled 5]

Per shape: prepare, check, each of the turns, release. Prints the mean seconds of each step and the share of late launches as
JSON, then a profile of a few more shapes. It needs a GPU, PyTorch and Triton; compiling takes about a minute with 16 cores.
"""

import argparse
import cProfile
import json
import os
import pstats
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

from autoheuristic.example import Example, find_kernel  # noqa: E402
from autoheuristic.worker import Worker  # noqa: E402
from live import shapes  # noqa: E402


TURNS, TURNS_OF_ALL, NEAR = 6, 2, 1.2


class Steps:
    """A worker whose requests are timed."""

    def __init__(self, kernel):
        self.worker = Worker(Example(find_kernel(kernel)))
        self.choices = self.ask("describe", protocol=1)[0]["choices"]
        self.seconds = defaultdict(list)
        self.samples = self.late = 0
        clock = self.worker._clock
        once = clock._once

        def counted(launches, cold):
            found = once(launches, cold)
            self.samples += len(found)
            self.late += sum(not in_time for _, in_time in found)
            return found

        clock._once = counted

    def ask(self, request, **fields):
        return list(self.worker.answers({"request": request, **fields}))

    def step(self, name, request, **fields):
        begin = time.perf_counter()
        answers = self.ask(request, **fields)
        self.seconds[name].append(time.perf_counter() - begin)
        return answers

    def shape(self, context):
        """Measures a shape as ah-collect does."""
        self.step("prepare", "prepare", context=context, seed=[0, 0])
        checked = self.step("check", "check", cells=[{"choice": choice} for choice in self.choices])
        times = {c: [] for c, answer in zip(self.choices, checked) if "failed" not in answer and "skipped" not in answer}
        for turn in range(TURNS):
            running = list(times)
            if turn >= TURNS_OF_ALL:
                best = min(times.values(), key=statistics.median)
                running = [choice for choice in times if min(times[choice]) <= NEAR * max(best)]
            cells = [{"choice": choice, "samples": 1, "runs": 1, "cold": True} for choice in running]
            name = "turns of all" if turn < TURNS_OF_ALL else "turns near the best"
            for choice, answer in zip(running, self.step(name, "time", cells=cells)):
                times[choice] += answer["ms"]
        self.step("release", "release")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")))
    parser.add_argument("--shapes", type=int, default=30)
    parser.add_argument("--profiled", type=int, default=5, help="further shapes, under a profiler")
    parser.add_argument("--kernel", default=f"{HERE / 'many.py'}:matmul_kernel")
    parser.add_argument("--dry", action="store_true", help="a kernel with the feature n, to try this script")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    count = options.shapes + options.profiled
    dry = [{"n": 9000 + i, "x_dtype": "torch.float32"} for i in range(count)]
    drawn = dry if options.dry else shapes(count, 1)
    steps = Steps(options.kernel)
    steps.step("compile", "compile", groups=[{"contexts": drawn}])
    compiling = steps.seconds.pop("compile")[0]
    begin = time.perf_counter()
    for context in drawn[: options.shapes]:
        steps.shape(context)
    spent = time.perf_counter() - begin
    found = {name: sum(seconds) / options.shapes for name, seconds in steps.seconds.items()}
    found |= {"late": steps.late / steps.samples, "samples a shape": steps.samples / options.shapes}
    found |= {"compiling": compiling, "cells a second": len(steps.choices) * options.shapes / spent}
    found |= {"slowest of a step": {name: max(seconds) for name, seconds in steps.seconds.items()}}
    (options.out / "steps.json").write_text(json.dumps(found, indent=1))
    print(json.dumps(found, indent=1), flush=True)
    with cProfile.Profile() as profile:
        for context in drawn[options.shapes :]:
            steps.shape(context)
    with open(options.out / "profile.txt", "w") as file:
        for order in ("tottime", "cumtime"):
            pstats.Stats(profile, stream=file).sort_stats(order).print_stats(40)


if __name__ == "__main__":
    main()
