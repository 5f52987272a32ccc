"""The files about attached kernels: below a folder for each device, a log and a heuristic for each kernel.

``FOLDER/DEVICE/KERNEL_HASH.txt`` is a log, ``KERNEL_HASH.py`` the heuristic learned from it, and ``calls.jsonl`` the
inputs that programs asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import device
from ..environment import file_name
from ..errors import HeuristicError
from ..heuristic import Heuristic, for_this_device
from .identity import DIGITS, Identity


@dataclass(frozen=True)
class Folder:
    """The folder of one ``attach``."""

    path: Path

    @property
    def here(self) -> Path:
        """The part for the current device."""
        return self.path / file_name(device.current()["name"])

    def heuristic(self, identity: Identity) -> Heuristic | None:
        """Returns the heuristic of a kernel for the current device; ``None`` if the kernel was never learned.

        Raises:
            HeuristicError: There are heuristics, but for another version of the kernel, or for other devices.

        """
        files = sorted(self.path.glob(f"*/*_{identity.digest}.py"))
        if files:
            return for_this_device(files)
        others = sorted(self.path.glob(f"*/{identity.name}_{'?' * DIGITS}.py"))
        if others:
            raise HeuristicError(f"its source or configurations are not those of {others[0]}; collect and learn again")
        return None
