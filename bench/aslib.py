"""ASlib: which algorithm to run on an instance, where runs time out. ``python3 -m bench.aslib FOLDER`` judges selectors on the
ten folds that each scenario names, by PAR10: a run without a solution is written as ten time limits, and ``ah-train`` learns the
total time. The table has the share of the gap between the best single algorithm (known in hindsight) and the best algorithm of
each instance that a selector closes; features are free.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
PENALTY = 10


@dataclass(frozen=True)
class Scenario:
    """A scenario: by instance the PAR10 of each algorithm, the features (None where missing) and the fold."""

    algorithms: list[str]
    features: list[str]
    par10: list[list[float]]
    values: list[list[float | None]]
    folds: list[int]
    instances: list[str]


def arff(path: pathlib.Path) -> tuple[list[str], list[list[str]]]:
    """The columns and the rows of an ARFF file."""
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
"""An algorithm for each instance to judge."""


def single(scenario: Scenario, train: list[int], test: list[int]) -> list[int]:
    """Always the algorithm with the least PAR10 on the instances learned from."""
    algorithms = range(len(scenario.algorithms))
    best = min(algorithms, key=lambda a: sum(scenario.par10[i][a] for i in train))
    return [best] * len(test)


def ah_train(scenario: Scenario, train: list[int], test: list[int]) -> list[int]:
    """``ah-train --objective total``, always deciding."""
    names = [f"x{at}" for at in range(len(scenario.features))]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part, instances in (("train", train), ("test", test)):
            with open(folder / f"{part}.csv", "w", newline="") as file:
                table = csv.writer(file)
                table.writerow(["instance", *names, "algorithm", "ms"])
                for i in instances:
                    values = ["" if value is None else value for value in scenario.values[i]]
                    table.writerows([i, *values, a, max(1000 * t, 1e-3)] for a, t in zip(scenario.algorithms, scenario.par10[i]))
            flags = ["--name", "aslib", "--features", ",".join(names), "--choice", "algorithm", "--time", "ms"]
            _run("import", folder / f"{part}.csv", *flags, "--output", folder / f"{part}.txt")
        model, decisions = folder / "model.json", folder / "decisions.tsv"
        flags = ["--objective", "total", "--max-risk", "none", *FLAGS]
        _run(folder / "train.txt", "--heuristic-name", "S", "--no-codegen", "--model", model, *flags)
        _run("evaluate", model, folder / "test.txt", "--decisions", decisions)
        lines = (line.split("\t") for line in decisions.read_text().splitlines())
        taken = {_key(features.split(",")): ranking.split(";")[0] for features, ranking in lines}
    fallback = single(scenario, train, test)
    found = [taken.get(_key(scenario.values[i])) for i in test]
    return [scenario.algorithms.index(a) if a else other for a, other in zip(found, fallback)]


def _key(values: Sequence) -> tuple:
    """The values of an instance: a log writes 3.3e-05 as 0.000033."""
    return tuple(None if value in (None, "") else float(value) for value in values)


FLAGS: list[str] = []


def _binary() -> pathlib.Path:
    found = [ROOT / "target" / profile / "ah-train" for profile in ("release", "debug")]
    existing = [path for path in found if path.exists()]
    if not existing:
        raise SystemExit("no ah-train in target; cargo build --release -p ah-train")
    return existing[0]


def _run(*words: object) -> None:
    binary = _binary()
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{binary} {' '.join(map(str, words))}\n{done.stderr}")


def _filled(scenario: Scenario, train: list[int]):
    """The features as an array, with the median of the training part where they are missing."""
    import numpy

    values = numpy.array(scenario.values, dtype=float)
    known = [numpy.isfinite(values[train][:, column]) for column in range(values.shape[1])]
    medians = [numpy.median(values[train][ok, column]) if ok.any() else 0.0 for column, ok in enumerate(known)]
    return numpy.clip(numpy.where(numpy.isfinite(values), values, medians), -1e30, 1e30)


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
    "pairwise": pairwise,
    "ah-train": ah_train,
}


def judge(scenario: Scenario, select: Selector) -> float:
    """The share of the gap that a selector closes, on all folds together."""
    every, total = range(len(scenario.instances)), 0.0
    for fold in sorted(set(scenario.folds)):
        train = [i for i in every if scenario.folds[i] != fold]
        test = [i for i in every if scenario.folds[i] == fold]
        total += sum(scenario.par10[i][a] for i, a in zip(test, select(scenario, train, test)))
    best = sum(map(min, scenario.par10))
    alone = min(sum(times[a] for times in scenario.par10) for a in range(len(scenario.algorithms)))
    return 1 - (total - best) / (alone - best)


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
    with tempfile.TemporaryDirectory() as unpacked:
        folders = [path for path in _folders(args.folder, pathlib.Path(unpacked), args.scenarios)]
        if not folders:
            parser.error(f"no scenario in {args.folder}")
        scores: dict[str, list[float]] = {}
        for folder in folders:
            scenario = read(folder)
            for name in args.selectors:
                gap = judge(scenario, SELECTORS[name])
                scores.setdefault(folder.name, []).append(gap)
                print(f"{folder.name}: {name} closes {gap:.3f} of the gap", file=sys.stderr)
    print(f"| Closed gap | {' | '.join(args.selectors)} |\n|{' --- |' * (1 + len(args.selectors))}")
    scores["*mean*"] = [statistics.fmean(column) for column in zip(*scores.values())]
    for name, row in scores.items():
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in row)} |")


def _folders(folder: pathlib.Path, unpacked: pathlib.Path, names: list[str] | None) -> list[pathlib.Path]:
    """The folders of these scenarios; those that are packed are unpacked."""
    wanted = lambda name: names is None or name in names  # noqa: E731
    found = {path.parent.name: path.parent for path in folder.glob("*/description.txt") if wanted(path.parent.name)}
    for path in folder.glob("*.tar.*"):
        name = path.name.split(".tar.")[0]
        if wanted(name) and name not in found:
            with tarfile.open(path) as archive:
                archive.extractall(unpacked, filter="data")
            found[name] = unpacked / name
    return [found[name] for name in sorted(found)]


if __name__ == "__main__":
    main()
