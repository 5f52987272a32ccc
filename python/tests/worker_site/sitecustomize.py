"""Puts the fake GPU and the fake Triton into the processes that a test starts with this folder on ``PYTHONPATH``."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fake_device  # noqa: E402
import fake_triton  # noqa: E402

fake_triton.install()

from triton.runtime import driver  # noqa: E402

import autoheuristic.check  # noqa: E402
import autoheuristic.device  # noqa: E402

DEVICE = fake_device.Device()
driver.set_active(DEVICE)
autoheuristic.check._digest = lambda tensor: hash(tuple(tensor.values)) % 2**40
if os.environ.get("FAULT") == "held":
    autoheuristic.device.held_by_others = lambda: 70 << 30
if os.environ.get("FAULT") != "no GPU":
    autoheuristic.device.current = lambda: dict(fake_device.IDENTITY)
