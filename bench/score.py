"""What a selector loses: the rules of the README."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .task import Input

LIMIT = 1.05


@dataclass(frozen=True)
class Score:
    """The figures of one selector on one test part."""

    loss: float
    """Geometric mean of the time taken over the best time."""
    total: float
    """Total time taken over the total of the best times."""
    p99: float
    """The 99th percentile of the time taken over the best time."""
    slower: float
    """Share of the inputs that take more than 1.05 times as long as the fallback."""
    declined: float
    """Share of the inputs on which the selector declined."""
    losses: list[float]
    """The loss of each input, ascending."""


def best_fallback(inputs: Sequence[Input], other: str | None = None) -> str:
    """The choice with the least mean log loss; where it did not work, it pays ``other``, else the slowest."""
    choices = sorted({choice for i in inputs for choice in i.times})
    return min(choices, key=lambda choice: sum(math.log(paid(i, choice, other) / i.best) for i in inputs))


def best_single(inputs: Sequence[Input]) -> tuple[str, str | None]:
    """The best single choice, and the one for inputs on which it did not work: the rule of ``ah-train``."""
    first = best_fallback(inputs, best_fallback(inputs))
    others = [i for i in inputs if not i.worked(first)]
    return first, best_fallback(others) if others else None


def paid(i: Input, choice: str | None, fallback: str | None) -> float:
    """The time that an input costs where a selector takes ``choice`` (None: it declines)."""
    for taken in (choice, fallback):
        if i.worked(taken):
            return i.times[taken]
    return max(filter(math.isfinite, i.times.values()))


def judge(inputs: Sequence[Input], taken: Sequence[str | None], fallback: str) -> Score:
    """Scores what a selector took on each input."""
    times = [paid(i, choice, fallback) for i, choice in zip(inputs, taken)]
    losses = sorted(time / i.best for i, time in zip(inputs, times))
    compared = [time > LIMIT * i.times[fallback] for i, time in zip(inputs, times) if i.worked(fallback)]
    return Score(
        loss=math.exp(statistics.fmean(map(math.log, losses))),
        total=sum(times) / sum(i.best for i in inputs),
        p99=losses[math.ceil(0.99 * len(losses)) - 1],
        slower=statistics.fmean(compared) if compared else math.nan,
        declined=statistics.fmean(choice is None for choice in taken),
        losses=losses,
    )
