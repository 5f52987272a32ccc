"""``collect``: starts ``ah-collect`` with a tuned kernel as its worker."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from .errors import UsageError
from .tools import tool

HANG_SECONDS = "120"
"""The limit of one answer, unless the user gives another: a check may compile the kernel first."""


def collect(kernel: str, words: Sequence[str]) -> NoReturn:
    """Measures ``MODULE:KERNEL`` with these further arguments of ``ah-collect collect``.

    It takes the place of this process, so a signal to this process reaches it.

    Raises:
        UsageError: ``ah-collect`` is not installed, or the name has a quotation mark.

    """
    if '"' in kernel:
        raise UsageError(f"expected MODULE:KERNEL without a quotation mark, found {kernel!r}")
    worker = f'"{sys.executable}" -m autoheuristic worker "{kernel}"'
    limit = () if any(word.startswith("--hang-seconds") for word in words) else ("--hang-seconds", HANG_SECONDS)
    command = [tool("ah-collect"), "collect", "--worker", worker, *limit, *words]
    # The worker finds this package also where it is not installed.
    path = [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.execve(command[0], command, {**os.environ, "PYTHONPATH": os.pathsep.join(path)})
