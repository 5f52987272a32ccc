#!/usr/bin/env python3
"""Measures the inputs that a program met, learns again, and commits a branch if the new heuristic is better.

    retune.py SEEN --measure COMMAND --learn "FLAGS OF ah-train"
    retune.py seen.csv --measure "cargo run --release --example measure --" --learn "--heuristic-name Picker --into src/picker.rs"

Run it at the root of the repository that holds train.txt.gz, model.json and the generated code (docs/ci.md). SEEN is a
CSV file whose header names the features, with one input a line, or a log of AUTOHEURISTIC_COLLECT. A fifth of its inputs
judges both heuristics and teaches neither.

Exit 0: the branch retune/DATE holds the new log, model and code, and its commit message the table. Exit 1: the old
heuristic stays, for the printed reason. Exit 2: a step failed.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gzip
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

AH_TRAIN = os.environ.get("AH_TRAIN", "ah-train")
LOG, MODEL = Path("train.txt.gz"), Path("model.json")
LEAST_GAIN = 0.005
"""The share of the time that a new heuristic must save: below it, a review costs more than the change gains."""


def run(*words: str | Path) -> str:
    """Runs a command and returns its standard output; its messages go to ours."""
    done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"error: {shlex.join(map(str, words))} ended with {done.returncode}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def inputs(path: Path) -> tuple[list[str], list[tuple[str, ...]]]:
    """The features and the distinct inputs of a CSV file or a log."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as file:
        lines = file.readlines()
    rows = list(csv.reader(lines[lines[0].startswith("{") :]))
    keep = [at for at, column in enumerate(rows[0]) if column not in ("choice", "feedback")]
    distinct = dict.fromkeys(tuple(row[at] for at in keep) for row in rows[1:] if row)
    return [rows[0][at] for at in keep], list(distinct)


def measured(measure: str, features: list[str], part: list[tuple[str, ...]], log: Path) -> None:
    """Measures these inputs into a log."""
    asked = log.with_suffix(".csv")
    with asked.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([features, *part])
    run(*shlex.split(measure), "--inputs", asked, "--output", log)


def appended(old: Path, new: Path) -> None:
    """Adds the rows of a log to a packed one: by column, in the order of its header."""
    with gzip.open(old, "rt", encoding="utf-8", newline="") as file:
        lines = file.readlines()
    header = next(csv.reader([lines[1]]))
    with new.open(encoding="utf-8", newline="") as file:
        file.readline()
        rows = [[row[column] for column in header] for row in csv.DictReader(file)]
    added = io.StringIO()
    csv.writer(added, lineterminator="\n").writerows(rows)
    # Without a time and a name, the same rows give the same bytes.
    with old.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(("".join(lines) + added.getvalue()).encode())


def judged(model: Path, log: Path) -> dict[str, float]:
    """What `ah-train evaluate` finds of a model."""
    found: dict[str, float] = json.loads(run(AH_TRAIN, "evaluate", model, log, "--json"))["model"]
    return found


def table(old: dict[str, float], new: dict[str, float]) -> str:
    """The figures that a reviewer reads."""
    rows = [("", "old", "new")]
    for name, key, scale in (
        ("times as fast as the fallback", "speedup_over_fallback", 1.0),
        ("loses to the best choice, %", "slowdown", 100.0),
        ("> 5 % slower than the fallback, %", "over_limit", 100.0),
        ("worst, times the best", "worst", 1.0),
    ):
        less = 1.0 if key == "slowdown" else 0.0
        rows.append((name, *(f"{(found[key] - less) * scale:.2f}" for found in (old, new))))
    return "\n".join(f"{name:<36}{before:>8}{after:>8}" for name, before, after in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seen", type=Path, metavar="SEEN")
    parser.add_argument("--measure", required=True, metavar="COMMAND", help="--inputs and --output are added")
    parser.add_argument("--learn", required=True, metavar="FLAGS", help="those of the repository's own training")
    parser.add_argument("--max-slower", type=float, default=0.01, help="share of inputs, the promise [0.01]")
    options = parser.parse_args()

    if run("git", "status", "--porcelain").strip():
        print("error: the repository has changes that are not committed", file=sys.stderr)
        return 2
    features, seen = inputs(options.seen)
    held = seen[::5]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        measured(options.measure, features, [one for at, one in enumerate(seen) if at % 5], work / "learn.txt")
        measured(options.measure, features, held, work / "held.txt")
        old = judged(MODEL, work / "held.txt")
        appended(LOG, work / "learn.txt")
        run(AH_TRAIN, LOG, *shlex.split(options.learn))
        new = judged(MODEL, work / "held.txt")
    figures = f"{len(held)} inputs held out of {len(seen)} that the program met:\n\n{table(old, new)}\n"
    print(figures)
    reason = None
    if new["slowdown"] > old["slowdown"] * (1.0 - LEAST_GAIN):
        reason = f"it saves less than {LEAST_GAIN:.1%} of the time"
    elif new["over_limit"] > max(options.max_slower, old["over_limit"]):
        reason = f"{new['over_limit']:.2%} of the inputs are > 5 % slower than the fallback"
    if reason:
        run("git", "checkout", "--quiet", "--", ".")
        print(f"The old heuristic stays: {reason}.")
        return 1
    branch = f"retune/{datetime.date.today()}"
    run("git", "switch", "--quiet", "--create", branch)
    run("git", "commit", "--quiet", "--all", "--message", f"Learn from {len(seen)} inputs that the program met\n\n{figures}")
    print(f"Committed on the branch {branch}; open a pull request from it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
