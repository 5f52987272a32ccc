"""Judges the heuristic on fresh searches: numpy's whole function, with the heuristic in place of its two conditions.

    python judge.py                            # 200 s, a process for every second core
    python judge.py --seconds 20 --processes 1
    python judge.py --out figures              # writes figures/summary.txt, and figures/searches.csv with each search
"""
import argparse
import csv
import math
import multiprocessing
import os
import time
from pathlib import Path
from statistics import median

import isin_way
from isin import FEATURES, LOOP, TABLE, arrays, changed, draw, eligible, forced, host, milliseconds, np

ROUNDS, PER_SAMPLE = 7, 0.2  # Samples of a way on an input, and the milliseconds of one.
# A search on which the heuristic and numpy today differ by more than this factor is timed again, three times as often: a neighbour on
# the machine may have disturbed it.
DIFFERS = 1.3
SEED = 20261129
HEURISTIC, TODAY = "the heuristic", "numpy today"
WAYS = (HEURISTIC, TODAY, "always table", "always loop", "always sort")
SLOW = 1.5  # Times as slow as numpy today: no search should be.


def learned():
    """Numpy's function, which asks the heuristic; where it answers `today` or declines, numpy's rule decides."""
    today = [pattern.search(open(host.__file__, encoding="utf-8").read())[0] for pattern in (TABLE, LOOP)]
    memory, few = today[0].partition("= ")[2], today[1].removeprefix("if ").removesuffix(":")
    host.isin_way = isin_way
    ask = "isin_way.choose(n=ar1.size, tests=ar2.size, span=ar2_range)"
    return changed(
        table=f'(way := {ask}) == "table" or (way not in ("loop", "sort") and {memory})',
        loop=f'way == "loop" or (way != "sort" and ({few}))',
    )


def judged(at, ways):
    """The features of a fresh search, and the milliseconds of each way; `inf` where a table is too large."""
    generator = np.random.default_rng([SEED, at])
    context = draw(generator)
    data = arrays(context, generator)
    offered = [name for name in ways if name != "always table" or "table" in eligible(context)]
    expected = ways[TODAY](*data)
    if not all(np.array_equal(ways[name](*data), expected) for name in offered):
        raise SystemExit(f"search {at}: another result than numpy's on {context}")
    runs = {name: max(1, int(PER_SAMPLE / max(milliseconds(lambda: ways[name](*data)), 1e-6))) for name in offered}

    def medians(rounds):
        # In turns, so that a disturbance hits all, each in another order, so that none is always first.
        turns = [
            {name: milliseconds(lambda: ways[name](*data), runs[name]) for name in generator.permutation(offered)}
            for _ in range(rounds)
        ]
        return {name: median(turn[name] for turn in turns) if name in offered else math.inf for name in ways}

    times = medians(ROUNDS)
    if abs(math.log(times[HEURISTIC] / times[TODAY])) > math.log(DIFFERS):
        times = medians(3 * ROUNDS)
    way = isin_way.choose(context["n"], context["tests"], context["span"]) or "today"
    return {**{name: context[name] for name in FEATURES}, "way": way, **times}


def is_slow(search):
    """Whether the heuristic makes a search slow: by its own time, and by that of the way that it takes."""
    limit = SLOW * search[TODAY]
    return search[HEURISTIC] > limit and search["way"] != "today" and search[f"always {search['way']}"] > limit


def judge(first, step, core, end):
    """Judges the searches `first`, `first + step`, ... on one core until `end`, in seconds of `time.monotonic`."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    ways = {HEURISTIC: learned(), TODAY: forced("today")}
    ways.update({f"always {name}": forced(name) for name in ("table", "loop", "sort")})
    found = []
    while time.monotonic() < end:
        found.append(judged(first + step * len(found), ways))
    return found


def summary(found):
    """The table of all ways, and the searches that the heuristic makes slow."""
    least = [min(search[name] for name in WAYS) for search in found]
    lines = [f"{len(found)} fresh searches, numpy {np.__version__}, {os.cpu_count()} cores"]
    lines.append(f"{'':28}total ms  of least  geometric mean  > 5 % slower  > {SLOW} times  worst (than numpy today)")
    for name in ("the fastest, known for each", *WAYS):
        of = least if name not in WAYS else [search[name] for search in found]
        kept = [(ms, best, search[TODAY]) for ms, best, search in zip(of, least, found) if ms < math.inf]
        total, ratio = sum(ms for ms, _, _ in kept), math.exp(sum(math.log(ms / best) for ms, best, _ in kept) / len(kept))
        against = [ms / now for ms, _, now in kept]
        share = 100 * sum(each > 1.05 for each in against) / len(kept)
        slow = sum(each > SLOW for each in against)
        of_least = total / sum(best for _, best, _ in kept)
        lines.append(f"  {name:28}{total:8.0f}{of_least:10.3f}{ratio:16.3f}{share:12.1f} %{slow:12}{max(against):7.2f}")
    slow = sorted(filter(is_slow, found), key=lambda one: -one[HEURISTIC] / one[TODAY])
    lines.append(f"{len(slow)} searches take more than {SLOW} times as long as today, also where their way is timed alone")
    for search in slow[:20]:
        lines.append("  " + ", ".join(f"{name} {value:.4g}" if name != "way" else f"way {value}" for name, value in search.items()))
    return "\n".join(lines)


def main():
    """Judges as long as it may, and prints the summary."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=200.0, help="of judging [200]")
    parser.add_argument("--processes", type=int, default=max(len(cores) // 2, 1), help="[half of the cores]")
    parser.add_argument("--out", type=Path, help="a folder for the figures")
    options = parser.parse_args()
    count, end = options.processes, time.monotonic() + options.seconds
    # Each second core: two threads of one core disturb each other.
    jobs = [(at, count, cores[2 * at % len(cores)] if cores else None, end) for at in range(count)]
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        found = [search for part in pool.starmap(judge, jobs, chunksize=1) for search in part]
    text = summary(found)
    print(text)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "summary.txt").write_text(f"{text}\n", encoding="utf-8")
        with open(options.out / "searches.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, found[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
