"""``attach`` on real kernels, real decorators and the real autotuner; only the launch is fake. Needs Triton, no GPU."""

import importlib
import json
import os
import sys

import fake_device
import pytest

import autoheuristic
from autoheuristic.attachment import recorded

if os.environ.get("AUTOHEURISTIC_TEST_TRITON") != "1":
    pytest.skip("AUTOHEURISTIC_TEST_TRITON is not 1: nothing is tested on Triton's decorators", allow_module_level=True)
triton = pytest.importorskip("triton")

SOURCE = """
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x * 2

configs = [triton.Config({"BLOCK": b}, num_warps=w) for b in (32, 64) for w in (2, 4)]

@triton.heuristics({"HAS_B": lambda args: args["b"] is not None})
@triton.autotune(configs, key=["D"])
@triton.jit(do_not_specialize=["T"])
def outside(x, y, b, scale, T, D: tl.constexpr, BLOCK: tl.constexpr, HAS_B: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, twice(tl.load(x + i, mask=i < T)), mask=i < T)

@triton.autotune(configs, key=["D"])
@triton.heuristics({"HAS_B": lambda args: args["b"] is not None})
@triton.jit
def inside(x, y, b, scale, T, D: tl.constexpr, BLOCK: tl.constexpr, HAS_B: tl.constexpr):
    pass
"""


@pytest.fixture
def package(tmp_path, monkeypatch, device):
    (tmp_path / "real_package.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "real_package", raising=False)
    launched = []

    def run(self, *args, grid, warmup, **kwargs):
        launched.append((kwargs["BLOCK"], kwargs["num_warps"]))
        device.now += 1.0 if launched[-1] == (64, 4) else 2.0

    monkeypatch.setattr(triton.runtime.jit.JITFunction, "run", run)

    def load():
        autoheuristic.attach("real_package", folder=tmp_path / "attached")
        module = importlib.reload(importlib.import_module("real_package"))

        def do_bench(call, quantiles):
            begin = device.now
            call()
            return [device.now - begin] * 3

        module.outside.fn._do_bench = module.inside._do_bench = do_bench
        return module, launched

    yield load
    autoheuristic.detach()


@pytest.mark.parametrize("name", ["outside", "inside"])
def test_heuristics_around_and_inside_an_autotuner(package, tmp_path, name):
    module, launched = package()
    x, y = fake_device.Tensor([1.0]), fake_device.Tensor([1.0])
    for length in (100, 200, 100):
        grid = lambda meta: (triton.cdiv(meta["T"], meta["BLOCK"]),)  # noqa: E731
        getattr(module, name)[grid](x, y, None, 0.5, length, D=64)
    assert launched == [(32, 2), (32, 4), (64, 2), (64, 4)] + [(64, 4)] * 3
    (journal,) = (tmp_path / "attached").glob("*/calls.jsonl")
    (line,) = map(json.loads, journal.read_text().splitlines())
    assert {"T", "D", "grid_0", "x_dtype", "b_dtype"} <= set(line["features"]) and "scale" not in line["features"]
    assert line["features"]["b_dtype"] == "None" and line["call"]["arguments"]["scale"] == {"value": 0.5}
    found = recorded._autotuner({**line, "module": "real_package"})
    assert found.base_fn.__name__ == name and found.keys == ["D"]


def test_a_function_that_the_kernel_calls_is_part_of_its_identity(package, tmp_path):
    from autoheuristic.attachment.settings import identify
    from autoheuristic.kernel import Kernel

    def digest():
        module, _ = package()
        return identify(Kernel(module.outside.fn, module.outside.fn.configs)).digest

    before = digest()
    path = tmp_path / "real_package.py"
    path.write_text("# A comment above moves all lines.\n" + SOURCE)
    assert digest() == before
    path.write_text(SOURCE.replace("x * 2", "x * 3"))
    os.utime(path, (1, 1))
    assert digest() != before
