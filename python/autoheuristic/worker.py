"""``python -m autoheuristic worker``: a tuned kernel as a worker of ``ah-collect`` (``docs/workers.md``, version 1).

A request of several cells is one turn: all launches are queued, then the host waits once. What a kernel or an example
prints goes to standard error.
"""

from __future__ import annotations

import functools
import gc
import json
import math
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from . import device
from .check import Outputs
from .clock import GpuClock
from .compile_ahead import Compilation, compile_ahead
from .errors import AutoHeuristicError, DeviceLostError, NoMemoryError
from .example import Example, find_kernel
from .fits import Fits
from .outcome import TIMING
from .prepared import PreparedInput
from .tuner import Tuner

PROTOCOL = 1
BATCH = 1024
"""The most cells of a request: their events and launches are held at once."""
COMPILING_SECONDS = 600.0
"""The most seconds of compiling ahead; the launches compile what is left."""
GRACE = 1.0
"""Seconds after the end of the requests in which the last one may still be answered."""
SIGN_OF_LIFE = 2.0
"""Seconds after which a request that is not answered gets a sign of life."""

Answer = Mapping[str, Any]


class Worker:
    """Answers requests about one kernel."""

    def __init__(self, tuner: Tuner):
        """Of a kernel that has an example."""
        tuner.use(None)  # The author's pruning counts, not a heuristic's.
        self._tuner, self._kernel = tuner, tuner.kernel
        self._example = Example(tuner)
        self._index = {name: i for i, name in enumerate(self._kernel.names)}
        self._offered: frozenset[int] = frozenset()
        self._kind: Any = None
        """What the kernels of the input depend on."""
        self._fits: dict[Any, Fits] = {}
        """By kind."""
        self._input: PreparedInput | None = None
        self._compiled: set[tuple[Any, int]] = set()
        self._alive = lambda: None

    @functools.cached_property
    def _clock(self) -> GpuClock:
        return GpuClock()

    def answers(self, request: Mapping[str, Any], alive: Any = lambda: None) -> Iterator[Answer]:
        """Returns the answers to a request; calls ``alive`` often while it works.

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
        names, options = self._kernel.names, self._tuner.options
        fallback = [names[self._tuner.fallback]] if options.fallback is not None else []
        kinds = {False: {"kind": "numerical"}, True: {"kind": "categorical"}}
        return {
            "protocol": PROTOCOL,
            "name": self._tuner.name,
            "choices": names,
            "features": [{"name": column.name, **kinds[column.is_category]} for column in self._example.columns],
            "fallback": fallback,
            "device": device.current(),
            "timing": TIMING,
            "can": ["check", "compile", "release"],
            "batch": BATCH,
        }

    def _release(self, request: Mapping[str, Any]) -> Answer:
        self._input = None
        gc.collect()  # Here, and not while a turn is launched. Objects of the start are frozen, so it takes little.
        return {}

    def _prepare(self, request: Mapping[str, Any]) -> Answer:
        self._input = None  # Both inputs together may exceed the memory.
        _seed(request["seed"])
        try:
            call = self._example.call(request["context"])
            offered = self._kernel.pruned(call)
            options = self._tuner.options
            outputs = Outputs(self._kernel.named_args(call), options.outputs, options.tolerance)
            self._input = PreparedInput(self._kernel, call, offered, outputs, self._clock)
        except Exception as error:
            return {"skipped": _shown(error)}
        self._offered, self._kind = frozenset(offered), self._kernel.specialization(call)
        return {}

    def _compile(self, request: Mapping[str, Any]) -> Answer:
        self._input = None
        compile_ahead(self._to_compile(request["groups"]), COMPILING_SECONDS, self._alive)
        return {}

    def _to_compile(self, groups: Sequence[Mapping[str, Any]]) -> Iterator[Compilation]:
        """Returns a call of each kind of arguments, and the configurations that are new to it."""
        for group in groups:
            names = group.get("choices")
            wanted = range(len(self._kernel.names)) if names is None else [self._index[name] for name in names]
            for context in group["contexts"]:
                try:
                    call = self._example.call(context)
                    kind = self._kernel.specialization(call)
                    new = [i for i in wanted if (kind, i) not in self._compiled]
                    offered = frozenset(self._kernel.pruned(call)) if new else ()
                except Exception:  # It shows again when the input is prepared.
                    continue
                self._compiled.update((kind, i) for i in new)
                limit = device.current()["shared_memory"]
                fits = self._fits.setdefault(kind, Fits(self._kernel.all_kwargs, limit))
                yield Compilation(self._kernel, call, [i for i in new if i in offered], fits)

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
        except NoMemoryError as error:
            if len(asked) > 1:  # Each alone, so that only those that need too much are left out.
                for at, cell in asked.items():
                    yield from ({**answer, "cell": at} for answer in self._cells(name, [cell]))
                return
            # Of the machine, not of the choice: no time, and no failure.
            found = [{"skipped": str(error)}]
        except Exception as error:
            found = [{"failed": _shown(error)}] * len(asked)
        yield from ({"cell": at, **answer} for at, answer in zip(asked, found))

    def _refused(self, choice: str) -> Answer | None:
        if choice not in self._index:
            return {"failed": f"{choice!r} is none of the configurations"}
        if self._input is None:
            return {"failed": "no input is prepared"}
        if self._index[choice] not in self._offered:
            return {"skipped": "pruned by prune_configs_by"}
        why = self._fits[self._kind].why_not(self._index[choice]) if self._kind in self._fits else None
        return None if why is None else {"skipped": why}

    def _checked(self, cells: Sequence[Mapping[str, Any]]) -> list[Answer]:
        assert self._input is not None
        choices = [self._index[cell["choice"]] for cell in cells]
        failed = self._input.check(choices, self._alive)
        return [{"failed": failed[i]} if i in failed else {} for i in choices]

    def _timed(self, cells: Sequence[Mapping[str, Any]]) -> list[Answer]:
        assert self._input is not None
        times: list[list[float]] = [[] for _ in cells]
        # Cells with the same caches are one turn.
        for cold in (False, True):
            turn = [at for at, cell in enumerate(cells) for _ in range(cell["samples"]) if bool(cell["cold"]) == cold]
            if turn:
                choices = [self._index[cells[at]["choice"]] for at in turn]
                for at, ms in zip(turn, self._input.time(choices, [cells[at]["runs"] for at in turn], cold)):
                    times[at].append(ms)
        wrong = [next((ms for ms in of_cell if not math.isfinite(ms)), None) for of_cell in times]
        return [{"ms": ms} if bad is None else {"failed": f"a sample took {bad} ms"} for ms, bad in zip(times, wrong)]


def serve(kernel: str) -> int:
    """Answers the requests on standard input until it ends. ``kernel`` is MODULE:KERNEL."""
    # Answers alone go to standard output.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # A collection of garbage in the middle of a turn makes launches late.
    gc.disable()
    worker: Worker | None = None
    for line in _lines():
        request = json.loads(line)
        try:
            if worker is None:
                worker = Worker(find_kernel(kernel))
                gc.freeze()
            signs = _SignsOfLife(out, request["id"])
            answers = [json.dumps({"id": request["id"], **answer}) for answer in worker.answers(request, signs)]
        except AutoHeuristicError as error:
            if worker is not None:
                raise
            answers = [json.dumps({"id": request["id"], "failed": str(error)})]
        out.write("\n" + "\n".join(answers) + "\n")
        out.flush()
    return 0


def _lines() -> Iterator[str]:
    """Returns the requests. Ends the process if they end while one of them is not answered.

    So a kernel that hangs does not keep the device after ``ah-collect`` was killed.
    """
    waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        # A file of its own: an interpreter that ends while a thread reads sys.stdin aborts.
        for line in open(os.dup(0), encoding="utf-8"):
            waiting.put(line)
        waiting.put(None)
        time.sleep(GRACE)
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    return iter(waiting.get, None)


class _SignsOfLife:
    """Writes a sign of life where a request takes long."""

    def __init__(self, out: IO[str], request: int):
        self._out, self._request, self._next = out, request, time.monotonic() + SIGN_OF_LIFE

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + SIGN_OF_LIFE
            self._out.write(json.dumps({"id": self._request, "working": ""}) + "\n")
            self._out.flush()


def _seed(seed: Sequence[int]) -> None:
    """Makes the random numbers of an input those of its seed."""
    number = (seed[0] * 1_000_003 + seed[1]) % 2**31
    random.seed(number)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(number)


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]
