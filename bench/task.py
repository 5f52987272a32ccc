"""A task: an optimization's log, read once and split by fixed rules."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
import pathlib
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import tomllib
from autoheuristic import Log

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Input:
    """One input: its features, and the time of each offered choice; infinite where the choice failed."""

    values: tuple
    times: dict[str, float]
    line: str
    """The features as the log has them, joined by commas."""

    @property
    def best(self) -> float:
        """The least time."""
        return min(self.times.values())

    def worked(self, choice: str | None) -> bool:
        """Whether the choice was offered and has a time."""
        return math.isfinite(self.times.get(choice, math.inf))


@dataclass(frozen=True)
class Task:
    """What one line of ``tasks.toml`` names."""

    name: str
    path: pathlib.Path
    optimization: pathlib.Path | None
    dimensions: list[str]
    fallback: str | None
    devices: list[str]
    log: Log = field(repr=False)
    inputs: list[Input] = field(repr=False)

    def split(self, kind: str, seed: int, tasks: dict[str, Task]) -> Iterator[tuple[str, list[Input], list[Input]]]:
        """Yields a name, the inputs to learn from and the inputs to judge on."""
        if kind == "devices":
            for other in self.devices:
                if other in tasks:
                    yield f"{self.name} on {other}", self.inputs, tasks[other].inputs
            return
        slots = [self.log.features.index(name) for name in self.dimensions]
        parts: tuple[list[Input], list[Input]] = ([], [])
        for i in self.inputs:
            key = i.line if kind == "inputs" else ",".join(str(i.values[slot]) for slot in slots)
            parts[held_out(key, seed)].append(i)
        yield self.name, *parts

    def write(self, inputs: Iterable[Input], path: pathlib.Path) -> None:
        """Writes a log of these inputs, with one row for each choice."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            file.write(json.dumps(self.log.metadata) + "\n")
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow([*self.log.features, "choice", "feedback"])
            rows.writerows([*i.values, choice, ms] for i in inputs for choice, ms in i.times.items())


def held_out(key: str, seed: int) -> bool:
    """Whether the input or shape belongs to the test part: the fixed rule of the README."""
    digest = hashlib.sha256(f"{seed}:{key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < TEST_SHARE * 2**64


def load(folder: pathlib.Path, names: set[str] | None) -> dict[str, Task]:
    """Reads the logs of ``tasks.toml`` that the folder holds, and says which are missing."""
    with open(pathlib.Path(__file__).parent / "tasks.toml", "rb") as file:
        entries = tomllib.load(file)
    if unknown := (names or set()) - entries.keys():
        raise SystemExit(f"unknown tasks {', '.join(sorted(unknown))}; there are {', '.join(entries)}")
    wanted = names or set(entries)
    wanted |= {other for name in wanted for other in entries[name].get("devices", [])}
    tasks = {}
    for name, entry in entries.items():
        if name not in wanted:
            continue
        inside = entry["log"].removeprefix("repository:")
        path = folder / inside if inside == entry["log"] else ROOT / inside
        if not path.exists():
            print(f"skipped {name}: no file {path}", flush=True)
            continue
        log = Log.read(path) if "choice" not in entry else _table(path, entry)
        optimization = entry.get("optimization")
        tasks[name] = Task(
            name,
            path,
            folder / optimization if optimization else None,
            entry["dimensions"],
            entry.get("fallback"),
            entry.get("devices", []),
            log,
            list(_inputs(log)),
        )
    return tasks


def _table(path: pathlib.Path, entry: dict) -> Log:
    """Reads a table of seconds: the columns of ``choice`` make up its name, as ``ah-train import`` writes it."""
    features = entry["dimensions"]
    log = Log({"name": "table", "device_capa": [0, 0], "numerical_features": features, "categorical_features": []}, features)
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            choice = "_".join(f"{key}={row[key]}" for key in entry["choice"])
            times = log.inputs().setdefault(tuple(int(row[name]) for name in features), {})
            times.setdefault(choice, []).append(1e3 * float(row["seconds"]))
    return log


def _inputs(log: Log) -> Iterator[Input]:
    for values, samples in log.inputs().items():
        times = {choice: statistics.median(ms) for choice, ms in samples.items()}
        if any(map(math.isfinite, times.values())):
            yield Input(values, times, ",".join(map(str, values)))
