"""Judges the heuristic on fresh searches: the whole search as a program runs it, the decision included.

    python judge.py         # 200 searches
    python judge.py 50      # fewer
"""
import math
import sys
from statistics import median

import nearest_neighbors
from neighbors import ALGORITHMS, draw, milliseconds, np, points, search

ROUNDS = 5


def choose(**context):
    """Asks the heuristic by the features that it looks at."""
    return nearest_neighbors.choose(**{name: context[name] for name in nearest_neighbors.FEATURES})


def by_heuristic(context, data):
    """Asks, and searches by the answer; where the heuristic declines, by scikit-learn's own choice."""
    search(choose(**context) or "auto", context, data)


count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
ways = {"the heuristic": by_heuristic}
for name in ALGORITHMS:
    ways[name] = lambda context, data, name=name: search(name, context, data)
times = {name: [] for name in ways}
declined = 0
for at in range(count):
    generator = np.random.default_rng([20261123, at])
    context = draw(generator)
    data = points(context, generator)
    declined += choose(**context) is None
    # In turns, so that a disturbance hits all, each in another order, so that none is always first; the first turn warms up.
    orders = [generator.permutation(list(ways)) for _ in range(ROUNDS + 1)]
    turns = [{name: milliseconds(lambda: ways[name](context, data)) for name in order} for order in orders]
    for name in ways:
        times[name].append(median(turn[name] for turn in turns[1:]))

least = [min(of) for of in zip(*(times[name] for name in ALGORITHMS[1:]))]
print(f"{count} fresh searches:{'':17} total s  of least  geometric mean  > 5 % slower than auto")
for name, of in {"the fastest, known for each": least, **times}.items():
    ratio = math.exp(sum(math.log(ms / best) for ms, best in zip(of, least)) / count)
    slower = sum(ms > 1.05 * auto for ms, auto in zip(of, times["auto"]))
    print(f"  {name:36}{sum(of) / 1e3:8.3f}{sum(of) / sum(least):10.3f}{ratio:16.3f}{slower:16}")
typical = {name: {"n": 1000, "d": 10, "queries": 100, "k": 5}[name] for name in nearest_neighbors.FEATURES}
asked = milliseconds(lambda: nearest_neighbors.choose(**typical), 10_000) * 1e3
print(f"A decision takes {asked:.1f} us; {declined} of {count} searches are declined.")
