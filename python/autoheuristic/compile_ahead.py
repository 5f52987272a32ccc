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
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple

from .fits import Fits
from .kernel import Call, Kernel, cannot_launch

MOST_SECONDS = 120.0
"""A fork of a process with threads can hang: after this time the launches compile what is left."""
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


class Jobs(NamedTuple):
    """Compilations as ``run_forked`` takes them."""

    jobs: Sequence[Callable[[], Any]]
    is_wanted: Callable[[int], bool]
    done: Callable[[int, int], None]
    owners: Sequence[int]
    """The configuration of each job."""


def compile_ahead(compilations: Iterable[Compilation], seconds: float, each: Progress) -> set[int]:
    """Compiles, and waits for it. Failures show at launch.

    Returns the configurations that were not compiled within ``seconds``. ``each`` is called often, with the progress.
    """
    work, ended = jobs_of(compilations, each), 0

    def done(job: int, shared_memory: int) -> None:
        nonlocal ended
        ended += 1
        left.discard(job)
        work.done(job, shared_memory)

    left = set(range(len(work.jobs)))
    if run_forked(work.jobs, work.is_wanted, done, seconds, lambda: each(f"compiling {ended} of {len(work.jobs)}")):
        return set()
    return {work.owners[job] for job in left if work.is_wanted(job)}


def jobs_of(compilations: Iterable[Compilation], each: Progress = lambda text: None) -> Jobs:
    """Returns the compilations that this process has not made, where Triton hands them out (3.4 and later)."""
    import triton

    waiting = _Waiting()
    owners: list[tuple[Fits, int]] = []

    def is_wanted(job: int) -> bool:
        fits, i = owners[job]
        return fits.why_not(i) is None

    def done(job: int, shared_memory: int) -> None:
        fits, i = owners[job]
        fits.note(i, shared_memory)

    mode = getattr(triton, "AsyncCompileMode", None)
    if mode is None or not hasattr(os, "fork"):
        return Jobs([], is_wanted, done, [])
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
    return Jobs(waiting.jobs, is_wanted, done, [i for _, i in owners])


class _Waiting(Executor):
    """Keeps compilations for later. Triton counts them as failed, so that a launch looks into the cache on disk."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.jobs.append(lambda: fn(*args, **kwargs))
        future: Future[Any] = Future()
        future.set_exception(RuntimeError("is compiled in another process"))
        return future


def run_forked(
    jobs: Sequence[Callable[[], Any]],
    is_wanted: Callable[[int], bool] = lambda job: True,
    done: Callable[[int, int], None] = lambda job, shared_memory: None,
    seconds: float = MOST_SECONDS,
    each: Callable[[], None] = lambda: None,
) -> bool:
    """Runs functions in as many processes as there are cores, and waits for them. What they raise is lost.

    Returns whether all ended within ``seconds``; one function alone is left to the launch.

    ``is_wanted`` is asked before each job begins. ``done`` gets the shared memory of a job that returned a compiled
    kernel. ``each`` is called often.
    """
    deadline = time.monotonic() + seconds
    for _ in _forked(jobs, is_wanted, done, seconds):
        each()
        time.sleep(PAUSE)
    return time.monotonic() < deadline


def run_in_background(work: Jobs, seconds: float = MOST_SECONDS) -> None:
    """Does the same without waiting."""
    running = _forked(work.jobs, work.is_wanted, work.done, seconds)
    # The processes begin here, while no other thread compiles: its locks would stay locked in them.
    next(running, None)

    def supervise() -> None:
        for _ in running:
            time.sleep(PAUSE)

    threading.Thread(target=supervise, daemon=True).start()


def _forked(
    jobs: Sequence[Callable[[], Any]],
    is_wanted: Callable[[int], bool],
    done: Callable[[int, int], None],
    seconds: float,
) -> Iterator[None]:
    """Begins the processes, and yields between one look at them and the next."""
    count = min(len(jobs), _cores())
    if count < 2:
        return
    # Each process takes the next number from the pipe, so none idles while another has a queue.
    numbers, more = os.pipe()
    results, report = os.pipe()
    os.set_blocking(results, False)
    children: set[int] = set()
    todo, begun = iter(range(len(jobs))), 0
    try:
        for _ in range(count):
            try:
                with warnings.catch_warnings():
                    # Python 3.12 warns of a fork beside threads; `seconds` bounds what can come of it.
                    warnings.simplefilter("ignore", DeprecationWarning)
                    child = os.fork()
            except OSError:  # No memory or no process is left: those that run do the work, or the launches.
                break
            if child == 0:
                os.close(more)
                _work(jobs, numbers, report)
            children.add(child)
        deadline = time.monotonic() + seconds
        while children and time.monotonic() < deadline:
            begun -= _receive(results, done)
            # Two numbers for each process: it waits for none, and few jobs begin that turn out to be needless.
            while more >= 0 and begun < 2 * count:
                job = next((job for job in todo if is_wanted(job)), -1)
                if job < 0:
                    os.close(more)
                    more = -1
                else:
                    os.write(more, job.to_bytes(4, "little"))
                    begun += 1
            children -= {child for child in children if _has_ended(child)}
            yield
        _receive(results, done)
    finally:
        for file in (numbers, results, report, *([more] if more >= 0 else ())):
            os.close(file)
        for child in children:
            os.kill(child, signal.SIGKILL)
            _has_ended(child, 0)


def _receive(results: int, done: Callable[[int, int], None]) -> int:
    """Passes on the results that have come, and returns their number."""
    try:
        found = list(RESULT.iter_unpack(os.read(results, 65_536 // RESULT.size * RESULT.size)))
    except BlockingIOError:
        return 0
    for job, shared_memory in found:
        done(job, shared_memory)
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


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
