"""One input of a kernel, ready to be checked and timed: many configurations are queued before the host waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from . import device
from .check import SAMPLE, Errors, Outputs
from .clock import GpuClock
from .errors import DeviceLostError, MeasureError, NoMemoryError, NotMeasuredError, shown
from .kernel import Call, Kernel, cannot_launch


class PreparedInput:
    """The arguments of one call."""

    def __init__(self, kernel: Kernel, call: Call, choices: Sequence[int], outputs: Outputs, clock: GpuClock):
        """``choices`` are the configurations that may run; some of them make the expected result of the check."""
        self._kernel, self._outputs, self._clock = kernel, outputs, clock
        # First those that lie far apart in the list, which differ in more than one parameter.
        spread = list(choices)[:: max(len(choices) // SAMPLE, 1)]
        self._candidates = [*spread, *(i for i in choices if i not in spread)]
        self._launches = {i: kernel.prepared(call, i) for i in choices}
        self._outcomes: dict[int, Errors | str | MeasureError] = {}
        """What the sample showed, by configuration; empty before it ran."""
        self.bits: dict[int, list[int]] | None = None
        """Where it is a dictionary, a check notes the bits of each right result that two runs agree in."""
        self._ran: set[int] = set()

    def check(self, choices: Sequence[int], each: Callable[[], None]) -> dict[int, str]:
        """Runs these configurations once, and returns those that failed, with the reasons. Calls ``each`` after each.

        Raises:
            DeviceLostError: The device reported a fault.
            NotMeasuredError: A configuration cannot be checked, and is not at fault.
        """
        # A configuration asked alone may follow a lost device: then one that is not asked must not lose it again.
        self._outcomes = self._outcomes or self._run_sample(each, whole=len(choices) > 1)
        failed, queued = {}, {}
        for i in choices:
            found = self._outcomes[i] if i in self._outcomes else self._run(i)
            if isinstance(found, MeasureError):
                raise found
            if isinstance(found, str):
                failed[i] = found
            else:
                queued[i] = found
            each()
        _on_device(self._clock.wait)
        for i, errors in queued.items():
            if wrong := _on_device(self._outputs.wrong, errors):
                failed[i] = wrong
        if self.bits is not None:
            twice = {i: [self._bits_of(i) for _ in range(2)] for i in queued if i not in failed}
            self.bits |= {i: first for i, (first, second) in twice.items() if first == second}
        return failed

    def _bits_of(self, index: int) -> list[int]:
        self._run(index)
        return [int(digest) for digest in _on_device(self._outputs.digest)]

    def time(self, choices: Sequence[int], runs: Sequence[int], cold: bool) -> list[float]:
        """The milliseconds of one sample of each, the mean of ``runs`` runs; all are queued at once.

        Raises:
            DeviceLostError: The device reported a fault.
        """
        # Another process may have checked it, which has failed since. The first run compiles.
        for i in set(choices) - self._ran:
            self._run(i)
        launches = [self._launches[i]._replace(runs=count) for i, count in zip(choices, runs)]
        return list(_on_device(self._clock.time, launches, cold))

    def _run_sample(self, each: Callable[[], None], whole: bool) -> dict[int, Errors | str | MeasureError]:
        """Runs configurations until the outputs know what to expect, and returns what they showed."""
        found: dict[int, Errors | str | MeasureError] = {}
        sample: list[int] = []
        for i in self._candidates:
            if len(sample) < (self._outputs.sample if whole and sample else 1):
                try:
                    found[i] = self._run(i)
                except NotMeasuredError as error:
                    found[i] = error
                if not isinstance(found[i], (str, MeasureError)):
                    _on_device(self._clock.wait)
                    _on_device(self._outputs.keep, i)
                    sample.append(i)
                each()
        if sample:
            _on_device(self._outputs.expect)
        return found | {i: _on_device(self._outputs.errors, i) for i in sample}

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
            raise fault(error, self._kernel.names[index], is_choice=True) from error
        errors: Errors = _on_device(self._outputs.errors)
        return errors


def _on_device(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except RuntimeError as error:
        raise fault(error) from error


def fault(error: Exception, name: str = "a configuration", is_choice: bool = False) -> MeasureError:
    """What an exception means. Where ``is_choice``, a launch of this configuration raised it."""
    text = str(error)
    if isinstance(error, MeasureError):
        return error
    if type(error).__name__ == "OutOfMemoryError" or "out of memory" in text:
        held = device.held_by_others()
        others = f"other programs hold {held / 2**30:.1f} GiB of the device's memory; " if held else ""
        kind = NoMemoryError if is_choice and not held else NotMeasuredError
        return kind(f"{name}: {others}the device's memory does not suffice ({text})"[:500])
    if isinstance(error, RuntimeError) and any(word in text for word in ("CUDA", "HIP", "Triton Error")):
        reason = text.splitlines()[0]  # PyTorch adds five lines of advice.
        return DeviceLostError(f"{name}: the device reported a fault ({reason}); this process can measure no more")
    return NotMeasuredError(f"{name}: {shown(error)}; repair the example or the hooks")
