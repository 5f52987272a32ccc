"""Compiles what earlier processes launched, before this one needs it: a container starts with an empty Triton cache.

A compiled kernel depends on its configuration and on the kinds of its arguments. Each line of the journal has these, so
the heuristic's pick for the line can be compiled in another process, without the device. The program does not wait:
what it needs sooner it compiles itself.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from .. import device
from ..choices import distinct
from ..compile_ahead import Compilation, compile_in_background
from ..fits import Fits
from ..kernel import Call, Kernel
from . import calls
from .identity import identify
from .settings import Settings

MOST_LINES = 1000
"""Lines of the journal that are asked for, the last ones: a heuristic in Python takes 0.2 ms for each."""


def compile_picks(settings: Settings, autotuners: Iterable[Any]) -> None:
    """Begins to compile the picks for the journal's lines, and returns at once."""
    path = settings.here / calls.FILE
    if not path.exists() or "torch" not in sys.modules:
        return
    lines: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in list(calls.read(path))[-MOST_LINES:]:
        if isinstance(line.get("call"), dict):
            lines[str(line.get("module")), str(line.get("function"))].append(line)
    compilations = []
    for autotuner in autotuners:
        of_kernel = lines.get((autotuner.base_fn.__module__, autotuner.base_fn.__name__))
        if of_kernel:
            compilations += _picks(settings, Kernel(autotuner, distinct(autotuner.configs)), of_kernel)
    compile_in_background(compilations)


def _picks(settings: Settings, kernel: Kernel, lines: Iterable[Mapping[str, Any]]) -> list[Compilation]:
    """Returns a compilation for each pick and each kind of call among the lines of a kernel."""
    from triton.runtime.jit import MockTensor

    def stand_in(described: Mapping[str, Any], dtype: Any) -> Any:
        return MockTensor(dtype)

    identity = identify(kernel)
    heuristic = settings.heuristic(identity)
    if heuristic is None:
        return []
    fits = Fits(kernel.all_kwargs, device.current()["shared_memory"])
    found = {}
    for line in lines:
        features, arguments = line["features"], line["call"]["arguments"]
        if line["kernel"] != identity.stem or any(name not in features for name in heuristic.features):
            continue
        pick = next(heuristic.in_order(features, frozenset(kernel.names)), None)
        # A stand-in for a tensor has no address and is no base of a descriptor.
        is_plain = all(a.get("is_aligned", True) and "descriptor" not in a for a in arguments.values())
        if pick is not None and is_plain:
            restored = {name: calls.restored(value, stand_in) for name, value in arguments.items()}
            call = Call((1,), (), restored)
            found[pick, kernel.specialization(call)] = Compilation(kernel, call, [kernel.names.index(pick)], fits)
    return list(found.values())
