"""Attaches heuristics to the ``triton.autotune`` kernels of packages, without changing a line of them.

``hook`` finds the autotuners, ``attached`` decides their calls, ``settings`` names the files. ``learn`` makes
heuristics of the logs, ``replay`` measures and reports what was asked.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from ..errors import AutoHeuristicWarning, ConfigError
from .hook import Hook
from .settings import FOLDER, MODE, PACKAGES, Settings, default_folder

_hook: Hook | None = None


def attach(*packages: str, mode: str = "serve", folder: str | os.PathLike[str] | None = None) -> None:
    """Attaches to every ``triton.autotune`` kernel of these packages, imported already or later.

    A kernel asks its heuristic, if one was learned for its source, its configurations and this device. Otherwise its
    own autotuner runs as before. Attaching again replaces what was attached.

    Args:
        packages: Import names, for example ``fla``; ``*`` is every package.
        mode: ``serve`` asks heuristics; ``collect`` launches the first configuration and notes each new input, which
            ``autoheuristic replay`` measures afterwards.
        folder: Where logs and heuristics are; by default ``autoheuristic/attach`` in the user's cache folder.

    Raises:
        ConfigError: The mode is none, or no package is named.
    """
    settings = Settings(packages, default_folder() if folder is None else Path(folder), mode)
    global _hook
    detach()
    _hook = Hook(settings)


def detach() -> None:
    """Gives all kernels their own autotuners back."""
    global _hook
    if _hook is not None:
        _hook.remove()
        _hook = None


def attach_from_environment() -> None:
    """Attaches what ``AUTOHEURISTIC_ATTACH`` names, if it is set. A variable that makes no sense is a warning."""
    packages = [name.strip() for name in os.environ.get(PACKAGES, "").split(",") if name.strip()]
    try:
        if packages:
            attach(*packages, mode=os.environ.get(MODE, "serve"), folder=os.environ.get(FOLDER) or None)
    except ConfigError as error:
        warnings.warn(f"{error}; nothing is attached", AutoHeuristicWarning, stacklevel=2)
