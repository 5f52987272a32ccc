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
from autoheuristic.attachment.settings import Identity
from autoheuristic.check import Outputs
from autoheuristic.choices import choice_name
from autoheuristic.environment import cache_folder, file_name, uses_heuristic
from autoheuristic.errors import ConfigError, FeatureError, shown
from autoheuristic.features import Features, Memory
from autoheuristic.kernel import Call, source_hash

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
    assert f.reader(call)(*call) == (6, FLOAT16, True)


def test_calls_of_several_layouts_share_what_was_decided():
    f = features("M", "N")
    memory = Memory(f)
    memory.keep(Call(None, (0, 5, 6), {}), 7)
    for args, kwargs in (((0, 5), {"N": 6}), ((), {"N": 6, "M": 5})):
        assert f.read(Call(None, args, kwargs)) == {"M": 5, "N": 6} and memory.find(None, args, kwargs) == 7
    assert memory.find(None, (0, 5, 7), {}) is memory.find(None, (0, 5), {}) is None


def test_defaults_are_read():
    f, call = features("M", "N", defaults={"N": 9}), Call(None, (0, 5), {})
    assert f.read(call) == {"M": 5, "N": 9} and f.reader(call)(*call) == (5, 9)
    with pytest.raises(FeatureError, match="lacks the argument 'M'"):
        f.read(Call(None, (0,), {}))


def test_a_feature_that_is_no_parameter():
    with pytest.raises(FeatureError, match="found 'K'"):
        features("K")


# The check


def compared(outputs):
    """What is wrong with the outputs as they are."""
    return outputs.wrong(outputs.errors())


def test_an_output_is_what_the_first_run_changed():
    x, y, flags = Tensor([1.0, 2.0]), Tensor([0.0, 0.0]), Tensor([0], INT32)
    outputs = Outputs({"x": x, "y": y, "flags": flags, "n": 2})
    y.values[:], flags.values[:] = [10.0, 20.0], [1]
    outputs.keep(0)
    outputs.expect()
    outputs.restore()
    assert y.values == [0.0, 0.0] and flags.values == [0]
    y.values[:], flags.values[:] = [10.0005, 20.0], [1]
    assert compared(outputs) is None
    y.values[:] = [10.01, 20.0]
    assert "'y' differs from the median of the configurations by 0.01, far above the 0.002 allowed" in compared(outputs)
    y.values[:] = [10.003, 20.0]
    assert "by 0.003, slightly above the 0.002 allowed" in compared(outputs)
    y.values[:], flags.values[:] = [10.0, 20.0], [2]
    assert (
        compared(outputs)
        == "wrong result: 'flags' differs from the median of the configurations (tolerance=, outputs= or reference= decide)"
    )


def test_nan_equals_nan_and_nothing_else():
    y = Tensor([0.0, 0.0])
    outputs = Outputs({"y": y})
    y.values[:] = [float("nan"), 1.0]
    outputs.keep(0)
    outputs.expect()
    assert compared(outputs) is None
    y.values[:] = [1.0, float("nan")]
    assert "by nan" in compared(outputs)


def test_one_wrong_configuration_decides_nothing_wherever_it_stands():
    y, right = Tensor([0.0, 0.0]), [1.0, 2.0]
    for place in range(3):
        outputs, results = Outputs({"y": y}), [right] * 3
        results[place] = [3.0, float("nan")]
        for i, result in enumerate(results):
            y.values[:] = result
            outputs.keep(i)
        outputs.expect()
        wrong = [outputs.wrong(outputs.errors(i)) for i in range(3)]
        assert [i for i in range(3) if wrong[i]] == [place], wrong


def test_a_reference_of_the_author_decides():
    x, y = Tensor([1.0, 2.0]), Tensor([0.0, 0.0])
    outputs = Outputs({"x": x, "y": y, "n": 2}, reference=lambda x, n: {"y": Tensor(n * v for v in x.values)})
    y.values[:] = [3.0, 4.0]
    outputs.keep(0)
    outputs.expect()
    assert "'y' differs from reference= by 1, far above" in outputs.wrong(outputs.errors(0))
    y.values[:] = [2.0, 4.0]
    assert compared(outputs) is None


def test_what_is_compared_may_be_computed_from_the_arguments():
    partial = Tensor([0.0, 0.0])
    outputs = Outputs({"partial": partial}, lambda partial: {"sum": Tensor([sum(partial.values)])})
    partial.values[:] = [1.0, 2.0]
    outputs.keep(0)
    outputs.expect()
    outputs.restore()
    assert partial.values == [0.0, 0.0]
    partial.values[:] = [3.0, 0.0]
    assert compared(outputs) is None, "another split of the sum"


def test_the_tolerance_follows_the_length_of_sums():
    for length, difference, is_wrong in [(64, 0.02, True), (64 * 64, 0.02, False), (64 * 64, 0.04, True)]:
        y = Tensor([0.0] * length, FLOAT16)
        outputs = Outputs({"y": y})
        y.values[:] = [1.0] * length
        outputs.keep(0)
        outputs.expect()
        y.values[0] = 1.0 + difference
        assert bool(compared(outputs)) == is_wrong, (length, difference)


def test_what_is_computed_in_a_finer_type_is_rounded_as_its_tensors_are():
    partial = Tensor([0.0, 0.0], FLOAT16)
    outputs = Outputs({"partial": partial}, lambda partial: {"sum": Tensor([sum(partial.values)])})
    for wrong, values in ((None, [1.0, 2.0]), (None, [1.02, 2.0]), ("by 0.1", [1.1, 2.0])):
        partial.values[:] = values
        if not outputs._kept:
            outputs.keep(0)
            outputs.expect()
        found = compared(outputs)
        assert found is None if wrong is None else wrong in found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"named": ["z"]}, "expected tensors, of y; found 'z'"),
        ({"reference": lambda y: {"z": y}}, "expected y among the outputs, found 'z'"),
    ],
)
def test_names_of_outputs_that_are_not_there(options, message):
    y = Tensor([0.0, 0.0])
    with pytest.raises(ConfigError, match=message):
        outputs = Outputs({"y": y}, **options)
        y.values[:] = [1.0, 2.0]
        outputs.keep(0)
        outputs.expect()


def test_a_descriptor_writes_to_its_base():
    y = Tensor([0.0, 0.0])
    outputs = Outputs({"y": types.SimpleNamespace(base=y, block_shape=[16])})
    y.values[:] = [1.0, 2.0]
    outputs.keep(0)
    outputs.expect()
    y.values[:] = [1.0, 3.0]
    assert "'y' differs" in compared(outputs)


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
    with pytest.raises(ConfigError, match=r"expected version .*, found 0.0.7; install both"):
        tools.tool("ah-train")
    monkeypatch.setenv("AH_TRAIN", str(scripts / "ah-train"))
    assert tools.tool("ah-train") == str(scripts / "ah-train"), "named by its user"
    monkeypatch.setenv("AH_TRAIN", "/absent")
    tools.tool.cache_clear()
    with pytest.raises(ConfigError, match="ah-train is not installed"):
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


# Errors


class CompilationError(Exception):
    """Laid out as Triton's, whose text quotes the kernel."""

    def __init__(self, place, reason):
        super().__init__(f"at {place}:\n    for k in range(K):\n        x = f(k)\n            ^\n{reason}")
        self.error_message = reason


def test_an_error_of_the_compiler_is_its_place_and_reason_on_one_line():
    inner = CompilationError("3:8", "'constexpr' object has no attribute 'to'")
    assert shown(inner) == "CompilationError: at 3:8: 'constexpr' object has no attribute 'to'"
    outer = CompilationError("30:15", None)
    outer.__cause__ = inner
    assert shown(outer) == shown(inner)
    assert shown(ValueError("two\nlines")) == "ValueError: two\nlines"
