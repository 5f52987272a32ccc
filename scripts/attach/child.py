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

sys.path.insert(0, str(Path(__file__).resolve().parent))

from workloads import WORKLOADS  # noqa: E402

PASSES = 3
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
    """Times unseen shapes under heuristics and under the package's own autotuner, in turns."""
    import autoheuristic
    import torch

    begin, shapes = time.monotonic(), workload.unseen(int(count))
    times = {side: [[] for _ in shapes] for side in SIDES}
    results, found = {}, {"shapes": 0}
    for turn in range(PASSES):
        for side in SIDES if turn % 2 == 0 else reversed(SIDES):
            if side == "package":
                autoheuristic.detach()
            else:
                autoheuristic.attach(workload.package, folder=folder)
            workload.forget()
            # The package tunes in its first pass, which may take long; the heuristics' first pass comes before it.
            share = {(0, "heuristic"): 0.4, (0, "package"): 0.75}.get((turn, side), 1.0)
            for i, shape in enumerate(shapes):
                if time.monotonic() - begin > share * float(seconds):
                    break
                if turn and not all(times[s][i] for s in SIDES):
                    continue
                torch.manual_seed(i)
                run = workload.make(**shape)
                ms, result = _ms(run)
                times[side][i].append(ms)
                if turn == 0 and i < 5:
                    results[side, i] = [part.detach().float() for part in _tensors(result)]
            print(f"pass {turn}, {side}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        found = _compared(times, results)
        print(json.dumps(found), flush=True)  # The last line counts, also where the time ends before the passes do.
    autoheuristic.detach()
    return found


def _compared(times, results):
    pairs = [(statistics.median(a), statistics.median(b)) for a, b in zip(*(times[s] for s in SIDES)) if a and b]
    if not pairs:
        return {"shapes": 0}
    ratios = [heuristic / package for heuristic, package in pairs]
    return {
        "shapes": len(ratios),
        "ratio": math.exp(statistics.fmean(map(math.log, ratios))),
        "more than 5 % slower": sum(ratio > 1.05 for ratio in ratios),
        "worst": max(ratios),
        "ratios": [round(ratio, 3) for ratio in ratios],
        "noise": _noise(times["package"]),
        "largest difference of a result": max(
            (_difference(a, b) for i in range(5) for a, b in zip(*(results.get((s, i), []) for s in SIDES))), default=0
        ),
    }


def _ms(run):
    """Returns the milliseconds of a call, the median of five groups of calls; and a result."""
    import torch

    for _ in range(3):
        result = run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    calls = max(2, min(50, math.ceil(0.008 / (time.perf_counter() - begin))))
    groups = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        torch.cuda.synchronize()
        groups.append((time.perf_counter() - begin) / calls * 1e3)
    return statistics.median(groups), result


def _noise(times):
    """Returns the geometric mean of the greatest by the least time of one shape, same picks."""
    spreads = [max(t) / min(t) for t in times if len(t) > 1]
    return math.exp(statistics.fmean(map(math.log, spreads))) if spreads else None


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
