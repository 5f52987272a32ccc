"""What ``attach`` was asked for, as a call in a program or as environment variables that processes inherit.

The name of every file about a kernel ends in a hash of its source and its configurations. So a changed kernel finds no
heuristic, and kernels of two packages that are the same share one. The device is part of the log and checked by the
heuristic itself.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import device
from ..environment import cache_folder, file_name
from ..errors import ConfigError, HeuristicError
from ..heuristic import Heuristic, for_this_device

if TYPE_CHECKING:
    from ..kernel import Kernel

MODES = ("serve", "collect")
PACKAGES, MODE, FOLDER = (f"AUTOHEURISTIC_ATTACH{suffix}" for suffix in ("", "_MODE", "_FOLDER"))
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
    """The identity of a kernel with its present configurations."""
    parts = [kernel.source_hash(), *sorted(kernel.names)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:DIGITS]
    function = kernel.jit.fn
    return Identity(function.__module__, function.__name__, digest)


@dataclass(frozen=True)
class Settings:
    """Which packages, and what to do with their kernels."""

    packages: tuple[str, ...]
    """Their import names; ``*`` is every package."""
    folder: Path
    """Has ``DEVICE/KERNEL_HASH.txt``, a log; ``KERNEL_HASH.py``, the heuristic learned from it; ``calls.jsonl``, the
    inputs that programs asked for."""
    mode: str = "serve"
    """``serve``: ask heuristics; ``collect``: note each new input, to be measured when the program has ended."""

    def __post_init__(self) -> None:
        """Checks the mode and the packages."""
        if self.mode not in MODES:
            raise ConfigError(f"expected one of {', '.join(MODES)} as mode, found {self.mode!r}")
        if not self.packages:
            raise ConfigError("expected the name of a package whose kernels to attach to, for example fla; found none")

    def package_of(self, function: Callable[..., Any]) -> str | None:
        """The package that a kernel belongs to; ``None`` if it is not attached."""
        for package in self.packages:
            if package == "*":
                return function.__module__.partition(".")[0]
            if is_of(function, package):
                return package
        return None

    @property
    def here(self) -> Path:
        """The part of the folder for the current device."""
        return self.folder / file_name(device.current()["name"])

    def heuristic(self, identity: Identity) -> Heuristic | None:
        """The heuristic of a kernel for the current device; ``None`` if the kernel was never learned.

        Raises:
            HeuristicError: There are heuristics, but for another version of the kernel, or for other devices.
        """
        files = sorted(self.folder.glob(f"*/*_{identity.digest}.py"))
        if files:
            return for_this_device(files)
        others = sorted(self.folder.glob(f"*/{identity.name}_{'?' * DIGITS}.py"))
        if others:
            raise HeuristicError(f"its source or configurations are not those of {others[0]}; collect and learn again")
        return None

    def variables(self) -> dict[str, str]:
        """The settings as environment variables."""
        return {PACKAGES: ",".join(self.packages), MODE: self.mode, FOLDER: str(self.folder)}


def is_of(function: Callable[..., Any], package: str) -> bool:
    """Whether a kernel is of a package, by its module or its file: FlagGems imports some files as modules elsewhere."""
    folders = getattr(sys.modules.get(package), "__path__", ())
    is_inside = any(function.__code__.co_filename.startswith(os.path.join(folder, "")) for folder in folders)
    return is_inside or f"{function.__module__}.".startswith(f"{package}.")


def default_folder() -> Path:
    """The folder below the user's cache folder."""
    return cache_folder() / "attach"
