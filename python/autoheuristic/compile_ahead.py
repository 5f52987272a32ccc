"""Compiles configurations in processes of their own, into Triton's cache on disk, from which launches take them.

Configurations that are predicted not to fit, from what others need, are not compiled.

Threads do not scale: a compilation holds Python's lock for 0.19 of its 1.07 CPU seconds (Triton 3.6, a kernel of
flash-linear-attention). Forked processes have the kernel and its arguments already, and never touch the device.
"""

from __future__ import annotations

import gc
import os
import signal
import struct
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple

from .fits import Fits
from .kernel import Call, Kernel, cannot_launch

MOST_SECONDS = 120.0
"""A fork of a process with threads can hang: after this time the launches compile what is left."""
LEAST = 2
"""So many configurations are compiled whatever they take, up to that time: one leaves nothing to choose."""
PAUSE = 0.005
"""Seconds between two looks at the processes."""
RESULT = struct.Struct("<iq")
"""A job, and the bytes of shared memory that it needs. A pipe takes records of this size whole."""
Progress = Callable[[str], None]


class Compilation(NamedTuple):
    """Configurations to compile for a call."""

    kernel: Kernel
    call: Call
    choices: Sequence[int]
    fits: Fits
    """Gets what the compiled ones need."""


def compile_ahead(compilations: Iterable[Compilation], seconds: float, each: Progress) -> set[int]:
    """Compiles, and waits for it. Failures show at launch.

    Returns the configurations that were not compiled in time: none begins after ``seconds``, and those that have begun
    may take as long again. ``each`` is called often, with the progress.
    """
    work = work_of(compilations, each)
    for _ in work.run(seconds):
        each(f"compiling {len(work.jobs) - len(work.left)} of {len(work.jobs)}")
    return {work.owners[job][1] for job in work.left if work.is_wanted(job)} if work.is_late else set()


def work_of(compilations: Iterable[Compilation], each: Progress = lambda text: None) -> Work:
    """Returns the compilations that this process has not made, where Triton hands them out (3.4 and later)."""
    import triton

    waiting = _Waiting()
    owners: list[tuple[Fits, int]] = []
    mode = getattr(triton, "AsyncCompileMode", None)
    if mode is None or not hasattr(os, "fork"):
        return Work([], [])
    with mode(waiting, ignore_errors=True):
        for kernel, call, choices, fits in compilations:
            for i in fits.smallest_first(choices):
                try:
                    kernel.launch(call, i, warmup=True)
                except Exception as error:
                    if not cannot_launch(error):
                        raise
                owners += [(fits, i)] * (len(waiting.jobs) - len(owners))
                each("looking for kernels to compile")
    return Work(waiting.jobs, owners)


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
        of_kind: Counter[int] = Counter()
        places = []
        for fits, _ in owners:
            places.append(of_kind[id(fits)])
            of_kind[id(fits)] += 1
        self._order = sorted(range(len(jobs)), key=places.__getitem__)
        self.left = set(self._order)
        """The jobs that have not ended."""
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
        # Each process takes the next number from the pipe, so none idles while another has a queue.
        numbers, more = os.pipe()
        results, report = os.pipe()
        os.set_blocking(results, False)
        children: set[int] = set()
        todo, begun, begin = iter(self._order), 0, time.monotonic()
        try:
            for _ in range(count):
                try:
                    with warnings.catch_warnings():
                        # Python 3.12 warns of a fork beside threads; MOST_SECONDS bounds what can come of it.
                        warnings.simplefilter("ignore", DeprecationWarning)
                        child = os.fork()
                except OSError:  # No memory or no process is left: those that run do the work, or the launches.
                    break
                if child == 0:
                    os.close(more)
                    _work(self.jobs, numbers, report)
                children.add(child)
            while children and not self.is_late:
                begun -= self._receive(results)
                lasted = time.monotonic() - begin
                is_over = lasted > seconds and self.has_least()
                # A number for each process: it waits for the next one at most a pause, and few needless jobs begin.
                while more >= 0 and (is_over or begun < count):
                    job = -1 if is_over else next((job for job in todo if self.is_wanted(job)), -1)
                    if job < 0:
                        os.close(more)
                        more = -1
                    else:
                        os.write(more, job.to_bytes(4, "little"))
                        begun += 1
                children -= {child for child in children if _has_ended(child)}
                yield
                time.sleep(PAUSE)
                self.is_late = lasted > (2 * seconds if is_over else max(2 * seconds, MOST_SECONDS))
            self._receive(results)
            self.is_late = bool(self.left) and time.monotonic() - begin > seconds
        finally:
            for file in (numbers, results, report, *([more] if more >= 0 else ())):
                os.close(file)
            for child in children:
                os.kill(child, signal.SIGKILL)
                _has_ended(child, 0)

    def _receive(self, results: int) -> int:
        """Notes the results that have come, and returns their number."""
        try:
            found = list(RESULT.iter_unpack(os.read(results, 65_536 // RESULT.size * RESULT.size)))
        except BlockingIOError:
            return 0
        for job, shared_memory in found:
            self.left.discard(job)
            fits, i = self.owners[job]
            fits.note(i, shared_memory)
        return len(found)


def _work(jobs: Sequence[Callable[[], Any]], numbers: int, report: int) -> None:
    """Runs jobs until there is none; ends the process."""
    try:
        # A collection would free the parent's tensors, and the device is not this process's.
        gc.disable()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        while number := os.read(numbers, 4):
            job, shared_memory = int.from_bytes(number, "little"), 0
            try:
                metadata = getattr(jobs[job](), "metadata", None)
                shared_memory = int(getattr(metadata, "shared", 0))
            except Exception:  # It shows again when the configuration is launched.
                pass
            os.write(report, RESULT.pack(job, shared_memory))
    finally:
        os._exit(0)


def _has_ended(child: int, options: int = getattr(os, "WNOHANG", 0)) -> bool:
    try:
        return os.waitpid(child, options)[0] == child
    except ChildProcessError:
        return True  # The program ignores SIGCHLD.
