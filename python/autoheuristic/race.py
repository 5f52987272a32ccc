"""The configurations of one input, timed in turns until each is known well enough.

The rules are those of ``ah-collect`` (``docs/measuring.md``): round robin, so that a drift of clocks hits all
alike; a configuration is done when the 95 % interval of its median is narrow, at a maximum of samples, when its
budget is spent, or when it is surely out of the running. This file knows no clock and no device.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

LEAST_SAMPLES = 6
"""Fewer samples have no 95 % interval of the median: 1 - 2 * 0.5**5 = 0.9375."""

LEAST_BEFORE_EARLY_STOP = 2
"""Samples before a configuration may be out of the running: one alone may have met an interrupt."""


@dataclass(frozen=True)
class TimingPolicy:
    """How one configuration is timed on one input. The keys are those of the log's metadata.

    The defaults suit a GPU: cold samples, as Triton's ``do_bench`` takes them. They favour many inputs over narrow
    intervals, because a tree averages over the inputs of a leaf.
    """

    warmup_runs: int = 1
    """Runs of each configuration before its first sample. The run that is checked is the first."""
    min_samples: int = 6
    max_samples: int = 18
    target_relative_error: float = 0.02
    """Sampling stops when the 95 % interval of the median is at most this share of it to each side."""
    budget_ms: float = 10.0
    """Milliseconds that all samples of one configuration on one input may take."""
    min_sample_ms: float = field(default=0.0, init=False)
    """Here a sample is always one run, because it is cold."""
    cold: bool = True
    """Caches are emptied before each sample."""
    early_stop_ratio: float = 1.3
    """A configuration is out of the running when its fastest sample takes more than this many times the slowest
    sample of the best one."""
    burst: int = field(default=1, init=False)
    """Here a turn is always one sample."""
    repetitions: int = 3
    """Rows of each configuration in the log."""

    def to_json(self) -> dict[str, Any]:
        """Returns the policy as the metadata of a log hold it."""
        # JSON has no infinity: null never stops early.
        return {**asdict(self), "early_stop_ratio": _finite(self.early_stop_ratio)}

    def rows(self, samples: Sequence[float]) -> list[float]:
        """Returns the rows that samples, in the order in which they were taken, make in the log.

        The samples are cut into ``repetitions`` groups; a row is the mean of the fastest three quarters of one.
        """
        groups = min(max(self.repetitions, 1), len(samples))
        cuts = [group * len(samples) // groups for group in range(groups + 1)]
        return [_mean_of_fastest(samples[a:b]) for a, b in zip(cuts, cuts[1:])]


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _mean_of_fastest(samples: Sequence[float]) -> float:
    kept = sorted(samples)[: max(len(samples) - math.ceil(len(samples) / 4), 1)]
    return sum(kept) / len(kept)


def relative_error(samples: Sequence[float]) -> float | None:
    """Returns half the width of the 95 % interval of the median, as a share of it; ``None`` for too few samples.

    The interval lies between two order statistics whose ranks come from the binomial distribution (Conover,
    *Practical Nonparametric Statistics*, 3.2), so nothing is assumed about the shape of the noise.
    """
    n = len(samples)
    if n < LEAST_SAMPLES:
        return None
    below, total, term = 0, 0.5**n, 0.5**n
    while True:
        term *= (n - below) / (below + 1)
        if total + term > 0.025 or term <= 0:
            break
        total += term
        below += 1
    ordered = sorted(samples)
    return (ordered[n - 1 - below] - ordered[below]) / 2 / statistics.median(ordered)


class Race:
    """Who is timed next, and who is done."""

    def __init__(self, policy: TimingPolicy, runners: Sequence[int]):
        """A race of these configurations, by index."""
        self.policy = policy
        self.samples: dict[int, list[float]] = {runner: [] for runner in runners}
        self._spent = dict.fromkeys(runners, 0.0)
        self._running = list(runners)

    def round(self) -> list[int]:
        """Returns the configurations of the next turn, in order; none when all are done."""
        return list(self._running)

    def record(self, runner: int, ms: float, spent_ms: float) -> None:
        """Adds a sample of ``ms`` milliseconds; taking it cost ``spent_ms``."""
        self.samples[runner].append(ms)
        self._spent[runner] += spent_ms
        if self._done(runner):
            self._running.remove(runner)

    def withdraw(self, runner: int) -> None:
        """Takes a configuration out; its samples do not count."""
        self.samples[runner] = []
        self._running.remove(runner)

    def _done(self, runner: int) -> bool:
        samples, policy = self.samples[runner], self.policy
        if len(samples) >= max(policy.max_samples, 1) or self._spent[runner] >= policy.budget_ms:
            return True
        if len(samples) >= LEAST_BEFORE_EARLY_STOP and min(samples) > self._slowest_of_best() * policy.early_stop_ratio:
            return True
        if len(samples) < policy.min_samples:
            return False
        error = relative_error(samples)
        return error is not None and error <= policy.target_relative_error

    def _slowest_of_best(self) -> float:
        """Returns the slowest sample of the configuration with the least median."""
        return max(min((s for s in self.samples.values() if s), key=statistics.median))
