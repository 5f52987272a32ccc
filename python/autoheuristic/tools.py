"""Finds the project's tools, which are written in Rust and come with the wheel, and runs them."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from .environment import VERSION
from .errors import ConfigError

HANG_SECONDS = "120"
"""The limit of one answer of the worker: a check may compile the kernel first."""


@functools.cache
def tool(name: str) -> str:
    """The path of a tool: from this Python's scripts, else from ``PATH``. ``AH_TRAIN`` overrides ``ah-train``.

    Raises:
        ConfigError: It is not installed, or it is another version's.
    """
    given = os.environ.get(name.upper().replace("-", "_"))
    found = shutil.which(given) if given else _found(name)
    if found is None:
        raise ConfigError(
            f"{name} is not installed: expected it beside {sys.executable} or on PATH; pip install ./python"
        )
    if not given and (version := _version(found)) != VERSION:
        raise ConfigError(
            f"{found}: expected version {VERSION}, that of the package autoheuristic, found {version}; "
            "install both from one checkout: pip install ./python"
        )
    return found


def _found(name: str) -> str | None:
    # The scripts of the environment count whether it is activated or not.
    folders = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent), None)
    return next(filter(None, (shutil.which(name, path=folder) for folder in folders)), None)


def become(name: str) -> NoReturn:
    """Runs a tool in the place of this process: a wheel has one binary for all, which goes by its name."""
    binary = _found("ah-tools")
    if binary is None:
        sys.exit(f"error: expected the binary ah-tools beside {sys.executable}, found none; pip install ./python")
    os.execv(binary, [name, *sys.argv[1:]])


def collecting(worker: Sequence[str], words: Sequence[str]) -> list[str]:
    """The command that measures a kernel: ``ah-collect`` with ``autoheuristic worker WORKER...``.

    Raises:
        ConfigError: ``ah-collect`` is not installed.
    """
    command = shlex.join([sys.executable, "-m", "autoheuristic", "worker", *worker])
    return [tool("ah-collect"), "collect", "--worker", command, "--hang-seconds", HANG_SECONDS, *words]


def environment(first: Path = Path(__file__).resolve().parents[1]) -> dict[str, str]:
    """The environment in which Python looks into a folder first.

    By default this is the package's own, so that a worker finds it where it is not installed.
    """
    path = [str(first), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Leaves an interrupt to the tools that run meanwhile: they end after the input in hand."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run(command: Sequence[str]) -> int:
    """Runs a tool in the foreground and returns its exit code."""
    with interruptible():
        return subprocess.run(command, env=environment()).returncode


def say(message: str) -> None:
    """Prints a line about the progress of the work."""
    print(message, file=sys.stderr, flush=True)


def _version(path: str) -> str:
    """The version that a tool prints after its name."""
    try:
        words = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        words = []
    return words[1] if len(words) > 1 else "none"
