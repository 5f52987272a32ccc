"""Heuristic files: stand-ins with what the package looks at, and real ones that the Rust tools make."""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_device import IDENTITY

from autoheuristic.worker import TIMING

ROOT = Path(__file__).resolve().parents[2]

TEXT = """
FEATURES = ("n", "x_dtype")
CHOICES = {choices!r}
FALLBACK = {fallback!r}

def _order(n, x_dtype):
    if str(x_dtype) not in ("torch.float32", "torch.float16") or float(n) > 1000.0:
        return ()
    return (CHOICES if float(n) <= 100.0 else CHOICES[::-1])[:{allowed}]

def ranked(n, x_dtype):
    return list(_order(n, x_dtype))

def choose_among(offered, n, x_dtype):
    for name in _order(n, x_dtype):
        if name in offered:
            return name
    return None

def device_mismatch(name, multiprocessors=None, capability=None, shared_memory=None):
    if name == {device!r}:
        return None
    return f"learned on the GPU {device!r}, here {{name!r}}"
"""


def write(path, choices, fallback=None, device="Fake GPU", allowed=99):
    """Writes a heuristic: small ``n`` take the choices in order, large ones backwards, beyond 1000 it declines."""
    path.write_text(TEXT.format(choices=tuple(choices), fallback=fallback, device=device, allowed=allowed))
    return path


def write_log(path, name, features, inputs):
    """Writes a log of numerical features as ``ah-collect`` does; ``inputs`` are values and the times of choices."""
    ours = {"format": 1, "device": IDENTITY, "timing": {**TIMING, "burst": 1}, "seed": 0, "tool": "test", "collected": False}
    first = {"name": name, "shared_memory": IDENTITY["shared_memory"], "device_capa": IDENTITY["capability"], "numerical_features": features}
    first |= {"categorical_features": [], "autoheuristic_rs": ours}
    with open(path, "w", newline="") as file:
        file.write(json.dumps(first) + "\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*features, "choice", "feedback"])
        writer.writerows([*values, choice, ms] for values, times in inputs for choice, ms in times.items())


def learned(folder, choices, *words):
    """Learns a heuristic and generates it: up to 100 the first choice wins, up to 1000 the third, then the second."""
    sizes = sorted({round(1.02**i) for i in range(500)})
    winners = [choices[0 if n <= 100 else 2 if n <= 1000 else 1] for n in sizes]
    times = [{choice: 1.0 if choice == winner else 2.0 for choice in choices} for winner in winners]
    write_log(folder / "train.txt", "double", ["n"], (((n,), found) for n, found in zip(sizes, times)))
    train = [tool("ah-train"), "train.txt", "--heuristic-name", "learned", "--target", "triton", "--out", ".", *words]
    subprocess.run(train, cwd=folder, check=True, capture_output=True)
    return folder / "learned_prune.py"


def tool(name):
    """A tool of this repository."""
    places = [
        os.environ.get(name.upper().replace("-", "_")),
        *(ROOT / "target" / p / name for p in ("release", "debug")),
    ]
    found = next((str(p) for p in places if p and Path(p).exists()), shutil.which(name))
    if found is None:
        pytest.skip(f"no {name} is built (cargo build -p {name}): what it writes is not tested")
    return found
