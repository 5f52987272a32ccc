"""What measuring one configuration on one input gave."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

TURNS_OF_ALL, TURNS, NEAR, ROWS = 2, 6, 1.2, 2
TIMING = {
    "warmup_runs": 0,
    "min_samples": TURNS,
    "max_samples": TURNS,
    "target_relative_error": 0.02,
    "budget_ms": 10.0,
    "min_sample_ms": 0.0,
    "cold": True,
    "early_stop_ratio": NEAR,
    "burst": 1,
    "repetitions": ROWS,
}
"""The timing policy, as logs and ``ah-collect`` have it: two turns time all configurations, four more those near the
best. The run that is checked is the warm-up."""


@dataclass(frozen=True)
class Outcome:
    """The times of one configuration on one input, or why there are none."""

    rows: list[float] = field(default_factory=list)
    """Milliseconds, one a repetition; empty where it failed."""
    reason: str | None = None
    """Why it failed."""
    lasting: bool = True
    """Whether it fails in the same way next time: a wrong result also depends on the first configuration."""

    @property
    def ms(self) -> float:
        """The median; infinite where it failed."""
        return statistics.median(self.rows) if self.rows else math.inf

    @classmethod
    def of_samples(cls, samples: Sequence[float]) -> Outcome:
        """Returns the rows of a log for samples, in the order in which they were taken.

        The samples are cut into groups; a row is the mean of the fastest three quarters of one.
        """
        groups = min(ROWS, len(samples))
        cuts = [group * len(samples) // groups for group in range(groups + 1)]
        return cls([_mean_of_fastest(samples[a:b]) for a, b in zip(cuts, cuts[1:])])


def _mean_of_fastest(samples: Sequence[float]) -> float:
    kept = sorted(samples)[: max(len(samples) - math.ceil(len(samples) / 4), 1)]
    return sum(kept) / len(kept)
