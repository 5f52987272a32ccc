"""Kernels of a package under ``attach``: the package's source does not change, its autotuner is Triton's."""

import json
import os
import pickle
import sys
import threading
import types
import warnings

import heuristics
import pytest
import triton
from fake_device import FLOAT16, INT32, Tensor
from fake_triton import Kernel, tensors
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources

import autoheuristic
from autoheuristic import AutoHeuristicWarning
from autoheuristic.attachment import calls, learn
from autoheuristic.attachment.recorded import worth_measuring
from autoheuristic.attachment.settings import identify
from autoheuristic.kernel import Kernel as Configurations

NAMES = [f"BLOCK={block}_num_warps=4_num_stages=3" for block in (16, 32, 64)]
TOO_LARGE = OutOfResources(300000, 232448, "shared memory")
DEVICE = "Fake_GPU"


def configs():
    return [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]


@pytest.fixture
def folder(tmp_path):
    yield tmp_path / "attached"
    autoheuristic.detach()


@pytest.fixture
def kernel(device):
    return Kernel(device, {16: 3.0, 32: 2.0, 64: 1.0})


def package(kernel, device, **arguments):
    """What ``@triton.autotune(configs, key=["m"])`` in a package makes."""

    def do_bench(call, quantiles):
        begin = device.now
        call()
        return [device.now - begin] * 3

    arguments = {"configs": configs(), "key": ["m"], "do_bench": do_bench, **arguments}
    return Autotuner(kernel, kernel.arg_names, arguments.pop("configs"), arguments.pop("key"), None, None, **arguments)


def attach(folder, mode="serve", **options):
    autoheuristic.attach("fake_triton", mode=mode, folder=folder, **options)


def call(tuner, n, m=5, grid=(1,), **kwargs):
    x, y = tensors()
    tuner.run(x, y, n, m, grid=grid, warmup=False, **kwargs)
    return x, y


def learned(folder, tuner, **options):
    """Writes a heuristic for this kernel: 16 for n up to 100, then 64, beyond 1000 it declines."""
    here = folder / DEVICE
    here.mkdir(parents=True, exist_ok=True)
    stem = identify(Configurations(tuner, tuner.configs)).stem
    return heuristics.write(here / f"{stem}.py", NAMES, **options)


def journal(folder):
    lines = (folder / DEVICE / "calls.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_without_a_heuristic_the_package_decides(kernel, device, folder):
    tuner = package(kernel, device)
    attach(folder)
    x, y = call(tuner, 100)
    assert y.values == [2 * v for v in x.values]
    assert kernel.launched == [16, 32, 64, 64], "as before: three benchmarks, then the best"
    call(tuner, 200)
    assert kernel.launched[4:] == [64], "its key is the same"
    call(tuner, 300, m=6)
    assert [line["answer"] for line in journal(folder)] == ["package", "package"]
    assert list(journal(folder)[0]["features"]) == ["x_dtype", "y_dtype", "n", "m", "grid_0", "grid_1", "grid_2"]


def test_the_pick_is_launched_and_nothing_else_compiled(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    x, y = call(tuner, 100)
    call(tuner, 101)
    call(tuner, 100)
    assert kernel.launched == kernel.compiled == [16, 64, 16]
    assert y.values == [2 * v for v in x.values]
    assert tuner.best_config.kwargs == {"BLOCK": 16}
    assert [(line["answer"], line["choice"]) for line in journal(folder)] == [
        ("heuristic", NAMES[0]),
        ("heuristic", NAMES[2]),
    ]


def test_a_kernel_in_a_package_s_folder_is_attached_under_any_module_name(kernel, device, folder, monkeypatch):
    """FlagGems imports the files of its backends as modules of their own names."""
    outer, other = types.ModuleType("outer"), types.ModuleType("other")
    outer.__path__, other.__path__ = [os.path.dirname(__file__)], [os.path.dirname(__file__)[:-1]]
    for module in (outer, other):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    tuner = package(kernel, device)
    learned(folder, tuner)
    autoheuristic.attach("other", folder=folder)
    call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 64], "a folder whose name begins alike is another one"
    autoheuristic.attach("outer", folder=folder)
    call(tuner, 100)
    assert kernel.launched[4:] == [16]


def test_the_features_that_the_heuristic_does_not_use_do_not_ask_again(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    for m in range(5):
        call(tuner, 100, m=m)
    assert len(journal(folder)) == 1


def test_where_the_heuristic_declines_the_package_measures(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    for _ in range(3):
        call(tuner, 2000)
    assert kernel.launched == [16, 32, 64, 64, 64, 64]
    (line,) = journal(folder)
    assert line["answer"] == "package"
    assert line["call"]["grid"] == [1, 1, 1] and line["call"]["arguments"]["n"] == {"value": 2000}
    assert line["package"] == "fake_triton"


def test_kernels_that_are_the_same_share_a_heuristic(kernel, device, folder):
    copied = Kernel(device, kernel.ms)
    learned(folder, package(copied, device))
    attach(folder)
    call(package(kernel, device), 100)
    assert kernel.launched == [16]


def test_autotuners_made_after_attaching_are_attached_too(kernel, device, folder):
    attach(folder)
    tuner = package(kernel, device)
    learned(folder, tuner)
    call(tuner, 100)
    assert kernel.launched == [16]


def test_other_packages_stay_as_they_are(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    autoheuristic.attach("fla", "fake", folder=folder)
    call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 64]
    assert "run" not in vars(tuner)


def test_detaching_gives_the_autotuner_back(kernel, device, folder):
    tuner = package(kernel, device)
    init = Autotuner.__init__
    attach(folder)
    assert Autotuner.__init__ is not init
    autoheuristic.detach()
    assert "run" not in vars(tuner) and Autotuner.__init__ is init


def test_a_changed_package_says_so_once_and_tunes_itself(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    kernel.src += "  # changed"
    attach(folder)
    with pytest.warns(AutoHeuristicWarning, match="its source or configurations are not those of") as warned:
        call(tuner, 100)
        call(tuner, 101, m=9)
    assert len(warned) == 1
    assert kernel.launched == [16, 32, 64, 64] * 2


def test_a_heuristic_of_another_device_is_not_asked(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner, device="NVIDIA H100")
    attach(folder)
    with pytest.warns(AutoHeuristicWarning, match="learned on the GPU 'NVIDIA H100'"):
        call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 64]


def test_a_pick_without_enough_shared_memory_gives_way_to_the_next(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    kernel.faults = {16: TOO_LARGE}
    attach(folder)
    with pytest.warns(AutoHeuristicWarning, match="BLOCK=16.* cannot be launched"):
        call(tuner, 100)
    call(tuner, 100)
    assert kernel.launched == [32, 32]
    assert journal(folder)[0]["choice"] == NAMES[1]


def test_where_no_pick_can_be_launched_the_package_goes_its_own_way(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner, allowed=2)
    kernel.faults = {16: TOO_LARGE, 32: TOO_LARGE}
    attach(folder)
    with pytest.warns(AutoHeuristicWarning):
        call(tuner, 100)
    call(tuner, 100)
    assert kernel.launched == [64, 64, 64]


def test_a_remembered_pick_that_no_longer_fits_gives_way(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    call(tuner, 100)
    kernel.faults = {16: TOO_LARGE}  # A compile-time parameter that the heuristic does not use has changed.
    call(tuner, 100)
    assert kernel.launched == [16, 32]


def test_configurations_that_change_between_calls_are_another_kernel(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    call(tuner, 100)
    tuner.configs = configs()[1:]
    with pytest.warns(AutoHeuristicWarning, match="its source or configurations"):
        call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 64]
    tuner.configs.append(triton.Config({"BLOCK": 16}, num_warps=8))
    call(tuner, 100, m=6)
    assert kernel.launched[4:] == [32, 64, 16, 64]


def test_an_authors_pruning_holds_for_picks(kernel, device, folder):
    def prune(given, named, **kwargs):
        return [c for c in given if c.kwargs["BLOCK"] != 16 or named["m"] == 5]

    tuner = package(kernel, device, prune_configs_by={"early_config_prune": prune})
    learned(folder, tuner)
    attach(folder)
    call(tuner, 100)
    call(tuner, 100, m=6)
    assert kernel.launched == [16, 32]


def test_a_configuration_that_is_listed_twice_counts_once(kernel, device, folder):
    tuner = package(kernel, device, configs=[*configs(), *configs()[1:]])
    here = folder / DEVICE
    here.mkdir(parents=True)
    heuristics.write(here / f"{identify(Configurations(tuner, configs())).stem}.py", NAMES)
    attach(folder)
    call(tuner, 100)
    call(tuner, 2000)
    assert kernel.launched[0] == 16 and kernel.launched[-1] == 64


def test_hooks_of_configurations_run_before_each_launch(kernel, device, folder):
    hooked = configs()
    hooked[0].pre_hook = lambda arguments: seen.append((arguments["n"], arguments["BLOCK"]))
    tuner, seen = package(kernel, device, configs=hooked), []
    learned(folder, tuner)
    attach(folder)
    for _ in range(3):
        call(tuner, 100)
    assert kernel.launched == [16, 16, 16] and seen == [(100, 16)] * 3
    assert len(journal(folder)) == 1, "asked once"


def test_one_configuration_leaves_nothing_to_choose(kernel, device, folder):
    tuner = package(kernel, device, configs=configs()[:1])
    attach(folder)
    call(tuner, 100)
    assert kernel.launched == [16] and not folder.exists()


def test_arguments_that_are_not_hashable_are_no_features(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    kernel.arg_names = tuner.arg_names = [*kernel.arg_names, "pair"]
    call(tuner, 100, pair=[1, {}])
    call(tuner, 100, pair=[2, {}])
    assert kernel.launched == [16, 16]
    call(tuner, 100, grid=[1])
    assert kernel.launched == [16, 16, 16]


def test_what_cannot_be_described_says_why(kernel, device, folder):
    tuner = package(kernel, device)
    attach(folder, mode="collect")
    kernel.arg_names = tuner.arg_names = [*kernel.arg_names, "pair"]
    call(tuner, 100, pair=(1, 2))
    (line,) = journal(folder)
    assert "call" not in line and line["why_not"] == "the argument pair is a tuple, which cannot be made again"


def test_a_tensor_descriptor_is_described_and_made_again(monkeypatch):
    made = types.ModuleType("triton.tools.tensor_descriptor")
    made.TensorDescriptor = lambda **parts: types.SimpleNamespace(**parts)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    given = {"shape": [4, 8], "strides": [8, 1], "block_shape": [16, 64], "padding": "zero"}
    described = calls._describe("a", types.SimpleNamespace(base=Tensor([1.0] * 32, FLOAT16), **given))
    assert described == {"descriptor": {"tensor": "torch.float16", "shape": [32], "stride": [1]}, **given}
    torch = types.SimpleNamespace(float16=FLOAT16)
    monkeypatch.setitem(sys.modules, "torch", torch)
    again = calls.restored(json.loads(json.dumps(described)), lambda described, dtype: (described["shape"], dtype))
    assert vars(again) == {"base": ([32], FLOAT16), **given}


def test_a_large_tensor_of_integers_keeps_its_range(monkeypatch):
    monkeypatch.setattr(calls, "MOST_VALUES", 3)
    ascending, packed = Tensor([0, 3, 3, 9], INT32), Tensor([5, -7, 2, 0], INT32)
    found = [calls._describe("x", tensor) for tensor in (ascending, packed)]
    assert [(each["range"], each["ascends"]) for each in found] == [([0, 9], True), ([-7, 5], False)]


def test_an_argument_that_changes_its_kind_is_left_to_the_package(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    call(tuner, 100)
    with pytest.warns(AutoHeuristicWarning, match="'n' was a number in the first call, now it is a category"):
        call(tuner, "a lot")
    assert kernel.launched == [16, 16, 32, 64, 64]


def test_a_broken_heuristic_is_a_warning(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner).write_text("raise RuntimeError('spoilt')")
    attach(folder)
    with pytest.warns(AutoHeuristicWarning, match="spoilt"):
        call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 64]


def test_a_kernel_that_cannot_be_attached_is_not_tried_again(kernel, device, folder, monkeypatch):
    tuner, tries = package(kernel, device), []
    monkeypatch.setattr(autoheuristic.device, "current", lambda: tries.append(1) or {}["no GPU"])
    attach(folder)
    with pytest.warns(AutoHeuristicWarning, match="no GPU"):
        call(tuner, 100)
    for n in range(9):
        call(tuner, n)
    assert len(tries) == 1
    assert kernel.launched == [16, 32, 64, 64] + [64] * 9


def test_a_heuristic_that_raises_is_a_warning(kernel, device, folder):
    tuner = package(kernel, device)
    file = learned(folder, tuner)
    file.write_text(file.read_text() + "\ndef choose_among(offered, *values):\n    raise ZeroDivisionError('oh')\n")
    attach(folder)
    with pytest.warns(AutoHeuristicWarning, match="ZeroDivisionError: oh. The package's own autotuner runs"):
        call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 64]


def test_an_error_of_the_kernel_reaches_the_program(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    kernel.faults = {16: ValueError("wrong arguments")}
    with pytest.raises(ValueError, match="wrong arguments"):
        call(tuner, 100)


def test_an_error_while_the_package_measures_reaches_the_program(kernel, device, folder):
    tuner = package(kernel, device)
    attach(folder)
    kernel.faults = {64: ValueError("wrong arguments")}
    with pytest.raises(ValueError, match="wrong arguments"), warnings.catch_warnings():
        warnings.simplefilter("error")
        call(tuner, 100)
    assert kernel.launched == [16, 32], "tried once"


def test_a_folder_that_cannot_be_written_is_a_warning(kernel, device, tmp_path, folder):
    (tmp_path / "file").write_text("")
    tuner = package(kernel, device)
    attach(tmp_path / "file")
    with pytest.warns(AutoHeuristicWarning, match="cannot be written"):
        call(tuner, 100)
    assert kernel.launched == [16, 32, 64, 64]


def test_a_grid_that_depends_on_the_configuration(kernel, device, folder):
    tuner = package(kernel, device)
    attach(folder)
    call(tuner, 100, grid=lambda meta: (meta["n"] // meta["BLOCK"], 7))
    (line,) = journal(folder)
    assert [line["features"][f"grid_{axis}"] for axis in range(3)] == [100 // 16, 7, 1]
    assert line["call"]["grid"] == {name: [100 // b, 7, 1] for name, b in zip(NAMES, (16, 32, 64))}


def test_collect_launches_the_first_configuration_and_notes_each_input(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    kernel.faults = {16: TOO_LARGE}
    attach(folder, "collect")
    with pytest.warns(AutoHeuristicWarning, match="cannot be launched"):
        call(tuner, 100)
    for n in (100, 200, 100):
        call(tuner, n)
    assert kernel.launched == [32] * 4, "no benchmark, and no heuristic"
    assert [(line["answer"], line["features"]["n"]) for line in journal(folder)] == [("first", 100), ("first", 200)]


def test_the_values_of_integer_tensors_are_noted_where_the_call_is_measured_later(kernel, device, folder):
    from fake_device import INT32

    tuner = package(kernel, device)
    learned(folder, tuner)
    x, y = tensors()
    for mode in ("collect", "serve"):
        attach(folder, mode)
        tuner.run(x, y, 100, 5, grid=(1,), warmup=False, offsets=Tensor([0, 7], INT32))
    collected, served = journal(folder)
    offsets = collected["call"]["arguments"]["offsets"]
    assert offsets == {"tensor": "torch.int32", "shape": [2], "stride": [1], "values": [0, 7]}
    assert "call" not in served, "to read them waits for the device"


def test_after_three_inputs_only_promising_configurations_are_measured():
    names = [f"c{i}" for i in range(20)]
    full = {name: [1.0 + 0.1 * i] for i, name in enumerate(names)}
    assert worth_measuring(names, [full] * 2, "n=1") == names
    kept = worth_measuring(names, [full] * 3, "n=1")
    assert kept[:3] == names[:3] and len(kept) == 5, "1.0, 1.1 and 1.2 times the best, and two others"
    assert kept == worth_measuring(names, [full] * 3, "n=1")
    explored = {name for i in range(100) for name in worth_measuring(names, [full] * 3, f"n={i}")}
    assert explored == set(names), "each one has its turn"
    partial = {name: [9.0] for name in kept} | {kept[-1]: [1.0]}
    assert kept[-1] in worth_measuring(names, [full] * 3 + [partial], "n=2"), "one that did well joins"
    assert worth_measuring(names, [{name: [float("inf")] for name in names}] * 3, "n=1") == names


@pytest.fixture
def capturing(monkeypatch):
    state = types.SimpleNamespace(on=True)
    cuda = types.SimpleNamespace(is_current_stream_capturing=lambda: state.on)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    return state


@pytest.mark.parametrize("mode", ["serve", "collect"])
def test_nothing_is_measured_while_a_graph_is_captured(kernel, device, folder, capturing, mode):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder, mode)
    call(tuner, 2000)
    assert kernel.launched == [16], "the first configuration, because the heuristic declines or is not asked"
    capturing.on = False
    call(tuner, 2000)
    if mode == "serve":
        assert len(kernel.launched) > 4, "measured once the capture is over"
        capturing.on = True
        kernel.launched.clear()
        call(tuner, 3000)
        assert kernel.launched == [64], "the package knows this key, so it measures nothing"


def test_two_packages_that_wrap_the_autotuner(kernel, device, folder):
    class Other(Autotuner):
        def run(self, *args, **kwargs):
            seen.append("other")
            return super().run(*args, **kwargs)

    seen = []
    attach(folder)
    tuner = Other(kernel, kernel.arg_names, configs(), ["m"], None, None, do_bench=package(kernel, device)._do_bench)
    inner = tuner.run
    tuner.run = lambda *args, **kwargs: (seen.append("wrapped"), inner(*args, **kwargs))[1]
    call(tuner, 100)
    assert seen == ["wrapped", "other"]
    assert kernel.launched == [16, 32, 64, 64]


def test_a_run_that_was_replaced_before_is_kept(kernel, device, folder):
    tuner, seen = package(kernel, device), []
    tuner.run = lambda *args, **kwargs: seen.append(kwargs["grid"])
    attach(folder)
    call(tuner, 100)
    assert seen == [(1,)]
    autoheuristic.detach()
    call(tuner, 100)
    assert seen == [(1,), (1,)]


def test_a_call_laid_out_otherwise_is_the_same_input(kernel, device, folder):
    tuner = package(kernel, device)
    learned(folder, tuner)
    attach(folder)
    x, y = call(tuner, 100)
    for _ in range(2):
        tuner.run(x, y=y, m=5, n=100, grid=(1,), warmup=False)
    assert kernel.launched == [16] * 3 and len(journal(folder)) == 1


def test_threads_note_each_its_own_input(kernel, device, folder):
    tuners = [package(Kernel(device, {16: 3.0, 32: 2.0, 64: 1.0 + i}), device) for i in range(4)]
    attach(folder, "collect")
    threads = [
        threading.Thread(target=lambda t=tuner, n=n: [call(t, n, m=m) for m in range(20)])
        for n, tuner in enumerate(tuners)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted((line["features"]["n"], line["features"]["m"]) for line in journal(folder))
    assert found == [(n, m) for n in range(4) for m in range(20)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_notes_its_inputs_too(kernel, device, folder):
    tuner = package(kernel, device)
    attach(folder, "collect")
    call(tuner, 100)
    child = os.fork()
    if child == 0:
        call(tuner, 200)
        os._exit(0 if kernel.launched[-1] == 16 else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0 and len(journal(folder)) == 2


def test_ranks_decide_alike(kernel, device, folder):
    picks = []
    for sizes in ([50, 100, 101, 900], [900, 101, 100, 50]):
        tuner = package(kernel, device)
        learned(folder, tuner)
        attach(folder)
        found = {}
        for n in sizes:
            call(tuner, n)
            found[n] = tuner.best_config.kwargs["BLOCK"]
        picks.append(found)
    assert picks[0] == picks[1]


def test_a_type_is_a_feature_of_each_tensor(kernel, device, folder):
    tuner = package(kernel, device)
    attach(folder)
    x, y = tensors()
    tuner.run(Tensor(x.values, FLOAT16), y, 100, 5, grid=(1,), warmup=False)
    (line,) = journal(folder)
    assert (line["features"]["x_dtype"], line["features"]["y_dtype"]) == ("torch.float16", "torch.float32")


def test_the_environment_attaches(kernel, device, folder, monkeypatch):
    monkeypatch.setenv("AUTOHEURISTIC_ATTACH", "fla, fake_triton")
    monkeypatch.setenv("AUTOHEURISTIC_ATTACH_FOLDER", str(folder))
    tuner = package(kernel, device)
    learned(folder, tuner)
    autoheuristic.attachment.attach_from_environment()
    call(tuner, 100)
    assert kernel.launched == [16]


def test_an_environment_that_makes_no_sense_is_a_warning(folder, monkeypatch):
    monkeypatch.setenv("AUTOHEURISTIC_ATTACH", "fla")
    monkeypatch.setenv("AUTOHEURISTIC_ATTACH_MODE", "record")
    with pytest.warns(AutoHeuristicWarning, match="expected .* nothing is attached"):
        autoheuristic.attachment.attach_from_environment()


def test_identity_does_not_depend_on_the_order_of_configurations(kernel, device):
    first, second = (identify(Configurations(package(kernel, device), c)) for c in (configs(), configs()[::-1]))
    assert first == second and first.stem.isidentifier()
    assert pickle.loads(pickle.dumps(first)) == first


# What is installed


@pytest.mark.parametrize(("advice", "runs"), [("take", 1), ("always_take", 1), ("measure_more", 2)])
def test_without_a_gain_the_best_single_configuration_is_installed(tmp_path, monkeypatch, advice, runs):
    fake = tmp_path / "ah-train"
    first = json.dumps({"summary": "The verdict.\n", "verdict": {"advice": advice, "choices": ["b"]}})
    single = json.dumps({"summary": "Always take b.\n", "verdict": {"advice": "always_take", "choices": ["b"]}})
    fake.write_text(
        '#!/bin/sh\necho "$@" >> calls\n'
        f"case \"$*\" in *'--learner cost_tree --max-leaves 1'*) cat <<'E'\n{single}\nE\n;; *) cat <<'E'\n{first}\nE\n;; esac\n"
        'while [ "$1" != --out ]; do shift; done; echo "# written" > "$2/x_prune.py"\n'
    )
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(learn, "tool", lambda name: str(fake))
    message, code = learn.heuristic_of(tmp_path / "x.txt", tmp_path / "x.py", "x", [], tmp_path / "x", "\nSOURCE = '5'")
    assert code == 0 and message.startswith("The verdict.")
    assert ("Until then the heuristic always takes b." in message) == (runs == 2)
    assert (tmp_path / "x.py").read_text() == "# written\n\nSOURCE = '5'"
    calls_made = (tmp_path / "calls").read_text().splitlines()
    assert len(calls_made) == runs and ("--learner cost_tree --max-leaves 1" in calls_made[-1]) == (runs == 2)
