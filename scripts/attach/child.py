"""One process of the comparison of `attach`; its last line of output is JSON. `measure.py` starts it.

python child.py collect WORKLOAD SECONDS    runs shapes to learn from; attached, so that they are measured
python child.py first WORKLOAD              times the first call on each shape of a fresh process
python child.py steady WORKLOAD FOLDER COUNT SECONDS   compares the package's own picks with the heuristics'
"""

import json
import math
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from workloads import WORKLOADS  # noqa: E402

TURNS = 21
CALLS = 5
QUEUED_CYCLES = 40_000_000
"""About 20 ms, in which the host queues a whole pass."""
SHORT_CYCLES = 200_000
"""About 0.1 ms, in which the host queues the replay of a graph."""
SIDES = ("heuristic", "package")
LEAST_SHAPES = 12
"""A heuristic needs ten inputs."""


def collect(workload, seconds):
    """Runs shapes until the time is over, or 40 seconds longer where they are too few."""
    import torch

    begin, shapes, seconds = time.monotonic(), 0, float(seconds)
    for shape in workload.learned():
        if time.monotonic() - begin >= (seconds if shapes >= LEAST_SHAPES else seconds + 40) or shapes >= 1000:
            break
        try:
            workload.make(**shape)()
            torch.cuda.synchronize()
            shapes += 1
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
        print(f"{time.monotonic() - begin:.1f} s: {shape}", file=sys.stderr, flush=True)
    return {"shapes": shapes, "seconds": time.monotonic() - begin}


def first(workload):
    """Times the first call on each shape, arguments made and the package imported before."""
    import torch

    seconds = []
    for shape in workload.first:
        run = workload.make(**shape)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        seconds.append(round(time.perf_counter() - begin, 3))
        found = {"first": seconds[0], "others": seconds[1:]}
        print(json.dumps(found), flush=True)  # The last line counts, also where the time ends before the shapes do.
    return found


def steady(workload, folder, count, seconds):
    """Compares unseen shapes under the heuristics and under the package's own autotuner."""
    import autoheuristic
    import torch

    begin, rows, notes = time.monotonic(), [], []
    # One stream for all: a gradient that was made on another one breaks the capture of a graph.
    torch.cuda.set_stream(torch.cuda.Stream())

    def enter(side):
        if side == "package":
            autoheuristic.detach()
        else:
            autoheuristic.attach(workload.package, folder=folder)
        workload.forget()

    for i, shape in enumerate(workload.unseen(int(count))):
        if time.monotonic() - begin > float(seconds):
            break
        torch.manual_seed(i)
        run = workload.make(**shape)
        sides = {}
        for side in SIDES:
            enter(side)
            result = [part.detach().float() for part in _tensors(run())] if i < 5 else []
            # The second pass of the heuristics shows how far two passes of the same kernels differ.
            passes = [_Pass(run, notes, lambda side=side: enter(side)) for _ in range(2 if side == "heuristic" else 1)]
            sides[side] = _Side(_host_ms(run), passes, result)
        autoheuristic.detach()
        gpu = _in_turns([*sides["heuristic"].passes, *sides["package"].passes])
        rows.append({"shape": shape, "gpu": gpu, "host": [sides[side].host_ms for side in SIDES]})
        results = (sides[side].result for side in SIDES)
        rows[-1]["difference"] = max((_difference(a, b) for a, b in zip(*results)), default=0)
        found = {**_compared(rows), "notes": sorted(set(notes)), "rows": rows}
        print(json.dumps(found), flush=True)  # The last line counts, also where the time ends before the shapes do.
    return found


class _Side(NamedTuple):
    host_ms: float
    passes: list
    result: list


class _Pass:
    """One pass of an operation as a CUDA graph, which has its kernels and nothing of the host.

    Where it cannot be captured, ``enter`` chooses who picks, and the host queues the pass behind a wait of the GPU.
    """

    def __init__(self, run, notes, enter):
        import torch

        self._run, self._enter, self._graph = run, enter, None
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        try:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
                self._kept = run()  # The graph writes to it.
            self._graph = graph
        except Exception as error:
            notes.append(f"not captured ({type(error).__name__}: {error})"[:300])
            torch.cuda.synchronize()

    @property
    def is_captured(self):
        return self._graph is not None

    def ms(self):
        """The GPU's milliseconds of one pass."""
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if self._graph is None:
            self._enter()
            self._run()
        torch.cuda._sleep(QUEUED_CYCLES if self._graph is None else SHORT_CYCLES)
        start.record()
        if self._graph is None:
            self._run()
        else:
            self._graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)


def _in_turns(passes):
    """The median of each pass; they take turns, in either direction."""
    times = [[] for _ in passes]
    for turn in range(TURNS if all(p.is_captured for p in passes) else TURNS // 4):
        order = range(len(passes))
        for i in order if turn % 2 else reversed(order):
            times[i].append(passes[i].ms())
    return [statistics.median(ms) for ms in times]


def _host_ms(run):
    """The milliseconds of the host and the GPU of a pass, the median of five groups."""
    import torch

    for _ in range(3):
        run()
    groups = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            run()
        torch.cuda.synchronize()
        groups.append((time.perf_counter() - begin) / CALLS * 1e3)
    return statistics.median(groups)


def _compared(rows):
    def ratios(pairs):
        found = sorted(a / b for a, b in pairs)
        mean = math.exp(statistics.fmean(map(math.log, found)))
        return {
            "mean": mean,
            "more than 5 % slower": sum(r > 1.05 for r in found),
            "least": found[0],
            "worst": found[-1],
        }

    return {
        "shapes": len(rows),
        "GPU time, heuristic by package": ratios((row["gpu"][0], row["gpu"][2]) for row in rows),
        "GPU time, heuristic by itself": ratios((row["gpu"][1], row["gpu"][0]) for row in rows),
        "host and GPU, heuristic by package": ratios(row["host"] for row in rows),
        "largest difference of a result": max(row["difference"] for row in rows),
    }


def _tensors(result):
    import torch

    for part in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(part, torch.Tensor):
            yield part
        elif isinstance(part, (tuple, list)):
            yield from _tensors(part)


def _difference(a, b):
    largest = float(a.abs().nan_to_num().max())
    return float((a - b).abs().nan_to_num().max()) / largest if largest else 0.0


if __name__ == "__main__":
    command, name, *rest = sys.argv[1:]
    found = {"collect": collect, "first": first, "steady": steady}[command](WORKLOADS[name], *rest)
    print(json.dumps(found), flush=True)
