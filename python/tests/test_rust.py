"""The Rust tools read what this package writes, and this package reads what they read."""

import json
import math
import random
import subprocess
from pathlib import Path

import heuristics
from fake_device import IDENTITY

from autoheuristic import Log
from autoheuristic.outcome import TIMING

ROOT = Path(__file__).resolve().parents[2]


def test_ah_train_learns_from_a_log_written_here(tmp_path):
    binary = heuristics.tool("ah-train")
    source = random.Random(1)
    timing = {**TIMING, "early_stop_ratio": None}
    log = Log("python_log", ["n"], ["kind"])
    log.metadata["autoheuristic_rs"] = {"format": 1, "device": IDENTITY, "timing": timing, "seed": 0, "tool": "test"}
    for n in source.sample(range(1, 100_000), 300):
        noise = [source.uniform(1.0, 1.01) for _ in range(2)]
        fast, slow = ("small", "large") if n < 1000 else ("large", "small")
        log.add({"n": n, "kind": 'a "b", c'}, {fast: noise, slow: [3 * ms for ms in noise], "fails": math.inf})
    (tmp_path / "log.toml").write_text(
        'name = "python_log"\nfallback = []\n[[feature]]\nname = "n"\nkind = "numerical"\n'
        '[[feature]]\nname = "kind"\nkind = "categorical"\n'
    )
    paths = [tmp_path / "train.txt", tmp_path / "train.txt.gz"]
    for path in paths:
        log.write(path)
        words = [binary, str(path), "--heuristic-name", "H", "--no-codegen", "--model", "model.json", "--threads", "1"]
        words += ["--optimization", "log.toml"]
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True)
        model = json.loads((tmp_path / "model.json").read_text())
        assert {"large", "small"} <= {*map(str, model["choices"])}, model["choices"]
        assert "Fake GPU" in json.dumps(model), "the device is the guard"


def test_logs_of_this_repository_are_read():
    log = Log.read(ROOT / "data" / "softmax" / "h200.txt.gz")
    assert log.name == "softmax" and len(log) > 1000
    assert log.collection["device"]["name"] == "NVIDIA H200"
