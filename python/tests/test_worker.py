"""A tuned kernel as a worker of ``ah-collect``: the requests one by one, and whole runs in processes of their own."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fake_device
import heuristics
import pytest

from autoheuristic import Log
from autoheuristic.heuristic import Heuristic

HERE = Path(__file__).resolve().parent
SITE = HERE / "worker_site"
N16, N32, N64, N128 = (f"BLOCK={block}_num_warps=4_num_stages=3" for block in (16, 32, 64, 128))

if os.environ.get("AUTOHEURISTIC_TEST_TRITON") == "1":
    pytest.skip("the worker is tested on the fake Triton", allow_module_level=True)


def environment(fault=""):
    paths = [str(SITE), str(HERE.parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "FAULT": fault, "PYTHONHASHSEED": "7"}


class Session:
    """A worker process, asked by hand."""

    def __init__(self, kernel="doubling:kernel", fault=""):
        words = [sys.executable, "-m", "autoheuristic", "worker", kernel]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(words, env=environment(fault), text=True, **pipes)
        self.last = 0

    def ask(self, request, answers=1, **fields):
        self.last += 1
        self.process.stdin.write(json.dumps({"id": self.last, "request": request, **fields}) + "\n")
        self.process.stdin.flush()
        found = []
        while len(found) < answers:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            if line.startswith("{"):
                answer = json.loads(line)
                assert answer.pop("id") == self.last
                found.append(answer)
        return found if answers > 1 else found[0]

    def cells(self, request, *names, **fields):
        answers = self.ask(request, len(names), cells=[{"choice": name, **fields} for name in names])
        answers = answers if isinstance(answers, list) else [answers]
        return [a for _, a in sorted((a.pop("cell"), a) for a in answers)]

    def prepare(self, n):
        return self.ask("prepare", context={"n": n, "x_dtype": "torch.float32"}, seed=[0, 3])


@pytest.fixture
def session():
    opened = []

    def start(*words, **options):
        opened.append(Session(*words, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.process.kill()
        each.process.wait()
        for pipe in (each.process.stdin, each.process.stdout, each.process.stderr):
            pipe.close()


def test_it_describes_the_kernel(session):
    answer = session().ask("describe", protocol=1)
    assert (answer["protocol"], answer["name"], answer["fallback"]) == (1, "double", [N16])
    assert answer["choices"] == [N16, N32, N64, N128]
    assert answer["features"] == [{"name": "n", "kind": "numerical"}, {"name": "x_dtype", "kind": "categorical"}]
    assert answer["device"] == fake_device.IDENTITY and answer["timing"]["cold"] is True
    assert answer["batch"] > 640 and answer["can"] == ["check", "compile", "release"]


def test_all_cells_of_a_request_are_answered(session):
    worker = session()
    assert worker.prepare(10) == {}
    assert worker.cells("check", N16, N32, N64, N128) == [{}] * 4
    times = worker.cells("time", N32, N16, N32, samples=2, runs=3, cold=False)
    assert [t["ms"] for t in times] == [pytest.approx([ms] * 2) for ms in (0.003, 0.005, 0.003)]
    assert worker.cells("time", N64, samples=1, runs=1, cold=True) == [{"ms": pytest.approx([0.004])}]
    assert worker.cells("time", "BLOCK=7", N64, samples=1, runs=1, cold=True)[0] == {
        "failed": "'BLOCK=7' is none of the configurations"
    }


@pytest.mark.parametrize(
    ("fault", "key", "message"),
    [
        ("wrong", "failed", "wrong result: 'y' differs from the median of the configurations by 4"),
        ("too large", "failed", "OutOfResources: out of resource: shared memory, Required: 300000"),
        ("pruned", "skipped", "pruned"),
        ("remade", "skipped", "pruned"),
        ("memory", "skipped", f"{N128}: the device's memory does not suffice (CUDA out of memory."),
        ("held", "unmeasured", f"{N128}: other programs hold 70.0 GiB of the device's memory; the device's memory"),
    ],
)
def test_a_configuration_that_misbehaves_says_why(session, fault, key, message):
    worker = session(fault=fault)
    worker.prepare(10)
    *others, bad = worker.cells("check", N16, N32, N128)
    assert others == [{}] * 2 and bad[key].startswith(message)
    assert worker.cells("check", N128)[0][key] == bad[key], "alone, it is compared with the same reference"


def test_an_input_that_cannot_be_made_is_not_measured(session):
    worker = session()
    assert worker.prepare(13) == {"unmeasured": "the example raised ValueError: 13 is unlucky; repair it"}
    assert worker.cells("check", N16) == [{"failed": "no input is prepared"}]
    assert "asked for n=14, and the call has 15" in worker.prepare(14)["unmeasured"]
    context = {"n": 12, "x_dtype": "torch.float16"}
    assert (
        "x_dtype=torch.float16, and the call has" in worker.ask("prepare", context=context, seed=[0, 0])["unmeasured"]
    )
    assert worker.prepare(12) == {} and worker.ask("release") == {}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("example", "the example raised ValueError: 10 is unlucky; repair it"),
        ("pruner", "prune_configs_by raised KeyError: 'K'; repair it"),
    ],
)
def test_whoever_makes_the_input_is_at_fault_for_what_it_raises(session, fault, message):
    assert session(fault=fault).prepare(10) == {"unmeasured": message}


def test_a_call_that_no_configuration_can_take_blames_none(session):
    worker = session(fault="arguments")
    assert worker.prepare(10) == {}
    answers = worker.cells("check", N16, N32)
    assert all("missing a required argument: 'm'; repair the example" in answer["unmeasured"] for answer in answers)


def test_a_lost_device_names_its_cell_when_it_is_asked_alone(session):
    worker = session(fault="lost")
    worker.prepare(77)
    assert "illegal memory access" in worker.cells("check", N32)[0]["lost"]
    worker = session(fault="lost")
    worker.prepare(77)
    worker.process.stdin.write(json.dumps({"id": 2, "request": "check", "cells": [{"choice": N16}, {"choice": N32}]}))
    assert "illegal memory access" in worker.process.communicate(timeout=30)[1].splitlines()[-1]


def test_a_kernel_that_hangs_does_not_outlive_who_asked(session):
    worker = session(fault="hang")
    worker.prepare(10)
    worker.process.stdin.write(json.dumps({"id": 2, "request": "check", "cells": [{"choice": N128}]}) + "\n")
    worker.process.stdin.close()  # As when ah-collect is killed.
    assert worker.process.wait(timeout=10) == 1


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("doubling", "expected MODULE:KERNEL"),
        ("no_such_module:kernel", "cannot import no_such_module"),
        ("doubling:other", "found int"),
        ("doubling:absent", "found NoneType"),
        ("doubling:bare", "has no example; put @bare.example"),
        ("doubling:featureless", "expected parameters named as those of the kernel (x, y, n, m, BLOCK)"),
    ],
)
def test_a_kernel_that_is_not_there(session, kernel, message):
    assert message in session(kernel).ask("describe", protocol=1)["failed"]


def test_without_a_gpu_it_says_so(session):
    assert "expected a GPU that PyTorch can use" in session(fault="no GPU").ask("describe", protocol=1)["failed"]


# With ah-collect


def command(*words):
    worker = f'"{sys.executable}" -m autoheuristic worker {SITE / "doubling.py"}:kernel'
    return [heuristics.tool("ah-collect"), "collect", "--worker", worker, "--hang-seconds", "60", *words]


def collect(tmp_path, *words, fault=""):
    words = command("-o", str(tmp_path / "train.txt"), *words)
    return subprocess.run(words, env=environment(fault), capture_output=True, text=True, timeout=120)


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "shapes.csv"
    path.write_text("n,x_dtype\n" + "".join(f"{n},torch.float32\n" for n in (10, 13, 77, 200, 500)))
    return str(path)


def times(tmp_path):
    return {values[0]: found for values, found in Log.read(tmp_path / "train.txt").inputs().items()}


def test_it_passes_the_test_of_workers(inputs):
    words = [heuristics.tool("ah-collect"), "check-worker", "--inputs", inputs, "--", sys.executable]
    words += ["-m", "autoheuristic", "worker", "doubling:kernel"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=60)
    # The second of the two inputs is unlucky.
    faults = [line for line in done.stdout.splitlines() if line.startswith("fault")]
    # On the first one, the fake device's clock takes no time of its own: the check finds its times impossible, or copied.
    assert any("13 is unlucky" in fault for fault in faults), done.stdout
    expected = ("13 is unlucky", "impossible times", "as if copied")
    assert all(any(part in fault for part in expected) for fault in faults), done.stdout
    assert done.stdout.count("ok  ") >= 3


def test_a_log_holds_each_configuration_and_the_reasons_of_failures(tmp_path, inputs):
    done = collect(tmp_path, "--inputs", inputs, fault="wrong")
    assert done.returncode == 0, done.stderr
    log = Log.read(tmp_path / "train.txt")
    assert (log.name, log.choices) == ("double", sorted([N16, N32, N64, N128]))
    assert log.metadata["autoheuristic_rs"]["device"] == fake_device.IDENTITY
    found = times(tmp_path)
    assert sorted(found) == [10, 77, 200, 500]
    # A choice that stops early has fewer rows.
    assert found[10][N32] == pytest.approx([0.003] * len(found[10][N32]))
    assert found[200][N32] == pytest.approx([0.006] * len(found[200][N32]))
    assert found[10][N128] == [math.inf]
    reasons = (tmp_path / "train.txt.outcomes.jsonl").read_text()
    assert "wrong result: 'y' differs" in reasons and "13 is unlucky" in reasons


def test_a_run_goes_on_where_it_was_cut_off(tmp_path, inputs):
    assert collect(tmp_path, "--inputs", inputs, "--num-samples", "2").returncode == 0
    before = (tmp_path / "train.txt").read_text()
    assert len(times(tmp_path)) == 2
    assert collect(tmp_path, "--inputs", inputs).returncode == 0
    assert len(times(tmp_path)) == 4 and (tmp_path / "train.txt").read_text().startswith(before)
    (tmp_path / "other.csv").write_text("n\n5\n")
    refused = collect(tmp_path, "--inputs", str(tmp_path / "other.csv"))
    assert refused.returncode == 3 and 'a column "x_dtype"' in refused.stderr


def test_a_lost_device_costs_one_cell(tmp_path, inputs):
    done = collect(tmp_path, "--inputs", inputs, fault="lost")
    assert done.returncode == 0, done.stderr
    found = times(tmp_path)
    assert found[77][N32] == [math.inf] and all(math.isfinite(found[77][name][0]) for name in (N16, N64, N128))
    assert all(math.isfinite(ms) for n in (10, 200, 500) for row in found[n].values() for ms in row)


def test_an_interrupted_run_ends_after_the_input_in_hand(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("n,x_dtype\n" + "".join(f"{n},torch.float32\n" for n in range(100, 40_000)))
    log, words = tmp_path / "train.txt", command("--inputs", str(path))
    with subprocess.Popen(
        words, env=environment(), cwd=tmp_path, stderr=subprocess.PIPE, start_new_session=True
    ) as run:
        while run.poll() is None and (not log.exists() or log.read_text().count("\n") < 20):
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
    assert run.returncode == 130 and all(len(found) == 4 for found in times(tmp_path).values())


# autoheuristic tune


def tune(tmp_path, *words, **variables):
    """Tunes a copy of the kernel, beside which the heuristic comes to lie."""
    (tmp_path / "mine.py").write_text((SITE / "doubling.py").read_text().replace("CONFIGS =", f"{SOURCE}CONFIGS =", 1))
    tools = {"AH_COLLECT": "ah-collect", "AH_TRAIN": "ah-train"}
    tools = {variable: heuristics.tool(tool) for variable, tool in tools.items()}
    words = [sys.executable, "-m", "autoheuristic", "tune", "mine.py:kernel", *words]
    return subprocess.run(
        words, env={**environment(), **tools, **variables}, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )


SOURCE = "def double(x, y, n, m, BLOCK):\n    pass\nFAKE.fn = double\n"


def test_one_command_from_the_kernel_to_its_heuristic(tmp_path):
    sizes = [round(10 * 1.05**i) for i in range(80)]
    (tmp_path / "shapes.csv").write_text("n,x_dtype\n" + "".join(f"{n},torch.float32\n" for n in sizes))
    done = tune(tmp_path, "--inputs", "shapes.csv", "--", "--max-risk", "none")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("importing mine.py:kernel\n80 shapes with 4 configurations\n")
    assert done.stderr.rstrip().splitlines()[-1].startswith(f"Wrote {tmp_path / 'mine.double.heuristic.py'}")
    assert len(Log.read(tmp_path / "mine.double.txt").inputs()) == len({*sizes} - {13, 14}), "these are unlucky"
    program = (
        "import mine; from fake_triton import tensors; mine.bare[(1,)](*tensors(), {}, 5); print(mine.FAKE.launched)"
    )
    for n in (20, 400):
        run = subprocess.run(
            [sys.executable, "-c", program.format(n)], cwd=tmp_path, env=environment(), capture_output=True, text=True
        )
        assert run.stdout == "[128]\n", run.stderr


def test_too_few_shapes_are_said_to_be_so(tmp_path):
    (tmp_path / "shapes.csv").write_text("n,x_dtype\n5,torch.float32\n")
    done = tune(tmp_path, "--inputs", "shapes.csv")
    assert done.returncode == 6 and "inputs to learn from, found 1: no feature varies; add lines to shapes.csv" in done.stderr


def test_without_ah_collect_it_says_how_to_get_it(tmp_path):
    (tmp_path / "shapes.csv").write_text("n,x_dtype\n5,torch.float32\n")
    done = tune(tmp_path, "--inputs", "shapes.csv", AH_COLLECT="/absent/ah-collect")
    assert done.returncode == 2 and "pip install ./python" in done.stderr


def shapes(tmp_path, *lines, header="n,x_dtype"):
    (tmp_path / "shapes.csv").write_text("\n".join([header, *lines, ""]))
    return ["--inputs", "shapes.csv"]


SIZES = [round(10 * 1.05**i) for i in range(80)]


def test_a_broken_example_ends_with_what_it_raised_and_a_repaired_one_is_measured(tmp_path):
    words = shapes(tmp_path, *(f"{n},torch.float32" for n in SIZES[:30]))
    done = tune(tmp_path, *words, FAULT="example")
    assert done.returncode == 5 and "is unlucky; repair it" in done.stderr.splitlines()[-1], done.stderr
    assert not (tmp_path / "mine.double.heuristic.py").exists()
    done = tune(tmp_path, *words, "--", "--max-risk", "none")
    assert done.returncode == 0, done.stderr
    assert len(Log.read(tmp_path / "mine.double.txt").inputs()) == len({*SIZES[:30]} - {13, 14})
    assert "13 is unlucky" in done.stderr, "of the inputs that are left, the first reason"


def test_what_lives_in_the_grid_alone_is_a_feature(tmp_path):
    lines = [f"{n},torch.float32,{rows}" for rows in (1, 7) for n in range(20, 40)]
    done = tune(tmp_path, *shapes(tmp_path, *lines, header="n,x_dtype,rows"))
    assert done.returncode == 0 and "may depend on them: grid_0" in done.stderr, done.stderr
    log = Log.read(tmp_path / "mine.double.txt")
    assert log.features == ["n", "x_dtype", "grid_0"] and len(log.inputs()) == 40


def test_added_configurations_are_measured_alone_and_removed_ones_left_out(tmp_path):
    words = shapes(tmp_path, *(f"{n},torch.float32" for n in SIZES))
    assert tune(tmp_path, *words, BLOCKS="16,32,64").returncode == 0
    log = tmp_path / "mine.double.txt"
    before = log.read_text().splitlines()[1:]
    done = tune(tmp_path, *words, BLOCKS="16,64,128")
    assert done.returncode == 0 and "goes on with other configurations, 1 of them new" in done.stderr, done.stderr
    lines = log.read_text().splitlines()[1:]
    assert lines[: len(before)] == before and {line.split(",")[2] for line in lines[len(before) :]} == {N128}
    found = (tmp_path / "mine.double.heuristic.py").read_text()
    assert N32 not in found and found.endswith("COMMAND = 'autoheuristic tune mine.py:kernel --inputs shapes.csv'")


def test_a_log_of_another_source_is_not_continued(tmp_path):
    words = shapes(tmp_path, *(f"{n},torch.float32" for n in SIZES))
    assert tune(tmp_path, *words).returncode == 0
    done = tune(tmp_path, *words, BODY="edited")
    assert done.returncode == 3 and "another one; give another --log FILE" in done.stderr
    (tmp_path / "columns.csv").write_text("n,x_dtype,rows\n20,torch.float32,1\n21,torch.float32,9\n")
    done = tune(tmp_path, "--inputs", "columns.csv")
    assert done.returncode == 3 and "expected the features n, x_dtype, grid_0" in done.stderr
    assert tune(tmp_path, *words, "--log", "new.txt", "--out", "there.py", BODY="edited").returncode == 0
    assert (tmp_path / "there.py").exists()


def test_configurations_that_fail_everywhere_are_in_the_verdict(tmp_path):
    done = tune(tmp_path, *shapes(tmp_path, *(f"{n},torch.float32" for n in SIZES)), FAULT="wrong")
    assert done.returncode == 0, done.stderr
    failed = done.stdout[done.stdout.index("1 of 4 configurations failed on most inputs") :].splitlines()
    count = len({*SIZES} - {13, 14})
    start = f"  {N128}: on {count} of {count} inputs ({count} wrong, 0 of them slightly): wrong result: 'y'"
    assert failed[1].startswith(start), failed


def test_with_the_same_bits_only_equal_configurations_are_learned_from(tmp_path):
    words = shapes(tmp_path, *(f"{n},torch.float32" for n in SIZES))
    done = tune(tmp_path, *words, "--same-bits", FAULT="wrong")
    assert done.returncode == 0, done.stderr
    assert "of 3 configurations that run on all inputs: 1\n" in done.stdout, done.stdout
    assert (tmp_path / "mine.double.same_bits.txt").exists() and not (tmp_path / "mine.double.txt").exists()
    assert N128 not in (tmp_path / "mine.double.heuristic.py").read_text().split("MEASURED")[0]


def test_a_class_for_each_value_of_the_other_features_is_part_of_the_heuristic(tmp_path):
    words = shapes(tmp_path, *(f"{n},torch.float32" for n in SIZES))
    done = tune(tmp_path, *words, "--same-bits", "--invariant", "n", FAULT="wrong")
    assert done.returncode == 0, done.stderr
    assert "Takes one class for each of 1 value of x_dtype, over all n" in done.stdout
    found = Heuristic(tmp_path / "mine.double.heuristic.py")
    for offered in ([N16, N32, N64, N128], [N16, N128]):
        picks = list(found.in_order({"n": 20, "x_dtype": "torch.float32"}, frozenset(offered)))
        assert sorted(picks) == sorted({*offered} - {N128}) and found.is_boosted
