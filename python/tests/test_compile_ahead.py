"""Compiling in processes of their own: the processes, and with ``AUTOHEURISTIC_TEST_TRITON=1`` Triton's compiler."""

import importlib
import os
import re
import subprocess
import sys
import time

import fake_device
import pytest

from autoheuristic import compile_ahead as module
from autoheuristic.compile_ahead import Fits
from autoheuristic.kernel import Call, Kernel

with_triton = pytest.mark.skipif(
    os.environ.get("AUTOHEURISTIC_TEST_TRITON") != "1",
    reason="AUTOHEURISTIC_TEST_TRITON is not 1: nothing is tested on Triton's compiler",
)


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda process: range(4), raising=False)


def run(jobs, seconds=60.0, fits=None):
    work = module.Work(jobs, [(fits or Fits([{}] * len(jobs), 0), i) for i in range(len(jobs))])
    for _ in work.run(seconds):
        time.sleep(0.005)
    return work


def test_each_job_runs_once_in_another_process(tmp_path):
    def job(i):
        def run():
            with open(tmp_path / f"{i}", "a") as file:
                file.write(f"{os.getpid()}\n")
            if i % 3 == 0:
                raise ValueError("lost")
            if i == 5:
                sys.exit("ends this process, and no other one")

        return run

    work = run([job(i) for i in range(40)])
    assert not work.is_late and work.left <= {5}
    pids = [(tmp_path / f"{i}").read_text().split() for i in range(40)]
    assert all(len(found) == 1 for found in pids)
    assert str(os.getpid()) not in {found[0] for found in pids}
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_process_that_hangs_is_ended(tmp_path):
    begin = time.monotonic()
    jobs = [lambda: time.sleep(60), *[lambda: (tmp_path / "done").write_text("")] * 2]
    work = run(jobs, seconds=1.0)
    assert work.is_late and work.left == {0}
    assert time.monotonic() - begin < 30
    assert (tmp_path / "done").exists()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_two_jobs_end_whatever_they_take(tmp_path):
    jobs = [lambda i=i: (time.sleep(0.5 + i), (tmp_path / f"{i}").write_text("")) for i in (0, 0, 60)]
    work = run(jobs, seconds=0.1)
    assert work.is_late and work.left == {2} and (tmp_path / "0").exists()


def test_all_kinds_of_arguments_have_the_same_configurations(tmp_path):
    kinds = [Fits([{}] * 30, 0), Fits([{}] * 30, 0)]
    names = [tmp_path / f"{kind}_{i}" for kind in (0, 1) for i in range(30)]
    jobs = [lambda name=name: (time.sleep(0.2), name.touch()) for name in names]
    work = module.Work(jobs, [(fits, i) for fits in kinds for i in range(30)])
    for _ in work.run(1.0):
        time.sleep(0.005)
    done = [{int(path.name[2:]) for path in tmp_path.glob(f"{kind}_*")} for kind in (0, 1)]
    assert work.is_late and len(done[0]) >= 5 and len(done[0] ^ done[1]) <= 1
    assert {job for job in work.left if job < 30} == {i for i in range(30) if i not in done[0]}  # What began has ended.


ORPHANS = """
import os, sys, time
import fake_triton
fake_triton.install()
os.sched_getaffinity = lambda process: range(4)
from autoheuristic.compile_ahead import Fits, Work

def job(i):
    return lambda: (open(f"{sys.argv[1]}/{i}", "w").close(), time.sleep(0.2))

work = Work([job(i) for i in range(200)], [(Fits([{}] * 200, 0), i) for i in range(200)])
for _ in work.run(60.0):
    pass
"""


def test_processes_end_with_the_one_that_started_them(tmp_path):
    """As where ``ah-collect`` kills a worker: what is left to compile is nobody's any more."""
    here = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.path.dirname(here)])}
    with subprocess.Popen([sys.executable, "-c", ORPHANS, str(tmp_path)], env=environment) as program:
        while len(os.listdir(tmp_path)) < 4:
            assert program.poll() is None
            time.sleep(0.02)
        program.kill()
    time.sleep(0.5)
    done = len(os.listdir(tmp_path))
    time.sleep(1.0)
    assert len(os.listdir(tmp_path)) == done < 100


def test_one_job_is_left_to_the_launch(tmp_path):
    run([lambda: (tmp_path / "done").write_text("")])
    assert not (tmp_path / "done").exists()


def test_fewer_processes_where_the_system_gives_no_more(tmp_path, monkeypatch):
    fork, children = os.fork, []

    def second_fails():
        if children:
            raise BlockingIOError("Resource temporarily unavailable")
        children.append(fork())
        return children[-1]

    monkeypatch.setattr(os, "fork", second_fails)
    run([lambda i=i: (tmp_path / f"{i}").write_text("") for i in range(9)])
    assert len(list(tmp_path.iterdir())) == 9 and len(children) == 1


def test_without_a_process_the_launches_compile(monkeypatch):
    def fails():
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fails)
    work = run([lambda: None] * 3)
    assert not work.is_late and work.left == {0, 1, 2}


class Compiled:
    """What a compilation returns."""

    def __init__(self, shared):
        self.metadata = self
        self.shared = shared


def test_jobs_that_become_needless_do_not_begin(tmp_path):
    # A job needs as much memory as its number says; above 20 it does not fit.
    fits = Fits([{"size": i, "kind": i % 2} for i in range(200)], 20)

    def job(i):
        def run():
            (tmp_path / f"{i}").write_text("")
            time.sleep(0.01)
            return Compiled(i)

        return run

    run([job(i) for i in range(200)], fits=fits)
    ran = {int(path.name) for path in tmp_path.iterdir()}
    assert set(range(21)) <= ran and len(ran) < 60, "the first that do not fit are 21 and 22"
    assert [fits.why_not(i) for i in (20, 21, 22)] == [None] * 3
    # Either of the two may end first.
    assert fits.why_not(23) in [
        f"predicted not to fit: a smaller configuration needs {n} bytes of 20" for n in (21, 22)
    ]


def test_other_arguments_say_nothing_about_fitting():
    configs = [{"BLOCK": 64, "EVEN": True}, {"BLOCK": 128, "EVEN": True}, {"BLOCK": 128, "EVEN": False}, {"SPLIT": 128}]
    fits = Fits(configs, 1000)
    fits.note(0, 2000)
    assert [fits.why_not(i) is None for i in range(4)] == [True, False, True, True]
    assert fits.begin([1, 0]) == [0, 1] and fits.begin([2, 1]) == [2]


SOURCE = """
import triton
import triton.language as tl

configs = [triton.Config({"BLOCK": b}, num_warps=w) for b in (32, 64) for w in (2, 4)]
configs += [triton.Config({"BLOCK": 48}, num_warps=2)]  # Not a power of two: does not compile.

@triton.heuristics({"HAS_B": lambda args: args["b"] is not None})
@triton.autotune(configs, key=["D"])
@triton.jit(do_not_specialize=["T"])
def scaled(x, y, b, scale, T, D: tl.constexpr, BLOCK: tl.constexpr, HAS_B: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < T)) * scale * D, mask=i < T)
"""


class Hopper(fake_device.Device):
    """What the compiler asks of a driver."""

    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


def imported(name, source, tmp_path, monkeypatch):
    """Imports a module with this source, whose kernels are compiled for a Hopper GPU into an empty cache."""
    import triton

    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    triton.runtime.driver.set_active(Hopper())
    return importlib.import_module(name)


@with_triton
def test_a_launch_finds_what_another_process_compiled(tmp_path, monkeypatch, device):
    import triton

    tuner = imported("scaled_package", SOURCE, tmp_path, monkeypatch).scaled.fn
    kernel = Kernel(tuner, tuner.configs)
    x, y = fake_device.Tensor([1.0]), fake_device.Tensor([1.0])
    call = Call((1,), (x, y, None, 0.5, 100), {"D": 64, "HAS_B": False})
    hits = []
    monkeypatch.setattr(triton.knobs.compilation, "listener", lambda cache_hit, **_: hits.append(cache_hit))

    fits = Fits(kernel.all_kwargs, 232448)
    said = []
    assert module.compile_ahead([module.Compilation(kernel, call, range(5), fits)], 60.0, said.append) == set()
    assert any(re.fullmatch("compiling [0-9]+ of [45]", text) for text in said)
    assert not hits, "this process compiled nothing"
    for i in range(4):
        assert kernel.launch(i, *call, warmup=True).asm["cubin"]
    assert hits == [True] * 4
    module.compile_ahead([module.Compilation(kernel, call, range(4), fits)], 60.0, said.append)
    assert hits == [True] * 4, "known already"
    with pytest.raises(triton.compiler.errors.CompilationError):
        kernel.launch(4, *call, warmup=True)
    nothing_fits = Fits(kernel.all_kwargs, -1)
    other = Call((1,), (x, y, None, 0.5, 100), {"D": 32, "HAS_B": False})
    module.compile_ahead([module.Compilation(kernel, other, range(4), nothing_fits)], 60.0, said.append)
    assert "needs 0 bytes of -1" in nothing_fits.why_not(3), "what a compiled kernel needs is known"


DESCRIPTORS = """
import triton
import triton.language as tl

def set_block(arguments):
    arguments["x"].block_shape = arguments["y"].block_shape = [arguments["BLOCK"], 64]

configs = [triton.Config({"BLOCK": b}, num_warps=4, pre_hook=set_block) for b in (32, 64)]

@triton.autotune(configs, key=["M"])
@triton.jit
def copied(x, y, M, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    y.store([row, 0], x.load([row, 0]))
"""


@with_triton
def test_kernels_with_tensor_descriptors_are_compiled_ahead(tmp_path, monkeypatch, device):
    """The hook of a configuration sets the blocks of its descriptors, on which the compiled kernel depends."""
    import triton
    from triton.tools.tensor_descriptor import TensorDescriptor

    tuner = imported("descriptor_package", DESCRIPTORS, tmp_path, monkeypatch).copied
    kernel = Kernel(tuner, tuner.configs)
    x, y = (TensorDescriptor(fake_device.Tensor([1.0] * 8192), [128, 64], [64, 1], [1, 1]) for _ in range(2))
    call = Call((1,), (x, y, 128), {})
    hits = []
    monkeypatch.setattr(triton.knobs.compilation, "listener", lambda cache_hit, **_: hits.append(cache_hit))
    fits = Fits(kernel.all_kwargs, 232448)
    module.compile_ahead([module.Compilation(kernel, call, range(2), fits)], 60.0, lambda text: None)
    for config in tuner.configs:
        config.pre_hook({"x": x, "y": y, **config.kwargs})
        assert kernel.run(x, y, 128, grid=(1,), warmup=True, **config.all_kwargs()).asm["cubin"]
    assert hits == [True] * 2, "compiled by other processes"
    assert kernel.specialization(call) == kernel.specialization(call)
