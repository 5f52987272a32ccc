"""torch.compile sees only the heuristic's pick."""

import os
import subprocess
import sys
from pathlib import Path

import heuristics
import pytest

HERE = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])}


NAMES = [f"BLOCK={block}_num_warps=4_num_stages=3" for block in (16, 32, 64)]


def traced(file):
    """What tracing with static and with symbolic sizes prints."""
    probe = [sys.executable, "-c", "import torch, triton.language"]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("PyTorch or Triton is not installed: torch.compile is not tested")
    script = [sys.executable, str(HERE / "trace_model.py"), str(file)]
    done = subprocess.run(script, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    static, dynamic = done.stdout.split("dynamic 10")
    return static.split(), dynamic.split()


def test_the_pick_is_made_while_tracing(tmp_path):
    static, dynamic = traced(heuristics.write(tmp_path / "h.py", NAMES, fallback=NAMES[1]))
    # Sizes up to 100 take the first configuration, above 1000 the heuristic declines: the fallback.
    assert static == [
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
    assert dynamic == [
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


@pytest.mark.parametrize("learner", ["cost_tree", "boosted"])
def test_generated_code_is_traced(tmp_path, learner):
    file = heuristics.learned(tmp_path, NAMES, "--learner", learner)
    static, dynamic = traced(file)
    expected = {"10": "[16]", "20": "[16]", "500": "[64]", "400": "[64]", "5000": "[32]", "30": "[16]"}
    assert [static[i + 1 : i + 4 : 2] for i in range(0, len(static), 4)] == [list(pair) for pair in expected.items()]
    # A graph follows the size that it was made for.
    sizes = [word for word in ["10", *dynamic] if word not in ("dynamic", "graph")]
    graphs = [(size, graph) for size, graph in zip(sizes, sizes[1:]) if graph.startswith("[")]
    assert 3 <= len(graphs) <= 6 and all(expected[size] == graph for size, graph in graphs), graphs
