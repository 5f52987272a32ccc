"""The parts that need no kernel: names, keys, the race, the check, the environment, the source's hash."""

import ast
import random
import types

import pytest
from fake_device import FLOAT16, INT32, Tensor
from triton import Config

from autoheuristic.check import Outputs
from autoheuristic.choices import choice_name
from autoheuristic.environment import Environment, file_name
from autoheuristic.errors import FeatureError
from autoheuristic.key import KeyReader, feature
from autoheuristic.race import Race, TimingPolicy, relative_error
from autoheuristic.source import source_hash

# Names


def test_names_do_not_depend_on_the_order_of_arguments():
    a = Config({"BLOCK_N": 64, "BLOCK_M": 16}, num_warps=2, num_stages=5)
    b = Config({"BLOCK_M": 16, "BLOCK_N": 64}, num_stages=5, num_warps=2)
    assert choice_name(a) == choice_name(b) == "BLOCK_M=16_BLOCK_N=64_num_warps=2_num_stages=5"


def test_rare_options_stand_only_where_they_are_set():
    config = Config({"A": True, "T": "a_b"}, num_ctas=2, maxnreg=128)
    assert choice_name(config) == "A=True_T=a-b_num_warps=4_num_stages=3_num_ctas=2_maxnreg=128"


# Keys


def reader(*names, defaults=None):
    parameters = ["a", "M", "N", "EVEN"]
    return KeyReader([feature(name, parameters) for name in names], parameters, defaults or {})


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((Tensor([1], FLOAT16), 5, 6, True), {}),
        ((Tensor([1], FLOAT16), 5), {"EVEN": True, "N": 6}),
        ((), {"a": Tensor([1], FLOAT16), "M": 5, "N": 6, "EVEN": True}),
    ],
)
def test_a_key_does_not_depend_on_the_layout_of_the_call(args, kwargs):
    r = reader("N", "a_dtype", "EVEN", "M_dtype")
    assert r.read(args, kwargs) == (6, FLOAT16, True, None) == r.fast(args, kwargs)(args, kwargs)


def test_a_fast_reader_never_misreads_another_layout():
    r = reader("M", "N")
    fast = r.fast((0, 5, 6), {})
    with pytest.raises(IndexError):
        fast((0, 5), {"N": 6})
    by_name = r.fast((0,), {"M": 5, "N": 6})
    with pytest.raises(KeyError):
        by_name((0, 5, 6), {})


def test_defaults_are_read_slowly():
    r = reader("M", "N", defaults={"N": 9})
    assert r.read((0, 5), {}) == (5, 9) and r.fast((0, 5), {}) is None


def test_a_feature_that_is_no_parameter():
    with pytest.raises(FeatureError, match="found 'K'"):
        reader("K")


# The race: the same rules as ah-collect's, on the same synthetic clocks.


def race(policy, time, runners=3):
    r, order = Race(policy, range(runners)), []
    while turn := r.round():
        for i in turn:
            ms = time(i, len(r.samples[i]))
            order.append(i)
            r.record(i, ms, ms)
    return r, order


def test_they_take_turns():
    _, order = race(TimingPolicy(max_samples=3, target_relative_error=0.0), lambda i, k: 1.0)
    assert order == [0, 1, 2] * 3


def test_a_steady_one_stops_when_an_interval_exists_and_a_noisy_one_goes_on():
    policy = TimingPolicy(max_samples=18, budget_ms=1e9)
    r, _ = race(policy, lambda i, k: 1.0 if i else [1.0, 1.5][k % 2])
    assert [len(r.samples[i]) for i in range(3)] == [18, 6, 6]


def test_a_slow_one_stops_at_its_budget():
    r, _ = race(TimingPolicy(budget_ms=100.0), lambda i, k: 40.0 + k, 1)
    assert len(r.samples[0]) == 3


def test_early_stopping_waits_for_the_slowest_sample_of_the_best():
    # The best one jitters up to 1.2, and 3 times that is 3.6.
    times = [lambda k: [1.0, 1.2][k % 2], lambda k: 3.5, lambda k: 3.7]
    r, _ = race(TimingPolicy(early_stop_ratio=3.0, budget_ms=1e9), lambda i, k: times[i](k))
    assert len(r.samples[1]) >= 6 and len(r.samples[2]) == 2


def test_one_hiccup_puts_nobody_out():
    r, _ = race(TimingPolicy(budget_ms=1e9), lambda i, k: 50.0 if (i, k) == (1, 0) else 1.0, 2)
    assert len(r.samples[1]) >= 6


def test_the_interval_has_the_published_ranks():
    # Conover, table A3: samples 1..n have the interval from the (r+1)-th to the (n-r)-th.
    for n, r in [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (15, 3), (20, 5), (30, 9), (50, 17)]:
        samples = [float(i) for i in range(1, n + 1)]
        random.Random(n).shuffle(samples)
        assert relative_error(samples) == pytest.approx((n - 1 - 2 * r) / 2 / ((n + 1) / 2)), n
    assert relative_error([1.0] * 5) is None


def test_rows_are_means_of_the_fastest_three_quarters():
    assert TimingPolicy(repetitions=2).rows([1.0, 2.0, 9.0, 4.0, 5.0, 6.0]) == [1.5, 4.5]
    assert TimingPolicy().rows([1.0]) == [1.0]


# The check


def test_an_output_is_what_the_first_run_changed():
    x, y, flags = Tensor([1.0, 2.0]), Tensor([0.0, 0.0]), Tensor([0], INT32)
    outputs = Outputs({"x": x, "y": y, "flags": flags, "n": 2}, None, None)
    y.values[:], flags.values[:] = [10.0, 20.0], [1]
    assert outputs.compare() is None
    outputs.restore()
    assert y.values == [0.0, 0.0] and flags.values == [0]
    y.values[:], flags.values[:] = [10.0005, 20.0], [1]
    assert outputs.compare() is None
    y.values[:] = [10.01, 20.0]
    assert "'y' differs from the first configuration's by 0.01, at most 0.002 is allowed" in outputs.compare()
    y.values[:], flags.values[:] = [10.0, 20.0], [2]
    assert outputs.compare() == "wrong result: 'flags' differs from the first configuration's"


def test_nan_equals_nan_and_nothing_else():
    y = Tensor([0.0, 0.0])
    outputs = Outputs({"y": y}, None, None)
    y.values[:] = [float("nan"), 1.0]
    outputs.compare()
    assert outputs.compare() is None
    y.values[:] = [1.0, float("nan")]
    assert "by inf" in outputs.compare()


# The environment


def test_the_environment_reads_as_the_rust_tools_read_it(tmp_path):
    env = Environment.read({"AUTOHEURISTIC_COLLECT": " a, b,", "HOME": "/home/u"})
    assert env.collect == {"a", "b"} and env.use is None
    assert str(env.log_file("mm", "NVIDIA H200")) == "/home/u/.cache/autoheuristic/NVIDIA_H200/mm.txt"
    assert str(env.timings_folder) == "/home/u/.cache/autoheuristic/timings"
    env = Environment.read({"AUTOHEURISTIC_LOG_PATH": str(tmp_path), "AUTOHEURISTIC_DISABLE_CACHE": "1"})
    assert env.log_file("mm", "x") == tmp_path / "mm.txt" and env.timings_folder is None
    env = Environment.read(
        {"AUTOHEURISTIC_LOG_PATH": "DEFAULT", "XDG_CACHE_HOME": "/c", "AUTOHEURISTIC_CACHE_DIR": "/d"}
    )
    assert env.log_path is None and str(env.timings_folder) == "/d/timings"
    assert [file_name(n) for n in ("a/b c", ".x", "")] == ["a_b_c", "_.x", "_"]


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
