"""The benchmark on ASlib, on a scenario made by hand."""

import pytest

from bench import aslib


@pytest.fixture
def scenario(tmp_path):
    """Even instances need ``a``, odd ones ``b``; instance 3 is one that ``a`` solves too, slowly."""
    write = lambda name, head, rows: (tmp_path / name).write_text(f"{head}\n@DATA\n" + "\n".join(rows) + "\n")  # noqa: E731
    (tmp_path / "description.txt").write_text("algorithm_cutoff_time: 1.0e+2\n")
    names = lambda *columns: "\n".join(f"@ATTRIBUTE {name} STRING" for name in columns)  # noqa: E731
    write("cv.arff", names("instance_id", "repetition", "fold"), [f"i{n},1,{n % 2 + 1}" for n in range(4)])
    runs = [("i0", "a", 1), ("i1", "b", 2), ("i2", "a", 3), ("i3", "b", 4), ("i3", "a", 90)]
    unsolved = [("i0", "b"), ("i1", "a"), ("i2", "b")]
    lines = [f"{i},1,{a},{t},ok" for i, a, t in runs] + [f"{i},1,{a},100,timeout" for i, a in unsolved]
    write("algorithm_runs.arff", names("instance_id", "repetition", "algorithm", "runtime", "runstatus"), lines)
    write("feature_values.arff", names("instance_id", "repetition", "'n vars'"), [f"i{n},1,{n % 2}" for n in range(3)])
    return aslib.read(tmp_path)


def test_a_scenario_is_read(scenario):
    assert scenario.algorithms == ["a", "b"]
    assert scenario.par10 == [[1, 1000], [1000, 2], [3, 1000], [90, 4]]
    assert scenario.features == ["n vars"]
    assert scenario.values == [[0], [1], [0], [None]]
    assert scenario.folds == [1, 2, 1, 2]


def taking(choose):
    """A selector that takes these algorithms."""
    return lambda s, train, test: [choose(s, i) for i in test]


def test_the_best_closes_the_gap_and_the_best_single_closes_nothing(scenario):
    best = taking(lambda s, i: min(range(2), key=lambda a: s.par10[i][a]))
    assert aslib.judge(scenario, best) == pytest.approx(1)
    assert aslib.judge(scenario, taking(lambda s, i: 0)) == pytest.approx(0)
    # Learned from one fold, the best single algorithm is the wrong one for the other.
    assert aslib.judge(scenario, aslib.single) < 0
