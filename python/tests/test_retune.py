"""The loop of docs/ci.md on a repository made here: a log of small inputs, then inputs that production met."""

import csv
import gzip
import os
import subprocess
import sys
from pathlib import Path

import heuristics
import pytest

ROOT = Path(__file__).resolve().parents[2]
RETUNE = ROOT / "examples" / "retune" / "retune.py"
LEARN = "--heuristic-name Picker --target python --out . --max-risk none"
WORKER = """
import json, sys
n = 0
for line in sys.stdin:
    request = json.loads(line)
    say = lambda **fields: print(json.dumps({"id": request["id"], **fields}), flush=True)
    if request["request"] == "describe":
        say(protocol=1, name="steps", choices=["flat", "steep"], fallback=["flat"], simulated=True,
            features=[{"name": "n", "kind": "numerical", "integer": True}], inputs={"n": {"from": 1, "to": 90}})
    elif request["request"] == "prepare":
        n = request["context"]["n"]
        say()
    else:
        for at, cell in enumerate(request["cells"]):
            ms = {"flat": 1.0, "steep": n / 100 if n <= 1000 else 0.5}[cell["choice"]]
            say(cell=at, ms=[ms] * cell["samples"])
"""


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path):
    """A repository whose heuristic has seen n up to 90 alone, where `steep` is faster."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "worker.py").write_text(WORKER)
    collect, train = heuristics.tool("ah-collect"), heuristics.tool("ah-train")
    measure = [collect, "--worker", f"{sys.executable} {folder}/worker.py"]
    subprocess.run([*measure, "--draws", "80", "-o", "train.txt"], cwd=folder, check=True, capture_output=True)
    log = folder / "train.txt"
    (folder / "train.txt.gz").write_bytes(gzip.compress(log.read_bytes(), mtime=0))
    for file in folder.glob("train.txt*"):
        if file.suffix != ".gz":
            file.unlink()
    subprocess.run([train, "train.txt.gz", *LEARN.split()], cwd=folder, check=True, capture_output=True)
    git(folder, "init", "--quiet")
    git(folder, "config", "user.email", "a@b.c")
    git(folder, "config", "user.name", "a")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "begin")
    return folder, f"{collect} --worker '{sys.executable} {folder}/worker.py'"


def retune(repository, sizes):
    folder, measure = repository
    seen = folder.parent / "seen.csv"
    with seen.open("w", newline="") as file:
        csv.writer(file).writerows([["n"], *([n] for n in sizes)])
    words = [sys.executable, str(RETUNE), str(seen), "--measure", measure, "--learn", LEARN]
    environment = {**os.environ, "AH_TRAIN": heuristics.tool("ah-train")}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment)


def test_larger_inputs_make_a_branch_with_the_figures(repository):
    done = retune(repository, range(100, 2000, 7))
    assert done.returncode == 0, done.stdout + done.stderr
    message = git(repository[0], "log", "-1", "--format=%B")
    assert "loses to the best choice" in message, message
    assert sorted(git(repository[0], "diff", "--name-only", "HEAD~1").split()) == ["model.json", "picker.py", "train.txt.gz"]
    assert git(repository[0], "branch", "--show-current").startswith("retune/")


def test_nothing_new_changes_nothing(repository):
    done = retune(repository, range(1, 90))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "The old heuristic stays: it saves less than 0.5% of the time." in done.stdout
    assert git(repository[0], "status", "--porcelain") == ""
    assert git(repository[0], "branch", "--show-current").strip() in ("main", "master")
