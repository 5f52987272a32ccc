"""The journal of an attached program: one line for each new input of each kernel, with who chose, and why.

Where no heuristic decided, a line describes the call: shapes, strides and types of the tensors, the other arguments,
the grid. ``replay`` makes these calls again and measures them.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from ..check import is_descriptor
from ..errors import MeasureError, warn_once
from ..log import json_lines
from .settings import Identity, Settings

if TYPE_CHECKING:
    from ..kernel import Call, Kernel

FILE = "calls.jsonl"
MOST_LINES = 20_000
"""Lines of one process; a program whose sizes never repeat must not fill the disk."""
DESCRIPTOR = ("shape", "strides", "block_shape")
"""What a tensor descriptor has beside its base, in Triton's names."""
MOST_VALUES = 65_536
"""A tensor of up to this many integers is written with its values: offsets and lengths decide what a kernel does. A
larger one, of packed weights or of labels, is written with its least and its largest value, and whether it ascends."""


class Journal:
    """What one process writes."""

    def __init__(self, settings: Settings):
        """Nothing is read or written before the first call of a kernel."""
        self._settings, self._lines_left = settings, MOST_LINES

    def note(self, identity: Identity, package: str, features: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Appends an input; ``found`` has the answer, the choice, the call. A folder that cannot be written warns."""
        known = {key: value for key, value in found.items() if value is not None}
        line = {"kernel": identity.stem, "module": identity.module, "function": identity.function, "package": package}
        text = json.dumps({**line, "features": dict(features), **known}) + "\n"
        if self._lines_left <= 0:
            return
        self._lines_left -= 1
        try:
            path = self._settings.here / FILE
            path.parent.mkdir(parents=True, exist_ok=True)
            # Appends of one write each: two threads or processes never interleave lines on a local disk.
            with open(path, "ab", buffering=0) as file:
                file.write(text.encode())
        except OSError as error:
            self._lines_left = 0
            warn_once(f"{self._settings.folder}: cannot be written ({error}); what kernels are asked is not reported")


def inputs(journal: Path) -> dict[str, dict[tuple[str, ...], dict[str, Any]]]:
    """The last line about each input, by kernel; none with other features than the kernel's first line."""
    found: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for line in json_lines(journal):
        if not isinstance(line.get("features"), dict):
            continue
        lines = found.setdefault(str(line.get("kernel")), {})
        names = next(iter(lines.values()), line)["features"]
        if line["features"].keys() == names.keys():
            lines[key_of(line["features"], names)] = line
    return found


def to_measure(journal: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines to measure, by kernel: each input that no heuristic decided, once, in order."""
    kernels = ((stem, lines.values()) for stem, lines in inputs(journal).items())
    found = {stem: [line for line in lines if line.get("answer") != "heuristic"] for stem, lines in kernels}
    return {stem: lines for stem, lines in found.items() if lines}


def key_of(features: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """An input as texts, so that a journal, a log and a request of ``ah-collect`` agree."""
    return tuple(str(features[name]) for name in names)


def describe(kernel: Kernel, call: Call) -> dict[str, Any]:
    """Describes a call so that it can be made again. Reading the values of a tensor waits for the device.

    Raises:
        MeasureError: An argument cannot be described.
    """
    described = {name: _describe(name, value) for name, value in kernel.named_args(call).items()}
    if not callable(call.grid):
        return {"arguments": described, "grid": kernel.grid(call)}
    return {"arguments": described, "grid": {name: kernel.grid(call, i) for i, name in enumerate(kernel.names)}}


def _describe(name: str, value: Any) -> dict[str, Any]:
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if is_descriptor(value):
        parts = {part: [int(size) for size in getattr(value, part)] for part in DESCRIPTOR}
        padding = {"padding": value.padding} if hasattr(value, "padding") else {}
        return {"descriptor": _describe(name, value.base), **parts, **padding}
    if hasattr(value, "data_ptr") and hasattr(value, "stride") and hasattr(value, "dtype"):
        shape, stride = list(value.shape), list(value.stride())
        tensor: dict[str, Any] = {"tensor": str(value.dtype), "shape": shape, "stride": stride}
        if value.data_ptr() % 16:
            tensor["is_aligned"] = False
        if not value.dtype.is_floating_point:
            if value.numel() <= MOST_VALUES:
                tensor["values"] = value.tolist()
            else:
                flat = value.flatten()
                tensor["range"] = [int(flat.min()), int(flat.max())]
                tensor["ascends"] = bool((flat[1:] >= flat[:-1]).all())
        return tensor
    if type(value).__name__ == "dtype":
        of_torch = type(value).__module__.split(".")[0] == "torch"
        return {"type": str(value)} if of_torch else {"triton": str(value)}
    raise MeasureError(f"the argument {name} is a {type(value).__name__}, which cannot be made again")


def restored(described: Mapping[str, Any], tensor: Callable[[Mapping[str, Any], Any], Any]) -> Any:
    """A described argument; ``tensor`` makes one of a description and an element type."""
    if "value" in described:
        return described["value"]
    if "descriptor" in described:
        made = importlib.import_module("triton.tools.tensor_descriptor").TensorDescriptor
        rest = {part: described[part] for part in (*DESCRIPTOR, "padding") if part in described}
        return made(base=restored(described["descriptor"], tensor), **rest)
    if "triton" in described:
        return importlib.import_module("triton.language").dtype(described["triton"])
    name = str(described.get("tensor", described.get("type")))
    dtype = getattr(importlib.import_module("torch"), name.rpartition(".")[2])
    return tensor(described, dtype) if "tensor" in described else dtype
