"""The journal of an attached program: one line for each new input of each kernel, with who chose, and why.

Each line describes the call: shapes, strides and types of the tensors, the other arguments, the grid. ``variants``
compiles for such calls, and ``replay`` makes them again and measures them, where no heuristic decided.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from ..features import dtype_of
from .identity import Identity

if TYPE_CHECKING:
    from ..kernel import Call, Kernel

FILE = "calls.jsonl"
MOST_VALUES = 65_536
"""A tensor of up to this many integers is written with its values: offsets and lengths decide what a kernel does."""


def append(path: Path, identity: Identity, package: str, features: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Appends a line; ``found`` has the answer, the choice, and the call.

    Raises:
        OSError: The file cannot be written.

    """
    known = {key: value for key, value in found.items() if value is not None}
    line = {"kernel": identity.stem, "module": identity.module, "function": identity.function, "package": package}
    text = json.dumps({**line, "features": dict(features), **known}) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Appends of one write each: two processes never interleave lines on a local disk.
    with open(path, "ab", buffering=0) as file:
        file.write(text.encode())


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Returns the lines of a journal, without torn ones.

    Raises:
        OSError: The file cannot be read.

    """
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict) and isinstance(found.get("features"), dict):
                yield found


def inputs(journal: Path) -> dict[str, dict[tuple[str, ...], dict[str, Any]]]:
    """Returns the last line about each input, by kernel; none with other features than the kernel's first line."""
    found: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for line in read(journal):
        lines = found.setdefault(str(line.get("kernel")), {})
        names = next(iter(lines.values()), line)["features"]
        if line["features"].keys() == names.keys():
            lines[key_of(line["features"], names)] = line
    return found


def to_measure(journal: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns the lines to measure, by kernel: each input that no heuristic decided, once, in order."""
    kernels = ((stem, lines.values()) for stem, lines in inputs(journal).items())
    found = {k: [line for line in of if line.get("answer") != "heuristic" and line.get("call")] for k, of in kernels}
    return {stem: lines for stem, lines in found.items() if lines}


def key_of(features: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """Returns an input as texts, so that a journal, a log and a request of ``ah-collect`` agree."""
    return tuple(str(features[name]) for name in names)


def describe(kernel: Kernel, call: Call, with_values: bool) -> dict[str, Any] | None:
    """Describes a call so that it can be made again; ``None`` if an argument cannot be described.

    To read the values of a tensor waits for the device, so a call that is not measured later does without.
    """
    described = {name: _describe(value, with_values) for name, value in kernel.named_args(call).items()}
    if any(value is None for value in described.values()):
        return None
    grids: Any = call.grid
    if callable(grids):
        arguments = {**kernel.defaults, **kernel.named_args(call)}
        grids = {name: _sizes(call.grid({**arguments, **k})) for name, k in zip(kernel.names, kernel.all_kwargs)}
    else:
        grids = _sizes(grids)
    return {"arguments": described, "grid": grids}


def _describe(value: Any, with_values: bool) -> dict[str, Any] | None:
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if hasattr(value, "data_ptr") and dtype_of(value) is not None:
        if not hasattr(value, "stride"):
            return None  # A tensor descriptor.
        tensor: dict[str, Any] = {
            "tensor": str(value.dtype),
            "shape": list(value.shape),
            "stride": list(value.stride()),
        }
        if value.data_ptr() % 16:
            tensor["is_aligned"] = False
        if with_values and not value.dtype.is_floating_point:
            if value.numel() > MOST_VALUES:
                return None
            tensor["values"] = value.tolist()
        return tensor
    if type(value).__name__ == "dtype":
        of_torch = type(value).__module__.split(".")[0] == "torch"
        return {"type": str(value)} if of_torch else {"triton": str(value)}
    return None


def restored(described: Mapping[str, Any], tensor: Callable[[Any], Any]) -> Any:
    """Returns a described argument; ``tensor`` makes one of an element type."""
    if "value" in described:
        return described["value"]
    if "triton" in described:
        return importlib.import_module("triton.language").dtype(described["triton"])
    name = str(described.get("tensor", described.get("type")))
    dtype = getattr(importlib.import_module("torch"), name.rpartition(".")[2])
    return tensor(dtype) if "tensor" in described else dtype


def _sizes(grid: Any) -> list[int]:
    return [grid] if isinstance(grid, int) else [int(size) for size in grid]


def journals(folder: Path) -> list[Path]:
    """Returns the journals below a folder, one for each device."""
    return sorted(Path(os.fspath(folder)).glob(f"*/{FILE}"))
