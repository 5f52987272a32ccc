"""The environment variables, the same as those of the Rust tools (``docs/environment.md``)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """What the environment says."""

    use: frozenset[str] | None
    """``AUTOHEURISTIC_USE``: the kernels that ask their heuristic; ``None``: all."""
    cache_folder: Path
    """The user's cache folder, below which everything of ours lies."""
    timings_folder: Path | None
    """Where single timings are kept; ``None`` where ``AUTOHEURISTIC_DISABLE_CACHE`` says so."""

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> Environment:
        """Reads the variables of this process, or these."""
        get = (os.environ if variables is None else variables).get
        use = get("AUTOHEURISTIC_USE")
        user = get("XDG_CACHE_HOME") or get("LOCALAPPDATA")
        home = Path(get("HOME") or tempfile.gettempdir())
        ours = (Path(user) if user else home / ".cache") / "autoheuristic"
        disabled = get("AUTOHEURISTIC_DISABLE_CACHE", "") not in ("", "0")
        folder = get("AUTOHEURISTIC_CACHE_DIR")
        return cls(
            use=None if use is None else _names(use),
            cache_folder=ours,
            timings_folder=None if disabled else (Path(folder) if folder else ours) / "timings",
        )


def file_name(name: str) -> str:
    """Makes a file's name from any name: letters, digits, ``-``, ``_`` and ``.`` stay; it never starts with a dot."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name[:100])
    return safe if safe and not safe.startswith(".") else f"_{safe}"


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())
