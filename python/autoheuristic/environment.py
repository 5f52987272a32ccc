"""The environment variables, the same as those of the Rust tools (``docs/environment.md``)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

VERSION = "0.2.0"
"""That of the workspace and of its tools."""


def uses_heuristic(name: str) -> bool:
    """Whether ``AUTOHEURISTIC_USE`` lets this kernel ask its heuristic; where it is not set, all do."""
    names = os.environ.get("AUTOHEURISTIC_USE")
    return names is None or name in (each.strip() for each in names.split(","))


def cache_folder() -> Path:
    """The folder of this package below the user's cache folder."""
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    home = Path(os.environ.get("HOME") or tempfile.gettempdir())
    return (Path(user) if user else home / ".cache") / "autoheuristic"


def counted(count: int, noun: str) -> str:
    """A count with its noun: ``1 input``, ``2 inputs``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def file_name(name: str) -> str:
    """Makes a file's name from any name: letters, digits, ``-``, ``_`` and ``.`` stay; it never starts with a dot."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name[:100])
    return safe if safe and not safe.startswith(".") else f"_{safe}"
