"""A kernel under ``tune`` that measures: in the place of ``triton.autotune``, and in collecting mode."""

import math

import fake_device
import pytest
import triton
from fake_device import IDENTITY, Tensor
from fake_triton import Kernel, tensors
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources

import autoheuristic
from autoheuristic import AutoHeuristicWarning, MeasureError
from autoheuristic.clock import LEAD, GpuClock, Launch
from autoheuristic.errors import DeviceLostError

CONFIGS = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]
N16, N32, N64 = (f"BLOCK={block}_num_warps=4_num_stages=3" for block in (16, 32, 64))
TOO_LARGE = OutOfResources(300000, 232448, "shared memory")


@pytest.fixture
def kernel(device):
    # 32 is best for small n, 64 for large ones.
    return Kernel(device, {16: 0.5, 32: lambda a: 0.3 if a["n"] < 100 else 0.6, 64: 0.4})


def tuned(kernel, configs=CONFIGS, **options):
    return autoheuristic.tune(configs, ["n"], **options)(kernel)


def call(tuner, n):
    x, y = tensors()
    tuner[(1,)](x, y, n, 5)
    return x, y


def test_without_a_heuristic_the_best_is_measured_once(kernel):
    tuner = tuned(kernel)
    x, y = call(tuner, 10)
    assert y.values == [2 * v for v in x.values]
    assert tuner.best_config is CONFIGS[1]
    assert tuner.configs_timings == pytest.approx({CONFIGS[0]: 0.5, CONFIGS[1]: 0.3, CONFIGS[2]: 0.4})
    kernel.launched.clear()
    call(tuner, 10)
    assert kernel.launched == [32]
    call(tuner, 200)
    assert tuner.best_config is CONFIGS[2]


def test_configurations_take_turns_with_cold_caches(kernel, device):
    call(tuned(kernel), 10)
    checked, timed = kernel.launched[:3], kernel.launched[3:-1]
    assert checked == [16, 32, 64], "the run that is checked also warms up"
    assert timed[:6] == [16, 32, 64, 16, 32, 64]
    rounds = (timed.count(16), timed.count(32), timed.count(64))
    assert device.flushes == len(timed) + (LEAD - 1) * max(rounds)


def launch(device, times):
    """Returns a launch that takes these milliseconds, one after the other."""
    times = iter(times)

    def run():
        device.now += next(times)

    return Launch(lambda: None, run, lambda error: None)


def test_a_sample_that_was_launched_late_is_taken_again(device):
    device.late = iter([False, True, False])
    times = GpuClock().time([launch(device, [1.0]), launch(device, [2.5, 2.0])], cold=True)
    assert times == pytest.approx([1.0, 2.0])
    assert device.flushes == LEAD + 1 + LEAD


def test_a_slow_host_gets_a_lead_before_each_sample(device):
    device.is_slow = True
    assert GpuClock().time([launch(device, [1.0]) for _ in range(5)], cold=True) == pytest.approx([1.0] * 5)
    assert device.flushes == 5 * LEAD


def test_a_host_that_is_always_late_gives_its_least_time(device):
    device.late = iter([True] * 9)
    assert GpuClock().time([launch(device, [5.0, 3.0, 4.0, 6.0, 7.0])], cold=True) == pytest.approx([3.0])


def test_a_type_is_part_of_the_key(kernel):
    from fake_device import FLOAT16

    tuner = tuned(kernel)
    call(tuner, 10)
    tuner[(1,)](Tensor([1], FLOAT16), Tensor([0], FLOAT16), 10, 5)
    assert len(tuner.cache) == 2


NOT_COMPILING = CompilationError("def double(): ...", None, "not a kernel")


@pytest.mark.parametrize("fault", [TOO_LARGE, NOT_COMPILING, "wrong", "idle"])
def test_a_configuration_that_misbehaves_is_never_picked(kernel, fault):
    kernel.ms[32] = 0.001
    kernel.faults[32] = fault
    tuner = tuned(kernel)
    x, y = call(tuner, 10)
    assert tuner.best_config is CONFIGS[2]
    assert tuner.configs_timings[CONFIGS[1]] == math.inf
    assert y.values == [2 * v for v in x.values]
    assert 32 not in kernel.launched[4:], "it is not timed"


def test_a_time_that_is_no_number_is_a_failure(kernel, device, monkeypatch):
    monkeypatch.setattr(fake_device.Event, "elapsed_time", lambda start, end: math.nan)
    with pytest.warns(AutoHeuristicWarning, match="a sample took nan ms.*The fallback"):
        x, y = call(tuned(kernel), 10)
    assert y.values == [2 * v for v in x.values], "the fallback ran"
    with pytest.raises(MeasureError, match="a sample took nan ms"):
        call(tuned(kernel, strict=True), 10)


def test_when_the_first_cannot_be_launched_the_next_is_the_reference(kernel):
    kernel.faults[16] = TOO_LARGE
    tuner = tuned(kernel)
    call(tuner, 10)
    assert tuner.best_config is CONFIGS[1]


def test_the_user_names_outputs_and_tolerance(kernel):
    kernel.faults[32] = "wrong"  # Off by half.
    lax = tuned(kernel, tolerance=0.6, outputs=["y"], cache_results=False)
    call(lax, 10)
    assert lax.best_config is CONFIGS[1]
    kernel.faults[64] = "wrong"
    strict = tuned(kernel, tolerance=0.4, outputs=["y"], cache_results=False)
    call(strict, 10)
    assert strict.best_config is CONFIGS[0]


def test_arguments_are_as_if_only_the_winner_had_run(kernel):
    # An output that already holds something, and is read: y = 2 x leaves no trace of the other runs.
    x, y = tensors()
    tuner = tuned(kernel, reset_to_zero=["y"])
    tuner[(1,)](x, y, 10, 5)
    assert x.values == [1, 2, 3, 4] and y.values == [2, 4, 6, 8]


def test_when_nothing_can_be_measured_the_fallback_runs_or_it_raises(kernel):
    kernel.faults.update(dict.fromkeys((16, 32, 64), TOO_LARGE))
    with pytest.warns(AutoHeuristicWarning, match="no configuration could be measured"), pytest.raises(OutOfResources):
        call(tuned(kernel), 10)
    with pytest.raises(MeasureError, match="no configuration could be measured.*OutOfResources"):
        call(tuned(kernel, strict=True), 10)


def test_a_lost_device_is_named(kernel):
    kernel.faults[32] = "lost"
    with pytest.raises(DeviceLostError, match="illegal memory access"):
        call(tuned(kernel, strict=True), 10)


def test_a_key_that_is_no_parameter_is_left_out_with_a_warning(kernel):
    tuner = autoheuristic.tune(CONFIGS, ["n", "K"])(kernel)
    with pytest.warns(AutoHeuristicWarning, match="found K; these are left out"):
        call(tuner, 10)
    assert tuner.best_config is CONFIGS[1]


def test_a_benchmark_of_the_user_s_own(kernel):
    def do_bench(kernel_call, quantiles):
        before = kernel.device.now
        kernel_call()
        ms = kernel.device.now - before
        return [math.nan if round(ms, 6) == 0.3 else ms] * len(quantiles)

    tuner = tuned(kernel, do_bench=do_bench)
    call(tuner, 10)
    assert tuner.best_config is CONFIGS[2], "NaN is a failure, not a time"


def test_pruning_limits_what_is_measured(kernel):
    prune = {"early_config_prune": lambda configs, named, **kw: configs[1:]}
    call(tuned(kernel, prune_configs_by=prune), 10)
    assert 16 not in kernel.launched
    model = {"perf_model": lambda BLOCK, **kw: -BLOCK, "top_k": 0.34}
    kernel.launched.clear()
    call(tuned(kernel, prune_configs_by=model, cache_results=False), 10)
    assert set(kernel.launched) == {64}


# The cache of single timings


def test_another_process_measures_nothing_again(kernel):
    call(tuned(kernel), 10)
    kernel.launched.clear()
    call(tuned(kernel), 10)
    assert kernel.launched == [32]


def test_a_new_configuration_measures_only_itself(kernel):
    call(tuned(kernel), 10)
    kernel.launched.clear()
    kernel.ms[128] = 0.1
    tuner = tuned(kernel, [*CONFIGS, triton.Config({"BLOCK": 128})])
    call(tuner, 10)
    assert tuner.best_config.kwargs == {"BLOCK": 128}
    assert set(kernel.launched) == {16, 128}, "the first configuration is its reference"
    assert kernel.launched.count(16) <= 20


def test_a_changed_kernel_measures_anew_and_others_keep_theirs(kernel, device):
    other = Kernel(device, kernel.ms)
    other.src += "# another"
    call(tuned(kernel), 10)
    call(tuned(other), 10)
    for k in (kernel, other):
        k.launched.clear()
        call(tuned(k), 10)
        assert k.launched == [32]
    kernel.src += "# changed"
    call(tuned(kernel), 10)
    assert len(kernel.launched) > 3


@pytest.mark.parametrize("off", ["argument", "variable"])
def test_the_cache_can_be_switched_off(kernel, monkeypatch, off):
    if off == "variable":
        monkeypatch.setenv("AUTOHEURISTIC_DISABLE_CACHE", "1")
    options = {"cache_results": False} if off == "argument" else {}
    call(tuned(kernel, **options), 10)
    kernel.launched.clear()
    call(tuned(kernel, **options), 10)
    assert len(kernel.launched) > 3


def test_another_device_measures_anew(kernel, monkeypatch):
    call(tuned(kernel), 10)
    kernel.launched.clear()
    monkeypatch.setattr(autoheuristic.device, "current", lambda: {**IDENTITY, "name": "NVIDIA H100"})
    call(tuned(kernel), 10)
    assert len(kernel.launched) > 3
