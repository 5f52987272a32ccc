"""Picks from a log, for a kernel without a heuristic: what the package's autotuner would find, without its benchmark.

The package takes calls that agree in its key as the same. So does this: a call whose key stands in the log takes the
configuration with the least geometric mean of the slowdowns on the inputs with this key.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .. import text
from ..log import Log

WORST = 10.0
"""The slowdown of a configuration that failed or was not timed on an input of the key."""


class Remembered:
    """The configurations of each key in a log, best first."""

    def __init__(self, log: Log, names: Sequence[str]):
        """Reads a log; ``names`` are the features of the package's key."""
        self._names = [name for name in names if name in log.features]
        place = {name: i for i, name in enumerate(log.features)}
        by_key: dict[tuple[str, ...], list[dict[str, float]]] = {}
        for values, times in log.inputs().items():
            key = tuple(text.value(values[place[name]]) for name in self._names)
            by_key.setdefault(key, []).append({choice: statistics.median(ms) for choice, ms in times.items()})
        ranked = {key: _ranked(inputs) for key, inputs in by_key.items()}
        self._ranked = {key: names for key, names in ranked.items() if names}

    def __len__(self) -> int:
        """Returns the number of keys."""
        return len(self._ranked)

    def ranked(self, features: Mapping[str, Any]) -> list[str]:
        """Returns the configurations for a call with these features, best first; none if its key is new."""
        return self._ranked.get(tuple(text.value(features[name]) for name in self._names), [])


def _ranked(inputs: Sequence[Mapping[str, float]]) -> list[str]:
    losses: dict[str, list[float]] = {}
    for times in inputs:
        best = min(times.values())
        if not math.isfinite(best):
            continue
        for choice in {choice for other in inputs for choice in other}:
            losses.setdefault(choice, []).append(math.log(min(times.get(choice, math.inf) / best, WORST)))
    ranked = sorted((sum(loss), choice) for choice, loss in losses.items())
    return [choice for _, choice in ranked if any(math.isfinite(times.get(choice, math.inf)) for times in inputs)]
