"""Which configurations are worth measuring on one more input.

To compile a configuration takes half a second, to time it a hundredth. A value of a compile-time parameter that is new
compiles them all again. So once three inputs have been measured in full, only configurations that were near the best
on some input are measured on the next ones, and a few others, which differ from input to input.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Collection, Mapping, Sequence

FULL = 3
"""Inputs that every configuration is measured on."""
NEAR = 1.25
"""A configuration stays if it took at most this many times the best time on some input."""
EXPLORED = 2
"""Others that are measured on each input; one that does well joins."""


def worth_measuring(names: Sequence[str], inputs: Collection[Mapping[str, list[float]]], seed: str) -> list[str]:
    """Returns those of the configurations to measure on the input that ``seed`` names.

    ``inputs`` are the times of the inputs so far. The same inputs and seed give the same configurations.
    """
    if sum(set(names) <= set(times) for times in inputs) < FULL:
        return list(names)
    near = set()
    for times in inputs:
        medians = {name: statistics.median(ms) for name, ms in times.items()}
        best = min(medians.values())
        near |= {name for name, ms in medians.items() if ms <= NEAR * best}
    others = [name for name in names if name not in near]
    others.sort(key=lambda name: hashlib.sha256(f"{seed};{name}".encode()).digest())
    kept = near | set(others[:EXPLORED])
    return [name for name in names if name in kept]
