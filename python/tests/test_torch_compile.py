"""torch.compile sees only the heuristic's pick."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}


def test_the_pick_is_made_while_tracing(tmp_path):
    probe = [sys.executable, "-c", "import torch, triton.language"]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("PyTorch or Triton is not installed: torch.compile is not tested")
    script = [sys.executable, str(HERE / "trace_model.py"), str(tmp_path)]
    done = subprocess.run(script, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    static, dynamic = done.stdout.split("dynamic 10")
    # Sizes up to 100 take the first configuration, above 1000 the heuristic declines: the fallback.
    assert static.split() == [
        "static",
        "10",
        "graph",
        "[16]",
        "static",
        "20",
        "graph",
        "[16]",
        "static",
        "500",
        "graph",
        "[64]",
        "static",
        "400",
        "graph",
        "[64]",
        "static",
        "5000",
        "graph",
        "[32]",
        "static",
        "30",
        "graph",
        "[16]",
    ]
    # With symbolic sizes a graph holds for all sizes of a leaf.
    assert dynamic.split() == [
        "graph",
        "[16]",
        "dynamic",
        "20",
        "dynamic",
        "500",
        "graph",
        "[64]",
        "dynamic",
        "400",
        "dynamic",
        "5000",
        "graph",
        "[32]",
        "dynamic",
        "30",
    ]
