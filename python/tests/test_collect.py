"""``python -m autoheuristic collect``."""

import sys

import pytest
import triton
from fake_triton import Kernel, tensors

import autoheuristic
from autoheuristic import Log
from autoheuristic.__main__ import main
from autoheuristic.collect import in_seeded_order, only_collector


@pytest.fixture
def kernel(device, monkeypatch):
    """``fake_module:kernel``, with an example."""
    fake = Kernel(device, {16: 0.5, 32: 0.3})
    tuner = autoheuristic.tune([triton.Config({"BLOCK": b}) for b in (16, 32)], ["n"])(fake)
    seen = []

    @tuner.example
    def example(n, kind="dense"):
        seen.append((n, kind))
        x, y = tensors()
        return (1,), (x, y, n), {"m": 5}

    module = type(sys)("fake_module")
    module.kernel, module.other, module.bare = tuner, 5, autoheuristic.tune([], ["n"])(fake)
    monkeypatch.setitem(sys.modules, "fake_module", module)
    fake.seen = seen
    return fake


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "shapes.csv"
    path.write_text("n,kind\n" + "".join(f"{n},dense\n" for n in range(20)))
    return path


def run(tmp_path, inputs, *words, kernel="fake_module:kernel"):
    return main(["collect", kernel, "--inputs", str(inputs), "-o", str(tmp_path / "train.txt"), *words])


def test_all_inputs_are_measured_in_the_seeded_order(kernel, tmp_path, inputs, capsys):
    assert run(tmp_path, inputs, "--seed", "7") == 0
    order = [row["n"] for row in in_seeded_order([{"n": n} for n in range(20)], 7)]
    assert order != list(range(20))
    assert kernel.seen == [(n, "dense") for n in order]
    assert [values[0] for values in Log.read(tmp_path / "train.txt").inputs()] == order
    assert Log.read(tmp_path / "train.txt").metadata.collection["seed"] == 7
    assert "20 inputs measured" in capsys.readouterr().err


def test_a_run_that_was_cut_off_goes_on(kernel, tmp_path, inputs, capsys):
    def stop(count):
        if len(kernel.seen) == count:
            raise KeyboardInterrupt

    kernel.ms[32] = lambda named: stop(8) or 0.3
    assert run(tmp_path, inputs) == 130
    assert len(Log.read(tmp_path / "train.txt").inputs()) == 7
    kernel.ms[32] = 0.3
    kernel.launched.clear()
    assert run(tmp_path, inputs) == 0
    assert len(Log.read(tmp_path / "train.txt").inputs()) == 20
    assert "13 inputs measured" in capsys.readouterr().err
    launched = len(kernel.launched)
    assert run(tmp_path, inputs) == 0
    assert len(kernel.launched) == launched + 20, "each input is launched once, none is measured"


def test_no_input_is_begun_after_the_time(kernel, tmp_path, inputs, capsys):
    assert run(tmp_path, inputs, "--max-seconds", "0") == 0
    assert kernel.seen == [] and "20 left" in capsys.readouterr().err


def test_an_input_that_lost_the_device_is_passed_over_next_time(kernel, tmp_path, inputs, device, capsys):
    kernel.faults[32] = "lost"
    assert run(tmp_path, inputs) == 5
    assert "illegal memory access" in capsys.readouterr().err
    kernel.faults.clear()
    device.broken = None
    assert run(tmp_path, inputs) == 0
    assert "19 inputs measured" in capsys.readouterr().err


def test_a_second_collector_is_refused(kernel, tmp_path, inputs, capsys):
    with only_collector(tmp_path / "train.txt"):
        assert run(tmp_path, inputs) == 4
    assert "another collector measures into it" in capsys.readouterr().err
    assert not (tmp_path / "train.txt").exists() and kernel.seen == []
    assert run(tmp_path, inputs) == 0, "the lock ends with the run"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("fake_module", "expected MODULE:KERNEL"),
        ("no_such_module:kernel", "cannot import no_such_module"),
        ("fake_module:other", "found int"),
        ("fake_module:absent", "found NoneType"),
        ("fake_module:bare", "has no example; put @bare.example"),
    ],
)
def test_a_kernel_that_is_not_there(kernel, tmp_path, inputs, capsys, named, message):
    assert run(tmp_path, inputs, kernel=named) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [("m,kind\n1,a\n", "expected columns named as the example's parameters (n, kind), found m, kind"),
     ("n,kind\n1\n", "row 2: expected 2 fields, found 1"),
     ("", "found nothing")],
)  # fmt: skip
def test_inputs_that_do_not_fit(kernel, tmp_path, capsys, text, message):
    (tmp_path / "bad.csv").write_text(text)
    assert run(tmp_path, tmp_path / "bad.csv") == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_of_inputs(kernel, tmp_path, capsys):
    assert run(tmp_path, tmp_path / "absent.csv") == 4
    assert "absent.csv" in capsys.readouterr().err


def test_an_example_that_fails_is_named_with_its_input(kernel, tmp_path, capsys):
    (tmp_path / "bad.csv").write_text("n\nlarge\n")
    sys.modules["fake_module"].kernel.arguments = lambda n: n + 1
    assert run(tmp_path, tmp_path / "bad.csv") == 2
    assert "the example failed on n=large (TypeError" in capsys.readouterr().err
