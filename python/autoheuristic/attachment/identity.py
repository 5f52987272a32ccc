"""What a heuristic of an attached kernel is for: the kernel's source and its configurations.

The name of every file about a kernel ends in a hash of both. So a changed kernel finds no heuristic, and kernels of two
packages that are the same share one. The device is part of the log and checked by the heuristic itself.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from ..environment import file_name
from ..source import source_hash

if TYPE_CHECKING:
    from ..kernel import Kernel

DIGITS = 12
MOST_LETTERS = 44


class Identity(NamedTuple):
    """The name of a kernel, and the hash of what it is."""

    module: str
    function: str
    digest: str

    @property
    def name(self) -> str:
        """The function's name as ``ah-train`` takes names: it begins with a letter, and leaves room for the hash."""
        name = file_name(self.function).lstrip("_")[:MOST_LETTERS]
        return name if name[:1].isalpha() else f"kernel_{name}"

    @property
    def stem(self) -> str:
        """The beginning of its files' names; a Python identifier of at most 64 characters."""
        return f"{self.name}_{self.digest}"


def identify(kernel: Kernel) -> Identity:
    """Returns the identity of a kernel with its present configurations."""
    parts = [source_hash(kernel.jit), *sorted(kernel.names)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:DIGITS]
    function = kernel.jit.fn
    return Identity(function.__module__, function.__name__, digest)
