"""Times the fixed decision by which logs compare languages: a call, and eight comparisons on four numbers."""

from __future__ import annotations

import time

ROUNDS, CALLS = 200, 200


def decide(m: float, n: float, k: float, b: float) -> int:
    """Returns a choice, as generated Python does it."""
    if m <= 96.0:
        return 0
    if n <= 4096.0:
        if k <= 128.0:
            return 1
        if m <= 512.0:
            return 2
        if n <= 100.0:
            return 3
        if b <= 4.0:
            return 4
        if k <= 300.0:
            return 5
        if m <= 700.0:
            return 6
    return 7


def nanoseconds() -> float:
    """Returns the least time of a decision in nanoseconds."""
    least, calls = float("inf"), range(CALLS)
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in calls:
            decide(1024.0, 2048.0, 512.0, 8.0)
        least = min(least, (time.perf_counter_ns() - begin) / CALLS)
    return round(least, 1)
