#!/usr/bin/env python3
"""Writes the logs of a simulated fleet, for the figures of docs/clusters.md.

  scripts/simulate_fleet.py FOLDER --shards 20 --rows 1000000 [--like data/pad_mm/h200.txt.gz] [--sample 32] [--slow 3=1.04]

Each shard is a log like the given one: its metadata, its columns, its choices, and the times of one of its inputs for
each simulated input, with noise of 1 %. The feature m is made unique, so no input repeats. Every shard begins with the
same --sample inputs. --slow 3=1.04 makes the third machine 4 % slower.
"""
import argparse
import gzip
import itertools
import pathlib
import random

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--shards", type=int, required=True)
parser.add_argument("--rows", type=int, required=True)
parser.add_argument("--like", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "data/pad_mm/h200.txt.gz")
parser.add_argument("--sample", type=int, default=32)
parser.add_argument("--slow", default="")
arguments = parser.parse_args()

with gzip.open(arguments.like, "rt") as log:
    head, columns = log.readline(), log.readline()
    rows = [line.rstrip("\n").rsplit(",", 2) for line in log if line.strip()]
assert columns.startswith("m,"), "the first feature must be m"
inputs = [(features, [(choice, float(ms)) for _, choice, ms in group])
          for features, group in itertools.groupby(rows, lambda row: row[0])]
VARIANTS = 4
slow = dict(entry.split("=") for entry in arguments.slow.split(",") if entry)


def tails(times, factor, draw):
    """The rows of one input without its features, in several variants of the noise."""
    def one(ms):
        return repr(ms * factor * draw.uniform(0.99, 1.01))
    return ["\n".join(f"\0{choice},{one(ms)}" for choice, ms in times) + "\n" for _ in range(VARIANTS)]


def write(path, shard):
    draw = random.Random(shard)
    factor = float(slow.get(str(shard), 1))
    # Made when it is needed: a small shard uses few of the inputs.
    variants = {}

    def text(index, unique, variant):
        if index not in variants:
            variants[index] = tails(inputs[index][1], factor, draw)
        m, rest = inputs[index][0].split(",", 1)
        return variants[index][variant].replace("\0", f"{int(m) + unique},{rest},")

    with open(path, "w") as out:
        out.write(head + columns)
        left = arguments.rows
        for number in itertools.count():
            if left <= 0:
                break
            if number < arguments.sample:
                index, unique = number * 7 % len(inputs), 0
            else:
                # Unique over all shards: this input of the log for the `turn`-th time in this fleet.
                turn, index = divmod(number - arguments.sample, len(inputs))
                unique = 1 + turn * arguments.shards + (shard - 1)
            out.write(text(index, unique, draw.randrange(VARIANTS)))
            left -= len(inputs[index][1])


arguments.folder.mkdir(parents=True, exist_ok=True)
for shard in range(1, arguments.shards + 1):
    write(arguments.folder / f"{shard:04}.txt", shard)
