"""The journal of an attached program: one line for each new input of each kernel, with who chose, and why.

The lines of inputs that no heuristic decided also say how the call was made: shapes, strides and types of the tensors,
the other arguments, the grid. ``replay`` makes such calls again and measures them. The other lines have the kinds of
the arguments, from which ``variants`` compiles.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .features import dtype_of
from .identity import Identity

if TYPE_CHECKING:
    from ..kernel import Call, Kernel

FILE = "calls.jsonl"
MOST_LINES = 20_000
"""Lines of one process; a program whose sizes never repeat must not fill the disk."""
MOST_VALUES = 65_536
"""A tensor of up to this many integers is written with its values: offsets and lengths decide what a kernel does."""


class Journal:
    """The journal of one process."""

    def __init__(self, path: Path):
        """Appends to this file."""
        self._path = path
        self._lines = 0

    def note(
        self,
        identity: Identity,
        features: Mapping[str, Any],
        answer: str,
        choice: str | None,
        reason: str | None,
        call: dict[str, Any] | None,
        kinds: dict[str, Any] | None,
    ) -> None:
        """Appends a line.

        Raises:
            OSError: The file cannot be written.

        """
        if self._lines >= MOST_LINES:
            return
        self._lines += 1
        line = {"kernel": identity.stem, "module": identity.module, "function": identity.function}
        found = {"answer": answer, "choice": choice, "reason": reason, "call": call, "kinds": kinds}
        present = {"features": dict(features), **{key: value for key, value in found.items() if value is not None}}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Appends of one write each: two processes never interleave lines on a local disk.
        with open(self._path, "ab", buffering=0) as file:
            file.write((json.dumps({**line, **present}) + "\n").encode())


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


def describe(kernel: Kernel, call: Call) -> dict[str, Any] | None:
    """Describes a call so that it can be made again; ``None`` if an argument cannot be described."""
    described = {name: _describe(value) for name, value in kernel.named_args(call).items()}
    if any(value is None for value in described.values()):
        return None
    grids: Any = call.grid
    if callable(grids):
        arguments = {**kernel.defaults, **kernel.named_args(call)}
        grids = {name: _sizes(call.grid({**arguments, **k})) for name, k in zip(kernel.names, kernel.all_kwargs)}
    else:
        grids = _sizes(grids)
    return {"arguments": described, "grid": grids}


def _describe(value: Any) -> dict[str, Any] | None:
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    if hasattr(value, "data_ptr") and dtype_of(value) is not None:
        tensor = {"tensor": str(value.dtype), "shape": list(value.shape), "stride": list(value.stride())}
        if not value.dtype.is_floating_point and value.numel() <= MOST_VALUES:
            tensor["values"] = value.tolist()
        elif not value.dtype.is_floating_point:
            return None
        return tensor
    return {"type": str(value)} if type(value).__module__.split(".")[0] == "torch" else None


def _sizes(grid: Any) -> list[int]:
    return [grid] if isinstance(grid, int) else [int(size) for size in grid]


def journals(folder: Path) -> list[Path]:
    """Returns the journals below a folder, one for each device."""
    return sorted(Path(os.fspath(folder)).glob(f"*/{FILE}"))
