"""``autoheuristic tune``: measures a kernel, learns, and writes its heuristic beside its source."""

from __future__ import annotations

import argparse
import csv
import gc
import json
import math
import shlex
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import same_bits, tools
from .attachment.learn import TOO_SMALL, heuristic_of
from .check import SLIGHTLY, WRONG
from .environment import counted, file_name
from .errors import ConfigError, LogError, MeasureError, shown
from .example import Example, find_kernel
from .features import Features
from .log import Log, json_lines
from .tuner import heuristic_file, stem

MOST_SHOWN = 8


def tune(options: argparse.Namespace, words: Sequence[str]) -> int:
    """Measures ``MODULE:KERNEL`` on the lines of a CSV file, learns, and writes the heuristic; returns the exit code.

    ``words`` are further arguments of ``ah-train``.

    Raises:
        ConfigError: There is no such kernel, or a tool is missing.
        MeasureError: Nothing was measured.
        OSError: The inputs cannot be read.
    """
    if options.invariant and not options.same_bits:
        raise ConfigError("--invariant: expected --same-bits beside it")
    begin = time.monotonic()
    tools.say(f"importing {options.kernel}")
    tuner = find_kernel(options.kernel)
    heuristic = options.out or heuristic_file(tuner)
    log = options.log or Path(f"{stem(tuner)}{'.same_bits' * options.same_bits}.txt")
    if not options.out and not Path(tuner.base_fn.__code__.co_filename).parent.is_dir():
        raise ConfigError(f"{options.kernel}: the kernel is in no file, so nothing can lie beside it; give --out FILE")
    heuristic.parent.mkdir(parents=True, exist_ok=True)
    example, worker, inputs = Example(tuner), [options.kernel], options.inputs
    with open(inputs, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    if hidden := example.hidden(rows):
        worker += ["--observed", ",".join(hidden)]
        inputs = _with_hidden(example, rows, hidden, log)
        example.columns |= dict.fromkeys(hidden, False)
    _continue(log, example)
    choices = len(tuner.configs)
    tools.say(f"{counted(len(rows), 'shape')} with {choices} configurations")
    bits = log.with_suffix(".bits.jsonl")
    worker += ["--bits", str(bits)] if options.same_bits else []
    limit = ["--max-seconds", f"{options.max_seconds:.0f}"] if options.max_seconds < math.inf else []
    records = _outcomes(log).stat().st_size if _outcomes(log).exists() else 0
    code = tools.run(tools.collecting(worker, ["--inputs", str(inputs), "-o", str(log), *limit]))
    times = Log.read(log).inputs() if log.exists() else {}
    found = json_lines(_outcomes(log), records)
    reasons = [str(record["unmeasured"]) for record in found if "unmeasured" in record]
    if reasons and (code or not times):
        raise MeasureError(f"nothing was measured: {reasons[0]}; the same command tries again")
    if code:
        return code
    tools.say("learning")
    command = shlex.join(["autoheuristic", "tune", options.kernel, "--inputs", str(options.inputs)])
    measured = {"SOURCE": example.source_hash, "MEASURED": tuple(tuner.kernel.names), "COMMAND": command}
    footer = "".join(f"\n{key} = {value!r}" for key, value in measured.items())
    with tempfile.TemporaryDirectory() as folder:
        learned = _of_these(log, tuner.kernel.names, Path(folder), options.same_bits)
        table, more = same_bits.restrict(learned, bits, options.invariant) if options.same_bits else ([], "")
        name, model = file_name(tuner.name), log.with_suffix("")
        message, code = heuristic_of(learned, heuristic, name, words, model, footer + more)
    if code:
        tools.say(f"error: {message}; add lines to {options.inputs}" if code == TOO_SMALL else message)
        return code
    print("\n".join([message, *table, *_failures(log, len(times), choices)]), flush=True)
    if reasons:
        tools.say(f"{counted(len(reasons), 'measurement')} missing, the first one because: {reasons[0]}")
    asks = f"pass heuristic={str(heuristic)!r} to it" if options.out else "autoheuristic.tune asks it from now on"
    tools.say(f"Wrote {heuristic} in {time.monotonic() - begin:.0f} s; {asks}.")
    return 0


def _with_hidden(example: Example, rows: Sequence[Mapping[str, Any]], hidden: Sequence[str], log: Path) -> Path:
    """Writes the inputs with the features that only their calls show, beside the log, and returns the file."""
    path, made, errors = log.with_suffix(".inputs.csv"), [], []
    features = Features.of_names(example.kernel, hidden)
    for row in rows:
        try:
            made.append({**row, **features.read(example.call(row))})
        except Exception as error:
            errors.append(shown(error))
    gc.collect()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()  # The memory is the worker's.
    if not made:
        raise MeasureError(f"nothing was measured: {errors[0]}; the same command tries again")
    if errors:
        tools.say(f"{counted(len(errors), 'shape')} left out, the first one because: {errors[0]}")
    tools.say(f"features beside those of the example, because the choice may depend on them: {', '.join(hidden)}")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, made[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
    return path


def _continue(log: Path, example: Example) -> None:
    """Lets a log of other configurations go on: it gets those that are new, so that only these are measured.

    Raises:
        LogError: It is of another source or of other features.
    """
    try:
        with open(log, encoding="utf-8") as file:
            first, rest = file.readline(), file.read()
    except FileNotFoundError:
        return
    metadata = json.loads(first)
    again = "; give another --log FILE, or remove it"
    if metadata.get("autoheuristic_rs", {}).get("commands_hash") != example.source_hash:
        raise LogError(f"{log}: expected times of this source of {example.name}, found those of another one{again}")
    features = [*metadata["numerical_features"], *metadata["categorical_features"]]
    if sorted(features) != sorted(example.columns):
        raise LogError(f"{log}: expected the features {', '.join(example.columns)}, found {', '.join(features)}{again}")
    names = example.kernel.names
    if sorted(metadata.get("choices", ())) != sorted(names):
        new = [name for name in names if name not in metadata["choices"]]
        tools.say(f"{log}: goes on with other configurations, {len(new)} of them new")
        part = log.with_name(f"{log.name}.part")
        head = json.dumps({**metadata, "choices": names}, separators=(",", ":"))
        part.write_text(f"{head}\n{rest}", encoding="utf-8")
        part.replace(log)


def _of_these(log: Path, names: Sequence[str], folder: Path, is_copied: bool) -> Path:
    """A log without configurations that the kernel no longer has: this one, or a copy in the folder."""
    found = Log.read(log)
    if set(found.choices) <= set(names) and not is_copied:
        return log
    found.write(folder / log.name, names)
    return folder / log.name


def _outcomes(log: Path) -> Path:
    """The file beside a log: configurations that failed, and inputs that nothing measured."""
    return log.with_name(f"{log.name}.outcomes.jsonl")


def _failures(log: Path, inputs: int, choices: int) -> list[str]:
    """A line for each configuration that failed, those that failed most first, and what they have in common."""
    reasons: dict[str, dict[str, str]] = defaultdict(dict)
    for record in json_lines(_outcomes(log)):
        for choice in record.get("choices", ()) if "failed" in record else ():
            reasons[choice][record["input"]] = str(record["failed"])
    lines, often = [], 0
    for name, by_input in sorted(reasons.items(), key=lambda found: -len(found[1])):
        failed, wrong = [*by_input.values()], sum(reason.startswith(WRONG) for reason in by_input.values())
        slightly = sum(f", {SLIGHTLY} above" in reason for reason in failed)
        counts = f"{wrong} wrong, {slightly} of them slightly" if wrong else "none wrong"
        often += 2 * len(failed) > inputs
        lines.append(f"  {name}: on {len(failed)} of {inputs} inputs ({counts}): {failed[0]}")
    if len(lines) > MOST_SHOWN:
        lines[MOST_SHOWN:] = [f"  and {len(lines) - MOST_SHOWN} more"]
    if lines:
        what = f"{often} of {choices} configurations failed on most inputs, and are not picked there"
        lines.insert(0, f"{what if often else f'{len(reasons)} of {choices} configurations failed on some inputs'}:")
    return lines
