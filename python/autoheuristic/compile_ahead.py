"""Compiles configurations in processes of their own, into Triton's cache on disk, from which launches take them.

Configurations that need too much shared memory are not compiled: one that is at least as large as one that does not fit
does not fit either. Larger means: no number of it is smaller (block sizes, stages), and everything else is the same.

Threads do not scale: a compilation holds Python's lock for 0.19 of its 1.07 CPU seconds (Triton 3.6, a kernel of
flash-linear-attention). Forked processes have the kernel and its arguments already, and never touch the device.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import mmap
import multiprocessing
import os
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from multiprocessing import connection
from typing import Any, NamedTuple

from .kernel import Call, Kernel, cannot_launch

MOST_SECONDS = 120.0
"""A fork of a process with threads can hang: after this time the launches compile what is left."""
LEAST = 2
"""So many configurations are compiled whatever they take, up to that time: one leaves nothing to choose."""
PAUSE = 0.01
"""Seconds between two looks at the processes."""
Progress = Callable[[str], None]


class Fits:
    """Which configurations of a kernel need too much shared memory, for arguments that share their compiled kernels."""

    def __init__(self, configs: Sequence[Mapping[str, Any]], limit: int):
        """``configs`` are the arguments of each; ``limit`` is the most shared memory of a block in bytes."""
        self._configs, self._limit = configs, limit
        self._too_large: dict[int, int] = {}
        """The bytes that compiled configurations need, of those that do not fit."""
        self._begun: set[int] = set()

    def begin(self, choices: Iterable[int]) -> list[int]:
        """Those that were not begun before; one that does not fit comes before those that are larger."""
        new = [i for i in choices if i not in self._begun]
        self._begun.update(new)
        return sorted(new, key=lambda i: math.prod(v for v in self._configs[i].values() if _is_size(v) and v > 0))

    def note(self, index: int, shared_memory: int) -> None:
        """Notes what a compiled configuration needs."""
        if shared_memory > self._limit and self.why_not(index) is None:
            self._too_large[index] = shared_memory

    def why_not(self, index: int) -> str | None:
        """Why a configuration is predicted not to fit; ``None`` if it may."""
        for smaller, need in self._too_large.items():
            config, least = self._configs[index], self._configs[smaller]
            is_other = smaller != index and config.keys() == least.keys()
            pairs = ((value, least[name]) for name, value in config.items())
            if is_other and all(a >= b if _is_size(a) and _is_size(b) else a == b for a, b in pairs):
                return f"predicted not to fit: a smaller configuration needs {need} bytes of {self._limit}"
        return None


class Compilation(NamedTuple):
    """Configurations to compile for a call."""

    kernel: Kernel
    call: Call
    choices: Sequence[int]
    fits: Fits
    """Gets what the compiled ones need."""


def compile_ahead(compilations: Iterable[Compilation], seconds: float, each: Progress) -> set[int]:
    """Compiles what is new of these, where Triton hands it out (3.4 and later). Failures show at launch.

    Returns the configurations that were not compiled in time: none begins after ``seconds``, and those that have begun
    may take as long again. ``each`` is called often, with the progress.
    """
    import triton

    mode = getattr(triton, "AsyncCompileMode", None)
    if mode is None or not hasattr(os, "fork"):
        return set()
    waiting = _Waiting()
    owners: list[tuple[Fits, int]] = []
    with mode(waiting, ignore_errors=True):
        for kernel, call, choices, fits in compilations:
            for i in fits.begin(choices):
                try:
                    kernel.launch(i, *call, warmup=True)
                except Exception as error:
                    if not cannot_launch(error):
                        raise
                owners += [(fits, i)] * (len(waiting.jobs) - len(owners))
                each("looking for kernels to compile")
    work = Work(waiting.jobs, owners)
    for _ in work.run(seconds):
        each(f"compiling {len(work.jobs) - len(work.left)} of {len(work.jobs)}")
    return {work.owners[job][1] for job in work.left if work.is_wanted(job)} if work.is_late else set()


class _Waiting(Executor):
    """Keeps compilations for later. Triton counts them as failed, so that a launch looks into the cache on disk."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.jobs.append(lambda: fn(*args, **kwargs))
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("is compiled in another process"))
        return future


class Work:
    """Jobs for processes of their own; the owner of each, a configuration, decides whether it is still wanted."""

    def __init__(self, jobs: Sequence[Callable[[], Any]], owners: Sequence[tuple[Fits, int]]):
        """A job returns a compiled kernel; what it raises is lost.

        The first configuration of each kind of arguments comes first, then the second of each: a configuration is
        measured where all kinds have it.
        """
        self.jobs, self.owners = jobs, owners
        of_kind: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)
        places = [next(of_kind[id(fits)]) for fits, _ in owners]
        self._order = sorted(range(len(jobs)), key=places.__getitem__)
        self.left = set(self._order)
        """The jobs that have not ended."""
        self._needs = memoryview(mmap.mmap(-1, 8 * len(jobs) + 8)).cast("q")
        """By job, for all processes: the bytes of shared memory that its kernel needs, plus one; 0 until it ended."""
        self.is_late = False
        """Whether the time was over before the jobs."""

    def has_least(self) -> bool:
        """Whether enough configurations are compiled, with all of their jobs."""
        left = {self.owners[job][1] for job in self.left}
        return len({i for _, i in self.owners} - left) >= LEAST

    def is_wanted(self, job: int) -> bool:
        """Whether the configuration may fit."""
        fits, i = self.owners[job]
        return fits.why_not(i) is None

    def run(self, seconds: float) -> Iterator[None]:
        """Runs the jobs in as many processes as there are cores; yields, and pauses, between two looks at them.

        One job alone is left to the launch.
        """
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        count = min(len(self.jobs), cores)
        if count < 2:
            return
        begin, children = time.monotonic(), []
        fork = multiprocessing.get_context("fork").Process
        # Each process reads the next number, so none idles while another has a queue.
        with tempfile.TemporaryFile(buffering=0) as numbers:
            numbers.write(b"".join(job.to_bytes(4, "little") for job in self._order))
            numbers.seek(0)
            try:
                for _ in range(count):
                    child = fork(target=self._work, args=(numbers.fileno(), os.getpid()))
                    try:
                        with warnings.catch_warnings():
                            # Python 3.12 warns of a fork beside threads; MOST_SECONDS bounds what can come of it.
                            warnings.simplefilter("ignore", DeprecationWarning)
                            child.start()
                    except OSError:  # No memory or no process is left: those that run do the work, or the launches.
                        break
                    children.append(child)
                running = [child.sentinel for child in children]
                while running and not self.is_late:
                    self._note()
                    lasted = time.monotonic() - begin
                    if is_over := lasted > seconds and self.has_least():
                        numbers.seek(0, os.SEEK_END)  # No further job begins.
                    yield
                    ended = connection.wait(running, PAUSE)
                    running = [sentinel for sentinel in running if sentinel not in ended]
                    self.is_late = lasted > (2 * seconds if is_over else max(2 * seconds, MOST_SECONDS))
                self._note()
                self.is_late = bool(self.left) and time.monotonic() - begin > seconds
            finally:
                for child in children:
                    child.kill()
                    child.join()

    def _note(self) -> None:
        """Notes the jobs that have ended, and what they need."""
        for job in [job for job in self.left if self._needs[job]]:
            self.left.discard(job)
            fits, i = self.owners[job]
            fits.note(i, self._needs[job] - 1)

    def _work(self, numbers: int, parent: int) -> None:
        """Runs jobs until there is none, or the parent was killed, in a process of its own."""
        # A collection would free the parent's tensors, and the device is not this process's.
        gc.disable()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        while os.getppid() == parent and (number := os.read(numbers, 4)):
            job, shared_memory = int.from_bytes(number, "little"), 0
            self._note()
            if self.is_wanted(job):
                with contextlib.suppress(Exception):  # It shows again when the configuration is launched.
                    shared_memory = int(getattr(getattr(self.jobs[job](), "metadata", None), "shared", 0))
                self._needs[job] = shared_memory + 1


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
