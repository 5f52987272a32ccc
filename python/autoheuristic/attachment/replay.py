"""Makes the calls of a journal again and measures them: what production missed becomes the next inputs to learn from.

Tensors of floats get random numbers, because times depend on them little. Tensors of integers get the values that the
journal has, because offsets and lengths decide what a kernel does.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..choices import choice_name
from ..errors import AutoHeuristicError, DeviceLostError, UsageError
from ..kernel import Call
from . import calls
from .collecting import measured_input
from .folder import Folder
from .session import Session
from .settings import Settings
from .state import State


def replay(folder: Path, max_seconds: float = float("inf")) -> str:
    """Measures the calls of the current device's journal that no heuristic decided; returns a summary.

    Raises:
        UsageError: There is no journal.
        DeviceLostError: The device reported a fault; this process can measure no more.

    """
    journal = Folder(folder).here / calls.FILE
    if not journal.exists():
        raise UsageError(f"{journal}: there is no such journal; attach to a program on this device first")
    session = Session(Settings(("*",), folder, "collect", max_seconds))
    measured, passed_over, seen = 0, [], set()
    for line in list(calls.read(journal)):
        described = line.get("call")
        key = (line.get("kernel"), str(line["features"]))
        if described is None or key in seen:
            continue
        seen.add(key)
        if not session.may_measure:
            break
        try:
            measured += _measure(line, session)
        except DeviceLostError:
            raise
        except Exception as error:
            passed_over.append(f"{line.get('function')}: {type(error).__name__}: {error}")
    lines = [f"{journal}: {measured} inputs measured in {session.seconds:.0f} s, {len(passed_over)} passed over"]
    return "\n  ".join([*lines, *sorted(set(passed_over))])


def _measure(line: dict[str, Any], session: Session) -> int:
    """Measures one call; returns 1, or 0 if the log has it already."""
    autotuner = _autotuner(str(line["module"]), str(line["function"]))
    call = _call(autotuner, line["call"])
    state = State(autotuner, session, call)
    if state.identity.stem != line["kernel"]:
        raise AutoHeuristicError("the kernel's source or configurations have changed since")
    features = state.features.read(call)
    before = state.recorder.known(features, state.kernel.names)
    measured_input(session, state, call, features)
    return int(not before)


def _autotuner(module: str, function: str) -> Any:
    """Returns the autotuner of a kernel, which may be inside ``triton.heuristics`` and other wrappers."""
    from triton.runtime.autotuner import Autotuner

    for found in vars(importlib.import_module(module)).values():
        while found is not None and not isinstance(found, Autotuner):
            found = vars(found).get("fn") if hasattr(found, "__dict__") else None
        if found is not None and found.base_fn.__name__ == function:
            return found
    raise AutoHeuristicError(f"{module} has no autotuner of {function}")


def _call(autotuner: Any, described: dict[str, Any]) -> Call:
    arguments = {name: _argument(value) for name, value in described["arguments"].items()}
    grids = described["grid"]
    if isinstance(grids, dict):
        sizes = {choice_name(config): tuple(grids[choice_name(config)]) for config in autotuner.configs}
        by_values = [(config.kwargs, sizes[choice_name(config)]) for config in autotuner.configs]

        def grid(meta: Any) -> Any:
            # The configuration in hand is the one whose arguments the call has.
            return next(size for kwargs, size in by_values if all(meta.get(n) == v for n, v in kwargs.items()))

        return Call(grid, (), arguments)
    return Call(tuple(grids), (), arguments)


def _argument(described: dict[str, Any]) -> Any:
    import torch

    if "value" in described:
        return described["value"]
    if "type" in described:
        return getattr(torch, described["type"].rpartition(".")[2])
    dtype = getattr(torch, described["tensor"].rpartition(".")[2])
    shape, stride = described["shape"], described["stride"]
    size = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if all(shape) else 0
    storage = torch.empty(size, dtype=dtype, device="cuda")
    tensor = torch.as_strided(storage, shape, stride)
    if "values" in described:
        tensor.copy_(torch.tensor(described["values"], dtype=dtype))
    else:
        storage.copy_(torch.randn(size, device="cuda") * 0.1)
    return tensor
