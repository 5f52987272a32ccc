"""Bad input and a cut-off collecting run on a real GPU: ``AUTOHEURISTIC_TEST_TRITON=1 python3 -m pytest -q python``."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import heuristics
import pytest

import autoheuristic
from autoheuristic import AutoHeuristicWarning, HeuristicError, Log
from autoheuristic.choices import choice_name

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

if os.environ.get("AUTOHEURISTIC_TEST_TRITON") != "1":
    pytest.skip("AUTOHEURISTIC_TEST_TRITON is not 1: nothing is tested on a real GPU", allow_module_level=True)
torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing is tested on a real GPU")
if not torch.cuda.is_available():
    pytest.skip("there is no GPU: bad input is only tested on a fake one", allow_module_level=True)

import triton  # noqa: E402
import triton.language as tl  # noqa: E402

WRONG, NOT_COMPILING, NOWHERE = 1, 2, 3


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr, FAULT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n) * 2
    if FAULT == 1:
        value += 1
    if FAULT == 2:
        value += tl.arange(0, 48)
    if FAULT == 3:
        y += 1 << 40
    tl.store(y + at, value, mask=at < n)


def config(block, fault=0):
    return triton.Config({"BLOCK": block, "FAULT": fault})


@pytest.fixture(autouse=True)
def gpu(monkeypatch, tmp_path):
    from triton.runtime import driver

    driver.reset_active()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def tuned(configs, fn=double, **options):
    return autoheuristic.tune(configs, ["n"], **options)(fn)


def call(tuner, n=1000):
    x = torch.randn(n, device="cuda")
    y = torch.empty_like(x)
    tuner[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    torch.testing.assert_close(y, 2 * x)


def heuristic(path, configs, **options):
    name = torch.cuda.get_device_name()
    return heuristics.write(path, [choice_name(c) for c in configs], **{"device": name, **options})


def test_a_pick_that_does_not_compile_gives_way_to_the_next(tmp_path):
    configs = [config(64, NOT_COMPILING), config(128)]
    tuner = tuned(configs, heuristic=heuristic(tmp_path / "h.py", configs))
    with pytest.warns(AutoHeuristicWarning, match="(?s)BLOCK=64_FAULT=2.*cannot be launched.*the next one runs"):
        call(tuner, 100)
    assert tuner.best_config is configs[1]


def test_a_pick_that_needs_too_much_shared_memory_gives_way_to_the_next(tmp_path):
    sys.path.insert(0, str(EXAMPLES))
    import matmul

    sizes = [{"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 128}, {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}]
    configs = [triton.Config(s, num_warps=8, num_stages=stages) for s, stages in zip(sizes, (5, 3))]
    file = heuristic(tmp_path / "h.py", configs)
    file.write_text(file.read_text().replace('"n", "x_dtype"', '"N", "a_ptr_dtype"'))
    tuner = autoheuristic.tune(configs, ["N"], heuristic=file)(matmul.matmul_kernel.fn)
    a, b = (torch.randn((64, 64), device="cuda", dtype=torch.float16) for _ in range(2))
    with pytest.warns(AutoHeuristicWarning, match="out of resource: shared memory"):
        found = matmul.matmul(a, b, tuner)
    torch.testing.assert_close(found, a @ b, rtol=1e-2, atol=1e-2)
    assert tuner.best_config.kwargs["BLOCK_M"] == 64


@pytest.mark.parametrize("case", ["absent", "another device", "other configurations", "unknown feature"])
def test_a_heuristic_that_cannot_be_used_warns_and_the_fallback_runs(tmp_path, case):
    configs = [config(128), config(256)]
    file = tmp_path / "h.py"
    if case == "another device":
        heuristic(file, configs, device="NVIDIA H100")
    elif case == "other configurations":
        heuristic(file, [config(512)])
    elif case == "unknown feature":
        heuristic(file, configs)
        file.write_text(file.read_text().replace('"n", "x_dtype"', '"K", "x_dtype"'))
    tuner = tuned(configs, heuristic=file, fallback=configs[1])
    with pytest.warns(AutoHeuristicWarning, match="The fallback BLOCK=256"):
        call(tuner)
    assert tuner.best_config is None or tuner.best_config is configs[1]
    with pytest.raises((HeuristicError, autoheuristic.FeatureError)):
        call(tuned(configs, heuristic=file, strict=True))


def collecting(kernel, *words):
    worker = f'"{sys.executable}" -m autoheuristic worker {kernel}'
    return [heuristics.tool("ah-collect"), "collect", "--worker", worker, "--hang-seconds", "120", *words]


def environment(tmp_path):
    paths = [str(EXAMPLES.parent), str(EXAMPLES), str(tmp_path), str(Path(__file__).parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def inputs_when(process, log, least):
    """Waits until the log holds so many inputs."""
    while process.poll() is None:
        if log.exists() and len(Log.read(log).inputs()) >= least:
            return
        time.sleep(0.2)
    raise AssertionError(f"the collector ended with {process.returncode} before it was cut off")


COUNT = 1000
"""More inputs than a collector measures before the test sees the first ones."""


@pytest.mark.parametrize("cut", [signal.SIGINT, signal.SIGKILL])
def test_a_collecting_run_that_was_cut_off_goes_on(tmp_path, cut):
    log, shapes = tmp_path / "train.txt", tmp_path / "shapes.csv"
    shapes.write_text("rows,columns\n" + "".join(f"{16 + i},{64 + 3 * i}\n" for i in range(COUNT)))
    words = collecting("softmax:softmax_kernel", "--inputs", str(shapes), "-o", str(log))
    process = subprocess.Popen(
        words, env=environment(tmp_path), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    inputs_when(process, log, 5)
    # It waits while another one tries, because 1000 inputs take less time than that.
    os.killpg(process.pid, signal.SIGSTOP)
    second = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True)
    os.killpg(process.pid, signal.SIGCONT)
    process.send_signal(cut)
    assert second.returncode == 4, second.stderr
    message = process.communicate()[1]
    if cut == signal.SIGINT:
        assert process.returncode == 130 and "interrupted" in message
    before = len(Log.read(log).inputs())
    assert 5 <= before < COUNT
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    inputs = Log.read(log).inputs()
    assert len(inputs) == COUNT and all(len(times) == 16 for times in inputs.values())
    print(f"{cut.name} after {before} of {COUNT} inputs: {done.stderr.splitlines()[-1]}")


def test_a_fault_costs_one_cell(tmp_path):
    (tmp_path / "faulty.py").write_text(
        "import torch, test_gpu\n"
        "configs = [test_gpu.config(*c) for c in ((128,), (256, test_gpu.WRONG), (64, test_gpu.NOT_COMPILING))]\n"
        "kernel = test_gpu.tuned([*configs, test_gpu.config(64, test_gpu.NOWHERE)], name='faulty')\n"
        "@kernel.example\n"
        "def example(n):\n"
        "    x = torch.randn(n, device='cuda')\n"
        "    return (8,), (x, torch.empty_like(x), n)\n"
    )
    log, shapes = tmp_path / "train.txt", tmp_path / "shapes.csv"
    shapes.write_text("n\n" + "".join(f"{n}\n" for n in (10, 77)))
    words = collecting("faulty:kernel", "--inputs", str(shapes), "-o", str(log))
    done = subprocess.run(words, env=environment(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for times in Log.read(log).inputs().values():
        assert math.isfinite(times[choice_name(config(128))][0])
        assert times[choice_name(config(64, NOWHERE))] == times[choice_name(config(256, WRONG))] == [math.inf]
    assert "illegal memory access" in (tmp_path / "train.txt.outcomes.jsonl").read_text()
