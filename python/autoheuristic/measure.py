"""Measures all configurations on one input: check each, then take turns."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from .check import Outputs
from .clock import GpuClock, Launch
from .errors import DeviceLostError
from .race import Race, TimingPolicy


@dataclass(frozen=True)
class Outcome:
    """What measuring one configuration gave."""

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


def measure(
    launches: Mapping[str, Launch],
    outputs: Outputs,
    clock: GpuClock,
    policy: TimingPolicy,
    cannot_launch: Callable[[Exception], bool],
) -> dict[str, Outcome]:
    """Measures these configurations on one input. The outputs hold their old contents afterwards.

    Args:
        launches: By name; the first that runs is the reference of the check.
        outputs: The outputs on this input.
        clock: The device's clock.
        policy: How to time.
        cannot_launch: Whether an exception says that a configuration does not compile or does not fit the device.

    Raises:
        DeviceLostError: The device reported a fault; it may be lost.

    """
    outcomes: dict[str, Outcome] = {}
    names = list(launches)
    for name in names:
        failed = _check(name, launches[name], outputs, clock, policy, cannot_launch)
        if failed is not None:
            outcomes[name] = failed
    race = Race(policy, [i for i, name in enumerate(names) if name not in outcomes])
    while turn := race.round():
        begin = time.perf_counter()
        times = _on_device(clock.time, [launches[names[i]] for i in turn], policy.cold)
        spent_ms = (time.perf_counter() - begin) * 1e3 / len(turn)
        for i, ms in zip(turn, times):
            if math.isfinite(ms) and ms > 0:
                race.record(i, ms, spent_ms)
            else:
                race.withdraw(i)
                outcomes[names[i]] = Outcome(reason=f"a sample took {ms} ms", lasting=False)
    _on_device(outputs.restore)
    for i, samples in race.samples.items():
        if samples:
            outcomes[names[i]] = Outcome(policy.rows(samples))
    return {name: outcomes[name] for name in names}


def _check(
    name: str,
    launch: Launch,
    outputs: Outputs,
    clock: GpuClock,
    policy: TimingPolicy,
    cannot_launch: Callable[[Exception], bool],
) -> Outcome | None:
    """Runs a configuration once and compares its result; returns the outcome of one that failed."""
    _on_device(outputs.restore)
    try:
        launch.before()
        try:
            launch.run()
        except Exception as error:
            launch.after(error)
            raise
        launch.after(None)
        _on_device(clock.wait)
        wrong = _on_device(outputs.compare)
        if wrong is not None:
            return Outcome(reason=wrong, lasting=False)
        if policy.warmup_runs > 1:
            clock.time([launch] * (policy.warmup_runs - 1), policy.cold)
        return None
    except Exception as error:
        if cannot_launch(error):
            return Outcome(reason=f"{type(error).__name__}: {error}"[:500])
        if isinstance(error, RuntimeError):
            raise _lost(name, error) from error
        raise


def _on_device(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except RuntimeError as error:
        raise _lost("a configuration", error) from error


def _lost(name: str, error: Exception) -> DeviceLostError:
    return DeviceLostError(
        f"{name}: the device reported a fault ({error}); it may be lost to this process, so start it again "
        "(a collecting run goes on behind this input)"
    )
