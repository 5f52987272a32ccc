"""A kernel under ``tune`` with a heuristic."""

import random
import sys
import warnings

import heuristics
import pytest
import triton
from fake_device import FLOAT16, INT32, Tensor
from fake_triton import Kernel, tensors
from triton.runtime.errors import OutOfResources

import autoheuristic
from autoheuristic import AutoHeuristicError, AutoHeuristicWarning, ConfigError, FeatureError, HeuristicError
from autoheuristic.kernel import Call, source_hash
from autoheuristic.tuner import heuristic_file

CONFIGS = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]
NAMES = [f"BLOCK={block}_num_warps=4_num_stages=3" for block in (16, 32, 64)]


@pytest.fixture
def kernel(device):
    return Kernel(device, {16: 1.0, 32: 1.0, 64: 1.0})


@pytest.fixture
def file(tmp_path):
    return heuristics.write(tmp_path / "h.py", NAMES)


def tuned(kernel, configs=CONFIGS, **options):
    return autoheuristic.tune(configs, ["n"], **options)(kernel)


def call(tuner, n, **kwargs):
    x, y = tensors()
    tuner[(1,)](x, y, n, 5, **kwargs)
    return x, y


def bench(kernel):
    """A ``do_bench`` by the fake device's clock."""

    def do_bench(call, quantiles):
        begin = kernel.device.now
        call()
        return [kernel.device.now - begin] * 3

    return do_bench


def test_without_a_heuristic_it_is_tritons_autotuner(kernel):
    kernel.ms = {16: 3.0, 32: 1.0, 64: 2.0}
    tuner = tuned(kernel, do_bench=bench(kernel))
    x, y = call(tuner, 100)
    call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 32, 32]
    assert y.values == [2 * v for v in x.values] and tuner.best_config is CONFIGS[1]


def beside(kernel, tmp_path, monkeypatch, **options):
    """Moves the kernel into a file of its own, beside which lies a heuristic."""
    source = "def double(x, y, n, m, BLOCK):\n    pass\n"
    made = {}
    exec(compile(source, str(tmp_path / "kernels.py"), "exec"), made)
    kernel.fn = made["double"]
    heuristics.write(tmp_path / "kernels.double.heuristic.py", NAMES, **options)


def test_the_heuristic_beside_the_source_is_found(kernel, tmp_path, monkeypatch):
    beside(kernel, tmp_path, monkeypatch)
    tuner = tuned(kernel)
    call(tuner, 100)
    call(tuner, 101)
    assert kernel.launched == [16, 64]
    tuner = tuned(kernel, do_bench=bench(kernel))
    tuner.use(None)
    call(tuner, 100)
    assert len(kernel.launched) == 6, "measured by Triton, as it was asked to"


def test_the_heuristic_beside_the_source_is_for_one_device(kernel, tmp_path, monkeypatch):
    beside(kernel, tmp_path, monkeypatch, device="NVIDIA H100")
    with pytest.warns(AutoHeuristicWarning, match="learned on the GPU 'NVIDIA H100'.*Triton's autotuner runs"):
        call(tuned(kernel, do_bench=bench(kernel)), 100)
    assert kernel.launched[:3] == [16, 32, 64]


def footer(path, **values):
    with open(path, "a") as file:
        file.writelines(f"\n{key} = {value!r}" for key, value in values.items())


def test_an_edited_kernel_warns_once_and_strict_declines(kernel, tmp_path, monkeypatch):
    beside(kernel, tmp_path, monkeypatch)
    file = tmp_path / "kernels.double.heuristic.py"
    footer(file, SOURCE=source_hash(kernel), COMMAND="autoheuristic tune kernels:double --inputs shapes.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(tuned(kernel, strict=True), 100)
    kernel.src += "  # edited"
    tuner = tuned(kernel)
    with pytest.warns(
        AutoHeuristicWarning, match="source has changed.*autoheuristic tune kernels:double.*--log NEW"
    ) as warned:
        call(tuner, 100)
        call(tuner, 101)
    assert len(warned) == 1 and kernel.launched == [16, 16, 64], "it serves until it is measured again"
    with pytest.raises(HeuristicError, match="source has changed"):
        call(tuned(kernel, strict=True), 100)


def test_configurations_that_were_never_measured_are_named(kernel, tmp_path, monkeypatch):
    beside(kernel, tmp_path, monkeypatch)
    footer(tmp_path / "kernels.double.heuristic.py", MEASURED=tuple(NAMES), COMMAND="autoheuristic tune k")
    with pytest.warns(
        AutoHeuristicWarning, match="never measured cannot be picked: BLOCK=128.*missing: autoheuristic tune k"
    ):
        call(tuned(kernel, [*CONFIGS, triton.Config({"BLOCK": 128})], strict=True), 100)
    removed = tuned(kernel, CONFIGS[1:])
    call(removed, 100)
    assert kernel.launched == [16, 32], "one that was removed is never picked"


def test_each_kernel_has_a_file_of_its_own(kernel, tmp_path, monkeypatch):
    made = {}
    for module in ("rows", "columns", "site-packages/package/rows"):
        path = tmp_path / f"{module}.py"
        exec(compile("def rowsum(x, y, n, m, BLOCK):\n    pass\n", str(path), "exec"), made)
        kernel.fn = made["rowsum"]
        made["rowsum"].__module__ = "package.rows"
        for name in (None, "other"):
            made[module, name] = heuristic_file(tuned(kernel, name=name))
    assert made["rows", None] == tmp_path / "rows.rowsum.heuristic.py"
    assert made["rows", "other"] == tmp_path / "rows.other.heuristic.py"
    assert made["columns", None] == tmp_path / "columns.rowsum.heuristic.py"
    in_cache = tmp_path / "cache" / "autoheuristic" / "tune" / "package" / "rows.rowsum.heuristic.py"
    assert made["site-packages/package/rows", None] == in_cache


def test_a_heuristic_may_ask_for_the_grid(kernel, file):
    text = file.read_text().replace('("n", "x_dtype")', '("grid_0", "x_dtype")')
    file.write_text(text)
    tuner = tuned(kernel, heuristic=file)
    x, y = tensors()
    for size in (100, 101, 100, 101):
        tuner[(size,)](x, y, 5, 5)
        tuner[lambda meta, size=size: (size,)](x, y, 5, 5)
    assert kernel.launched == [16, 16, 64, 64] * 2


def test_what_the_author_s_pruner_raises_is_said_to_be_its(kernel, file):
    def prune(configs, named, **kwargs):
        return [config for config in configs if named["K"] > 1]

    with pytest.raises(AutoHeuristicError, match="early_config_prune raised KeyError: 'K'; repair it"):
        call(tuned(kernel, heuristic=file, prune_configs_by={"early_config_prune": prune}), 100)


def test_the_heuristic_is_told_what_is_offered(kernel, file):
    text = file.read_text().replace("    for name in _order", "    SEEN.append(offered)\n    for name in _order")
    file.write_text(text + "\nSEEN = []\n")
    tuner = tuned(kernel, heuristic=file)
    call(tuner, 100)
    call(tuner, 101)
    module = sys.modules[tuner._picker.heuristic.choose_among.__module__]
    assert [frozenset(NAMES)] * 2 == module.SEEN


def test_configurations_that_a_pruner_makes_anew_are_known_by_their_content(kernel, file):
    def prune(configs, named_args, **kwargs):
        return [triton.Config({"BLOCK": block}) for block in (8, 32, 64)]

    call(tuned(kernel, heuristic=file, prune_configs_by={"early_config_prune": prune}), 100)
    assert kernel.launched == [32]


def test_compile_time_defaults_do_not_hide_configurations(kernel):
    def double(x, y, n, m, BLOCK, EXTRA=2):
        pass

    kernel.fn, kernel.arg_names, kernel.constexprs = double, [*kernel.arg_names, "EXTRA"], [4, 5]
    tuner = tuned(kernel)
    assert [config.kwargs["EXTRA"] for config in tuner.configs] == [2, 2, 2], "torch.compile needs a value"
    assert tuner.kernel.pruned(Call((1,), (*tensors(), 100, 5), {})) == [0, 1, 2]


def test_the_pick_is_launched_at_once(kernel, file):
    tuner = tuned(kernel, heuristic=file)
    x, y = call(tuner, 100)
    call(tuner, 101)
    assert kernel.launched == [16, 64]
    assert y.values == [2 * v for v in x.values]
    assert tuner.best_config is CONFIGS[2]


def test_a_known_key_does_not_ask_again(kernel, file):
    tuner = tuned(kernel, heuristic=file)
    call(tuner, 100)
    tuner._picker.candidates = None  # Asking again would fail.
    call(tuner, 100)
    assert kernel.launched == [16, 16]


def test_arguments_may_come_by_name_in_later_calls(kernel, file):
    tuner = tuned(kernel, heuristic=file)
    call(tuner, 100)
    x, y = tensors()
    tuner[(1,)](x, y, m=5, n=101)
    tuner[(1,)](y=y, x=x, m=5, n=100)
    tuner.run(x, y, 101, 5, grid=(1,))
    assert kernel.launched == [16, 64, 16, 64]


def test_picks_do_not_depend_on_the_calls_before(kernel, file):
    # So that all ranks of a program pick alike, whatever each has seen.
    sizes = [1, 50, 100, 101, 999, 1000, 1001, 5000]
    picks = []
    for seed in range(4):
        tuner, seen = tuned(kernel, heuristic=file), {}
        for n in random.Random(seed).choices(sizes, k=60):
            call(tuner, n)
            seen.setdefault(n, set()).add(tuner.best_config.kwargs["BLOCK"])
        picks.append(seen)
    assert all(seen[n] == picks[0].get(n, seen[n]) and len(seen[n]) == 1 for seen in picks for n in seen)


def test_where_it_declines_the_fallback_runs(kernel, tmp_path, device):
    heuristics.write(tmp_path / "h.py", NAMES, fallback=NAMES[1])
    tuner = tuned(kernel, heuristic=tmp_path / "h.py")
    call(tuner, 2000)
    named = tuned(kernel, heuristic=tmp_path / "h.py", fallback=CONFIGS[2])
    call(named, 2000)
    heuristics.write(tmp_path / "none.py", NAMES)
    first = tuned(kernel, heuristic=tmp_path / "none.py")
    call(first, 2000)
    assert kernel.launched == [32, 64, 16]


def test_an_unknown_type_declines(kernel, file):
    tuner = tuned(kernel, heuristic=file, fallback=NAMES[1])
    tuner[(1,)](Tensor([1], INT32), Tensor([0], INT32), 100, 5)
    tuner[(1,)](Tensor([1], FLOAT16), Tensor([0], FLOAT16), 100, 5)
    assert kernel.launched == [32, 16]


@pytest.mark.parametrize(
    "fault", [OutOfResources(300000, 232448, "shared memory"), RuntimeError("PassManager::run failed")]
)
def test_a_pick_that_cannot_be_launched_gives_way_to_the_next(kernel, file, fault):
    kernel.faults[16] = fault
    tuner = tuned(kernel, heuristic=file)
    with pytest.warns(AutoHeuristicWarning, match="BLOCK=16.*cannot be launched"):
        call(tuner, 100)
    call(tuner, 100)
    assert kernel.launched == [32, 32]


def test_a_pick_that_stops_launching_gives_way_too(kernel, file):
    # Other alignments of the same sizes are compiled anew.
    tuner = tuned(kernel, heuristic=file)
    call(tuner, 100)
    kernel.faults[16] = OutOfResources(300000, 232448, "shared memory")
    call(tuner, 100)
    call(tuner, 100)
    assert kernel.launched == [16, 32, 32]


def test_only_allowed_choices_follow_then_the_fallback(kernel, device, tmp_path):
    heuristics.write(tmp_path / "h.py", NAMES, fallback=NAMES[2], allowed=1)
    kernel.faults[16] = OutOfResources(300000, 232448, "shared memory")
    tuner = tuned(kernel, heuristic=tmp_path / "h.py")
    with pytest.warns(AutoHeuristicWarning):
        call(tuner, 100)
    assert kernel.launched == [64]


def test_when_nothing_can_be_launched_the_last_error_is_raised(kernel, file):
    kernel.faults.update(dict.fromkeys((16, 32, 64), OutOfResources(300000, 232448, "shared memory")))
    tuner = tuned(kernel, heuristic=file)
    with pytest.warns(AutoHeuristicWarning), pytest.raises(OutOfResources):
        call(tuner, 100)


def test_other_errors_are_the_callers(kernel, file):
    kernel.faults[16] = ValueError("a mistake of the caller")
    tuner = tuned(kernel, heuristic=file)
    with pytest.raises(ValueError, match="mistake"):
        call(tuner, 100)


def test_a_user_s_pruning_is_kept(kernel, file):
    def prune(configs, named_args, **kwargs):
        return [c for c in configs if c.kwargs["BLOCK"] > 16]

    tuner = tuned(kernel, heuristic=file, prune_configs_by={"early_config_prune": prune})
    call(tuner, 100)
    assert kernel.launched == [32]


def test_hooks_of_a_configuration_run_before_each_launch(kernel, file):
    seen = []
    configs = [triton.Config({"BLOCK": 16}, pre_hook=lambda args: seen.append(args["BLOCK"])), *CONFIGS[1:]]
    tuner = tuned(kernel, configs, heuristic=file)
    call(tuner, 100)
    call(tuner, 100)
    assert seen == [16, 16] and kernel.launched == [16, 16]


def test_new_configurations_that_the_heuristic_does_not_know_are_no_trouble(kernel, file):
    tuner = tuned(kernel, [triton.Config({"BLOCK": 128}), *CONFIGS], heuristic=file)
    call(tuner, 100)
    assert kernel.launched == [16]


def test_choices_without_a_configuration_are_passed_over(kernel, file):
    tuner = tuned(kernel, CONFIGS[1:], heuristic=file)
    call(tuner, 100)
    assert kernel.launched == [32]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "absent.py", "there is no such file"),
        (lambda p: (p / "broken.py").write_text("1 +") and p / "broken.py", "does not run"),
        (lambda p: (p / "other.py").write_text("x = 1") and p / "other.py", "without FEATURES"),
        (lambda p: heuristics.write(p / "far.py", NAMES, device="NVIDIA H100"), "learned on the GPU 'NVIDIA H100'"),
        (lambda p: heuristics.write(p / "foreign.py", ["BLOCK=1"]), "other configurations"),
    ],
)
def test_a_heuristic_that_cannot_be_used_warns_and_the_fallback_runs(kernel, tmp_path, make, message):
    path = make(tmp_path)
    tuner = tuned(kernel, heuristic=path, fallback=NAMES[1])
    with pytest.warns(AutoHeuristicWarning, match=message):
        call(tuner, 100)
    assert kernel.launched == [32]
    with pytest.raises(HeuristicError, match=message):
        call(tuned(kernel, heuristic=path, strict=True), 100)


def test_of_several_heuristics_the_one_for_the_device_is_taken(kernel, file, tmp_path):
    far = heuristics.write(tmp_path / "far.py", NAMES[::-1], device="NVIDIA H100")
    call(tuned(kernel, heuristic=[far, file]), 100)
    assert kernel.launched == [16]


def test_a_missing_argument_runs_the_fallback_or_raises(device, file):
    kernel = Kernel(device, {16: 1.0, 32: 1.0, 64: 1.0})
    tuner = tuned(kernel, heuristic=file, fallback=NAMES[1])
    x, y = tensors()
    with pytest.warns(AutoHeuristicWarning, match="lacks the argument 'n'"):
        tuner[(1,)](x, y)
    assert kernel.launched == [32]
    with pytest.raises(FeatureError, match="lacks the argument 'n'"):
        tuned(kernel, heuristic=file, strict=True)[(1,)](x, y)


def test_a_key_that_cannot_be_compared_runs_the_fallback(kernel, file):
    with pytest.warns(AutoHeuristicWarning, match="cannot be compared"):
        call(tuned(kernel, heuristic=file), [1])
    assert kernel.launched == [16]


def test_a_feature_that_the_kernel_lacks(kernel, file, device, tmp_path):
    text = file.read_text().replace('"n", "x_dtype"', '"K", "x_dtype"')
    (tmp_path / "k.py").write_text(text)
    with pytest.warns(AutoHeuristicWarning, match="found 'K'"):
        call(tuned(kernel, heuristic=tmp_path / "k.py"), 100)
    assert kernel.launched == [16]


def test_the_environment_switches_a_heuristic_off(kernel, file, monkeypatch):
    monkeypatch.setenv("AUTOHEURISTIC_USE", "softmax,other")
    call(tuned(kernel, heuristic=file), 101)
    monkeypatch.setenv("AUTOHEURISTIC_USE", "softmax, double")
    call(tuned(kernel, heuristic=file), 101)
    assert kernel.launched == [16, 64]


def test_configurations_of_one_name_are_refused(kernel):
    with pytest.raises(ConfigError, match="same name BLOCK=16"):
        tuned(kernel, [CONFIGS[0], triton.Config({"BLOCK": 16})])


def test_an_unknown_fallback_is_refused(kernel):
    with pytest.raises(ConfigError, match="found BLOCK=7"):
        tuned(kernel, fallback="BLOCK=7")


def test_warmup_compiles_only_the_pick(kernel, file):
    tuner = tuned(kernel, heuristic=file)
    x, y = tensors()
    tuner.warmup(x, y, 101, 5, grid=(1,))
    assert kernel.compiled == [64] and kernel.launched == []


def test_pruning_leaves_the_pick_to_torch_compile(kernel, file):
    tuner = tuned(kernel, heuristic=file, fallback=NAMES[1])
    x, y = tensors()
    prune = tuner.early_config_prune
    assert prune(CONFIGS, {"x": x, "y": y, "n": 101}) == [CONFIGS[2]]
    assert prune(CONFIGS, {"x": x, "y": y}, n=5000) == [CONFIGS[1]]
    assert tuner.early_config_prune is prune, "guards compare it by identity"


def test_the_memory_of_keys_is_bounded(kernel, file, monkeypatch):
    monkeypatch.setattr(autoheuristic.features, "MOST_KEYS", 3)
    tuner = tuned(kernel, heuristic=file)
    for n in range(10):
        call(tuner, n)
    assert len(tuner._picker.memory.known) <= 3
