"""ASlib: which algorithm to run on an instance, where runs time out. ``python3 -m bench.aslib FOLDER`` judges selectors on the
ten folds that each scenario names, by PAR10: a run without a solution counts ten time limits. Features count as free.

The figure is the share of the gap between the best single algorithm (known in hindsight) and the best algorithm of each
instance that a selector closes.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
PENALTY = 10


@dataclass(frozen=True)
class Scenario:
    """A scenario: by instance the PAR10 of each algorithm, the features (None where missing) and the fold."""

    folder: pathlib.Path
    limit: float
    algorithms: list[str]
    features: list[str]
    par10: list[list[float]]
    values: list[list[float | None]]
    folds: list[int]
    instances: list[str]


def arff(path: pathlib.Path) -> tuple[list[str], list[list[str]]]:
    """Returns the columns and the rows of an ARFF file."""
    columns: list[str] = []
    lines = iter(path.read_text(errors="replace").splitlines())
    for line in lines:
        if found := re.match(r"\s*@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", line, re.IGNORECASE):
            columns.append(found[1].strip("'\""))
        if line.strip().lower() == "@data":
            break
    data = [line for line in map(str.strip, lines) if line and not line.startswith("%")]
    quote = "'" if any("'" in line for line in data[:100]) else '"'
    return columns, list(csv.reader(data, quotechar=quote, skipinitialspace=True))


def read(folder: pathlib.Path) -> Scenario:
    """Reads a scenario."""
    text = (folder / "description.txt").read_text()
    limit = float(re.search(r"algorithm_cutoff_time:\s*(\S+)", text)[1])
    columns, rows = arff(folder / "cv.arff")
    folds: dict[str, int] = {}
    for row in rows:
        folds.setdefault(row[0], int(float(row[columns.index("fold")])))
    instances = sorted(folds)
    columns, rows = arff(folder / "algorithm_runs.arff")
    algorithm, status = columns.index("algorithm"), columns.index("runstatus")
    ignored = {"instance_id", "repetition", "algorithm", "runstatus"}
    measure = next(at for at, name in enumerate(columns) if name not in ignored)
    runs: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        solved = row[status] == "ok" and float(row[measure]) < limit
        runs.setdefault((row[0], row[algorithm]), []).append(float(row[measure]) if solved else PENALTY * limit)
    algorithms = sorted({algorithm for _, algorithm in runs})
    mean = lambda key: statistics.fmean(runs.get(key, [PENALTY * limit]))  # noqa: E731
    columns, rows = arff(folder / "feature_values.arff")
    at = [place for place, name in enumerate(columns) if name not in {"instance_id", "repetition"}]
    values: dict[str, list[float | None]] = {}
    for row in rows:
        values.setdefault(row[0], [_number(row[place]) for place in at])
    return Scenario(
        folder=folder,
        limit=limit,
        algorithms=algorithms,
        features=[columns[place] for place in at],
        par10=[[mean((instance, algorithm)) for algorithm in algorithms] for instance in instances],
        values=[values.get(instance, [None] * len(at)) for instance in instances],
        folds=[folds[instance] for instance in instances],
        instances=instances,
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


Selector = Callable[[Scenario, list[int], list[int]], list[int]]


def single(scenario: Scenario, train: list[int], test: list[int]) -> list[int]:
    """Always the algorithm with the least PAR10 on the instances learned from."""
    algorithms = range(len(scenario.algorithms))
    best = min(algorithms, key=lambda a: sum(scenario.par10[i][a] for i in train))
    return [best] * len(test)


def ah_train(scenario: Scenario, train: list[int], test: list[int]) -> list[int]:
    """``ah-train --objective par10``, always deciding. An instance that no algorithm solves costs all the same."""
    binary = _binary()
    fallback = single(scenario, train, test)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        everything = folder / "all.txt"
        features = ",".join(["instance_id", *scenario.features])
        words = ["import", scenario.folder, "--name", "aslib", "--features", features, "--output", everything]
        _run(binary, *words)
        head, columns, rows = _log(everything)
        train_of = {scenario.instances[i] for i in train}
        _write(folder / "train.txt", head, columns, [row for row in rows if row[0] in train_of])
        test_of = {scenario.instances[i] for i in test}
        _write(folder / "test.txt", head, columns, [row for row in rows if row[0] in test_of])
        model = folder / "model.json"
        flags = ["--objective", "par10", "--max-risk", "none", *FLAGS]
        _run(binary, folder / "train.txt", "--heuristic-name", "S", "--no-codegen", "--model", model, *flags)
        _run(binary, "evaluate", model, folder / "test.txt", "--decisions", folder / "decisions.tsv")
        lines = (line.split("\t") for line in (folder / "decisions.tsv").read_text().splitlines())
        taken = {features: ranking.split(";")[0] for features, ranking in lines}
        texts = {row[0]: ",".join(row[1:-2]) for row in rows}
        found = [taken.get(texts.get(scenario.instances[i], "")) for i in test]
        return [scenario.algorithms.index(a) if a else other for a, other in zip(found, fallback)]


FLAGS: list[str] = []


def _binary() -> pathlib.Path:
    found = [ROOT / "target" / profile / "ah-train" for profile in ("release", "debug")]
    existing = [path for path in found if path.exists()]
    if not existing:
        raise SystemExit("no ah-train in target; cargo build --release -p ah-train")
    return max(existing, key=lambda path: path.stat().st_mtime)


def _run(binary: pathlib.Path, *words: object) -> None:
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{binary} {' '.join(map(str, words))}\n{done.stderr}")


def _log(path: pathlib.Path) -> tuple[dict, list[str], list[list[str]]]:
    """Returns the head of a log, its columns and its rows, with the instance first."""
    with open(path, newline="") as file:
        head = json.loads(file.readline())
        reader = csv.reader(file)
        columns = next(reader)
        at = columns.index("instance_id")
        order = [at, *(place for place in range(len(columns)) if place != at)]
        return head, [columns[place] for place in order], [[row[place] for place in order] for row in reader]


def _write(path: pathlib.Path, head: dict, columns: list[str], rows: list[list[str]]) -> None:
    """Writes a log of these rows without the instance."""
    others = [name for name in head["categorical_features"] if name != "instance_id"]
    with open(path, "w", newline="") as file:
        file.write(json.dumps({**head, "categorical_features": others}) + "\n")
        csv.writer(file, lineterminator="\n").writerows(row[1:] for row in [columns, *rows])


def _filled(scenario: Scenario, train: list[int]):
    """Returns the features as an array, with the median of the training part where they are missing."""
    import numpy

    values = numpy.array(scenario.values, dtype=float)
    known = [numpy.isfinite(values[train][:, column]) for column in range(values.shape[1])]
    medians = [numpy.median(values[train][ok, column]) if ok.any() else 0.0 for column, ok in enumerate(known)]
    return numpy.clip(numpy.where(numpy.isfinite(values), values, medians), -1e30, 1e30)


def regression(scenario: Scenario, train: list[int], test: list[int]) -> list[int]:
    """A forest of 100 trees for each algorithm, on the logarithm of its PAR10."""
    import numpy
    from sklearn.ensemble import RandomForestRegressor

    values, times = _filled(scenario, train), numpy.log(numpy.array(scenario.par10) + 1e-3)
    fit = lambda a: RandomForestRegressor(100, random_state=0, n_jobs=1).fit(values[train], times[train, a])  # noqa: E731
    predicted = [fit(a).predict(values[test]) for a in range(len(scenario.algorithms))]
    return list(numpy.argmin(predicted, axis=0))


def pairwise(scenario: Scenario, train: list[int], test: list[int]) -> list[int]:
    """A classification forest of 100 trees for each pair of algorithms, weighted by the difference of PAR10; the most votes win."""
    import numpy
    from sklearn.ensemble import RandomForestClassifier

    values, times = _filled(scenario, train), numpy.array(scenario.par10)
    votes = numpy.zeros((len(test), len(scenario.algorithms)))
    train = numpy.array(train)
    for a, b in itertools.combinations(range(len(scenario.algorithms)), 2):
        difference = times[train, a] - times[train, b]
        differs = difference != 0
        if not differs.any():
            continue
        first = difference[differs] < 0
        if first.all() or not first.any():
            votes[:, a if first.all() else b] += 1
            continue
        forest = RandomForestClassifier(100, random_state=0, n_jobs=1)
        forest.fit(values[train[differs]], first, sample_weight=numpy.abs(difference[differs]))
        wins = forest.predict(values[test])
        votes[:, a] += wins
        votes[:, b] += ~wins
    return list(votes.argmax(axis=1))


SELECTORS: dict[str, Selector] = {
    "single": single,
    "regression": regression,
    "pairwise": pairwise,
    "ah-train": ah_train,
}


def closed_gap(scenario: Scenario, select: Selector) -> float:
    """Returns the share of the gap that a selector closes on all folds together."""
    every = range(len(scenario.instances))
    total = 0.0
    for fold in sorted(set(scenario.folds)):
        train = [i for i in every if scenario.folds[i] != fold]
        test = [i for i in every if scenario.folds[i] == fold]
        total += sum(scenario.par10[i][a] for i, a in zip(test, select(scenario, train, test)))
    best = sum(map(min, scenario.par10))
    alone = min(sum(times[a] for times in scenario.par10) for a in range(len(scenario.algorithms)))
    return (alone - total) / (alone - best)


def main(arguments: Sequence[str] | None = None) -> None:
    """Reads the command line, and prints a table in Markdown."""
    names = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(prog="python3 -m bench.aslib", description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="a folder of scenarios, from github.com/coseal/aslib_data")
    parser.add_argument("--scenarios", type=names, help="the scenarios to run, joined by commas")
    parser.add_argument("--selectors", type=names, default=list(SELECTORS))
    parser.add_argument("--flags", type=str.split, default=[], help="further flags of ah-train")
    args = parser.parse_args(arguments)
    FLAGS.extend(args.flags)
    folders = [path.parent for path in sorted(args.folder.glob("*/description.txt"))]
    folders = [path for path in folders if not args.scenarios or path.name in args.scenarios]
    if not folders:
        parser.error(f"no scenario in {args.folder}")
    print(f"| scenario | {' | '.join(args.selectors)} |\n|{' --- |' * (1 + len(args.selectors))}", flush=True)
    gaps = []
    for folder in folders:
        scenario = read(folder)
        start = time.perf_counter()
        gaps.append([closed_gap(scenario, SELECTORS[name]) for name in args.selectors])
        print(f"| {folder.name} | {' | '.join(f'{gap:.3f}' for gap in gaps[-1])} |", flush=True)
        print(f"{folder.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"| *mean* | {' | '.join(f'{statistics.fmean(column):.3f}' for column in zip(*gaps))} |")


if __name__ == "__main__":
    main()
