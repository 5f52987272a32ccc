"""Measures the configurations of a kernel on one call: compiles them in parallel, checks them, times them in turns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from .check import Outputs
from .clock import GpuClock
from .kernel import Call, Kernel, cannot_launch
from .measure import Outcome, measure
from .race import TimingPolicy


def measure_call(
    kernel: Kernel, call: Call, choices: Sequence[int], reference: int, outputs: Outputs, policy: TimingPolicy
) -> dict[str, Outcome]:
    """Returns an outcome of each of these configurations, by name; ``reference`` is the one that results must match.

    Raises:
        DeviceLostError: The device reported a fault; it may be lost.

    """
    compile_all(kernel, call, choices)
    checked = [reference, *(i for i in choices if i != reference)]
    launches = {kernel.names[i]: kernel.prepared(call, i) for i in checked}
    found = measure(launches, outputs, GpuClock(), policy, cannot_launch)
    return {kernel.names[i]: found[kernel.names[i]] for i in choices}


def compile_all(kernel: Kernel, call: Call, choices: Sequence[int]) -> None:
    """Compiles these configurations in parallel, where Triton can (3.4 and later). Failures show when they run."""
    import triton

    mode = getattr(triton, "AsyncCompileMode", None)
    if mode is None or len(choices) < 2:
        return
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool, mode(pool, ignore_errors=True):
        for i in choices:
            try:
                kernel.launch(call, i, warmup=True)
            except Exception as error:
                if not cannot_launch(error):
                    raise
