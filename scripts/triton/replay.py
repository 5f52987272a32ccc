#!/usr/bin/env python3
"""Replays a dense log of many configurations: planned, random and exhaustive collecting, judged on a quarter of the shapes.

    python3 scripts/triton/replay.py LOG [--tools target/release] [--seed 0] [--cells 7000,20000] [--train WORDS] [--svg FILE]

- planned: `ah-collect --replay LOG --adaptive` on the shapes that are not held out, in a random order
- random: 32 random configurations of each shape
- exhaustive: all configurations of random shapes

For each number of cells a heuristic is learned by `ah-train`, and its picks are compared with the best of all configurations on
the held-out shapes. `--cells all` learns from the whole log. With --svg, draws the loss over the GPU seconds.
"""

import argparse
import gzip
import json
import random
import re
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

SECONDS_A_SHAPE = 0.018
SECONDS_A_CELL = 0.00076
"""Measured by steps.py on an H100: preparing a shape, and checking and timing one of its configurations."""
SPREAD = 32
"""Random configurations of a shape."""


class Replay:
    """A log, cut in two."""

    def __init__(self, options):
        self.options, self.folder = options, Path(tempfile.mkdtemp(prefix="replay_"))
        with (gzip.open if options.log.suffix == ".gz" else open)(options.log, "rt") as file:
            self.head = file.readline() + file.readline()
            rows = defaultdict(list)
            for line in file:
                text, choice, ms = line.rsplit(",", 2)
                rows[text].append((choice, line))
        self.rows = rows
        order = sorted(rows)
        random.Random(options.seed).shuffle(order)
        self.held_out, self.learning = order[: len(order) // 4], order[len(order) // 4 :]
        self.write("held_out.txt", self.held_out, lambda text: rows[text])

    def write(self, name, texts, cells):
        lines = (line for text in texts for _, line in cells(text))
        (self.folder / name).write_text(self.head + "".join(lines))
        return name

    def run(self, tool, *words):
        command = [self.options.tools.resolve() / tool, *map(str, words)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{tool} {' '.join(map(str, words))}:\n{done.stderr[-3000:]}")
        return done.stdout

    def planned(self, cells):
        """Collects until the log has about this many cells."""
        columns = self.head.split("\n")[1].rsplit(",choice", 1)[0]
        inputs = self.learning[: max(round(cells / SPREAD), 1)]
        (self.folder / "inputs.csv").write_text("\n".join([columns, *inputs]) + "\n")
        (self.folder / "planned.txt").unlink(missing_ok=True)
        (self.folder / "planned.txt.outcomes.jsonl").unlink(missing_ok=True)
        words = ["--replay", self.options.log.resolve(), "--adaptive", "--inputs", "inputs.csv", "-o", "planned.txt"]
        self.run("ah-collect", "collect", *words, *self.options.collect.split())
        return "planned.txt"

    def random(self, cells):
        rng, some = random.Random(self.options.seed + 1), self.learning[: max(round(cells / SPREAD), 1)]
        return self.write("random.txt", some, lambda text: rng.sample(self.rows[text], min(SPREAD, len(self.rows[text]))))

    def exhaustive(self, cells):
        count = max(round(cells / len(self.rows[self.learning[0]])), 1)
        return self.write("exhaustive.txt", self.learning[:count], lambda text: self.rows[text])

    def judge(self, way, cells):
        """Returns what was found with a number of cells, collected in this way."""
        log = getattr(self, way)(cells)
        lines = (self.folder / log).read_text().split("\n")[2:-1]
        timed = {tuple(line.rsplit(",", 1)[:1]) for line in lines}
        shapes = {line.rsplit(",", 2)[0] for line in lines}
        said = self.run("ah-train", log, "--heuristic-name", "T", "--no-codegen", "--model", "T.json", "--json",
                        *self.options.train.split())
        judged = json.loads(self.run("ah-train", "evaluate", "T.json", "held_out.txt", "--json"))
        model = json.loads((self.folder / "T.json").read_text())
        found = {"way": way, "shapes": len(shapes), "cells": len(timed)}
        found["seconds"] = round(len(shapes) * SECONDS_A_SHAPE + len(timed) * SECONDS_A_CELL, 1)
        found |= {"choices": len(model["choices"]), "kB": (self.folder / "T.json").stat().st_size // 1000}
        return found, judged, json.loads(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--tools", type=Path, default=Path(__file__).resolve().parents[2] / "target" / "release")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cells", default="20000")
    parser.add_argument("--ways", default="planned")
    parser.add_argument("--train", default="", help="more words for ah-train")
    parser.add_argument("--collect", default="", help="more words for ah-collect")
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    replay = Replay(options)
    for way in options.ways.split(","):
        for cells in options.cells.split(","):
            count = sum(len(replay.rows[text]) for text in replay.learning) if cells == "all" else int(cells)
            print(replay.judge(way, count), flush=True)


if __name__ == "__main__":
    main()
