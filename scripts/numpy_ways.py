#!/usr/bin/env python3
"""Six ways of a batched product in numpy: measures them, learns, and asks the heuristic in Python on fresh inputs.

usage: scripts/numpy_ways.py [--seconds 30] FOLDER [-- FLAGS OF ah-train]   (ah-train must be on the PATH)

The program's time is the decision plus the way that it takes; it is compared with always `matmul`. Needs numpy.
"""
import argparse, csv, importlib.util, json, math, pathlib, random, statistics, subprocess, time

import numpy


def loop(a, b):
    out = numpy.empty((a.shape[0], a.shape[1], b.shape[2]), a.dtype)
    for i in range(a.shape[0]):
        numpy.dot(a[i], b[i], out=out[i])
    return out


WAYS = {
    "matmul": numpy.matmul,
    "einsum": lambda a, b: numpy.einsum("bij,bjk->bik", a, b),
    "einsum_optimized": lambda a, b: numpy.einsum("bij,bjk->bik", a, b, optimize=True),
    "loop": loop,
    "broadcast": lambda a, b: (a[:, :, :, None] * b[:, None, :, :]).sum(axis=2),
    "floats": lambda a, b: numpy.matmul(a.astype(numpy.float64), b.astype(numpy.float64)).astype(a.dtype),
}
FEATURES = ["batch", "m", "k", "n", "dtype"]


def draw(rng):
    while True:
        batch, m, k, n = (int(2 ** rng.uniform(0, high)) for high in (8, 7, 7, 7))
        if batch * m * k * n <= 1 << 22:
            return batch, m, k, n, rng.choice(["float64", "float32", "int64"])


def operands(shape):
    batch, m, k, n, dtype = shape
    rng = numpy.random.default_rng(0)
    return [rng.integers(-9, 9, size).astype(dtype) for size in ((batch, m, k), (batch, k, n))]


def microseconds(function, arguments, samples):
    """The times of a call, each the mean over at least 50 us of calls."""
    function(*arguments)
    start = time.perf_counter()
    function(*arguments)
    once = max(time.perf_counter() - start, 1e-7)
    runs = max(1, math.ceil(5e-5 / once))
    times = []
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(runs):
            function(*arguments)
        times.append((time.perf_counter() - start) / runs * 1e6)
    return times


def measure(path, seconds):
    rng, end = random.Random(1), time.time() + seconds
    inputs = 0
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*FEATURES, "way", "us"])
        while time.time() < end:
            shape = draw(rng)
            arguments = operands(shape)
            for _ in range(3):
                for name, way in WAYS.items():
                    rows.writerow([*shape, name, *microseconds(way, arguments, 1)])
            inputs += 1
    return inputs


def judge(module, count):
    """The time of the program over always `matmul`, by input."""
    rng, ratios = random.Random(2), []
    # A declined input is the program's own way.
    choose, ways = module.choose, {**WAYS, None: numpy.matmul}
    for _ in range(count):
        arguments = operands(draw(rng))

        def program(a, b):
            return ways[choose(batch=a.shape[0], m=a.shape[1], k=a.shape[2], n=b.shape[2], dtype=a.dtype)](a, b)

        def always(a, b):
            return numpy.matmul(a, b)

        turns = [(microseconds(program, arguments, 1)[0], microseconds(always, arguments, 1)[0]) for _ in range(7)]
        ratios.append(statistics.median(t[0] for t in turns) / statistics.median(t[1] for t in turns))
    return ratios


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--inputs", type=int, default=250)
    parser.add_argument("flags", nargs="*", help="flags of ah-train, behind --")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    table, model = asked.folder / "numpy.csv", asked.folder / "model.json"
    if not table.exists():
        print(f"{measure(table, asked.seconds)} inputs measured")
    learn = ["ah-train", "import", table, "--name", "numpy", "--features", ",".join(FEATURES), "--choice", "way", "--time", "us",
             "-o", asked.folder / "train.txt", "--heuristic-name", "Numpy", "--target", "python", "--model", model, "--out", asked.folder, "--json"]
    (asked.folder / "train.txt").unlink(missing_ok=True)
    learned = subprocess.run([*learn, *asked.flags], check=True, stdout=subprocess.PIPE, text=True).stdout
    figures = json.loads(learned.splitlines()[-1])
    judged, fallback = figures["metrics"]["held_out"], figures["metrics"]["always_fallback"]["choice"]
    print(f"held out: {1 / judged['speedup_over_fallback']:.3f} times as long as always {fallback}, with the decision")
    for rung in figures["sizes"]["rungs"]:
        print({key: rung[key] for key in ("leaves", "boosted_trees", "slowdown", "speedup", "asking_ms")})
    if figures["leaves"] == 1:
        print("one leaf: the program calls one way directly, and asks nobody")
        return
    spec = importlib.util.spec_from_file_location("numpy_heuristic", next(asked.folder.glob("numpy*.py")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ratios = judge(module, asked.inputs)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    slower = sum(ratio > 1.05 for ratio in ratios) / len(ratios)
    print(f"the program takes {mean:.3f} times as long as always matmul; {slower * 100:.1f} % of {len(ratios)} inputs are > 5 % slower")


if __name__ == "__main__":
    main()
