"""`numpy.isin` on whole numbers: its inputs, and numpy's own function with its two conditions replaced.

Nothing of numpy is copied here: the installed function is read, its conditions are replaced, and the result is compiled.
"""
import inspect
import re
import time

import numpy as np
from numpy.lib import _arraysetops_impl as host

WAYS = ("today", "table", "loop", "sort")  # the first is numpy's rule
FEATURES = ("n", "tests", "span", "itemsize")
# What may take the place of numpy's rule. On unsorted elements of which half are in the range, a table takes up to 11 times as long as
# the loop, on sorted ones half as long, and nobody knows their order. So a table and the loop take the place of sorting alone, but for
# 8 tests or fewer, where the loop is always fast. A table takes at most the memory that sorting needs, or a quarter of a mebibyte.
ELIGIBLE = {
    "table": "span <= 6 * (n + tests) or tests > 64 and span <= 32 * (n + tests) + 262144",
    "loop": "tests <= 8 or span > 6 * (n + tests)",
}

TABLE = re.compile(r"below_memory_constraint = .*")
LOOP = re.compile(r"if len\(ar2\) < .* or contains_object:")


def changed(table, loop):
    """Numpy's function with other conditions: Python expressions over its local variables."""
    source = inspect.getsource(host._isin)
    for pattern, condition in ((TABLE, f"below_memory_constraint = {table}"), (LOOP, f"if {loop}:")):
        source, count = pattern.subn(lambda _: condition, source)
        if count != 1:
            raise RuntimeError(f"numpy {np.__version__}: expected one line like {pattern.pattern}, found {count}")
    names = dict(vars(host))
    exec(compile(source, "isin", "exec"), names)
    return names["_isin"]


def forced(way):
    """Numpy's function, which always takes one of its ways."""
    return host._isin if way == "today" else changed(table=str(way == "table"), loop=str(way == "loop"))


def eligible(context):
    """The ways that may be taken on a search."""
    return [way for way in WAYS if eval(ELIGIBLE.get(way, "True"), {}, context)]


def draw(generator):
    """The features of a search: each octave of each number is as likely as any other."""
    octaves = lambda low, high: int(np.exp(generator.uniform(np.log(low), np.log(high))))
    itemsize = int(generator.choice([2, 4, 8]))
    n, tests = octaves(4, 300_000), octaves(1, 100_000)
    span = octaves(2, 30_000 if itemsize == 2 else 1e9) if tests > 1 else 0  # A single number has the range 0.
    return {"n": n, "tests": tests, "span": span, "itemsize": itemsize}


def arrays(context, generator):
    """The two arrays: drawn freely or sorted, with a share of the first in the range of the second."""
    dtype = np.dtype(f"i{context['itemsize']}")
    tests = generator.integers(0, context["span"], context["tests"], endpoint=True)
    tests[:2] = (0, context["span"])[: len(tests)]
    beyond = min(int((context["span"] + 1) * generator.choice([1.0, 1.0, 2.0, 10.0])), np.iinfo(dtype).max)
    n = generator.integers(0, beyond, context["n"], endpoint=True)
    if generator.random() < 0.25:
        n.sort()
    return n.astype(dtype), tests.astype(dtype)


def milliseconds(run, runs=1):
    """The processor time of a run: that of one thread, which other programs on the machine disturb least."""
    start = time.process_time()
    for _ in range(runs):
        run()
    return (time.process_time() - start) * 1e3 / runs
