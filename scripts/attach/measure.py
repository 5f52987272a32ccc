#!/usr/bin/env python3
"""Compares packages under `autoheuristic attach` with their own autotuning on this GPU, and prints one table.

    python3 scripts/attach/measure.py all --wheels DIR --tools DIR --out DIR
    python3 scripts/attach/measure.py fla …         # chunk_gla and chunk_delta_rule
    python3 scripts/attach/measure.py others …      # liger, cut_cross_entropy, torchao, flash_swiglu_mlp, late_interaction_kernels, flag_gems
    python3 scripts/attach/measure.py before …      # fla's own autotuner in a fresh process: minutes

For each operation: runs shapes under --mode collect, measures and learns, times the first calls of a fresh process with an empty Triton cache, and compares
the steady state on unseen shapes. The fresh process is timed without `attach` too, for fla by `before` alone. A stage
is a process of its own, so one that fails is reported and the others go on. It needs no network: the packages come from
the wheels. After --seconds no stage is begun.

The folder gets results.json, attach.md (the table), and attach.tar.gz with the logs, models, heuristics and the output
of each stage.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]

from autoheuristic.attachment import calls, replay  # noqa: E402

from workloads import SECTIONS, WORKLOADS  # noqa: E402

START = time.monotonic()


def say(*words):
    print(f"[{time.monotonic() - START:6.1f} s]", *words, flush=True)


class Comparison:
    """The stages, the folder they work in, and what they found."""

    def __init__(self, options):
        self.options = options
        self.work = Path(tempfile.mkdtemp(prefix="attach_"))
        self.sites = self.work / "packages"
        self.results, self.failed = {}, []

    def left(self):
        return self.options.seconds - (time.monotonic() - START)

    def install(self):
        """Unpacks the wheels, without their dependencies."""
        wheels = sorted(self.options.wheels.glob("*.whl"))
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", self.sites]
        for wheel in wheels:
            self.run([*command, wheel], f"install {wheel.name.split('-')[0]}", {}, 60)
        say("installed", ", ".join(wheel.name.split("-")[0] for wheel in wheels))

    def run(self, command, title, variables, seconds):
        """Runs a command; returns its output, also where it failed or took too long; None where it printed nothing."""
        path = os.pathsep.join([str(PYTHON), str(self.sites), os.environ.get("PYTHONPATH", "")])
        tools = {f"AH_{tool.upper()}": str(self.options.tools / f"ah-{tool}") for tool in ("collect", "train", "codegen")}
        environment = {**os.environ, "PYTHONPATH": path, **tools, **variables}
        begin = time.monotonic()
        with subprocess.Popen(
            list(map(str, command)),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, errors = process.communicate(timeout=max(1.0, seconds))
                code = process.returncode
            except subprocess.TimeoutExpired:
                # With the processes that it started: they hold the GPU.
                os.killpg(process.pid, signal.SIGKILL)
                try:
                    output, errors = process.communicate(timeout=5)
                except subprocess.TimeoutExpired:  # A process that left the group holds the pipes.
                    output, errors = "", "its output is lost"
                code = f"no end after {seconds:.0f} s"
        log = self.work / "output" / f"{title.replace(' ', '_').replace(':', '')}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text(f"{output}\n{errors}"[-200_000:])
        say(f"-- {title}: {time.monotonic() - begin:.1f} s")
        if code == 0:
            return output
        self.failed.append(title)
        say(f"FAILED: {title} ({code})\n{errors[-1500:]}")
        return output.strip() or None

    def child(self, name, stage, words=(), mode=None, cache=None, limit=None, measuring=()):
        """Runs one stage of a workload in a process of its own; attached in `mode`."""
        if self.left() < 15:
            self.failed.append(f"{name}: {stage} (no time left)")
            return {}
        workload = WORKLOADS[name]
        command = [sys.executable, HERE / "child.py", stage, name, *words]
        if mode:
            attach = ["-m", "autoheuristic", "attach", workload.package, "--mode", mode, "--folder", self.folder(name)]
            command = [sys.executable, *attach, *measuring, "--", *command]
        # A home of its own: some packages keep what they tuned there.
        home = Path(tempfile.mkdtemp(dir=self.work))
        cache = cache or Path(tempfile.mkdtemp(dir=self.work))
        variables = {**workload.variables, "TRITON_CACHE_DIR": str(cache), "HOME": str(home)}
        output = self.run(command, f"{name}: {stage}{' ' + mode if mode else ''}", variables, limit or self.left())
        lines = [line for line in (output or "").splitlines() if line.startswith("{")]
        try:
            return json.loads(lines[-1])
        except (ValueError, IndexError):
            self.failed.append(f"{name}: {stage} printed no result")
            return {}

    def folder(self, name):
        return self.work / "learned" / name.replace(" ", "_")

    def keep(self, name, **found):
        self.results.setdefault(name, {}).update(found)
        (self.options.out / "results.json").write_text(json.dumps(self.results, indent=1))
        (self.options.out / "attach.md").write_text(table(self.results) + "\n")

    def before(self, name, seconds):
        """Times the package's own autotuner in a fresh process."""
        found = self.child(name, "first", limit=seconds)
        if found:
            self.keep(name, **{"package, first": found["first"], "package, others": found["others"]})

    def compare(self, name, seconds, shapes):
        """Collects, learns and judges one workload."""
        workload = WORKLOADS[name]
        seconds = seconds or workload.collecting
        cache = Path(tempfile.mkdtemp(dir=self.work))
        begin = time.monotonic()
        measuring = ["--max-seconds", seconds]
        found = self.child(name, "collect", [self.options.program], "collect", cache, 2 * seconds + 90, measuring)
        self.keep(name, **{"program, s": found.get("seconds"), "shapes": found.get("shapes")})
        self.keep(name, **{"program and measuring, s": time.monotonic() - begin})
        begin = time.monotonic()
        learn = [sys.executable, "-m", "autoheuristic", "learn", "--folder", self.folder(name)]
        output = self.run(learn, f"{name}: learn", {}, self.left())
        learned = len(list(self.folder(name).glob("*/*.py")))
        self.keep(name, **{"learning, s": time.monotonic() - begin, "kernels": learned})
        if output is None or not learned:
            return
        journal = next(self.folder(name).glob("*/calls.jsonl"))
        fresh = Path(tempfile.mkdtemp(dir=self.work))
        self.first(name, "attached", fresh)
        self.asked(name, "first calls", journal)
        if shapes:
            seconds = min(self.left() - 20, workload.steady)
            found = self.child(name, "steady", [self.folder(name), shapes, seconds], None, cache, seconds + 60)
            self.keep(name, **{f"steady, {key}": value for key, value in found.items()})
            self.asked(name, "all calls", journal)
        self.first(name, "attached, compiled before", fresh)

    def first(self, name, title, cache):
        """Times the first calls of a fresh process."""
        found = self.child(name, "first", mode="serve", cache=cache, limit=min(90.0, self.left()))
        if found:
            self.keep(name, **{f"{title}, first": found["first"], f"{title}, others": found["others"]})

    def asked(self, name, when, journal):
        """Notes who chose."""
        if journal.exists():
            answers = [line["answer"] for lines in calls.inputs(journal).values() for line in lines.values()]
            self.keep(name, **{f"asked, {when}": {a: answers.count(a) for a in replay.ANSWERS if a in answers}})

    def pack(self):
        with tarfile.open(self.options.out / "attach.tar.gz", "w:gz") as archive:
            for part in ("learned", "output"):
                if (self.work / part).exists():
                    archive.add(self.work / part, part)


ROWS = (
    "kernels",
    "shapes",
    "program, s",
    "program and measuring, s",
    "learning, s",
    "package, first",
    "attached, first",
    "attached, compiled before, first",
    "package, others",
    "attached, others",
    "attached, compiled before, others",
    "steady, shapes",
    "steady, GPU time, heuristic by package",
    "steady, GPU time, heuristic by itself",
    "steady, host and GPU, heuristic by package",
    "steady, notes",
    "steady, largest difference of a result",
    "asked, all calls",
)


def table(results):
    """The results as a table: a row for each figure, a column for each workload."""

    def shown(cell):
        if isinstance(cell, float):
            return f"{cell:.4g}"
        return "-" if cell is None else json.dumps(cell) if isinstance(cell, (dict, list)) else str(cell)

    lines = ["| | " + " | ".join(results) + " |", "| --- |" + " --- |" * len(results)]
    lines += [f"| {row} | " + " | ".join(shown(found.get(row)) for found in results.values()) + " |" for row in ROWS]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=["all", "fla", "others", "before"])
    parser.add_argument("--wheels", type=Path, default=Path("wheels"), help="a folder of wheels [wheels]")
    parser.add_argument("--tools", type=Path, default="target/release", help="a folder of tools [target/release]")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "attach")))
    parser.add_argument("--seconds", type=float, default=510.0, help="begin no stage after this time")
    parser.add_argument("--before", type=float, default=40.0, help="limit of a package's own first calls; 0: not run")
    parser.add_argument("--collect", type=float, help="seconds of measuring for each operation [240, 120, others 12, FlagGems 75]")
    parser.add_argument("--program", type=float, default=20.0, help="seconds of the program under --mode collect")
    parser.add_argument("--shapes", type=int, default=40, help="unseen shapes of the steady state; 0: none")
    parser.add_argument("--only", help="operations of the section, separated by commas")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    options.tools = options.tools.resolve()
    comparison = Comparison(options)
    versions = "import torch, triton; print(torch.__version__, triton.__version__, torch.cuda.get_device_name())"
    say("torch, triton, GPU:", comparison.run([sys.executable, "-c", versions], "device", {}, 60))
    comparison.install()
    names = SECTIONS["fla" if options.section == "before" else options.section]
    names = [name for name in names if not options.only or name in options.only.split(",")]
    for name in names:
        if options.section == "before" or (WORKLOADS[name].package != "fla" and options.before):
            comparison.before(name, None if options.section == "before" else options.before)
        if options.section != "before":
            comparison.compare(name, options.collect, options.shapes)
        comparison.pack()
    print(table(comparison.results))
    print(f"failed: {', '.join(comparison.failed) or 'none'}; {time.monotonic() - START:.0f} s", flush=True)
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
