"""Measures the configurations of a kernel on one call: compiles them in parallel, checks them, times them in turns."""

from __future__ import annotations

from collections.abc import Sequence

from .check import Outputs
from .clock import GpuClock
from .compile_ahead import compile_ahead
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
    compile_ahead(kernel, call, choices)
    checked = [reference, *(i for i in choices if i != reference)]
    launches = {kernel.names[i]: kernel.prepared(call, i) for i in checked}
    found = measure(launches, outputs, GpuClock(), policy, cannot_launch)
    return {kernel.names[i]: found[kernel.names[i]] for i in choices}
