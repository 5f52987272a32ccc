"""Runs a program with attached kernels: its Python processes attach when they start."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from .settings import Settings

STARTUP = Path(__file__).resolve().parent / "startup"
"""Holds the ``sitecustomize`` that attaches."""


def run(settings: Settings, words: Sequence[str]) -> int:
    """Runs a command with the settings in its environment, and returns its exit code.

    Raises:
        UsageError: There is no such program.

    """
    path = [str(STARTUP), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **settings.variables(), "PYTHONPATH": os.pathsep.join(path)}
    try:
        done = subprocess.run(list(words), env=environment)
    except OSError as error:
        raise UsageError(f"cannot run {words[0]} ({error}); give the program after --") from error
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
