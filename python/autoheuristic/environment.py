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
    collect: frozenset[str]
    """``AUTOHEURISTIC_COLLECT``: the kernels that measure all configurations and append to the log."""
    log_path: Path | None
    """``AUTOHEURISTIC_LOG_PATH``: the log, or a folder of logs."""
    cache_folder: Path
    """The user's cache folder, below which everything of ours lies."""
    timings_folder: Path | None
    """Where single timings are kept; ``None`` where ``AUTOHEURISTIC_DISABLE_CACHE`` says so."""

    @classmethod
    def read(cls, variables: Mapping[str, str] | None = None) -> Environment:
        """Reads the variables of this process, or these."""
        get = (os.environ if variables is None else variables).get
        use = get("AUTOHEURISTIC_USE")
        log_path = get("AUTOHEURISTIC_LOG_PATH", "")
        user = get("XDG_CACHE_HOME") or get("LOCALAPPDATA")
        home = Path(get("HOME") or tempfile.gettempdir())
        ours = (Path(user) if user else home / ".cache") / "autoheuristic"
        disabled = get("AUTOHEURISTIC_DISABLE_CACHE", "") not in ("", "0")
        folder = get("AUTOHEURISTIC_CACHE_DIR")
        return cls(
            use=None if use is None else _names(use),
            collect=_names(get("AUTOHEURISTIC_COLLECT", "")),
            log_path=Path(log_path) if log_path not in ("", "DEFAULT") else None,
            cache_folder=ours,
            timings_folder=None if disabled else (Path(folder) if folder else ours) / "timings",
        )

    def log_file(self, name: str, device: str, path: Path | None = None) -> Path:
        """Returns where the log of this kernel on this device is, with ``path`` before the variable."""
        path = path or self.log_path
        if path is None:
            return self.cache_folder / file_name(device) / f"{file_name(name)}.txt"
        return path / f"{file_name(name)}.txt" if path.is_dir() else path


def file_name(name: str) -> str:
    """Makes a file's name from any name: letters, digits, ``-``, ``_`` and ``.`` stay; it never starts with a dot."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name[:100])
    return safe if safe and not safe.startswith(".") else f"_{safe}"


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())
