"""Measures both ways of reduction kernels on this GPU: python3 measure.py TABLE.csv [--seconds 240] [--seed 1] [--others]

A process for each core draws inputs, compiles them with either way, and times the two in turns as CUDA graphs, one process at a time; before
each launch 256 MiB are written, so the caches hold nothing of the input. The way `today` is what PyTorch's rule takes.
"""

import argparse
import csv
import fcntl
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time

TURNS, LAUNCHES = 5, 7
COLUMNS = ["id", "program", "length", "outputs", "hint", "reductions", "buffers", "itemsize", "way", "ms"]


def graph_of(run, arguments):
    """Compiles a program with the handler's way; returns its CUDA graph and its result."""
    import torch

    torch._dynamo.reset()
    compiled = torch.compile(run, dynamic=False)
    with torch.no_grad():
        compiled(*arguments)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = compiled(*arguments)
    return graph, result


def in_turns(graphs, flush, rng):
    """The milliseconds of each graph: the median of each turn."""
    import torch

    times = {way: [] for way in graphs}
    for _ in range(TURNS):
        for way in rng.sample(sorted(graphs), len(graphs)):
            events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(LAUNCHES)]
            for start, end in events:
                flush.zero_()
                start.record()
                graphs[way].replay()
                end.record()
            torch.cuda.synchronize()
            times[way].append(statistics.median(start.elapsed_time(end) for start, end in events[1:]))
    return times


def differ(a, b):
    """The largest difference of two results, as a share of the largest magnitude."""
    pairs = zip(*(result if isinstance(result, (tuple, list)) else (result,) for result in (a, b)))
    return max(float((x.float() - y.float()).abs().max() / x.float().abs().max().clamp(min=1e-6)) for x, y in pairs)


def rows(options, first, step, lock, queue):
    """Measures the inputs `first`, `first + step`, … and puts their rows into the queue."""
    # A process of one core compiles by itself; nothing is taken from the caches of another way.
    os.environ.update(TORCHINDUCTOR_COMPILE_THREADS="1", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", OMP_NUM_THREADS="1")
    import torch
    from choices import WAYS, Forced
    from programs import OTHER_PROGRAMS, PROGRAMS, draw
    from torch._inductor.virtualized import V

    torch.set_num_threads(1)
    flush = torch.empty(1 << 26, dtype=torch.int32, device="cuda")
    V.set_choices_handler(Forced())
    at = first
    while time.time() < options.end:
        drawn = draw(OTHER_PROGRAMS if options.others else PROGRAMS, options.seed, at)
        try:
            arguments, graphs, results, asked = drawn.tensors(), {}, {}, []
            for way in WAYS:
                Forced.way, Forced.asked = way, asked
                graphs[way], results[way] = graph_of(drawn.program.run, arguments)
            kernels = {tuple((found or {}).items()): rule for found, rule in asked}
            if len(kernels) != 1 or not all(kernels):
                queue.put(("skipped", f"{drawn.name} {drawn.shape}: {len(kernels)} kernels"))
            elif (difference := differ(*results.values())) > 0.02:
                queue.put(("skipped", f"{drawn.name} {drawn.shape}: results differ by {difference:.3g}"))
            else:
                (features, rule), *_ = kernels.items()
                with open(lock) as held:
                    fcntl.flock(held, fcntl.LOCK_EX)
                    times = in_turns(graphs, flush, random.Random(at))
                times["today"] = times[rule]
                described = [f"{options.seed}.{at}", drawn.name, *dict(features).values()]
                queue.put(("rows", [[*described, way, f"{ms:.6f}"] for way in times for ms in times[way]]))
        except Exception as error:  # an input that one way cannot compile is told and left out
            queue.put(("skipped", f"{drawn.name} {drawn.shape} {drawn.dtype}: {type(error).__name__}: {str(error)[:200]}"))
        at += step
    queue.put(("end", None))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--others", action="store_true", help="programs that are not learned from")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    options = parser.parse_args()
    options.end = time.time() + options.seconds
    start = multiprocessing.get_context("spawn")
    queue, inputs, skipped = start.Queue(), 0, {}
    with tempfile.NamedTemporaryFile() as lock, open(options.table, "w", newline="", encoding="utf-8") as file:
        workers = [
            start.Process(target=rows, args=(options, i, options.processes, lock.name, queue)) for i in range(options.processes)
        ]
        for worker in workers:
            worker.start()
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        running = len(workers)
        while running:
            kind, what = queue.get(timeout=120)
            if kind == "rows":
                writer.writerows(what)
                inputs += 1
            elif kind == "skipped":
                reason = what.split(": ", 1)[1]
                skipped.setdefault(reason, []).append(what)
            else:
                running -= 1
        for worker in workers:
            worker.join()
    print(f"{inputs} inputs in {options.table}")
    for reason, found in sorted(skipped.items(), key=lambda item: -len(item[1])):
        print(f"{len(found)} skipped, such as {found[0]}", file=sys.stderr)


if __name__ == "__main__":
    main()
