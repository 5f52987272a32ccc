"""ASlib: which algorithm to run on an instance, where runs time out. ``python3 -m bench.aslib FOLDER`` judges selectors on the
ten folds that each scenario names, by PAR10: a run without a solution counts ten time limits.

The first table has the share of the gap between the best single algorithm (known in hindsight) and the best algorithm of each
instance that a selector closes, where features are free. The second one has the normalised PAR10 where they are not: 0 is the
best algorithm of each instance, 1 the best single one, and each instance pays for the steps that compute the features that the
selector uses. An instance that a step solves is solved.
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
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
    steps: Steps


@dataclass(frozen=True)
class Steps:
    """The steps that compute the features, in their order; none where features are free."""

    names: list[str]
    features: dict[str, set[str]]
    """What each provides."""
    requires: dict[str, set[str]]
    seconds: list[dict[str, float]]
    """What each takes, by instance."""
    solved: list[set[str]]
    """Those that solve the instance."""

    def needed(self, features: set[str]) -> set[str]:
        """Returns the steps that compute these features, with all that they require."""
        needed: set[str] = set()
        open_ = [name for name in self.names if self.features[name] & features]
        while open_:
            name = open_.pop()
            if name not in needed:
                needed.add(name)
                open_ += self.requires[name] & set(self.names)
        return needed

    def before(self, instance: int, needed: set[str]) -> tuple[float, bool]:
        """Returns the seconds of these steps on an instance, and whether one of them solves it."""
        seconds = 0.0
        for name in (name for name in self.names if name in needed):
            seconds += self.seconds[instance].get(name, 0.0)
            if name in self.solved[instance]:
                return seconds, True
        return seconds, False


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
        steps=_steps(folder, text, instances),
    )


def _steps(folder: pathlib.Path, description: str, instances: list[str]) -> Steps:
    """Reads the steps of a scenario: `feature_steps` in its description, which is YAML, their costs and their status."""
    if not (folder / "feature_costs.arff").exists():
        return Steps([], {}, {}, [], [])
    section = re.search(r"^feature_steps:[ \t]*\n((?:[ \t].*\n|\s*\n)*)", description, re.MULTILINE)
    lists: dict[str, dict[str, set[str]]] = {}
    into: set[str] = set()
    for line in map(str.strip, section[1].splitlines() if section else []):
        if line.startswith("- "):
            into.add(line[2:].strip("'\" "))
        elif line.endswith(":"):
            key = line[:-1].strip("'\"")
            if key in ("provides", "requires"):
                into = lists[step].setdefault(key, set())
            else:
                step = key
                lists[step] = {}
    columns, rows = arff(folder / "feature_costs.arff")
    names = [name for name in columns if name not in {"instance_id", "repetition"}]
    costs = {row[0]: dict(zip(columns, row)) for row in rows}
    seconds = [{name: _number(costs.get(i, {}).get(name, "")) or 0.0 for name in names} for i in instances]
    columns, rows = arff(folder / "feature_runstatus.arff")
    status = {row[0]: {name for name, value in zip(columns, row) if value == "presolved"} for row in rows}
    # A step runs after those that it requires.
    depth = lambda name: 1 + max((depth(n) for n in lists.get(name, {}).get("requires", ())), default=0)  # noqa: E731
    names.sort(key=depth)
    return Steps(
        names=names,
        features={name: lists.get(name, {}).get("provides", set()) for name in names},
        requires={name: lists.get(name, {}).get("requires", set()) for name in names},
        seconds=seconds,
        solved=[status.get(i, set()) for i in instances],
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class Picks:
    """An algorithm for each instance, and the features that a program computes for them."""

    algorithms: list[int]
    features: set[str]


Selector = Callable[[Scenario, list[int], list[int]], Picks]


def single(scenario: Scenario, train: list[int], test: list[int]) -> Picks:
    """Always the algorithm with the least PAR10 on the instances learned from."""
    algorithms = range(len(scenario.algorithms))
    best = min(algorithms, key=lambda a: sum(scenario.par10[i][a] for i in train))
    return Picks([best] * len(test), set())


def ah_train(scenario: Scenario, train: list[int], test: list[int]) -> Picks:
    """``ah-train --objective par10``, always deciding. An instance that no algorithm solves costs all the same."""
    binary = _binary()
    fallback = single(scenario, train, test).algorithms
    head, columns, rows = _imported(scenario.folder, ",".join(["instance_id", *scenario.features]))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
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
        picks = [scenario.algorithms.index(a) if a else other for a, other in zip(found, fallback)]
        return Picks(picks, _used(json.loads(model.read_text()), set(scenario.features)))


def _used(model: dict, features: set[str]) -> set[str]:
    """Returns the logged features that a model reads, also in derived ones."""
    columns = model.get("boosters", {}).get("columns", [])
    names = [column if isinstance(column, str) else column[0] for column in columns]
    names += [node["feature"] for node in model["tree"] if "feature" in node]
    derived = {feature["name"]: feature["expression"] for feature in model["derived"]}
    words = re.compile(r"`([^`]*)`|([A-Za-z_]\w*)")
    for text in [derived[name] for name in names if name in derived]:
        names += [quoted or plain for quoted, plain in words.findall(text)]
    return features & set(names)


FLAGS: list[str] = []


def _binary() -> pathlib.Path:
    found = [ROOT / "target" / profile / "ah-train" for profile in ("release", "debug")]
    existing = [path for path in found if path.exists()]
    if not existing:
        raise SystemExit("no ah-train in target; cargo build --release -p ah-train")
    return existing[0]


def _run(binary: pathlib.Path, *words: object) -> None:
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{binary} {' '.join(map(str, words))}\n{done.stderr}")


@functools.lru_cache(maxsize=1)
def _imported(folder: pathlib.Path, features: str) -> tuple[dict, list[str], list[list[str]]]:
    """Imports a scenario with these features."""
    with tempfile.TemporaryDirectory() as name:
        log = pathlib.Path(name) / "all.txt"
        _run(_binary(), "import", folder, "--name", "aslib", "--features", features, "--output", log)
        return _log(log)


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


def regression(scenario: Scenario, train: list[int], test: list[int]) -> Picks:
    """A forest of 100 trees for each algorithm, on the logarithm of its PAR10."""
    import numpy
    from sklearn.ensemble import RandomForestRegressor

    values, times = _filled(scenario, train), numpy.log(numpy.array(scenario.par10) + 1e-3)
    fit = lambda a: RandomForestRegressor(100, random_state=0, n_jobs=1).fit(values[train], times[train, a])  # noqa: E731
    predicted = [fit(a).predict(values[test]) for a in range(len(scenario.algorithms))]
    return Picks(list(numpy.argmin(predicted, axis=0)), set(scenario.features))


def pairwise(scenario: Scenario, train: list[int], test: list[int]) -> Picks:
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
    return Picks(list(votes.argmax(axis=1)), set(scenario.features))


SELECTORS: dict[str, Selector] = {
    "single": single,
    "regression": regression,
    "pairwise": pairwise,
    "ah-train": ah_train,
}


@dataclass(frozen=True)
class Score:
    """What a selector makes of a scenario."""

    gap: float
    """The share of the gap that it closes, features free."""
    normalised: float
    """The normalised PAR10 with the features that it uses."""
    seconds: float
    """Learning and choosing, on all folds."""


def judge(scenario: Scenario, select: Selector) -> Score:
    """Judges a selector on all folds together."""
    every, start = range(len(scenario.instances)), time.perf_counter()
    free = paid = 0.0
    for fold in sorted(set(scenario.folds)):
        train = [i for i in every if scenario.folds[i] != fold]
        test = [i for i in every if scenario.folds[i] == fold]
        picks = select(scenario, train, test)
        needed = scenario.steps.needed(picks.features)
        for i, algorithm in zip(test, picks.algorithms):
            free += scenario.par10[i][algorithm]
            paid += _with_features(scenario, i, algorithm, needed)
    best = sum(map(min, scenario.par10))
    alone = min(sum(times[a] for times in scenario.par10) for a in range(len(scenario.algorithms)))
    share = lambda total: (total - best) / (alone - best)  # noqa: E731
    return Score(1 - share(free), share(paid), time.perf_counter() - start)


def _with_features(scenario: Scenario, instance: int, algorithm: int, needed: set[str]) -> float:
    """Returns the PAR10 of an algorithm on an instance after these steps."""
    before, solved = scenario.steps.before(instance, needed)
    after = before if solved else before + scenario.par10[instance][algorithm]
    return after if after < scenario.limit else PENALTY * scenario.limit


def main(arguments: Sequence[str] | None = None) -> None:
    """Reads the command line, and prints two tables in Markdown."""
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
        scores: dict[str, list[Score]] = {}
        for folder in folders:
            scenario = read(folder)
            for name in args.selectors:
                score = judge(scenario, SELECTORS[name])
                scores.setdefault(folder.name, []).append(score)
                print(f"{folder.name}: {name} closes {score.gap:.3f} of the gap ({score.seconds:.0f} s)", file=sys.stderr)
    for title, figure in (("Closed gap", "gap"), ("Normalised PAR10 with feature costs", "normalised")):
        print(f"\n| {title} | {' | '.join(args.selectors)} |\n|{' --- |' * (1 + len(args.selectors))}")
        rows = {name: [getattr(score, figure) for score in row] for name, row in scores.items()}
        rows["*mean*"] = [statistics.fmean(column) for column in zip(*rows.values())]
        for name, row in rows.items():
            print(f"| {name} | {' | '.join(f'{value:.3f}' for value in row)} |")


def _folders(folder: pathlib.Path, unpacked: pathlib.Path, names: list[str] | None) -> list[pathlib.Path]:
    """Returns the folders of these scenarios; those that are packed are unpacked."""
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
