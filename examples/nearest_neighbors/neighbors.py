"""One search for nearest neighbors: the points, and what scikit-learn takes for it."""
import os

# One thread: the choices are compared, not the machines.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import time

import numpy as np
from sklearn.neighbors import NearestNeighbors

ALGORITHMS = ("auto", "brute", "kd_tree", "ball_tree")  # the first is scikit-learn's default
FEATURES = ("n", "d", "queries", "k")


def draw(generator):
    """The features of a search that takes brute force up to a tenth of a second."""
    while True:
        n, queries = (int(np.exp(generator.uniform(np.log(low), np.log(high)))) for low, high in ((50, 60_000), (1, 10_000)))
        d = int(np.exp(generator.uniform(np.log(2), np.log(128))))
        k = int(np.exp(generator.uniform(0, np.log(min(n, 100)))))
        if n * queries * d < 1e8:
            return {"n": n, "d": d, "queries": queries, "k": k}


def points(context, generator):
    """The points and the queries: in d dimensions, but spread over fewer as real data is, some in clusters."""
    n, d, queries = context["n"], context["d"], context["queries"]
    inner = int(generator.integers(1, d + 1))
    of = generator.standard_normal((n + queries, inner)) @ generator.standard_normal((inner, d))
    if generator.random() < 0.5:
        of += 10 * generator.standard_normal((20, d))[generator.integers(20, size=n + queries)]
    of += 0.1 * generator.standard_normal((n + queries, d))
    return of[:n], of[n:]


def search(algorithm, context, data):
    """The neighbors, as a program gets them: built and asked."""
    model = NearestNeighbors(n_neighbors=context["k"], algorithm=algorithm).fit(data[0])
    return model.kneighbors(data[1])


def milliseconds(run, runs=1):
    """The processor time of a run: that of one thread, which other programs on the machine disturb least."""
    start = time.process_time()
    for _ in range(runs):
        run()
    return (time.process_time() - start) * 1e3 / runs
