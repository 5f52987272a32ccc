"""Learns a heuristic from each log of attached kernels, with ``ah-train``."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..errors import ConfigError
from ..tools import tool

TOO_SMALL = 6
"""The exit code of ``ah-train`` for a log that is too small to learn from."""


def learn(folder: Path, words: Sequence[str] = ()) -> int:
    """Learns from each log that has grown since its heuristic was made; ``words`` are more arguments for ``ah-train``.

    Prints what it found, and returns the exit code. Too few inputs are no failure: the kernel had few shapes so far.

    Raises:
        ConfigError: A tool is missing, or there is no log.
    """
    tool("ah-train")
    found = sorted(folder.glob("*/*.txt"))
    if not found:
        raise ConfigError(f"{folder}: expected logs of attached kernels (DEVICE/KERNEL_HASH.txt), found none")
    made = {log: log.with_suffix(".py") for log in found}
    todo = [log for log in found if not made[log].exists() or made[log].stat().st_mtime < log.stat().st_mtime]
    code = 0
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for message, failed in pool.map(lambda log: _learn(log, words), todo):
            print(message, flush=True)
            code = failed or code
    return code


def heuristic_of(
    log: Path, heuristic: Path, name: str, words: Sequence[str], model: Path, footer: str = ""
) -> tuple[str, int]:
    """Learns from a log and writes the heuristic to a file, with ``footer`` at its end.

    Where learning shows no gain, the file always takes the best single configuration. Returns what to tell, and the
    exit code of ``ah-train``.

    Raises:
        ConfigError: A tool is missing.
    """
    message = ""
    for more in ((), ("--learner", "cost_tree", "--max-leaves", "1")):
        with tempfile.TemporaryDirectory(dir=heuristic.parent) as folder:
            command = [tool("ah-train"), str(log), "--heuristic-name", name, "--target", "triton", *words, *more]
            command += ["--model", f"{model}.model.json", "--out", folder, "--json"]
            done = subprocess.run(command, capture_output=True, text=True)
            # The generator makes an identifier of the name, which may differ from the log's: dAv becomes d_av.
            for made in Path(folder).glob("*.py"):
                with open(made, "a", encoding="utf-8") as file:
                    file.write(footer)
                made.replace(heuristic)
        if done.returncode:
            said = next(filter(None, map(str.strip, (done.stderr, done.stdout))), "")
            # The caller knows where further inputs come from.
            few = said.rpartition("error: ")[2].partition(";")[0]
            return few if done.returncode == TOO_SMALL else said, done.returncode
        figures = json.loads(done.stdout)
        if more:
            always = ", else ".join(figures["verdict"]["choices"]) or "the best choice that can run"
            return f"{message}\nUntil then the heuristic always takes {always}.", 0
        message = figures["summary"].strip()
        if figures["verdict"]["advice"] != "measure_more":
            break
    return message, 0


def _learn(log: Path, words: Sequence[str]) -> tuple[str, int]:
    message, code = heuristic_of(log, log.with_suffix(".py"), log.stem, words, log.with_suffix(""))
    if not code:
        return message, 0
    if code == TOO_SMALL:
        message += ". Run the program with --mode collect on more shapes, "
        message += "or give autoheuristic replay more --max-seconds"
    return f"{log.stem}: nothing is learned: {message}", 0 if code == TOO_SMALL else code
