#!/usr/bin/env python3
"""Collects a kernel with 640 configurations from nothing, learns, and judges the picks on fresh inputs.

    python3 scripts/live.py --tools DIR --out DIR [--seconds 300] [--collect WORDS,WORDS] [--fresh 60] [--careful 12]
    python3 scripts/live.py --kernel crates/ah-collect/examples/cuda/convolution.toml …

The kernel is a Triton matmul, or the CUDA source of a TOML file.

1. Collects with an empty cache of compiled kernels for --seconds, compilation included; once for each of --collect.
2. All configurations on fresh inputs, by the same policy.
3. All configurations on some of these, by a careful policy: 18 samples, each a row. The medians of the cells near the
   best are compared with those of step 2.
4. `ah-train`, for each of --train; the loss of the picks on the fresh inputs. The noise of these: the
   best configuration of the first rows, judged by the last row.

The folder gets results.json, which grows step by step, and live.tar.gz with the logs and each step's output. It needs a GPU and the tools as
binaries, for Triton also PyTorch; no network.
"""

import argparse
import gzip
import itertools
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parent / "python"
sys.path.insert(0, str(PYTHON))

from autoheuristic import Log  # noqa: E402
from autoheuristic.heuristic import Heuristic  # noqa: E402

START = time.monotonic()
NEAR = 1.1
"""A cell is near the best up to this slowdown."""


def say(*words):
    print(f"[{time.monotonic() - START:6.1f} s]", *words, flush=True)


def matmul(rng):
    """Draws a shape: rows of a decoding step up to those of a training step, widths that are multiples of 16."""
    while True:
        m = 16 if rng.random() < 0.1 else round(2 ** rng.uniform(1, 13))
        n, k = (16 * max(2, round(2 ** rng.uniform(1, 10))) for _ in range(2))
        if max(m * n, m * k, n * k) <= 2**27 and m * n * k <= 2**36:
            return {"M": m, "N": n, "K": k}


def of_file(path):
    """A function that draws as a TOML file does: a number of a range, each octave as likely, or one of a list."""
    table = tomllib.loads(Path(path).read_text())["cuda"]["inputs"]

    def value(rng, how):
        return rng.choice(how) if isinstance(how, list) else round(math.exp(rng.uniform(*map(math.log, how.values()))))

    return lambda rng: {name: value(rng, how) for name, how in table.items()}


def inputs(draw, count, seed, without=()):
    """Inputs that are not among those of `without`."""
    rng, found = random.Random(seed), []
    while len(found) < count:
        drawn = draw(rng)
        if drawn not in found and drawn not in without:
            found.append(drawn)
    return found


class Live:
    """The steps, and what they found."""

    def __init__(self, options):
        self.options, self.out, self.results = options, options.out, {}
        self.is_source = options.kernel.endswith(".toml")
        self.work = Path(tempfile.mkdtemp(prefix="live_"))
        path = os.pathsep.join([str(PYTHON), os.environ.get("PYTHONPATH", "")])
        self.environment = {**os.environ, "PYTHONPATH": path}
        for name in ("ah-collect", "ah-train"):
            self.environment[name.upper().replace("-", "_")] = str(options.tools.resolve() / name)

    def keep(self, **found):
        self.results |= found
        (self.out / "results.json").write_text(json.dumps(self.results, indent=1))
        say(json.dumps(found))

    def run(self, name, command, seconds):
        """Runs a command with its output in a file; returns its seconds."""
        begin = time.monotonic()
        with open(self.out / f"{name}.out", "w") as file:
            done = subprocess.run(
                list(map(str, command)), env=self.environment, stdout=file, stderr=file, timeout=seconds, cwd=self.work
            )
        if done.returncode:
            say(f"{name} ended with {done.returncode}:\n{(self.out / f'{name}.out').read_text()[-3000:]}")
        return time.monotonic() - begin

    def collect(self, name, inputs, *words, seconds=600.0):
        """Measures inputs into NAME.txt; returns the log and the seconds."""
        columns = list(inputs[0])
        lines = [",".join(str(row[column]) for column in columns) for row in inputs]
        (self.work / f"{name}.csv").write_text("\n".join([",".join(columns), *lines]) + "\n")
        if self.is_source:
            command = [self.environment["AH_COLLECT"], "--optimization", Path(self.options.kernel).resolve()]
        else:
            worker = f'"{sys.executable}" -m autoheuristic worker {self.options.kernel}'
            command = [self.environment["AH_COLLECT"], "--worker", worker, "--hang-seconds", "120"]
        command += ["--inputs", f"{name}.csv", "-o", f"{name}.txt", *words]
        stop = threading.Event()
        watch = threading.Thread(target=self.watch, args=(name, stop))
        watch.start()
        try:
            spent = self.run(name, command, seconds)
        finally:
            stop.set()
            watch.join()
        log = self.work / f"{name}.txt"
        (self.out / f"{name}.txt.gz").write_bytes(gzip.compress(log.read_bytes()))
        return Log.read(log).inputs(), spent

    def watch(self, name, stop):
        """Notes every half second how many rows the log has."""
        begin, path = time.monotonic(), self.work / f"{name}.txt"
        with open(self.out / f"{name}.progress", "w") as file:
            while not stop.wait(0.5):
                rows = sum(1 for _ in open(path, "rb")) if path.exists() else 0
                print(f"{time.monotonic() - begin:.1f} {rows}", file=file, flush=True)

    def judge(self, log, way, words, fresh):
        """Learns from a log with these words of ah-train, and judges the picks."""
        name = "_".join(["picks", *re.findall("[a-z0-9]+", f"{way} {words}")])
        train = [self.environment["AH_TRAIN"], log, "--heuristic-name", name, "--target", "triton", "--out", "."]
        seconds = self.run(name, [*train, "--model", f"{name}.json", *words.split()], 200)
        heuristic = Heuristic(self.work / f"{name}_prune.py")
        slowdowns, declined = [], 0
        for values, times in fresh.items():
            picked = next(heuristic.in_order(dict(zip(self.columns, values)), frozenset(times)), None)
            declined += picked is None
            slowdowns.append(times.get(picked, math.inf) / min(times.values()))
        finite = [s for s in slowdowns if math.isfinite(s)]
        found = {"loss": geometric_mean(finite), "worst": max(slowdowns), "declined or failed": declined}
        found |= {"choices": len(heuristic.choices), "kB": (self.work / f"{name}_prune.py").stat().st_size // 1000}
        self.keep(
            **{f"learned {words or 'by default'}, collected {way or 'all'}": {**found, "seconds": round(seconds, 1)}}
        )

    def main(self):
        options = self.options

        def dry(rng):
            return {"n": rng.randrange(1, 9000), "x_dtype": "torch.float32"}

        draw = dry if options.dry else of_file(options.kernel) if self.is_source else matmul
        learned = inputs(draw, options.inputs, 1)
        fresh_inputs = inputs(draw, options.fresh, 2, learned)
        self.columns = list(learned[0])
        ways = [words.strip() for words in options.collect.split(",")]
        for at, words in enumerate(ways):
            cache = str(self.work / f"compiled_{at}")
            self.environment |= {"TRITON_CACHE_DIR": cache, "AH_CACHE_DIR": cache}
            live, spent = self.collect(f"live_{at}", learned, "--max-seconds", str(options.seconds), *words.split())
            cells = sum(map(len, live.values()))
            failed = sum(not math.isfinite(max(rows)) for choices in live.values() for rows in choices.values())
            found = {"inputs": len(live), "cells": cells, "failed": failed, "seconds": spent}
            self.keep(**{f"collected {words or 'all'}": {**found, "cells a second": cells / spent}})
        rows, spent = self.collect("fresh", fresh_inputs)
        fresh = {values: medians(choices) for values, choices in rows.items()}
        self.keep(fresh=len(fresh), **{"fresh, seconds": spent, "noise of the fresh": noise(rows)})
        best = geometric_mean([min(times.values()) for times in fresh.values()])
        single = min(
            (geometric_mean([times.get(c, math.inf) for times in fresh.values()]) / best, c)
            for c in {choice for times in fresh.values() for choice in times}
        )
        self.keep(**{"best single on the fresh": single})
        for at, words in itertools.product(range(len(ways)), options.train.split(",")):
            try:
                self.judge(f"live_{at}.txt", ways[at], words.strip(), fresh)
            except Exception as error:
                say(f"FAILED: {words!r}: {type(error).__name__}: {error}")
        if options.careful:
            some = fresh_inputs[: options.careful]
            careful, spent = self.collect("careful", some, "--num-reps", "18")
            self.keep(**{"careful, seconds": spent, **agreement(fresh, {k: medians(v) for k, v in careful.items()})})
            halves = [{k: medians(v, half) for k, v in careful.items()} for half in (0, 1)]
            self.keep(**{"careful, its halves": agreement(*halves)})


def agreement(quick, careful):
    """Compares the medians of the cells that the careful times show near the best, twice-measured noise aside."""
    off = []
    for values, times in careful.items():
        least = min(times.values(), default=math.inf)
        near = [choice for choice, ms in times.items() if ms <= NEAR * least and choice in quick.get(values, {})]
        # The device's clock may have moved between the two runs: the ratio of an input is taken out.
        ratios = [quick[values][choice] / times[choice] for choice in near]
        if ratios:
            middle = statistics.median(ratios)
            off += [abs(ratio / middle - 1) for ratio in ratios]
    off.sort()
    if not off:
        return {"cells near the best": 0}
    return {
        "cells near the best": len(off),
        "within 1 %": sum(x <= 0.01 for x in off) / len(off),
        "within 2 %": sum(x <= 0.02 for x in off) / len(off),
        "99th percentile": off[int(0.99 * len(off))],
    }


def noise(inputs):
    """What the best configuration of all rows but the last loses to the one of the last row, judged by it."""
    losses = []
    for choices in inputs.values():
        several = {choice: rows for choice, rows in choices.items() if len(rows) > 1 and math.isfinite(max(rows))}
        if several:
            best = min(several, key=lambda choice: statistics.median(several[choice][:-1]))
            losses.append(several[best][-1] / min(rows[-1] for rows in several.values()))
    return geometric_mean(losses) if losses else None


def medians(choices, half=None):
    """The median of each configuration, or of every second sample of those that have several."""
    if half is None:
        return {choice: statistics.median(times) for choice, times in choices.items()}
    return {choice: statistics.median(times[half::2]) for choice, times in choices.items() if len(times) > 3}


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def pack(out):
    """Puts all files but results.json into one archive."""
    with tarfile.open(out / "live.tar.gz", "w:gz") as archive:
        for path in sorted(out.iterdir()):
            if path.name not in ("results.json", "live.tar.gz"):
                archive.add(path, path.name)
                path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, default=HERE.parent / "target" / "release")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "live")))
    parser.add_argument("--seconds", type=float, default=295.0, help="of collecting; the worker starts before [295]")
    parser.add_argument("--inputs", type=int, default=3000, help="to learn from, more than the time allows")
    parser.add_argument("--fresh", type=int, default=60, help="inputs to judge on")
    parser.add_argument("--careful", type=int, default=12, help="of these, those that the careful policy measures")
    parser.add_argument("--train", default=",--max-choices 24,--max-choices 32", help="words for ah-train, by commas")
    parser.add_argument("--collect", default="", help="more words for ah-collect, by commas")
    parser.add_argument("--kernel", default=f"{HERE / 'triton' / 'many.py'}:matmul_kernel")
    parser.add_argument("--dry", action="store_true", help="a kernel with the feature n, to try this script")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        Live(options).main()
    finally:
        pack(options.out)
    say("done")


if __name__ == "__main__":
    main()
