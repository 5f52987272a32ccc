"""What all attached kernels of a process share: the settings, the journal, the warnings."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Mapping
from typing import Any

from ..errors import AutoHeuristicWarning
from .calls import FILE, append
from .identity import Identity
from .settings import Settings

MOST_LINES = 20_000
"""Lines of one process in the journal; a program whose sizes never repeat must not fill the disk."""


class Session:
    """One ``attach``."""

    def __init__(self, settings: Settings):
        """Nothing is read or written before the first call of a kernel."""
        self.settings = settings
        self.lock = threading.RLock()
        """Held while a line is written."""
        self._lines_left = MOST_LINES
        self._warned: set[str] = set()
        if hasattr(os, "register_at_fork"):
            # Another thread of the parent may have held the lock; it does not exist in the child.
            os.register_at_fork(after_in_child=lambda: setattr(self, "lock", threading.RLock()))

    def note(self, identity: Identity, package: str, features: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        """Writes an input to the journal. A folder that cannot be written costs a warning, not the program."""
        try:
            with self.lock:
                if self._lines_left > 0:
                    self._lines_left -= 1
                    append(self.settings.here / FILE, identity, package, features, found)
        except OSError as error:
            self._lines_left = 0
            self.warn(f"{self.settings.folder}: cannot be written ({error}); what kernels are asked is not reported")

    def warn(self, message: str) -> None:
        """Warns once for each message."""
        if message not in self._warned:
            self._warned.add(message)
            warnings.warn(message, AutoHeuristicWarning, stacklevel=3)


def is_capturing() -> bool:
    """Whether launches go into a CUDA graph that is being captured: then nothing can be measured."""
    torch: Any = sys.modules.get("torch")
    try:
        return torch is not None and bool(torch.cuda.is_current_stream_capturing())
    except (AttributeError, RuntimeError):
        return False
