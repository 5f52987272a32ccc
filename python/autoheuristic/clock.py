"""Times launches on a GPU: events on the stream, caches emptied before each sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

LEAD = 4
"""How often the caches are emptied before a sample where the GPU is about to run out of work; elsewhere once.

Emptying them takes an H200 60 µs, launching a kernel takes the host 30 to 50 µs. With a lead of one, the first
configurations of a turn were launched late wherever the host was slow for a moment.
"""

MOST_ATTEMPTS = 5
"""A host that is always late is too slow or too busy for this device."""


class Launch(NamedTuple):
    """One launch of one configuration. Only ``run`` is timed."""

    before: Callable[[], None]
    """The hooks that prepare the arguments."""
    run: Callable[[], object]
    after: Callable[[Exception | None], None]
    """The hooks behind it; they get the exception that ``run`` raised."""
    runs: int = 1
    """How often it runs; its time is the mean."""


class GpuClock:
    """A clock made of pairs of events."""

    def __init__(self) -> None:
        """Takes the device that Triton uses; allocates the buffer that empties the caches (256 MiB)."""
        from triton.runtime import driver

        self._driver = driver.active
        self._interface = self._driver.get_device_interface()
        self._buffer = self._driver.get_empty_cache_for_benchmark()
        self._events: list[tuple[Any, Any]] = []

    def time(self, launches: Sequence[Launch], cold: bool = True) -> list[float]:
        """Queues all launches, waits once, and returns the milliseconds of each.

        If the GPU reaches the first event before the host has launched the kernel, the GPU's idle time counts as the
        kernel's. Such a late sample is taken again; of several late ones the least counts.
        """
        times = [math.inf] * len(launches)
        todo = list(range(len(launches)))
        for _ in range(MOST_ATTEMPTS):
            found = [*zip(todo, self._once([launches[i] for i in todo], cold))]
            for i, (ms, in_time) in found:
                times[i] = ms if in_time else min(times[i], ms)
            todo = [i for i, (_, in_time) in found if not in_time]
            if not todo:
                break
        return times

    def _once(self, launches: Sequence[Launch], cold: bool) -> list[tuple[float, bool]]:
        """The milliseconds of each launch, and whether the host launched it before the GPU was ready."""
        event, clear = self._interface.Event, self._driver.clear_cache
        while len(self._events) < len(launches):
            self._events.append((event(enable_timing=True), event(enable_timing=True)))
        events, in_time = self._events[: len(launches)], []
        for i, ((start, end), launch) in enumerate(zip(events, launches)):
            launch.before()
            if cold:
                has_work = i > 0 and not events[max(i - 2, 0)][1].query()
                for _ in range(1 if has_work else LEAD):
                    clear(self._buffer)
            start.record()
            for _ in range(launch.runs):
                launch.run()
            end.record()
            in_time.append(not (cold and start.query()))
            launch.after(None)
        self.wait()
        times = zip(events, launches, in_time)
        return [(start.elapsed_time(end) / launch.runs, ok) for (start, end), launch, ok in times]

    def wait(self) -> None:
        """Waits for all launches; a fault of one is raised here."""
        self._interface.synchronize()
