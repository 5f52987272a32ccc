#!/usr/bin/env python3
"""Measures the three examples beside triton.autotune on this GPU, and prints one table.

    python3 python/examples/compare_autotune.py --ah-collect PATH --ah-train PATH --out DIR

For each kernel: collects for some seconds, learns, and generates the heuristic; then measures all configurations on
fresh inputs and compares the heuristic's picks with the best of all, with the best single configuration and with
what triton.autotune takes. After that the time of the host: of a call, and of the first call on a new shape; and a
model under torch.compile. Each section is independent: one that fails is reported, and the others go on.

The folder gets results.json, and compare_autotune.tar.gz with the logs, models and heuristics.
"""

import argparse
import csv
import dataclasses
import importlib
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
# Everything is measured in this run.

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import triton  # noqa: E402

import autoheuristic  # noqa: E402
from autoheuristic import tools  # noqa: E402
from autoheuristic.heuristic import Heuristic  # noqa: E402

START = time.monotonic()
# With six samples, noise of 2 % alone makes the best of 18 medians 1 to 2 % too good.
FRESH_SAMPLES = 40


def say(*words):
    print(f"[{time.monotonic() - START:6.1f} s]", *words, flush=True)


@dataclasses.dataclass
class Example:
    """One kernel, with the inputs to learn from and the fresh ones."""

    name: str
    out: Path

    def __post_init__(self):
        self.module = importlib.import_module(self.name)
        self.kernel = getattr(self.module, f"{self.name}_kernel")
        self.log = self.out / f"{self.name}.train.txt"
        self.fresh_log = self.out / f"{self.name}.fresh.txt"
        self.heuristic = self.out / f"{self.name}_heuristic_prune.py"
        self.results = {}

    def inputs(self, seed, count, without=()):
        rng, seen = random.Random(seed), {tuple(row.values()) for row in without}
        rows = []
        while len(rows) < count:
            row = self.module.draw(rng)
            if tuple(row.values()) not in seen:
                seen.add(tuple(row.values()))
                rows.append(row)
        return rows


def collect_inputs(example, seconds):
    """Measures inputs to learn from."""
    spent, inputs = collect_into(example, example.log, example.inputs(1, 20_000), seconds)
    say(f"{example.name}: {inputs} inputs measured in {spent:.0f} s")
    example.results |= {"inputs": inputs, "seconds": spent}


def collect_into(example, log, rows, seconds, *words):
    """Measures inputs with ah-collect; returns the seconds, and the inputs of the log."""
    shapes = log.with_suffix(".csv")
    with open(shapes, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    kernel = f"{HERE / example.name}.py:{example.name}_kernel"
    begin = time.monotonic()
    words = ["--inputs", str(shapes), "-o", str(log), "--max-seconds", str(seconds), *words]
    if code := tools.run(tools.collecting([kernel], words)):
        raise RuntimeError(f"ah-collect ended with {code}")
    return time.monotonic() - begin, len(autoheuristic.Log.read(log).inputs())


def learn(example, options):
    """Learns a model and generates the heuristic; returns its file."""
    name = f"{example.name}_heuristic"
    train = [options.ah_train, example.log, "--heuristic-name", name, "--target", "triton", "--out", example.out]
    run(example.out / f"{name}.out", *train, "--model", example.out / f"{name}.model.json", *options.train)
    say(f"{example.name}: learned {name}")
    return example.heuristic


def run(output, *words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if output:
        output.write_text(done.stdout + done.stderr)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr}{done.stdout}")


def measure_fresh(example, count, seconds):
    """Measures all configurations on inputs that were not learned from."""
    rows = example.inputs(2, count, without=example.inputs(1, 20_000))
    spent, inputs = collect_into(example, example.fresh_log, rows, seconds, "--num-reps", str(FRESH_SAMPLES))
    say(f"{example.name}: {inputs} fresh inputs in {spent:.0f} s")


def judge(example, file):
    """Compares a heuristic's picks with the best of all and the best single configuration."""
    heuristic = Heuristic(file)
    train, fresh = autoheuristic.Log.read(example.log), autoheuristic.Log.read(example.fresh_log)
    single, offered = best_single(train), frozenset(example.kernel.kernel.names)
    fallback = heuristic.fallback or single
    slowdowns, singles, slower, declined = [], [], [], 0
    for values, times in medians(fresh).items():
        features = dict(zip(fresh.features, values))
        picked = next(heuristic.in_order(features, offered), None)
        declined += picked is None
        best, ms = min(times.values()), times.get(picked or fallback, math.inf)
        if not math.isfinite(ms):
            ms = times[fallback]
        slowdowns.append(ms / best)
        singles.append(times[single] / best)
        if ms > 1.05 * times[single]:
            slower.append((values, picked, ms / times[single]))
    found = {
        "loss": geometric_mean(slowdowns),
        "more than 5 % slower than the best single": len(slower) / len(slowdowns),
        "declined": declined / len(slowdowns),
    }
    example.results |= found | {"fresh": len(slowdowns), "loss of the best single": geometric_mean(singles)}
    say(f"{example.name}: {json.dumps(found)}; best single {single}; slower: {slower}")


def medians(log):
    """Returns, by input, the median time of each configuration."""
    return {
        values: {choice: statistics.median(times) for choice, times in choices.items()}
        for values, choices in log.inputs().items()
    }


def best_single(log):
    """The configuration with the least geometric mean of its slowdowns."""
    table = list(medians(log).values())
    worst = 10.0  # What a failure counts.

    def loss(choice):
        return geometric_mean([min(times.get(choice, math.inf) / min(times.values()), worst) for times in table])

    return min(log.choices, key=loss)


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def autotune(example, count):
    """Tunes some fresh shapes with triton.autotune: its time a new shape, and the loss of its picks."""
    kernel = example.kernel
    names = dict(zip(kernel.kernel.names, kernel.configs))
    fresh = autoheuristic.Log.read(example.fresh_log)
    tuner = triton.autotune(kernel.configs, kernel.keys)(kernel.fn)
    seconds, slowdowns = [], []
    for values, times in list(medians(fresh).items())[:count]:
        grid, args = example.module.arguments(**row_of(example, fresh, values))
        torch.cuda.synchronize()
        begin = time.perf_counter()
        tuner[grid](*args)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
        picked = next(name for name, config in names.items() if config == tuner.best_config)
        slowdowns.append(times[picked] / min(times.values()))
    example.results |= {"autotune, s a new shape": statistics.median(seconds)}
    example.results |= {"loss of autotune": geometric_mean(slowdowns)}
    say(f"{example.name}: autotune {seconds} s, slowdowns {slowdowns}")
    return tuner


def row_of(example, log, values):
    """The arguments of the example for a logged input."""
    return {name: {"True": True, "False": False}.get(value, value) for name, value in zip(log.features, values)}


def host_times(example, calls=2000):
    """Compares the host's time of a call: the plain kernel, tune, and triton.autotune."""
    kernel, module = example.kernel, example.module
    kernel.use(example.heuristic)
    row = {"matmul": {"M": 64, "N": 64, "K": 64}, "softmax": {"rows": 16, "columns": 64}}.get(
        example.name, {"heads": 2, "n": 64, "D": 64, "CAUSAL": False}
    )
    grid, args = module.arguments(**row)
    kernel[grid](*args)
    config = kernel.best_config.all_kwargs()
    tuner = triton.autotune(kernel.configs, kernel.keys)(kernel.fn)
    tuner[grid](*args)
    plain = kernel.fn
    launches = {
        "plain": lambda: plain[grid](*args, **config),
        "tune": lambda: kernel[grid](*args),
        "autotune": lambda: tuner[grid](*args),
    }
    times = {name: [] for name in launches}
    for _ in range(9):
        for name, launch in launches.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(calls // 9):
                launch()
            times[name].append((time.perf_counter() - begin) / (calls // 9) * 1e6)
            torch.cuda.synchronize()
    example.results |= {f"{name}, us a call": statistics.median(t) for name, t in times.items()}
    say(f"{example.name}: host time of a call { {name: round(statistics.median(t), 2) for name, t in times.items()} }")


def first_calls(example, count):
    """Compares the first call on a new shape with the plain launch of the same shape, kernels compiled."""
    kernel = example.kernel
    fresh = autoheuristic.Log.read(example.fresh_log)
    kernel.use(example.heuristic)
    warm = example.module.arguments(**row_of(example, fresh, next(iter(fresh.inputs()))))
    kernel[warm[0]](*warm[1])  # Loads the heuristic.
    above = []
    for values in list(fresh.inputs())[1:count]:
        grid, args = example.module.arguments(**row_of(example, fresh, values))
        first = host_us(lambda grid=grid, args=args: kernel[grid](*args))
        config = kernel.best_config.all_kwargs()
        plain = min(host_us(lambda: kernel.fn[grid](*args, **config)) for _ in range(3))  # noqa: B023
        above.append(first - plain)
    above.sort()
    example.results |= {
        "first call above the plain launch, us": statistics.median(above),
        "the same, 95th percentile": above[int(0.95 * len(above))],
    }
    say(f"{example.name}: first calls {statistics.median(above):.1f} us above the plain launch, of {len(above)}")


def host_us(launch):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    launch()
    return (time.perf_counter() - begin) * 1e6


def same_results(example):
    """Compares the tuned kernel with PyTorch."""
    kernel, worst = example.kernel, 0.0
    kernel.use(example.heuristic)
    for row in example.inputs(3, 20):
        grid, args = example.module.arguments(**row)
        kernel[grid](*args)
        found, expected = example.module.reference(args)
        worst = max(worst, float((found - expected).abs().max() / expected.abs().max()))
    example.results |= {"largest relative difference from PyTorch": worst}
    say(f"{example.name}: largest relative difference from PyTorch {worst:.1e}")


def torch_compile(example, heuristic):
    """Compiles a model whose product is a tuned kernel; its results must be those of eager mode."""
    example.kernel.use(heuristic)
    weight = torch.randn((256, 192), device="cuda", dtype=torch.float16) / 16

    def model(x):
        return torch.relu(example.module.matmul(torch.sin(x), weight)) + 1

    for dynamic in (False, True):
        torch._dynamo.reset()
        begin = time.perf_counter()
        compiled = torch.compile(model, fullgraph=True, dynamic=dynamic)
        for rows in (64, 100, 333):
            x = torch.randn((rows, 256), device="cuda", dtype=torch.float16)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-2, atol=1e-2)
        seconds = time.perf_counter() - begin
        say(f"torch.compile, {heuristic.stem}, dynamic={dynamic}: the same results, {seconds:.1f} s")


COLUMNS = (
    "inputs",
    "seconds",
    "loss",
    "loss of the best single",
    "more than 5 % slower than the best single",
    "declined",
    "loss of autotune",
    "autotune, s a new shape",
    "plain, us a call",
    "tune, us a call",
    "autotune, us a call",
    "first call above the plain launch, us",
    "the same, 95th percentile",
    "largest relative difference from PyTorch",
)


def table(examples):
    lines = ["| | " + " | ".join(examples) + " |", "| --- |" + " --- |" * len(examples)]
    for column in COLUMNS:
        cells = (example.results.get(column) for example in examples.values())
        shown = ("-" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
        lines.append(f"| {column} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def pack(folder, out):
    """Puts all files of the folder into one archive."""
    with tarfile.open(out / "compare_autotune.tar.gz", "w:gz") as archive:
        archive.add(folder, "compare_autotune")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ah-collect", default=shutil.which("ah-collect") or "target/release/ah-collect")
    parser.add_argument("--ah-train", default=shutil.which("ah-train") or "target/release/ah-train")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "compare_autotune")))
    parser.add_argument("--seconds", default="matmul=300,softmax=150,attention=200", help="of collecting, by kernel")
    parser.add_argument("--fresh", type=int, default=150, help="inputs that are judged")
    parser.add_argument("--tuned", type=int, default=5, help="of these, how many triton.autotune tunes too")
    parser.add_argument("--train", default=[], type=str.split, help="more words for ah-train, such as '--max-depth 6'")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ["AH_COLLECT"] = str(Path(options.ah_collect).resolve())
    work = Path(tempfile.mkdtemp())
    say(f"torch {torch.__version__}, triton {triton.__version__}, {torch.cuda.get_device_name()}")
    examples, failed = {}, []

    def section(title, call, *arguments):
        begin = time.monotonic()
        try:
            return call(*arguments)
        except Exception:
            failed.append(title)
            say(f"FAILED: {title}\n{traceback.format_exc(limit=-3)}")
            return None
        finally:
            say(f"-- {title}: {time.monotonic() - begin:.1f} s")
            (options.out / "results.json").write_text(
                json.dumps({name: example.results for name, example in examples.items()}, indent=1)
            )

    for item in options.seconds.split(","):
        name, _, seconds = item.partition("=")
        example = section(f"{name}: load", Example, name, work)
        if example is None:
            continue
        examples[name] = example
        section(f"{name}: collect", collect_inputs, example, float(seconds))
        section(f"{name}: fresh", measure_fresh, example, options.fresh, 45.0)
        section(f"{name}: learn", learn, example, options)
        section(f"{name}: judge", judge, example, example.heuristic)
        section(f"{name}: autotune", autotune, example, options.tuned)
        section(f"{name}: host times", host_times, example)
        section(f"{name}: first calls", first_calls, example, options.fresh)
        section(f"{name}: same results", same_results, example)
        if name == "matmul":
            section("torch.compile", torch_compile, example, example.heuristic)
        pack(work, options.out)
    print(table(examples))
    print(f"failed sections: {', '.join(failed) or 'none'}; {time.monotonic() - START:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
