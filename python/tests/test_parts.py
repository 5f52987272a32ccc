"""The parts that need no kernel: names, keys, rows, the check, the environment, the source's hash."""

import ast
import re
import types
from pathlib import Path

import pytest
from fake_device import FLOAT16, INT32, Tensor
from triton import Config

import autoheuristic
from autoheuristic import tools, worker
from autoheuristic.attachment.identity import Identity, source_hash
from autoheuristic.check import Outputs
from autoheuristic.choices import choice_name
from autoheuristic.environment import cache_folder, file_name, uses_heuristic
from autoheuristic.errors import FeatureError, UsageError
from autoheuristic.features import Features
from autoheuristic.kernel import Call

# Names


def test_names_do_not_depend_on_the_order_of_arguments():
    a = Config({"BLOCK_N": 64, "BLOCK_M": 16}, num_warps=2, num_stages=5)
    b = Config({"BLOCK_M": 16, "BLOCK_N": 64}, num_stages=5, num_warps=2)
    assert choice_name(a) == choice_name(b) == "BLOCK_M=16_BLOCK_N=64_num_warps=2_num_stages=5"


def test_rare_options_stand_only_where_they_are_set():
    config = Config({"A": True, "T": "a_b"}, num_ctas=2, maxnreg=128)
    assert choice_name(config) == "A=True_T=a-b_num_warps=4_num_stages=3_num_ctas=2_maxnreg=128"


# Features


def features(*names, defaults=None):
    kernel = types.SimpleNamespace(arg_names=["a", "M", "N", "EVEN"], defaults=defaults or {}, constants={"EVEN"})
    kernel.named_args = lambda call: {**dict(zip(kernel.arg_names, call.args)), **call.kwargs}
    return Features.of_names(kernel, names)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((Tensor([1], FLOAT16), 5, 6, True), {}),
        ((Tensor([1], FLOAT16), 5), {"EVEN": True, "N": 6}),
        ((), {"a": Tensor([1], FLOAT16), "M": 5, "N": 6, "EVEN": True}),
    ],
)
def test_features_do_not_depend_on_the_layout_of_the_call(args, kwargs):
    f, call = features("N", "a_dtype", "EVEN"), Call(None, args, kwargs)
    assert f.read(call) == {"N": 6, "a_dtype": "torch.float16", "EVEN": True}
    assert f.reader(f.names, call)(args, kwargs) == (len(args), 6, FLOAT16, True)


def test_a_compiled_reader_never_misreads_another_layout():
    f = features("M", "N")
    reader = f.reader(f.names, Call(None, (0, 5, 6), {}))
    with pytest.raises(IndexError):
        reader((0, 5), {"N": 6})
    by_name = f.reader(f.names, Call(None, (0,), {"M": 5, "N": 6}))
    with pytest.raises(KeyError):
        by_name((0, 5, 6), {})


def test_defaults_are_read():
    f, call = features("M", "N", defaults={"N": 9}), Call(None, (0, 5), {})
    assert f.read(call) == {"M": 5, "N": 9} and f.reader(f.names, call)((0, 5), {}) == (2, 5, 9)
    with pytest.raises(FeatureError, match="lacks the argument 'M'"):
        f.read(Call(None, (0,), {}))


def test_a_feature_that_is_no_parameter():
    with pytest.raises(FeatureError, match="found 'K'"):
        features("K")


# The check


def compared(outputs):
    """Returns what is wrong with the outputs as they are."""
    return outputs.wrong(outputs.errors())


def test_an_output_is_what_the_first_run_changed():
    x, y, flags = Tensor([1.0, 2.0]), Tensor([0.0, 0.0]), Tensor([0], INT32)
    outputs = Outputs({"x": x, "y": y, "flags": flags, "n": 2}, None, None)
    y.values[:], flags.values[:] = [10.0, 20.0], [1]
    outputs.expect_this()
    outputs.restore()
    assert y.values == [0.0, 0.0] and flags.values == [0]
    y.values[:], flags.values[:] = [10.0005, 20.0], [1]
    assert compared(outputs) is None
    y.values[:] = [10.01, 20.0]
    assert "'y' differs from the first configuration's by 0.01, at most 0.002 is allowed" in compared(outputs)
    y.values[:], flags.values[:] = [10.0, 20.0], [2]
    assert compared(outputs) == "wrong result: 'flags' differs from the first configuration's"


def test_nan_equals_nan_and_nothing_else():
    y = Tensor([0.0, 0.0])
    outputs = Outputs({"y": y}, None, None)
    y.values[:] = [float("nan"), 1.0]
    outputs.expect_this()
    assert compared(outputs) is None
    y.values[:] = [1.0, float("nan")]
    assert "by nan" in compared(outputs)


# The environment


def test_the_environment(monkeypatch):
    monkeypatch.setenv("AUTOHEURISTIC_USE", " a, b,")
    assert uses_heuristic("a") and uses_heuristic("b") and not uses_heuristic("c")
    monkeypatch.delenv("AUTOHEURISTIC_USE")
    assert uses_heuristic("c")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert str(cache_folder()) == "/c/autoheuristic"
    assert [file_name(n) for n in ("a/b c", ".x", "")] == ["a_b_c", "_.x", "_"]


@pytest.mark.parametrize("function", ["matmul", "_dyt_fwd_kernel", "__", "_1", "a" * 200, "κ"])
def test_a_stem_is_a_name_of_a_heuristic(function):
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", Identity("module", function, "0123456789ab").stem)


# The tools


def script(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    monkeypatch.setattr(tools.sysconfig, "get_path", lambda name: str(tmp_path / "scripts"))
    monkeypatch.delenv("AH_TRAIN", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin:/usr/bin")
    tools.tool.cache_clear()
    yield tmp_path / "scripts"
    tools.tool.cache_clear()


def test_the_tools_of_the_environment_come_before_those_on_the_path(scripts, tmp_path):
    script(tmp_path / "path", "ah-train", f"echo ah-train {autoheuristic.__version__}")
    assert tools.tool("ah-train") == str(tmp_path / "path" / "ah-train")
    tools.tool.cache_clear()
    script(scripts, "ah-train", f"echo ah-train {autoheuristic.__version__} 0123abc")
    assert tools.tool("ah-train") == str(scripts / "ah-train")


def test_tools_of_another_version_are_refused(scripts, monkeypatch):
    script(scripts, "ah-train", "echo ah-train 0.0.7")
    with pytest.raises(UsageError, match=r"expected version .*, found 0.0.7; install both"):
        tools.tool("ah-train")
    monkeypatch.setenv("AH_TRAIN", str(scripts / "ah-train"))
    assert tools.tool("ah-train") == str(scripts / "ah-train"), "named by its user"
    monkeypatch.setenv("AH_TRAIN", "/absent")
    tools.tool.cache_clear()
    with pytest.raises(UsageError, match="ah-train is not installed"):
        tools.tool("ah-train")


def test_the_version_is_that_of_the_workspace():
    manifest = (Path(__file__).resolve().parents[2] / "Cargo.toml").read_text()
    assert f'version = "{autoheuristic.__version__}"' in manifest


def test_the_fixed_decision_takes_time():
    assert 5.0 < worker.decision_ns() < 100_000.0


# The hash of a kernel's source


def module(text):
    """Makes kernels as ``triton.jit`` does: of each function, its text and itself."""
    made = types.ModuleType("kernels")
    exec(text, vars(made))
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            src = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            setattr(made, node.name, types.SimpleNamespace(fn=getattr(made, node.name), src=src))
    return made


KERNELS = """
SIZE = 5

def helper(x):
    return x + 1

def kernel(x):
    return helper(x) + SIZE
"""


def test_the_hash_follows_the_text_and_what_it_uses():
    first = source_hash(module(KERNELS).kernel)
    assert source_hash(module("\n\nUNUSED = 1\n" + KERNELS).kernel) == first, "lines above do not count"
    for old, new in [("x + 1", "x + 2"), ("SIZE = 5", "SIZE = 6"), ("+ SIZE", "- SIZE")]:
        assert source_hash(module(KERNELS.replace(old, new)).kernel) != first, new
