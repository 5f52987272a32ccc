"""Times launches on a GPU: events on the stream, caches emptied before each sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, NamedTuple


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

        The host waits once, at the end. Emptying the caches takes the GPU longer (60 µs on an H200) than the host
        needs to launch a kernel, so the samples contain no launch latency.
        """
        event = self._interface.Event
        events = [(event(enable_timing=True), event(enable_timing=True)) for _ in launches]
        for (start, end), launch in zip(events, launches):
            launch.before()
            if cold:
                self._driver.clear_cache(self._buffer)
            start.record()
            launch.run()
            end.record()
            launch.after(None)
        self.wait()
        return [start.elapsed_time(end) for start, end in events]

    def wait(self) -> None:
        """Waits for all launches; a fault of one is raised here."""
        self._interface.synchronize()
