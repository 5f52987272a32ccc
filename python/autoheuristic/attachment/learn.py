"""Learns a heuristic from each log of attached kernels, with ``ah-train`` and ``ah-codegen``."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from ..errors import UsageError
from ..tools import tool

TOO_SMALL = 6
"""The exit code of ``ah-train`` for a log that is too small to learn from."""


class Learned(NamedTuple):
    """What became of one log."""

    log: Path
    heuristic: Path | None
    """The file that was written."""
    message: str
    """The summary, or why there is no heuristic."""
    exit_code: int


def logs(folder: Path) -> list[Path]:
    """Returns the logs below a folder, one for each kernel and device."""
    return sorted(path for path in folder.glob("*/*.txt"))


def learn(folder: Path, words: Sequence[str] = (), jobs: int | None = None) -> Iterator[Learned]:
    """Learns from each log that has grown since its heuristic was made; ``words`` are more arguments for ``ah-train``.

    Raises:
        UsageError: A tool is missing, or there is no log.

    """
    train, codegen = tool("ah-train"), tool("ah-codegen")
    found = logs(folder)
    if not found:
        raise UsageError(f"{folder}: expected logs of attached kernels (DEVICE/KERNEL_HASH.txt), found none")
    todo = [log for log in found if not _is_learned(log)]
    with ThreadPoolExecutor(jobs or min(4, os.cpu_count() or 1)) as pool:
        yield from pool.map(lambda log: _learn(log, train, codegen, words), todo)


def _is_learned(log: Path) -> bool:
    heuristic = log.with_suffix(".py")
    return heuristic.exists() and heuristic.stat().st_mtime >= log.stat().st_mtime


def _learn(log: Path, train: str, codegen: str, words: Sequence[str]) -> Learned:
    model = log.with_suffix(".model.json")
    learning = [train, str(log), "--heuristic-name", log.stem, "--model", str(model), "--no-codegen", *words]
    learned = _run(learning)
    done = learned
    if not learned.returncode:
        with tempfile.TemporaryDirectory(dir=log.parent) as folder:
            done = _run([codegen, str(model), "--target", "python", "--out", folder])
            # The generator makes an identifier of the name, which may differ from the log's: dAv becomes d_av.
            for made in Path(folder).glob("*.py"):
                made.replace(log.with_suffix(".py"))
    if done.returncode:
        return Learned(log, None, done.stderr.strip() or done.stdout.strip(), done.returncode)
    return Learned(log, log.with_suffix(".py"), learned.stdout.strip(), 0)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True)
