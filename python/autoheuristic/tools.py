"""Finds the project's tools, which are written in Rust."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import UsageError

IN_PACKAGE = Path(__file__).resolve().parent / "bin"
"""A wheel may bring the tools along."""


def tool(name: str) -> str:
    """Returns the path of a tool: ``AH_TRAIN`` for ``ah-train``, else from the package, else from ``PATH``.

    Raises:
        UsageError: It is not installed.

    """
    variable = name.upper().replace("-", "_")
    given = os.environ.get(variable)
    found = shutil.which(given) if given else shutil.which(name, path=str(IN_PACKAGE)) or shutil.which(name)
    if found is None:
        raise UsageError(
            f"{name} is not installed: expected it on PATH, or its path in {variable} "
            f"(cargo install --locked --path crates/{name})"
        )
    return found
