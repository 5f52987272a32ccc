"""``collect``: measures a tuned kernel on the inputs of a file, in a seeded order, as far as the time goes.

A run that was cut off goes on where it stood when the same command is given again: inputs that the log holds are
not measured again.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import inspect
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from .errors import AutoHeuristicError, BusyError, DeviceLostError, MeasureError, UsageError
from .log import text
from .race import TimingPolicy

try:
    import fcntl
except ImportError:  # Windows: nothing keeps two collectors apart.
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from .tuner import Tuner


@dataclass
class Summary:
    """What a run did."""

    inputs: int = 0
    """Inputs of the file that were gone through."""
    measured: int = 0
    """Inputs that this run added to the log."""
    passed_over: int = 0
    """Inputs that did not fit into memory, lost the device before, or on which every configuration failed."""
    seconds: float = 0.0
    complete: bool = False
    """Whether the file came to its end."""


def find_kernel(named: str) -> Tuner:
    """Returns the tuned kernel that ``module:kernel`` names; the module may be a file, ``examples/matmul.py:kernel``.

    Raises:
        UsageError: There is no such module or kernel, or it has no example.

    """
    module_name, colon, kernel_name = named.rpartition(":")
    if not colon:
        raise UsageError(f"expected MODULE:KERNEL, for example matmul:matmul_kernel, found {named!r}")
    path = Path(module_name)
    # As python -m and python FILE do.
    sys.path.insert(0, str(path.parent.resolve()) if path.suffix == ".py" else "")
    try:
        module = importlib.import_module(path.stem if path.suffix == ".py" else module_name)
    except ImportError as error:
        raise UsageError(f"cannot import {module_name} ({error}); run in its folder, or set PYTHONPATH") from error
    kernel: Any = getattr(module, kernel_name, None)
    if not hasattr(kernel, "launch_example"):
        raise UsageError(
            f"{module_name}: expected a kernel under autoheuristic.tune named {kernel_name!r}, "
            f"found {type(kernel).__name__}"
        )
    if kernel.arguments is None:
        raise UsageError(
            f"{named}: the kernel has no example; put @{kernel_name}.example over a function that makes the "
            "arguments of a call from a row of the inputs"
        )
    found: Tuner = kernel
    return found


def read_inputs(path: Path, example: Callable[..., Any]) -> list[dict[str, Any]]:
    """Reads the rows of a CSV file as arguments of ``example``: numbers where all reads as one, else text.

    Raises:
        UsageError: The columns are not the function's parameters, or a row has too few or too many fields.
        OSError: The file cannot be read.

    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    columns = rows[0] if rows else []
    try:
        inspect.signature(example).bind(**dict.fromkeys(columns))
    except TypeError as error:
        parameters = ", ".join(inspect.signature(example).parameters)
        raise UsageError(
            f"{path}, line 1: expected columns named as the example's parameters ({parameters}), "
            f"found {', '.join(columns) or 'nothing'} ({error})"
        ) from error
    inputs = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(columns):
            raise UsageError(f"{path}, row {number}: expected {len(columns)} fields, found {len(row)}")
        inputs.append({column: _value(field) for column, field in zip(columns, row)})
    return inputs


def in_seeded_order(inputs: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Returns the inputs in the order that the seed gives, so that each part of a run is a fair sample."""
    order = list(inputs)
    random.Random(seed).shuffle(order)
    return order


def collect(
    kernel: Tuner,
    inputs: list[dict[str, Any]],
    log: Path,
    seed: int = 0,
    max_seconds: float = float("inf"),
    policy: TimingPolicy | None = None,
    progress: Callable[[Summary], None] | None = None,
) -> Summary:
    """Measures the kernel on the inputs and appends to the log. No input is begun after ``max_seconds``.

    Raises:
        BusyError: Another collector measures into this log.
        DeviceLostError: The device was lost; the input is noted beside the log, and a later run passes over it.
        LogError: The log is of another run.
        UsageError: The example failed.

    """
    with only_collector(log):
        return _collect(kernel, inputs, log, seed, max_seconds, policy, progress)


@contextlib.contextmanager
def only_collector(log: Path) -> Iterator[None]:
    """Holds the lock that ``ah-collect`` holds too: two collectors would measure the same inputs.

    Raises:
        BusyError: Another collector holds it.

    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{log}.outcomes.jsonl", "ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BusyError(
                    f"{log}: another collector measures into it; wait until it ends, or write to another file (-o)"
                ) from error
        yield


def _collect(
    kernel: Tuner,
    inputs: list[dict[str, Any]],
    log: Path,
    seed: int,
    max_seconds: float,
    policy: TimingPolicy | None,
    progress: Callable[[Summary], None] | None,
) -> Summary:
    recorder = kernel.collect_into(log, policy, seed)
    notes = Path(f"{log}.lost.jsonl")
    lost = set(notes.read_text(encoding="utf-8").splitlines()) if notes.exists() else set()
    summary, begin = Summary(), time.monotonic()
    for row in in_seeded_order(inputs, seed):
        if time.monotonic() - begin >= max_seconds:
            break
        note = json.dumps(row, sort_keys=True)
        if note in lost:
            summary.passed_over += 1
        else:
            try:
                kernel.launch_example(row)
            except DeviceLostError:
                with open(notes, "a", encoding="utf-8") as file:
                    file.write(note + "\n")
                raise
            except MeasureError:
                summary.passed_over += 1  # All configurations failed; the log says so.
            except AutoHeuristicError:
                raise
            except Exception as error:
                if type(error).__name__ != "OutOfMemoryError":
                    raise UsageError(f"the example failed on {shown(row)} ({type(error).__name__}: {error})") from error
                summary.passed_over += 1
        summary.inputs += 1
        summary.measured = recorder.measured
        summary.seconds = time.monotonic() - begin
        if progress:
            progress(summary)
    else:
        summary.complete = True
    return summary


def shown(row: dict[str, Any]) -> str:
    """Returns ``M=16 N=8``, for messages."""
    return " ".join(f"{name}={value}" for name, value in row.items())


def _value(field: str) -> Any:
    number = text.parse_number(field)
    return field if number is None else number
