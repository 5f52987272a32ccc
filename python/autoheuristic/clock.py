"""Times launches on a GPU: events on the stream, caches emptied before each sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import perf_counter
from typing import Callable, NamedTuple

LEAD_MS = 0.01
"""How far ahead of the GPU the host must be: twice what a launch takes to reach an idle GPU."""

MOST_ATTEMPTS = 5
"""A host that is always late is too slow or too busy for this device."""


class Launch(NamedTuple):
    """One launch of one configuration. Only ``run`` is timed."""

    before: Callable[[], None]
    """The hooks that prepare the arguments."""
    run: Callable[[], object]
    after: Callable[[Exception | None], None]
    """The hooks behind it; they get the exception that ``run`` raised."""


class GpuClock:
    """A clock made of pairs of events."""

    def __init__(self) -> None:
        """Takes the device that Triton uses; allocates the buffer that empties the caches (256 MiB)."""
        from triton.runtime import driver

        self._driver = driver.active
        self._interface = self._driver.get_device_interface()
        self._buffer = self._driver.get_empty_cache_for_benchmark()

    def time(self, launches: Sequence[Launch], cold: bool) -> list[float]:
        """Runs the launches one after the other and returns the milliseconds of each.

        Emptying the caches takes the GPU longer (60 µs on an H200) than the host mostly needs to launch a kernel
        (15 µs). A host that is interrupted there launches late, and the GPU's idle time counts as the kernel's:
        that happened somewhere on 15 to 20 % of the inputs
        on an H200. So late samples are taken again; of several late ones the least
        counts.
        """
        times = [math.inf] * len(launches)
        todo = list(range(len(launches)))
        for _ in range(MOST_ATTEMPTS):
            late = []
            for i, (ms, in_time) in zip(todo, self._once([launches[i] for i in todo], cold)):
                times[i] = ms if in_time else min(times[i], ms)
                if not in_time:
                    late.append(i)
            todo = late
            if not todo:
                break
        return times

    def _once(self, launches: Sequence[Launch], cold: bool) -> list[tuple[float, bool]]:
        """Returns the milliseconds of each launch, and whether the host launched it before the GPU was ready."""
        event = self._interface.Event
        begin = event(enable_timing=True)
        events = [(event(enable_timing=True), event(enable_timing=True)) for _ in launches]
        # The GPU is idle here, so it passes this event when the host records it.
        begin.record()
        recorded = perf_counter()
        launched = []
        for (start, end), launch in zip(events, launches):
            launch.before()
            if cold:
                self._driver.clear_cache(self._buffer)
            start.record()
            launch.run()
            end.record()
            launched.append((perf_counter() - recorded) * 1e3)
            launch.after(None)
        self.wait()
        return [
            (start.elapsed_time(end), not (cold and begin.elapsed_time(start) < host_ms + LEAD_MS))
            for (start, end), host_ms in zip(events, launched)
        ]

    def wait(self) -> None:
        """Waits for all launches; a fault of one is raised here."""
        self._interface.synchronize()
