"""The inputs of an attached kernel: the calls of the journal, made again for ``worker``.

Tensors of floats get random numbers, because times depend on them little. Tensors of integers get the values that the
journal has, because offsets and lengths decide what a kernel does.

To compile a configuration takes half a second, to time it a hundredth. A new compile-time value recompiles every
configuration. So once three inputs have been measured in full, the next ones measure only the configurations that were
near the best on some input, and a few others, which differ from input to input.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import statistics
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..check import Outputs
from ..choices import choice_name, distinct
from ..errors import ConfigError
from ..kernel import Call, Kernel
from ..log import Log
from .calls import key_of, restored, to_measure
from .settings import identify

FULL = 3
"""Inputs that every configuration is measured on."""
NEAR = 1.25
"""A configuration stays if it took at most this many times the best time on some input."""
EXPLORED = 2
"""Others that are measured on each input; one that does well joins."""


class Recorded:
    """The inputs of one kernel of a journal; ``worker`` measures them as those of an ``Example``."""

    fallback: Sequence[str] = ()
    needs_compiled = True

    def __init__(self, stem: str, journal: Path, compiling_seconds: float):
        """Finds the kernel, and reads its lines.

        Raises:
            ConfigError: The kernel is not found, or is another one by now.
        """
        lines = [line for line in to_measure(journal).get(stem, ()) if line.get("call")]
        if not lines:
            raise ConfigError(f"{journal}: expected calls of {stem}, found none")
        triton = importlib.import_module("triton")
        if hasattr(triton, "set_allocator"):
            triton.set_allocator(_scratch)
        self.name, self.compiling_seconds = stem, compiling_seconds
        self._log = journal.parent / f"{stem}.txt"
        self._autotuner = _autotuner(lines[0])
        self.kernel = Kernel(self._autotuner, distinct(self._autotuner.configs))
        self._names = list(lines[0]["features"])
        self.columns = {name: isinstance(value, (str, bool)) for name, value in lines[0]["features"].items()}
        self._lines = {key_of(line["features"], self._names): line for line in lines}

    def call(self, context: Mapping[str, Any]) -> Call:
        """Makes a call of the journal again.

        Raises:
            KeyError: The journal has no such call.
        """
        return _call(self._autotuner, self._lines[key_of(context, self._names)]["call"])

    def outputs(self, call: Call) -> Outputs:
        """The outputs of a call: given back after each launch, and not compared.

        The author answers for the configurations. Some write partial sums whose places depend on the configuration, so
        their buffers differ where the results do not.
        """
        return Outputs(self.kernel.named_args(call), compares=False)

    def worth_measuring(self, offered: Sequence[int], context: Mapping[str, Any]) -> Sequence[int]:
        """The configurations to measure, of those that pruning leaves, by what the log has so far."""
        names = [self.kernel.names[i] for i in offered]
        inputs = list(Log.read(self._log).inputs().values()) if self._log.exists() else []
        kept = frozenset(worth_measuring(names, inputs, ",".join(key_of(context, self._names))))
        return [i for i in offered if self.kernel.names[i] in kept]


def worth_measuring(names: Sequence[str], inputs: Collection[Mapping[str, list[float]]], seed: str) -> list[str]:
    """Those of the configurations to measure on the input that ``seed`` names.

    ``inputs`` are the times of the inputs so far. The same inputs and seed give the same configurations.
    """
    if sum(set(names) <= set(times) for times in inputs) < FULL:
        return list(names)
    near = set()
    for times in inputs:
        medians = {name: statistics.median(ms) for name, ms in times.items()}
        best = min(medians.values())
        near |= {name for name, ms in medians.items() if ms <= NEAR * best}
    others = [name for name in names if name not in near]
    others.sort(key=lambda name: hashlib.sha256(f"{seed};{name}".encode()).digest())
    kept = near | set(others[:EXPLORED])
    return [name for name in names if name in kept]


def _autotuner(line: Mapping[str, Any]) -> Any:
    """The autotuner of a kernel: of all that exist once its package and its module are imported."""
    from triton.runtime.autotuner import Autotuner

    # FlagGems imports some files as modules of other names, which only the import of the package brings about.
    for name in (line.get("package"), line["module"]):
        if name and name not in sys.modules:
            try:
                importlib.import_module(name)
            except ImportError as error:
                if name == line["module"]:
                    raise ConfigError(f"cannot import {name} ({error}); run where the program runs") from error
    autotuners = (found for found in gc.get_objects() if issubclass(type(found), Autotuner))
    named = (found for found in autotuners if hasattr(found, "base_fn"))
    of_function = [found for found in named if found.base_fn.__name__ == line["function"]]
    for found in of_function:
        if identify(Kernel(found, distinct(found.configs))).stem == line["kernel"]:
            return found
    raise ConfigError(
        f"{line['module']}: expected the autotuner of {line['function']} as the journal knows it, found "
        f"{'another source or other configurations' if of_function else 'none'}; attach to the program again"
    )


def _call(autotuner: Any, described: Mapping[str, Any]) -> Call:
    arguments = {name: restored(argument, _tensor) for name, argument in described["arguments"].items()}
    grids = described["grid"]
    if isinstance(grids, dict):
        by_values = [(config.kwargs, tuple(grids[choice_name(config)])) for config in autotuner.configs]

        def grid(meta: Any) -> Any:
            # The configuration in hand is the one whose arguments the call has.
            return next(size for kwargs, size in by_values if all(meta.get(n) == v for n, v in kwargs.items()))

        return Call(grid, (), arguments)
    return Call(tuple(grids), (), arguments)


def _scratch(size: int, alignment: int, stream: Any) -> Any:
    """Memory for kernels that make tensor descriptors themselves; a program that runs them sets such a function too."""
    import torch

    return torch.empty(size, device="cuda", dtype=torch.int8)


def _tensor(described: Mapping[str, Any], dtype: Any) -> Any:
    import torch

    shape, stride = described["shape"], described["stride"]
    size = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if all(shape) else 0
    offset = 0 if described.get("is_aligned", True) else 1
    storage = torch.empty(size + offset, dtype=dtype, device="cuda")
    tensor = torch.as_strided(storage, shape, stride, offset)
    if "values" in described:
        tensor.copy_(torch.tensor(described["values"], dtype=dtype))
    elif "range" in described:
        least, most = described["range"]
        values = torch.randint(least, most + 1, (size + offset,), device="cuda")
        storage.copy_(values.sort().values if described["ascends"] else values)
    else:
        storage.copy_(torch.randn(size + offset, device="cuda") * 0.1)
    return tensor
