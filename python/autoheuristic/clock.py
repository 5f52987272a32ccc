"""Times launches on a GPU: events on the stream, caches emptied before each sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable, NamedTuple

LEAD = 4
"""How often the caches are emptied before the first sample of a turn; before the others once, or more often where the
host is slow.

Emptying them takes an H200 60 µs, launching a kernel takes the host 30 to 50 µs. With a lead of one, the first
configurations of a turn were launched late wherever the host was slow for a moment.
"""
MOST_TIMES = 6
"""How often the caches are emptied before a sample, at most."""
MOST_LATE = 0.1
"""Where a larger share of the samples is late, the caches are emptied once more before each: the GPU has to wait for
the host, or the host for the GPU."""

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
        self._times = 1
        """How often the caches are emptied before a sample."""
        self._events: list[tuple[Any, Any]] = []

    def time(self, launches: Sequence[Launch], cold: bool = True) -> list[float]:
        """Queues all launches, waits once, and returns the milliseconds of each.

        If the GPU reaches the first event before the host has launched the kernel, the GPU's idle time counts as the
        kernel's. Such a late sample is taken again; of several late ones the least counts.
        """
        times = [math.inf] * len(launches)
        todo = list(range(len(launches)))
        for _ in range(MOST_ATTEMPTS):
            late = []
            for i, (ms, in_time) in zip(todo, self._once([launches[i] for i in todo], cold)):
                times[i] = ms if in_time else min(times[i], ms)
                if not in_time:
                    late.append(i)
            if len(late) > max(1, MOST_LATE * len(todo)):
                self._times = min(self._times + 1, MOST_TIMES)
            todo = late
            if not todo:
                break
        return times

    def _once(self, launches: Sequence[Launch], cold: bool) -> list[tuple[float, bool]]:
        """Returns the milliseconds of each launch, and whether the host launched it before the GPU was ready."""
        event = self._interface.Event
        while len(self._events) < len(launches):
            self._events.append((event(enable_timing=True), event(enable_timing=True)))
        events, in_time = self._events[: len(launches)], []
        for i, ((start, end), launch) in enumerate(zip(events, launches)):
            launch.before()
            if cold:
                for _ in range(self._times if i else max(self._times, LEAD)):
                    self._driver.clear_cache(self._buffer)
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
