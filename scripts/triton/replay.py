#!/usr/bin/env python3
"""Replays a dense log of many configurations: random and exhaustive collecting, judged on a quarter of the shapes.

    python3 scripts/triton/replay.py LOG [--seed 0] [--ways random,exhaustive] [--cells 7000,20000] [--train WORDS]

- random: 32 random configurations of each shape
- exhaustive: all configurations of random shapes

For each number of cells a heuristic is learned by `ah-train`, and its picks are compared with the best of all configurations on
the held-out shapes. `--ways exhaustive --cells all` learns from the whole log. --results FILE --svg FILE draws the loss over the
GPU seconds, also of earlier results.
"""

import argparse
import gzip
import json
import math
import random
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

SECONDS_A_SHAPE, SECONDS_A_CELL = 0.018, 0.0006
"""Of preparing a shape, and of checking and timing one of its configurations: steps.py and live.py on an H100."""
WAYS = {"random": "random cells", "exhaustive": "all cells"}
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
        timed, shapes = ({line.rsplit(",", count)[0] for line in lines} for count in (1, 2))
        begin = time.monotonic()
        train = [log, "--heuristic-name", "T", "--no-codegen", "--model", "T.json", "--json", *self.options.train.split()]
        said = json.loads(self.run("ah-train", *train))
        found = {"way": way, "seed": self.options.seed, "shapes": len(shapes), "cells": len(timed)}
        found["GPU seconds"] = round(len(shapes) * SECONDS_A_SHAPE + len(timed) * SECONDS_A_CELL, 1)
        found["loses"], found["worst"] = self.loss()
        found["said"] = round(said["metrics"]["held_out"]["slowdown"], 4)
        model = json.loads((self.folder / "T.json").read_text())
        found |= {"choices": len(model["choices"]), "kB": (self.folder / "T.json").stat().st_size // 1000}
        return {**found, "learned in": round(time.monotonic() - begin, 1)}

    def loss(self):
        """Returns the geometric mean and the greatest of the slowdowns of the picks on the held-out shapes."""
        self.run("ah-train", "evaluate", "T.json", "held_out.txt", "--decisions", "decisions.tsv")
        slowdowns = []
        for line in (self.folder / "decisions.tsv").read_text().splitlines():
            text, ranking = line.split("\t")
            times = {choice: float(row.rsplit(",", 1)[1]) for choice, row in self.rows[text]}
            slowdowns.append(times[ranking.split(";")[0]] / min(times.values()))
        return round(statistics.geometric_mean(slowdowns), 4), round(max(slowdowns), 2)


def svg(found):
    """Returns the picture: the loss over the GPU seconds, by way."""
    width, height, left, top = 560, 240, 52, 44
    seconds = [row["GPU seconds"] for row in found]
    low, high = math.log(min(seconds)), math.log(max(seconds))
    most = math.ceil(max(row["loses"] - 1 for row in found) * 20) / 20

    def place(row_seconds, loss):
        x = left + (math.log(row_seconds) - low) / max(high - low, 1e-9) * width
        return x, top + height - (loss - 1) / most * height

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 24} {top + height + 46}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>Time lost on held-out shapes over the GPU seconds of collecting</title>",
        "<style>text{fill:#1b1f24}.a{stroke:#d0d7de}.c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#8b949e}"
        "polyline,.key{fill:none;stroke-width:2.5}.c1{stroke-dasharray:7 3}.c2{stroke-dasharray:2 3}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.a{stroke:#30363d}.c0{stroke:#56b4e9}.c1{stroke:#ff8a4c}}</style>",
    ]
    for at, (way, words) in enumerate(WAYS.items()):
        x = left + at * 190
        out.append(f'<path class="key c{at}" d="M{x} 16h34"/><text x="{x + 42}" y="21">{words}</text>')
    for percent in range(0, round(most * 100) + 1, 5):
        _, y = place(math.exp(low), 1 + percent / 100)
        out.append(f'<path class="a" d="M{left} {y:.1f}h{width}"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>')
    for tick in (2, 5, 10, 20, 50, 100, 200, 400):
        if low <= math.log(tick) <= high:
            x, _ = place(tick, 1)
            out.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{tick} s</text>')
    for at, way in enumerate(WAYS):
        by_seconds = defaultdict(list)
        for row in (row for row in found if row["way"] == way):
            by_seconds[row["GPU seconds"]].append(row["loses"])
        points = [place(x, statistics.geometric_mean(by_seconds[x])) for x in sorted(by_seconds)]
        out.append(f'<polyline class="c{at}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        out += [f'<circle class="key c{at}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
    below = top + height + 38
    out.append(f'<text x="{left}" y="{below}">up: time lost to the best of all; across: GPU seconds of collecting, compiled.</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("--tools", type=Path, default=Path(__file__).resolve().parents[2] / "target" / "release")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cells", default="20000", help="numbers of cells by commas, or all")
    parser.add_argument("--ways", default="exhaustive", help=f"of {','.join(WAYS)}")
    parser.add_argument("--train", default="", help="more words for ah-train")
    parser.add_argument("--results", type=Path, help="a file to which each result is appended, one a line")
    parser.add_argument("--svg", type=Path, help="the picture of all results of that file")
    options = parser.parse_args()
    replay = Replay(options)
    for way in options.ways.split(","):
        for cells in options.cells.split(","):
            count = sum(len(replay.rows[text]) for text in replay.learning) if cells == "all" else int(cells)
            line = json.dumps(replay.judge(way, count))
            print(line, flush=True)
            if options.results:
                with open(options.results, "a") as file:
                    file.write(line + "\n")
    if options.svg:
        options.svg.write_text(svg([json.loads(line) for line in options.results.read_text().splitlines()]))


if __name__ == "__main__":
    main()
