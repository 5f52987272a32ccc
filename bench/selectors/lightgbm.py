"""LightGBM: one regression of the log slowdown over pairs of an input and a choice."""

from __future__ import annotations

from collections.abc import Sequence

from ..task import Input, Task
from .fitted import Fitted, SkippedError

PARAMETERS = {"objective": "regression", "num_leaves": 127, "learning_rate": 0.05, "min_data_in_leaf": 5,
              "verbose": -1, "seed": 0, "deterministic": True, "num_threads": 1}  # fmt: skip
ROUNDS = 800


def fit(task: Task, train: Sequence[Input]) -> Fitted:
    """Learns; the choice is a category, and the numbers of a name like ``BM=128_warps=4`` are features."""
    try:
        import lightgbm
        import numpy
    except ImportError as error:
        raise SkippedError(f"{error}; pip install lightgbm") from error
    from .matrix import Encoder, log_slowdown

    encode = Encoder(task, train)
    choices = sorted({choice for i in train for choice in i.times})
    parts = _parts(choices)

    def pairs(inputs: Sequence[Input]) -> tuple[numpy.ndarray, list[list[str]]]:
        offered = [[c for c in i.times if c in parts] for i in inputs]
        rows = numpy.repeat(encode(inputs), [len(known) for known in offered], axis=0)
        of_choice = numpy.array([parts[c] for known in offered for c in known], float)
        return numpy.hstack([rows, of_choice.reshape(len(rows), -1)]), offered

    rows, offered = pairs(train)
    target = [log_slowdown(i, c) for i, known in zip(train, offered) for c in known]
    category = rows.shape[1] - len(next(iter(parts.values())))
    data = lightgbm.Dataset(rows, target, categorical_feature=[category])
    model = lightgbm.train(PARAMETERS, data, ROUNDS)

    def choose(inputs: Sequence[Input]) -> list:
        rows, offered = pairs(inputs)
        if not len(rows):
            return [None for _ in inputs]
        predicted = iter(model.predict(rows, num_threads=1))
        taken = []
        for known in offered:
            costs = {c: next(predicted) for c in known}
            taken.append(min(costs, key=costs.__getitem__, default=None))
        return taken

    return Fitted(choose, len(model.model_to_string()))


def _parts(choices: list[str]) -> dict[str, list[float]]:
    """Returns, for each choice, its number and the numbers of its ``KEY=VALUE`` parts; NaN where it lacks one."""
    fields = {c: dict(part.split("=", 1) for part in c.split("_") if "=" in part) for c in choices}
    keys = sorted({key for named in fields.values() for key in named})
    return {c: [float(place), *(_number(fields[c].get(key, "nan")) for key in keys)] for place, c in enumerate(choices)}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
