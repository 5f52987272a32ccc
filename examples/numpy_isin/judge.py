"""Judges the heuristic on fresh searches: numpy's whole function, with the heuristic in place of its two conditions.

    python judge.py         # 300 searches
    python judge.py 50      # fewer
"""
import math
import sys
from statistics import median

import isin_way
from isin import LOOP, TABLE, arrays, changed, draw, forced, host, milliseconds, np

ROUNDS, PER_SAMPLE = 7, 0.2  # Samples of a way on an input, and the milliseconds of one.


def learned():
    """Returns numpy's function, which asks the heuristic; where it answers `today` or declines, numpy's rule decides."""
    today = [pattern.search(open(host.__file__, encoding="utf-8").read())[0] for pattern in (TABLE, LOOP)]
    memory, few = today[0].partition("= ")[2], today[1].removeprefix("if ").removesuffix(":")
    host.isin_way = isin_way
    ask = "isin_way.choose(n=ar1.size, tests=ar2.size, span=ar2_range)"
    return changed(
        table=f'(way := {ask}) == "table" or (way not in ("loop", "sort") and {memory})',
        loop=f'way == "loop" or (way != "sort" and ({few}))',
    )


count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
ways = {"the heuristic": learned(), "numpy today": forced("today")}
ways.update({f"always {name}": forced(name) for name in ("table", "loop", "sort")})
times = {name: [] for name in ways}
for at in range(count):
    generator = np.random.default_rng([20261128, at])
    context = draw(generator)
    data = arrays(context, generator)
    offered = [name for name in ways if name != "always table" or context["span"] <= 32 * (context["n"] + context["tests"]) + 2**20]
    runs = {name: max(1, int(PER_SAMPLE / max(milliseconds(lambda: ways[name](*data)), 1e-6))) for name in offered}
    # In turns, so that a disturbance hits all, each in another order, so that none is always first.
    turns = [{name: milliseconds(lambda: ways[name](*data), runs[name]) for name in generator.permutation(offered)} for _ in range(ROUNDS)]
    for name in ways:
        times[name].append(median(turn[name] for turn in turns) if name in offered else math.inf)

least = [min(of) for of in zip(*times.values())]
print(f"{count} fresh searches:{'':17}total ms  of least  geometric mean  > 5 % slower than numpy  worst")
for name, of in {"the fastest, known for each": least, **times}.items():
    kept = [(ms, best, now) for ms, best, now in zip(of, least, times["numpy today"]) if ms < math.inf]
    ratio = math.exp(sum(math.log(ms / best) for ms, best, _ in kept) / len(kept))
    slower = sum(ms > 1.05 * now for ms, _, now in kept)
    worst = max(ms / now for ms, _, now in kept)
    total = sum(ms for ms, _, _ in kept) / sum(best for _, best, _ in kept)
    print(f"  {name:32}{sum(ms for ms, _, _ in kept):11.1f}{total:10.3f}{ratio:16.3f}{slower:25}{worst:7.2f}")
