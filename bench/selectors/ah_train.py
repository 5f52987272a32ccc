"""The learner of this project, through its command line."""

from __future__ import annotations

import importlib.util
import math
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence

from ..task import ROOT, Input, Task
from .fitted import Fitted, SkippedError

BINARIES = pathlib.Path(os.environ.get("AH_BINARIES", ROOT / "target/release"))


def with_promise(task: Task, train: Sequence[Input]) -> Fitted:
    """The default."""
    return _fit(task, train, [])


def always(task: Task, train: Sequence[Input]) -> Fitted:
    """Without the promise."""
    return _fit(task, train, ["--max-risk", "none"])


def best(task: Task, train: Sequence[Input]) -> Fitted:
    """Without the promise, and the size that loses least, whatever it weighs."""
    return _fit(task, train, ["--max-risk", "none", "--size", "best"])


def _fit(task: Task, train: Sequence[Input], flags: list[str]) -> Fitted:
    if not (BINARIES / "ah-train").exists() or not (BINARIES / "ah-codegen").exists():
        raise SkippedError(f"no tools in {BINARIES}; cargo build --release -p ah-train -p ah-codegen")
    folder = tempfile.TemporaryDirectory()
    work = pathlib.Path(folder.name)
    task.write(train, work / "train.txt")
    if task.optimization:
        flags = [*flags, "--optimization", str(task.optimization)]
    elif task.fallback:
        flags = [*flags, "--fallback", task.fallback]
    model = work / "model.json"
    _run("ah-train", work / "train.txt", "--heuristic-name", "Learned", "--no-codegen", "--model", model, *flags)
    _run("ah-codegen", model, "--target", "python", "--out", work, "--force")
    source = next(work.rglob("*.py"))
    learned = _import(source)

    def choose(inputs: Sequence[Input], keep=folder) -> list:
        task.write(inputs, work / "test.txt")
        _run("ah-train", "evaluate", model, work / "test.txt", "--decisions", work / "decisions.tsv")
        lines = (line.split("\t") for line in (work / "decisions.tsv").read_text().splitlines())
        taken = {_values(features): ranking.split(";")[0] or None for features, ranking in lines}
        return [taken[_values(i.line)] for i in inputs]

    def one(i: Input) -> object:
        return learned.choose(**dict(zip(task.log.features, i.values)))

    return Fitted(choose, source.stat().st_size, one)


def _values(line: str) -> tuple:
    """The values of a line of features: ``ah-train`` writes 3.3e-05 as 0.000033."""
    return tuple(_number(word) for word in line.split(","))


def _number(word: str) -> float | str:
    try:
        number = float(word)
    except ValueError:
        return word
    return number if math.isfinite(number) else word


def _run(tool: str, *words) -> None:
    done = subprocess.run([BINARIES / tool, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{tool} {' '.join(map(str, words))}\n{done.stderr}")


def _import(path: pathlib.Path):
    spec = importlib.util.spec_from_file_location("learned", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
