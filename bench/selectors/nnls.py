"""Three coefficients for each choice: what a small engine fits by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from ..task import Input, Task
from .fitted import Fitted, SkippedError


def fit(task: Task, train: Sequence[Input]) -> Fitted:
    """Non-negative least squares of the relative error on ``1``, the result and the work, in whole tiles."""
    if {*task.dimensions} != {"m", "k", "n"} or not task.log.choices[0].count("mr="):
        raise SkippedError("no tiles of m and n")
    try:
        import numpy
        from scipy.optimize import nnls
    except ImportError as error:
        raise SkippedError(f"{error}; pip install scipy") from error
    slots = [task.log.features.index(name) for name in "mkn"]
    tiles = {c: _tiles(c) for c in task.log.choices}

    def terms(i: Input, choice: str) -> list[float]:
        m, k, n = (float(i.values[slot]) for slot in slots)
        mr, nr = tiles[choice]
        result = math.ceil(m / mr) * mr * math.ceil(n / nr) * nr
        return [1.0, result, result * k]

    coefficients = {}
    for choice in tiles:
        timed = [i for i in train if i.worked(choice)]
        rows = numpy.array([terms(i, choice) for i in timed]) / numpy.array([[i.times[choice]] for i in timed])
        scales = rows.max(axis=0)
        coefficients[choice] = (nnls(rows / scales, numpy.ones(len(timed)))[0] / scales).tolist()

    def cost(i: Input, choice: str) -> float:
        return sum(c * x for c, x in zip(coefficients[choice], terms(i, choice)))

    def choose(inputs: Sequence[Input]) -> list:
        return [min(i.times, key=lambda c: cost(i, c)) for i in inputs]

    return Fitted(choose, len(json.dumps(coefficients)))


def _tiles(choice: str) -> tuple[int, int]:
    fields = dict(part.split("=", 1) for part in choice.split("_"))
    return int(fields["mr"]), int(fields["nr"])
