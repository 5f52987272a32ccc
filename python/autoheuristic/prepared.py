"""One input of a kernel, ready to be checked and timed: many configurations are queued before the host waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from .check import Errors, Outputs
from .clock import GpuClock
from .errors import DeviceLostError, MeasureError, NoMemoryError, shown
from .kernel import Call, Kernel, cannot_launch


class PreparedInput:
    """The arguments of one call."""

    def __init__(self, kernel: Kernel, call: Call, choices: Sequence[int], outputs: Outputs, clock: GpuClock):
        """``choices`` are the configurations that may run; the first that does is the reference of the check."""
        self._kernel, self._outputs, self._clock = kernel, outputs, clock
        self._candidates = list(choices)
        self._launches = {i: kernel.prepared(call, i) for i in choices}
        self._reference: int | None = None
        self._failed: dict[int, str] = {}
        """The configurations before the reference."""
        self._ran: set[int] = set()

    def check(self, choices: Sequence[int], each: Callable[[], None]) -> dict[int, str]:
        """Runs these configurations once, and returns those that failed, with the reasons. Calls ``each`` after each.

        Raises:
            DeviceLostError: The device reported a fault.
            NoMemoryError: The device's memory does not suffice.

        """
        self._find_reference(each)
        failed, queued = {}, {}
        for i in choices:
            if i == self._reference:
                continue
            found = self._failed.get(i) or self._run(i)
            if isinstance(found, str):
                failed[i] = found
            else:
                queued[i] = found
            each()
        self.wait()
        for i, errors in queued.items():
            if wrong := _on_device(self._outputs.wrong, errors):
                failed[i] = wrong
        return failed

    def time(self, choices: Sequence[int], runs: Sequence[int], cold: bool) -> list[float]:
        """Returns the milliseconds of one sample of each, the mean of ``runs`` runs; all are queued at once.

        Raises:
            DeviceLostError: The device reported a fault.

        """
        # Another process may have checked it, which has failed since. The first run compiles.
        for i in set(choices) - self._ran:
            self._run(i)
        launches = [self._launches[i]._replace(runs=count) for i, count in zip(choices, runs)]
        return list(_on_device(self._clock.time, launches, cold))

    def wait(self) -> None:
        """Waits for the device."""
        _on_device(self._clock.wait)

    def _find_reference(self, each: Callable[[], None]) -> None:
        while self._reference is None and self._candidates:
            first = self._candidates.pop(0)
            found = self._run(first)
            if isinstance(found, str):
                self._failed[first] = found
            else:
                self.wait()
                self._reference = first
                _on_device(self._outputs.expect_this)
            each()

    def _run(self, index: int) -> Errors | str:
        """Runs a configuration once. Returns the differences of its outputs, or why it cannot be launched."""
        launch = self._launches[index]
        self._ran.add(index)
        _on_device(self._outputs.restore)
        try:
            launch.before()
            try:
                launch.run()
            except Exception as error:
                launch.after(error)
                raise
            launch.after(None)
        except Exception as error:
            if cannot_launch(error):
                return shown(error)
            if isinstance(error, RuntimeError):
                raise fault(error, self._kernel.names[index]) from error
            raise
        errors: Errors = _on_device(self._outputs.errors)
        return errors


def _on_device(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except RuntimeError as error:
        raise fault(error) from error


def fault(error: RuntimeError, name: str = "a configuration") -> MeasureError:
    """Returns what a fault of the device means: PyTorch reports exhausted memory as a ``RuntimeError`` too."""
    if type(error).__name__ == "OutOfMemoryError":
        return NoMemoryError(f"{name}: the device's memory does not suffice ({error})"[:500])
    return DeviceLostError(f"{name}: the device reported a fault ({error}); this process can measure no more")
