"""Compiles what earlier processes launched, before this one needs it: a container starts with an empty Triton cache.

A compiled kernel depends on its configuration and on the kinds of its arguments. Each line of the journal has these
kinds, so the heuristic's pick for the line, or without a heuristic the line's own choice, can be compiled in another
process, without the device. The program does not wait: what it needs sooner it compiles itself, as without this.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from .. import device
from ..choices import distinct
from ..compile_ahead import Compilation, jobs_of, run_in_background
from ..fits import Fits
from ..kernel import Call, Kernel
from . import calls
from .features import dtype_of
from .folder import Folder
from .identity import identify

MOST_LINES = 1000
"""Lines of the journal that are asked for, the last ones: a heuristic in Python takes 0.2 ms for each."""


def kinds(kernel: Kernel, call: Call) -> dict[str, Any] | None:
    """Returns the arguments of a call as a compilation needs them; ``None`` if one cannot be written as JSON."""
    found = {name: _kind(value) for name, value in kernel.named_args(call).items()}
    return None if any(kind is None for kind in found.values()) else found


def compile_in_background(folder: Folder, autotuners: Iterable[Any]) -> None:
    """Begins to compile the picks for the journal's lines, and returns at once."""
    path = folder.here / calls.FILE
    if not path.exists() or "torch" not in sys.modules:
        return
    lines: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in list(calls.read(path))[-MOST_LINES:]:
        if isinstance(line.get("kinds"), dict):
            lines[str(line.get("module")), str(line.get("function"))].append(line)
    compilations = []
    for autotuner in autotuners:
        of_kernel = lines.get((autotuner.base_fn.__module__, autotuner.base_fn.__name__))
        if of_kernel:
            compilations += _picks(folder, Kernel(autotuner, distinct(autotuner.configs)), of_kernel)
    run_in_background(jobs_of(compilations))


def _picks(folder: Folder, kernel: Kernel, lines: Iterable[Mapping[str, Any]]) -> list[Compilation]:
    """Returns a compilation for each pick and each kind of call among the lines of a kernel."""
    identity = identify(kernel)
    heuristic = folder.heuristic(identity)
    fits = Fits(kernel.all_kwargs, device.current()["shared_memory"])
    found = {}
    for line in lines:
        pick, features = line.get("choice"), line["features"]
        if heuristic is not None and all(name in features for name in heuristic.features):
            pick = heuristic.decide(*(features[name] for name in heuristic.features)).name
        if line["kernel"] == identity.stem and pick in kernel.names:
            call = Call((1,), (), {name: _argument(kind) for name, kind in line["kinds"].items()})
            found[pick, kernel.specialization(call)] = Compilation(kernel, call, [kernel.names.index(pick)], fits)
    return list(found.values())


def _kind(value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if hasattr(value, "data_ptr") and dtype_of(value) is not None:
        return {"tensor": str(value.dtype)} if value.data_ptr() % 16 == 0 else None
    return {"type": str(value)} if type(value).__module__.split(".")[0] == "torch" else None


def _argument(kind: Mapping[str, Any]) -> Any:
    if "value" in kind:
        return kind["value"]
    from triton.runtime.jit import MockTensor

    dtype = getattr(sys.modules["torch"], str(kind.get("tensor", kind.get("type"))).rpartition(".")[2])
    return MockTensor(dtype) if "tensor" in kind else dtype
