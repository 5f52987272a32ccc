"""``autoheuristic worker``: a Triton kernel as a worker of ``ah-collect`` (``docs/workers.md``, version 1).

A request of several cells is one turn: all launches are queued, then the host waits once. What a kernel or an example
prints goes to standard error.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import math
import os
import random
import select
import sys
import threading
import time
import timeit
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Callable

from . import device
from .clock import GpuClock
from .compile_ahead import Compilation, Fits, compile_ahead
from .errors import AutoHeuristicError, DeviceLostError, NoMemoryError, shown
from .prepared import PreparedInput, fault

PROTOCOL = 1
BATCH = 1024
"""The most cells of a request: their events and launches are held at once."""
TIMING = {
    "warmup_runs": 0,
    "min_samples": 6,
    "max_samples": 6,
    "target_relative_error": 0.02,
    "budget_ms": 10.0,
    "min_sample_ms": 0.0,
    "cold": True,
    "early_stop_ratio": 1.2,
    "repetitions": 2,
}
"""The timing policy: two turns time all configurations, four more those near the best. The checked run warms up."""
GRACE = 1.0
"""Seconds after the end of the requests in which the last one may still be answered."""
SIGN_OF_LIFE = 1.0
"""Seconds after which a request that is not answered gets a sign of life."""

Answer = Mapping[str, Any]


class Worker:
    """Answers requests about one kernel."""

    def __init__(self, source: Any, bits: Path | None = None):
        """Of a kernel with inputs: an ``Example``, or what has its members; ``bits`` gets the digests of outputs."""
        self._bits_file = bits
        self._source, self._kernel = source, source.kernel
        self._fits: dict[Any, Fits] = {}
        """By what the compiled kernels of an input depend on."""
        self._late: set[int] = set()
        """Configurations that were not compiled in the time."""
        self._offered: frozenset[int] = frozenset()
        self._input: PreparedInput | None = None
        self._alive = lambda text="": None

    @functools.cached_property
    def _clock(self) -> GpuClock:
        return GpuClock()

    def answers(self, request: Mapping[str, Any], alive: Any = lambda text="": None) -> Iterator[Answer]:
        """The answers to a request; calls ``alive`` often while it works.

        Raises:
            DeviceLostError: The device was lost while it worked on several cells.
        """
        self._alive = alive
        name = request["request"]
        if name in ("check", "time"):
            yield from self._cells(name, request["cells"])
            return
        try:
            yield getattr(self, f"_{name}")(request)
        except DeviceLostError as error:
            yield {"lost": str(error)}
        except AutoHeuristicError as error:
            yield {"failed": str(error)}

    def _describe(self, request: Mapping[str, Any]) -> Answer:
        features = self._source.columns.items()
        return {
            "protocol": PROTOCOL,
            "name": self._source.name,
            "choices": self._kernel.names,
            "features": [{"name": name, "kind": "categorical" if is_in else "numerical"} for name, is_in in features],
            "fallback": self._source.fallback,
            "device": device.current(),
            "timing": TIMING,
            **({"commands_hash": self._source.source_hash} if hasattr(self._source, "source_hash") else {}),
            "decision_ns": {"python": decision_ns()},
            "can": ["check", "compile", "release"],
            "batch": BATCH,
        }

    def _release(self, request: Mapping[str, Any]) -> Answer:
        self._input = None
        gc.collect()  # Here, and not while a turn is launched. Objects of the start are frozen, so it takes little.
        return {}

    def _prepare(self, request: Mapping[str, Any]) -> Answer:
        self._input = None  # Both inputs together may exceed the memory.
        # The random numbers of an input are those of its seed.
        number = (request["seed"][0] * 1_000_003 + request["seed"][1]) % 2**31
        random.seed(number)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(number)
        try:
            plan = self._planned(request["context"])
            self._compile_ahead([plan])
            kept = [i for i in plan.choices if i not in self._late] or plan.choices
            self._input = PreparedInput(self._kernel, plan.call, kept, self._source.outputs(plan.call), self._clock)
            self._input.bits, self._context = None if self._bits_file is None else {}, request["context"]
        except Exception as error:
            # The example's, or of the memory; a lost device is another failure, so that another process takes over.
            found = fault(error, "the input") if isinstance(error, RuntimeError) else error
            return {"lost" if isinstance(found, DeviceLostError) else "unmeasured": shown(found)}
        self._offered, self._fits_now = frozenset(kept), plan.fits
        return {}

    def _compile(self, request: Mapping[str, Any]) -> Answer:
        self._input = None

        def plans() -> Iterator[Compilation]:
            for context in request["contexts"]:
                with contextlib.suppress(Exception):  # It shows again when the input is prepared.
                    yield self._planned(context)

        self._compile_ahead(plans())
        return {}

    def _planned(self, context: Mapping[str, Any]) -> Compilation:
        """An input's call and its configurations."""
        call = self._source.call(context)
        kept = self._source.worth_measuring(self._kernel.pruned(call), context)
        fits = Fits(self._kernel.all_kwargs, device.current()["shared_memory"])
        return Compilation(self._kernel, call, kept, self._fits.setdefault(self._kernel.specialization(call), fits))

    def _compile_ahead(self, plans: Iterable[Compilation]) -> None:
        late = compile_ahead(plans, self._source.compiling_seconds, self._alive)
        if self._source.needs_compiled:
            self._late |= late

    def _cells(self, name: str, cells: Sequence[Mapping[str, Any]]) -> Iterator[Answer]:
        refused = {at: self._refused(cell["choice"]) for at, cell in enumerate(cells)}
        yield from ({"cell": at, **answer} for at, answer in refused.items() if answer)
        asked = {at: cell for at, cell in enumerate(cells) if not refused[at]}
        if not asked:
            return
        try:
            found = (self._checked if name == "check" else self._timed)(list(asked.values()))
        except DeviceLostError as error:
            if len(cells) > 1:
                raise  # Which cell is at fault shows when each is asked alone, in a new process.
            found = [{"lost": str(error)}]
        except Exception as error:
            if len(asked) > 1:  # Each alone, so that only those at fault are left out.
                for at, cell in asked.items():
                    yield from ({**answer, "cell": at} for answer in self._cells(name, [cell]))
                return
            # Nothing shows that the choice is at fault: no time, and no failure.
            found = [{"skipped" if isinstance(error, NoMemoryError) else "unmeasured": shown(error)}]
        yield from ({"cell": at, **answer} for at, answer in zip(asked, found))

    def _refused(self, choice: str) -> Answer | None:
        if choice not in self._kernel.index:
            return {"failed": f"{choice!r} is none of the configurations"}
        if self._input is None:
            return {"failed": "no input is prepared"}
        if self._kernel.index[choice] not in self._offered:
            late = self._kernel.index[choice] in self._late
            return {"skipped": "not compiled in the time" if late else "pruned"}
        why = self._fits_now.why_not(self._kernel.index[choice])
        return None if why is None else {"skipped": why}

    def _checked(self, cells: Sequence[Mapping[str, Any]]) -> list[Answer]:
        assert self._input is not None
        choices = [self._kernel.index[cell["choice"]] for cell in cells]
        failed = self._input.check(choices, self._alive)
        if self._bits_file is not None and self._input.bits is not None:
            bits = {self._kernel.names[i]: digests for i, digests in self._input.bits.items()}
            with open(self._bits_file, "a", encoding="utf-8") as file:
                values = [self._context[name] for name in self._source.columns]
                file.write(json.dumps({"input": values, "bits": bits}) + "\n")
        return [{"failed": failed[i]} if i in failed else {} for i in choices]

    def _timed(self, cells: Sequence[Mapping[str, Any]]) -> list[Answer]:
        assert self._input is not None
        times: list[list[float]] = [[] for _ in cells]
        # Cells with the same caches are one turn.
        for cold in (False, True):
            turn = [at for at, cell in enumerate(cells) for _ in range(cell["samples"]) if bool(cell["cold"]) == cold]
            if turn:
                choices = [self._kernel.index[cells[at]["choice"]] for at in turn]
                for at, ms in zip(turn, self._input.time(choices, [cells[at]["runs"] for at in turn], cold)):
                    times[at].append(ms)
        wrong = [next((ms for ms in of_cell if not math.isfinite(ms)), None) for of_cell in times]
        return [{"ms": ms} if bad is None else {"failed": f"a sample took {bad} ms"} for ms, bad in zip(times, wrong)]


def serve(find: Callable[[], Any], after: int | None = None, bits: Path | None = None) -> int:
    """Answers the requests on standard input until it ends. ``find`` returns an ``Example`` or the like.

    The device is used when the process ``after`` has ended. ``bits`` is a file for the digests of outputs.
    """
    # Answers alone go to standard output.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # A collection of garbage in the middle of a turn makes launches late.
    gc.disable()
    failed = None
    try:
        worker = Worker(find(), bits)
    except AutoHeuristicError as error:
        failed = {"failed": str(error)}
    gc.freeze()
    for line in _requests():
        request = json.loads(line)
        signs = _signs_of_life(out, request["id"])
        while after is not None and request["request"] != "describe" and _runs(after):
            signs("waiting for the device")
            time.sleep(0.02)
        answers = worker.answers(request, signs) if failed is None else [failed]
        out.write("\n" + "".join(json.dumps({"id": request["id"], **answer}) + "\n" for answer in answers))
        out.flush()
    return 0


def _requests() -> IO[str]:
    """The requests. Ends the process if they end while one of them is not answered.

    So a kernel that hangs does not keep the device after ``ah-collect`` was killed.
    """

    def end() -> None:
        requests = select.poll()
        requests.register(0, select.POLLHUP)
        requests.poll()
        time.sleep(GRACE)
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    return open(0, encoding="utf-8", closefd=False)


def _signs_of_life(out: IO[str], request: int) -> Callable[..., None]:
    """What writes a sign of life where a request takes long."""
    due = time.monotonic() + SIGN_OF_LIFE

    def sign(text: str = "") -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + SIGN_OF_LIFE
            out.write(json.dumps({"id": request, "working": text}) + "\n")
            out.flush()

    return sign


def decide(m: float, n: float, k: float, b: float) -> int:
    """A choice, as generated Python does it: a call, and eight comparisons on four numbers."""
    first = 0 if m <= 96.0 else 1 if k <= 128.0 else 2 if n <= 100.0 else 3 if b <= 4.0 else -1
    return first if first >= 0 else 4 if m <= 700.0 else 5 if k <= 300.0 else 6 if n <= 1000.0 else 7


def decision_ns() -> float:
    """The least time of ``decide`` in nanoseconds: logs compare languages by it."""
    seconds = timeit.repeat("decide(1024.0, 2048.0, 512.0, 8.0)", globals=globals(), number=200, repeat=200)
    return round(min(seconds) / 200 * 1e9, 1)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
