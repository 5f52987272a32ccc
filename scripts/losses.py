#!/usr/bin/env python3
"""What ah-train loses on inputs that it never saw: six seeds of splits over all logs, for one or several binaries.

    scripts/losses.py [NAME=]ah-train ... [--logs FOLDER ...] [--only TEXT,...] [--modes best,always,promise,tree]
                    [--seeds 6] [--large-seeds N] [--sparse CELLS] [--split fifth,above,few=60] [--jobs N] [--env NAME:KEY=VALUE,... ...] [--out runs.jsonl]
    scripts/losses.py --table runs.jsonl [runs.jsonl ...]

A fifth of each log's inputs (SHA-256 of "seed:features" below 0.2) is held out of the log that ah-train gets. `--split above` holds out
the inputs whose product of m, n and k is above the median, `few=N` all but N, and `late=N` a fifth, and all but N times of one
of the choices that win most. Each run is one JSON line: the variant, the log, the mode, the seed, and on the held-out inputs the geometric mean of the time taken over
the best time ("loss", the decision left out), the share of inputs more than 1.05 times as slow as the fallback ("slower"),
the share on which it decides ("decides"), and the seconds of learning on one thread. A declined input, or a choice without a
time, costs the fallback; where that has no time, the slowest choice. `--env` runs a binary again as the variant NAME with an
environment variable or more. The table compares every variant with the first one. Only Python's own modules are needed.
"""

import argparse
import collections
import concurrent.futures
import csv
import gzip
import hashlib
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 1.05
# Their learning takes most of the time.
LARGE = {"conv_b_gfx90a", "conv_f_gfx90a", "conv_w_gfx90a"}
MANY_CHOICES = {"triton_mm_640_h100"}
MODES = {
    "best": ["--max-risk", "none", "--size", "best"],
    "always": ["--max-risk", "none"],
    "promise": ["--max-risk", "0.01"],
    "tree": ["--max-risk", "none", "--learner", "cost_tree"],
    "default": [],
    "small": ["--max-risk", "none", "--size", "smallest"],
}


def logs(folders, sparse):
    """Yields (name, path, number of cells to keep of each input; None: all) of each log."""
    for folder in map(pathlib.Path, folders):
        for path in sorted(folder.rglob("*.txt.gz")):
            inside = path.relative_to(folder).as_posix().removesuffix(".txt.gz")
            yield inside.replace("/", "_"), path, None
            if sparse and inside in MANY_CHOICES:
                yield f"{inside}_{sparse}_cells", path, sparse


def held_out(kind, seed, keys, columns):
    """The lines of features that are held out."""
    drawn = {key: hashlib.sha256(f"{seed}:{key}".encode()).digest() for key in keys}
    if kind == "above":
        slots = [at for at, name in enumerate(columns) if name.lower() in ("m", "n", "k")]
        work = {key: math.prod(float(key.split(",")[slot]) for slot in slots) for key in keys}
        median = statistics.median(work.values())
        return {key for key in keys if work[key] > median}
    if kind.startswith("few="):
        return set(sorted(keys, key=drawn.get)[int(kind.removeprefix("few=")):])
    return {key for key in keys if int.from_bytes(drawn[key][:8], "big") < 2**64 // 5}


def split(path, cells_kept, seed, folder, kind="fifth"):
    """Writes train.txt, with so many random cells of each input; returns test.txt and the median times of its inputs, by features and choice."""
    with gzip.open(path, "rt", newline="") as file:
        first, header, *rows = file.read().splitlines()
    features = len(next(csv.reader([header]))) - 2
    samples = collections.defaultdict(lambda: collections.defaultdict(list))
    kept = {}
    if cells_kept:
        choices = sorted({line.split(",")[features] for line in rows})
    cells_of = lambda line: line.split(",") if '"' not in line else next(csv.reader([line]))  # noqa: E731
    all_cells = (cells_of(line) for line in rows)
    keys = dict.fromkeys(",".join(cells[:features]) for cells in all_cells if len(cells) == features + 2)
    out = held_out(kind, seed, list(keys), next(csv.reader([header]))[:features])
    late, few = None, set()
    if kind.startswith("late="):
        best = {}
        for cells in map(cells_of, rows):
            if len(cells) == features + 2 and math.isfinite(float(cells[-1])):
                key = ",".join(cells[:features])
                best[key] = min(best.get(key, (math.inf, "")), (float(cells[-1]), cells[features]))
        wins = collections.Counter(choice for _, choice in best.values())
        late = sorted(wins, key=lambda choice: (-wins[choice], choice))[seed % len(wins)]
        few = set(random.Random(seed).sample(sorted(set(keys) - out), int(kind.removeprefix("late="))))
    train, test = folder / "train.txt", folder / "test.txt"
    with open(train, "w") as to_train, open(test, "w") as to_test:
        for line in (first, header):
            to_train.write(line + "\n")
            to_test.write(line + "\n")
        for line in rows:
            cells = cells_of(line)
            if len(cells) != features + 2:
                continue
            key = ",".join(cells[:features])
            if key in out:
                to_test.write(line + "\n")
                samples[values(key)][cells[features]].append(float(cells[-1]))
                continue
            if cells[features] == late and key not in few:
                continue
            if cells_kept:
                if key not in kept:
                    kept[key] = set(random.Random(f"{seed}:{key}").sample(choices, cells_kept))
                if cells[features] not in kept[key]:
                    continue
            to_train.write(line + "\n")
    medians = {key: {c: statistics.median(ms) for c, ms in times.items()} for key, times in samples.items()}
    return train, test, {k: t for k, t in medians.items() if any(map(math.isfinite, t.values()))}


def values(line):
    """The values of a line of features: ah-train writes 3.3e-05 as 0.000033."""
    return tuple(number(word) for word in line.split(","))


def number(word):
    try:
        value = float(word)
    except ValueError:
        return word
    return value if math.isfinite(value) else word


def judge(times, taken, fallback):
    """The figures of a row."""
    logs, slower, decided = [], [], 0
    for key, of in times.items():
        choice = taken.get(key)
        decided += choice is not None
        ways = (c for c in (choice, fallback) if math.isfinite(of.get(c, math.inf)))
        way = next(ways, None)
        paid = of[way] if way else max(filter(math.isfinite, of.values()))
        logs.append(math.log(paid / min(of.values())))
        base = of.get(fallback, math.inf)
        if math.isfinite(base):
            slower.append(paid > LIMIT * base)
    mean = statistics.fmean(slower) if slower else 0.0
    return {"loss": math.exp(statistics.fmean(logs)), "slower": mean, "decides": decided / len(times)}


def run(log, mode, kind, seed, variant, deadline):
    """Splits, learns and judges once; None after the deadline."""
    (name, path, cells_kept), (called, binary, env) = log, variant
    if time.time() > deadline:
        return None
    row = {"variant": called, "log": name, "mode": mode if kind == "fifth" else f"{mode} {kind}", "seed": seed}
    env = os.environ | env | {"RAYON_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        train, test, times = split(path, cells_kept, seed, folder, kind)
        toml = path.with_name(path.name.split("_gfx")[0] + ".toml")
        flags = ["--optimization", toml] if toml.exists() else []
        try:
            start = time.perf_counter()
            model = folder / "model.json"
            words = [train, "--heuristic-name", "T", "--no-codegen", "--model", model, "--threads", "1"]
            call(binary, env, *words, *flags, *MODES[mode])
            row["seconds"] = round(time.perf_counter() - start, 2)
            tsv = folder / "decisions.tsv"
            figures = json.loads(call(binary, env, "evaluate", model, test, "--json", "--decisions", tsv))
            taken = {}
            for line in tsv.read_text().splitlines():
                features, ranking = line.split("\t")
                taken[values(features)] = ranking.split(";")[0] or None
            row |= judge(times, taken, figures["always_fallback"]["choice"])
            row["kb"] = model.stat().st_size // 1000
        except (RuntimeError, KeyError, ValueError) as error:
            row["error"] = repr(error)[-400:]
    return row


def call(binary, env, *words):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    return done.stdout


def table(rows):
    """Prints the mean loss over seeds by log and mode, and the points that each variant adds to the first one."""
    by = collections.defaultdict(dict)
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    for row in rows:
        if "error" in row:
            print("error:", row["variant"], row["log"], row["mode"], row["seed"], row["error"], file=sys.stderr)
        else:
            by[row["mode"], row["log"]][row["variant"], row["seed"]] = row
    for mode in dict.fromkeys(mode for mode, _ in by):
        print(f"\n| {mode}, mean of seeds | " + " | ".join([variants[0], *(f"{v} +points" for v in variants[1:])]) + " |")
        print("| --- " * (len(variants) + 1) + "|")
        totals = collections.defaultdict(list)
        for (_, log), runs in by.items():
            if _ != mode:
                continue
            cells = []
            for variant in variants:
                # On the seeds that both have.
                seeds = [s for v, s in runs if v == variant and (variants[0], s) in runs]
                if not seeds:
                    cells.append("–")
                    continue
                mean = lambda v, key: statistics.fmean(runs[v, s].get(key, 0) for s in seeds)  # noqa: E731
                extra = 100 * (mean(variant, "loss") - mean(variants[0], "loss"))
                totals[variant].append((mean(variant, "loss"), extra, mean(variant, "seconds")))
                risk = f" {100 * mean(variant, 'slower'):.2f} %" if mode.split()[0] in ("promise", "default") else ""
                cells.append(f"{mean(variant, 'loss'):.4f}{risk}" if variant == variants[0] else f"{extra:+.2f}{risk}")
            print(f"| {log} | " + " | ".join(cells) + " |")
        means = [[statistics.fmean(t[i] for t in totals[v]) if totals[v] else 0.0 for i in range(3)] for v in variants]
        first, *others = means
        print(f"| *mean* | {first[0]:.4f} | " + " | ".join(f"{m[1]:+.3f}" for m in others) + " |")
        print("| *seconds* | " + " | ".join(f"{m[2]:.1f}" for m in means) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="*", help="PATH or NAME=PATH of an ah-train")
    parser.add_argument("--table", nargs="+", type=pathlib.Path, help="only print the table of these files")
    parser.add_argument("--logs", nargs="+", default=[ROOT / "../shared/data", ROOT / "data"])
    parser.add_argument("--only", help="logs whose names contain one of these texts, joined by commas")
    parser.add_argument("--modes", default="best,always,promise")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--large-seeds", type=int, help="seeds of the convolutions [default: all]")
    parser.add_argument("--sparse", type=int, help="also learn from so many random choices an input, where choices are many")
    parser.add_argument("--split", default="fifth", help="what is held out: fifth, above, few=N, late=N, joined by commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--env", nargs="*", default=[], help="NAME:KEY=VALUE,...")
    parser.add_argument("--seconds", type=float, help="start no run after so many seconds")
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    if args.table:
        return table([json.loads(line) for path in args.table for line in path.read_text().splitlines()])
    variants = []
    for word in args.binaries:
        name, _, path = word.rpartition("=")
        variants.append((name or pathlib.Path(path).name, path, {}))
    for word in args.env:
        name, _, settings = word.partition(":")
        variants.append((name, variants[0][1], dict(setting.split("=", 1) for setting in settings.split(","))))
    wanted = args.only.split(",") if args.only else [""]
    jobs = []
    for seed in range(args.seeds):
        for log in logs(args.logs, args.sparse):
            if not any(text in log[0] for text in wanted):
                continue
            large = log[0] in LARGE
            if large and args.large_seeds is not None and seed >= args.large_seeds:
                continue
            kinds = [kind for kind in args.split.split(",") if kind != "above" or seed == 0]
            jobs += [(log, mode, kind, seed, variant) for mode in args.modes.split(",") for kind in kinds for variant in variants]
    # The longest first within a seed.
    jobs.sort(key=lambda job: (job[3], job[0][0] not in LARGE, -job[0][1].stat().st_size))
    rows = []
    out = open(args.out, "w") if args.out else None
    deadline = time.time() + (args.seconds or math.inf)
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, *job, deadline) for job in jobs]):
            if row := done.result():
                rows.append(row)
                if out:
                    out.write(json.dumps(row) + "\n")
                    out.flush()
    table(rows)


if __name__ == "__main__":
    main()
