"""The command line of ``attach``, on a program and a package that know nothing of it."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import fake_triton
import heuristics
import pytest

from autoheuristic import Log
from autoheuristic.attachment import recorded

HERE = Path(__file__).resolve().parent
FILES = {
    "triton/__init__.py": "from triton.runtime.autotuner import Config\n__version__ = 'fake'\n",
    "triton/runtime/__init__.py": """
        from fake_triton import DriverConfig
        from . import autotuner, errors
        driver = DriverConfig()
    """,
    "triton/runtime/autotuner.py": "from fake_triton import Autotuner, Config\n",
    "triton/runtime/errors.py": "from fake_triton import OutOfResources, PTXASError\n",
    "triton/compiler/__init__.py": "from . import errors\n",
    "triton/compiler/errors.py": "from fake_triton import CompilationError\n",
    "tuned/__init__.py": "",
    "tuned/kernels.py": """
        import fake_device, fake_triton, triton, triton.runtime
        from triton.runtime.autotuner import Autotuner

        def double(x, y, n, m, BLOCK):
            raise AssertionError("the device runs it")

        device = fake_device.Device()
        triton.runtime.driver.set_active(device)
        def do_bench(call, quantiles):
            begin = device.now
            call()
            return [device.now - begin] * 3

        # Short, because a worker may not claim more time than passed.
        times = {16: lambda a: (1 + a["n"] / 100) / 1e3, 32: 0.003, 64: lambda a: (5 - a["n"] / 100) / 1e3}
        raw = fake_triton.Kernel(device, times)
        raw.fn = double
        configs = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]
        kernel = Autotuner(raw, raw.arg_names, configs, ["m"], None, None, do_bench=do_bench)
    """,
    "untuned.py": "",
    "sitecustomize.py": """
        import autoheuristic.device, fake_device, fake_triton, triton
        import autoheuristic.attachment.recorded as recorded

        autoheuristic.device.current = lambda: dict(fake_device.IDENTITY)
        # Tensors need PyTorch, so the fake's take their place.
        recorded.restored = lambda d, _: fake_triton.tensors()[0] if "tensor" in d else d["value"]
    """,
    "main.py": """
        import sys
        import untuned
        from tuned import kernels
        import fake_triton
        for n in map(int, sys.argv[1:]):
            x, y = fake_triton.tensors()
            kernels.kernel.run(x, y, n, 5, grid=(n,), warmup=False)
        print(len(kernels.raw.compiled), kernels.raw.launched[-1] if kernels.raw.launched else None)
    """,
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path


def run(folder, *words, **variables):
    path = os.pathsep.join([str(folder), str(HERE), str(HERE.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache"), **variables}
    command = [sys.executable, "-m", "autoheuristic", *map(str, words)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def attach(folder, *words, mode="serve", packages=("tuned",), **variables):
    options = ["--mode", mode, "--folder", "attached"]
    program = [sys.executable, "main.py", *words]
    code, out, errors = run(folder, "attach", *packages, *options, "--", *program, **variables)
    assert code == 0, errors
    return out, errors


def all_tools():
    tools = {"AH_COLLECT": "ah-collect", "AH_TRAIN": "ah-train"}
    return {variable: heuristics.tool(tool) for variable, tool in tools.items()}


def test_a_program_collects_learns_and_is_served(folder):
    tools = all_tools()
    out, errors = attach(folder, *range(1, 400, 8), mode="collect", **tools)
    assert out == "50 16\n", "the program runs the first configuration, and measures nothing"
    first, *_, last = errors.splitlines()
    assert first.startswith("[1 of 1] double_") and first.endswith(": 50 inputs")
    assert last.startswith("1 of 1 kernel measured in ") and last.endswith("learn with: autoheuristic learn")
    code, _, errors = run(folder, "replay", "--folder", "attached", **tools)
    assert code == 0 and errors == "learn with: autoheuristic learn\n", "all is in the log"
    code, out, errors = run(folder, "learn", "--folder", "attached", **tools)
    assert code == 0, out + errors
    assert "double_" in out and "times as fast as" in out
    assert run(folder, "learn", "--folder", "attached", **tools) == (0, "", ""), "nothing has grown since"
    assert attach(folder, 20)[0] == "1 16\n", "one configuration compiled, no benchmark"
    assert attach(folder, 380)[0] == "1 64\n"
    code, out, errors = run(folder, "report", "--folder", "attached")
    assert code == 0
    title, kernel, unmeasured = out.splitlines()
    assert title == "Fake_GPU: who chose, by new input"
    assert kernel == "tuned.kernels.double: 52 inputs (heuristic 2, first 50)"
    assert unmeasured.startswith("  2 never measured: x_dtype=torch.float32 y_dtype=torch.float32 n=20 m=5 grid_0=20")


def test_a_package_without_tuned_kernels_says_so(folder):
    _, errors = attach(folder, 20, packages=("untuned", "not_there"))
    assert "untuned: no triton.autotune kernel of it was imported, so nothing is attached" in errors
    assert "not_there" not in errors


def test_the_programs_own_startup_still_runs(folder):
    (folder / "sitecustomize.py").write_text("print('mine')")
    assert attach(folder, 20)[0] == "mine\nmine\n4 16\n", "the command's own, and the program's"


def test_the_exit_code_is_the_programs(folder):
    code, _, _ = run(
        folder, "attach", "tuned", "--folder", "attached", "--", sys.executable, "-c", "raise SystemExit(7)"
    )
    assert code == 7


@pytest.mark.parametrize(
    "words, message",
    [
        (["attach", "fla"], "expected a program after --"),
        (["attach", "fla", "--", "no-such-program"], "cannot run no-such-program"),
        (["learn", "--folder", "empty"], "expected logs of attached kernels"),
        (["report", "--folder", "empty"], "expected DEVICE/calls.jsonl, found none"),
    ],
)
def test_a_wrong_command_line(folder, words, message):
    code, out, errors = run(folder, *words, AH_TRAIN=sys.executable, AH_CODEGEN=sys.executable)
    assert (code, out) == (2, "") and message in errors and "Traceback" not in errors


def test_a_missing_tool(folder):
    attach(folder, 20)
    code, _, errors = run(folder, "replay", "--folder", "attached", AH_COLLECT="no-such-tool", PATH="")
    assert code == 2 and "ah-collect is not installed" in errors


def test_too_few_inputs_are_no_failure(folder):
    tools = all_tools()
    attach(folder, 20, mode="collect", **tools)
    code, out, _ = run(folder, "learn", "--folder", "attached", **tools)
    assert code == 0 and out.startswith("double_")
    assert (
        "nothing is learned: expected at least 10 distinct inputs to learn from, found 1: no feature varies. "
        "Run the program with --mode collect on more shapes"
        in out
    )


def test_a_heuristic_is_found_under_the_name_of_its_log(folder):
    (folder / "attached" / "Fake_GPU").mkdir(parents=True)
    (folder / "attached" / "Fake_GPU" / "kernel_dAv_0123.txt").write_text("")
    train = folder / "ah-train"
    figures = json.dumps({"summary": "learned", "verdict": {"advice": "take"}})
    train.write_text(
        f"#!/bin/sh\nwhile [ \"$1\" != --out ]; do shift; done\ntouch \"$2/d_av_prune.py\"\necho '{figures}'\n"
    )  # Of a kernel named dAv.
    train.chmod(0o755)
    tools = {"AH_TRAIN": str(train)}
    code, out, _ = run(folder, "learn", "--folder", "attached", **tools)
    assert code == 0 and out == "learned\n"
    assert run(folder, "learn", "--folder", "attached", **tools) == (0, "", ""), "it is not learned anew"


def test_a_torn_journal_is_read(folder):
    attach(folder, 20)
    journal = folder / "attached" / "Fake_GPU" / "calls.jsonl"
    journal.write_bytes(journal.read_bytes() + b'[1]\n{"kernel": "dou')
    code, out, _ = run(folder, "report", "--folder", "attached")
    assert code == 0 and "double: 1 input (package 1)" in out


def test_what_is_not_measured_yet_is_measured_by_the_next_replay(folder):
    tools = all_tools()
    attach(folder, 20, 40, 60, mode="collect", **tools)
    (log,) = (folder / "attached" / "Fake_GPU").glob("*.txt")
    assert len(Log.read(log).inputs()) == 3
    attach(folder, 80)
    code, _, errors = run(folder, "replay", "--folder", "attached", "--max-seconds", "20", **tools)
    assert code == 0 and "[1 of 1]" in errors
    inputs = Log.read(log).inputs()
    assert len(inputs) == 4 and all(len(times) == 3 for times in inputs.values())


def test_every_kernel_gets_enough_inputs_whatever_the_time(folder):
    tools = all_tools()
    kernels, main = folder / "tuned" / "kernels.py", folder / "main.py"
    kernels.write_text(kernels.read_text() + textwrap.dedent(OTHER))
    again = "    kernels.other.run(x, y, n, 5, grid=(n,), warmup=False)\n"
    main.write_text(main.read_text().replace("print(len", again + "print(len"))
    (folder / "attached").mkdir()
    options = ["--mode", "collect", "--folder", "attached", "--max-seconds", "0.001"]
    code, _, errors = run(folder, "attach", "tuned", *options, "--", sys.executable, "main.py", *range(1, 40), **tools)
    assert code == 0 and "2 kernels with fewer than 10 inputs will go on" in errors, errors
    logs = list((folder / "attached" / "Fake_GPU").glob("*.txt"))
    assert len(logs) == 2 and all(len(Log.read(log).inputs()) >= 10 for log in logs)


OTHER = """
    def other(x, y, n, m, BLOCK):
        raise AssertionError("the device runs it")

    other_raw = fake_triton.Kernel(device, times)
    other_raw.fn, other_raw.src = other, "def other(x, y, n, m, BLOCK): ..."
    other = Autotuner(other_raw, raw.arg_names, configs, ["m"], None, None, do_bench=do_bench)
"""


def test_a_kernel_that_changed_since_is_named(folder):
    tools = all_tools()
    attach(folder, 20)
    kernels = folder / "tuned" / "kernels.py"
    kernels.write_text(kernels.read_text().replace("(16, 32, 64)]", "(16, 32)]"))
    code, _, errors = run(folder, "replay", "--folder", "attached", **tools)
    assert code != 0 and "another source or other configurations; attach to the program again" in errors


def test_a_kernel_that_compiles_longer_than_its_time_ends_with_a_usable_log(folder, monkeypatch, device):
    """Configurations that were not compiled by then are left out, of this input and of those that follow."""
    from autoheuristic import compile_ahead, worker

    attach(folder, *range(1, 13))
    monkeypatch.syspath_prepend(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] in ("tuned", "sitecustomize")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(recorded, "restored", lambda d, _: fake_triton.tensors()[0] if "tensor" in d else d["value"])
    monkeypatch.setattr(compile_ahead, "compile_ahead", lambda compilations, seconds, each: {1 for _ in compilations})
    monkeypatch.setattr(worker, "compile_ahead", compile_ahead.compile_ahead)
    (journal,) = (folder / "attached").glob("*/calls.jsonl")
    stem = json.loads(journal.read_text().splitlines()[0])["kernel"]
    asked = worker.Worker(recorded.Recorded(stem, journal, 1.0))
    features = json.loads(journal.read_text().splitlines()[0])["features"]
    (answer,) = asked.answers({"request": "prepare", "context": features, "seed": [0, 0]})
    assert answer == {}
    cells = [{"choice": name} for name in asked._kernel.names]
    found = list(asked.answers({"request": "check", "cells": cells}))
    assert {answer["cell"]: answer.get("skipped") for answer in found} == {
        0: None,
        1: "not compiled in the time",
        2: None,
    }


def test_kernels_that_cannot_be_measured_are_named_and_none_is_a_failure(folder):
    tools = all_tools()
    attach(folder, 20)
    (journal,) = (folder / "attached").glob("*/calls.jsonl")
    line = json.loads(journal.read_text().splitlines()[0])
    del line["call"]
    line["why_not"] = "the argument pair is a tuple, which cannot be made again"
    journal.write_text(json.dumps(line) + "\n")
    code, _, errors = run(folder, "replay", "--folder", "attached", **tools)
    assert code == 5 and errors.splitlines()[-1] == "none of 1 kernel is measured", errors
    assert ": 1 input not measured: the argument pair is a tuple, which cannot be made again" in errors


def test_a_program_that_cannot_import_the_package_is_attached_too(folder):
    program = "import sys; print('autoheuristic' in sys.modules, sys.path[-1])"
    command = (
        f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); import autoheuristic.__main__ as m; sys.exit(m.main())"
    )
    words = ["attach", "tuned", "--folder", "attached", "--", sys.executable, "-c", program]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", command, *words], env=environment, capture_output=True, text=True)
    assert done.stdout == f"True {HERE.parent}\n", done.stderr


def test_triton_is_needed_by_kernels_only(tmp_path):
    """The command line and ``attach`` work where Triton is not installed: logs are learned from anywhere."""
    source = """
        import sys
        sys.modules["triton"] = None  # Its import fails.
        import autoheuristic
        from autoheuristic.__main__ import main
        autoheuristic.attach("fla", folder=sys.argv[1])
        autoheuristic.detach()
        sys.exit(main(["learn", "--folder", sys.argv[1]]))
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "AH_TRAIN": sys.executable,
        "AH_CODEGEN": sys.executable,
    }
    command = [sys.executable, "-c", textwrap.dedent(source), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "expected logs of attached kernels" in done.stderr, done.stderr
