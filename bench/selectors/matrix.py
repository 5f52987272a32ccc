"""Inputs as a matrix of numbers, for learners that take one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy

from ..task import Input, Task

WORST = math.log(10)
"""The log slowdown of a choice that failed or was not offered; larger ones are cut to it."""


class Encoder:
    """Numbers of an input: its features, products of its dimensions, their trailing zero bits."""

    def __init__(self, task: Task, train: Sequence[Input]):
        """Remembers the categories of the inputs learned from."""
        features = task.log.features
        numerical = set(task.log.metadata["numerical_features"])
        self.numbers = [slot for slot, name in enumerate(features) if name in numerical]
        self.dimensions = [features.index(name) for name in task.dimensions]
        categorical = [slot for slot, name in enumerate(features) if name not in numerical]
        self.codes = {slot: _codes(str(i.values[slot]) for i in train) for slot in categorical}

    def __call__(self, inputs: Sequence[Input]) -> numpy.ndarray:
        """One row for each input."""
        columns = [self._column(inputs, slot) for slot in self.numbers]
        for slot, codes in self.codes.items():
            columns.append(numpy.array([codes.get(str(i.values[slot]), -1) for i in inputs], float))
        dimensions = [self._column(inputs, slot) for slot in self.dimensions]
        columns += [a * b for a, b in itertools.combinations(dimensions, 2)]
        columns.append(numpy.prod(dimensions, axis=0))
        for column in dimensions:
            whole = column.astype(numpy.int64)
            columns.append((whole & -whole).astype(float))
        return numpy.stack(columns, axis=1)

    @staticmethod
    def _column(inputs: Sequence[Input], slot: int) -> numpy.ndarray:
        return numpy.array([i.values[slot] for i in inputs], float)


def _codes(texts) -> dict[str, int]:
    return {text: code for code, text in enumerate(sorted(set(texts)))}


def log_slowdown(i: Input, choice: str) -> float:
    """The log of the choice's time over the best, at most ``WORST``."""
    return min(WORST, math.log(i.times[choice] / i.best)) if i.worked(choice) else WORST
