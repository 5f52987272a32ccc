"""Measures the configurations of a kernel on one call of a running program.

Two turns time all configurations, four more those near the best. ``ah-collect`` does the same with a worker; it also
plans, resumes and reports.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from . import device
from .check import Outputs
from .clock import GpuClock
from .compile_ahead import Compilation, compile_ahead
from .fits import Fits
from .kernel import Call, Kernel
from .outcome import NEAR, TURNS, TURNS_OF_ALL, Outcome
from .prepared import PreparedInput


def measure(kernel: Kernel, call: Call, choices: Sequence[int], reference: int, outputs: Outputs) -> dict[str, Outcome]:
    """Returns an outcome of each of these configurations, by name. The outputs hold their old contents afterwards.

    The result of ``reference`` is what the others must match.

    Raises:
        DeviceLostError: The device reported a fault; it may be lost.

    """
    fits = Fits(kernel.all_kwargs, device.current()["shared_memory"])
    compile_ahead([Compilation(kernel, call, choices, fits)])
    order = [reference, *(i for i in choices if i != reference)]
    too_large = {i: why for i in order if (why := fits.why_not(i)) is not None}
    order = [i for i in order if i not in too_large]
    prepared = PreparedInput(kernel, call, order, outputs, GpuClock())
    failed = {**too_large, **prepared.check(order)}
    found = {i: Outcome(reason=why, lasting=not why.startswith("wrong")) for i, why in failed.items()}
    samples: dict[int, list[float]] = {i: [] for i in order if i not in failed}
    running = list(samples)
    for turn in range(TURNS):
        if turn == TURNS_OF_ALL and running:
            best = min(running, key=lambda i: statistics.median(samples[i]))
            running = [i for i in running if min(samples[i]) <= NEAR * max(samples[best])]
        for i, ms in zip(list(running), prepared.time(running) if running else ()):
            samples[i].append(ms)
            if not (math.isfinite(ms) and ms > 0):
                found[i] = Outcome(reason=f"a sample took {ms} ms", lasting=False)
                running.remove(i)
    prepared.restore()
    found.update({i: Outcome.of_samples(times) for i, times in samples.items() if i not in found})
    return {kernel.names[i]: found[i] for i in choices}
