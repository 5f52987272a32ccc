"""Compiles configurations in processes of their own, into Triton's cache on disk, from which launches take them.

Threads do not scale: a compilation holds Python's lock for 0.19 of its 1.07 CPU seconds (Triton 3.6, a kernel of
flash-linear-attention). Forked processes have the kernel and its arguments already, and never touch the device.
"""

from __future__ import annotations

import gc
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from .kernel import Call, Kernel, cannot_launch

MOST_SECONDS = 120.0
"""A fork of a process with threads can hang: after this time the launches compile what is left."""
MOST_JOBS = 16_000
"""Their numbers, of four bytes each, fit into a pipe."""


def compile_ahead(
    kernel: Kernel,
    calls: Iterable[tuple[Call, Sequence[int]]],
    seconds: float = MOST_SECONDS,
    each: Callable[[], None] = lambda: None,
) -> None:
    """Compiles these configurations for these calls, where Triton hands compilations out (3.4 and later).

    Failures show at launch. After ``seconds``, compilations are left to the launches. ``each`` is called often.
    """
    import triton

    mode = getattr(triton, "AsyncCompileMode", None)
    if mode is None or not hasattr(os, "fork"):
        return
    waiting = _Waiting()
    with mode(waiting, ignore_errors=True):
        for call, choices in calls:
            for i in choices:
                try:
                    kernel.launch(call, i, warmup=True)
                except Exception as error:
                    if not cannot_launch(error):
                        raise
                each()
    run_forked(waiting.jobs, seconds, each)


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
    jobs: Sequence[Callable[[], Any]], seconds: float = MOST_SECONDS, each: Callable[[], None] = lambda: None
) -> None:
    """Runs functions in as many processes as there are cores, and waits for them; what they return or raise is lost.

    ``each`` is called often while they run.
    """
    jobs = jobs[:MOST_JOBS]
    count = min(len(jobs), _cores())
    if count < 2:
        return
    # Each process takes the next number from the pipe, so none idles while another has a queue.
    numbers, end = os.pipe()
    os.write(end, b"".join(i.to_bytes(4, "little") for i in range(len(jobs))))
    os.close(end)
    children: set[int] = set()
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
                _work(jobs, numbers)
            children.add(child)
        deadline = time.monotonic() + seconds
        while children and time.monotonic() < deadline:
            children -= {child for child in children if _has_ended(child)}
            each()
            time.sleep(0.005)
    finally:
        os.close(numbers)
        for child in children:
            os.kill(child, signal.SIGKILL)
            _has_ended(child, 0)


def _work(jobs: Sequence[Callable[[], Any]], numbers: int) -> None:
    """Runs jobs until there is none; ends the process."""
    try:
        # A collection would free the parent's tensors, and the device is not this process's.
        gc.disable()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        while number := os.read(numbers, 4):
            try:
                jobs[int.from_bytes(number, "little")]()
            except Exception:  # It shows again when the configuration is launched.
                continue
    finally:
        os._exit(0)


def _has_ended(child: int, options: int = getattr(os, "WNOHANG", 0)) -> bool:
    try:
        return os.waitpid(child, options)[0] == child
    except ChildProcessError:
        return True  # The program ignores SIGCHLD.


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
