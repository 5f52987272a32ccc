"""The benchmark on ASlib, on a scenario made by hand."""

import pytest

from bench import aslib


DESCRIPTION = """algorithm_cutoff_time: 1.0e+2
feature_steps:
  count:
    provides:
    - 'n vars'
    requires:
    - read
  read:
    provides:
    - n lines
number_of_feature_steps: 2
"""


@pytest.fixture
def scenario(tmp_path):
    """Even instances need ``a``, odd ones ``b``; instance 3 is one that ``a`` solves too, slowly."""
    write = lambda name, head, rows: (tmp_path / name).write_text(f"{head}\n@DATA\n" + "\n".join(rows) + "\n")  # noqa: E731
    (tmp_path / "description.txt").write_text(DESCRIPTION)
    names = lambda *columns: "\n".join(f"@ATTRIBUTE {name} STRING" for name in columns)  # noqa: E731
    write("cv.arff", names("instance_id", "repetition", "fold"), [f"i{n},1,{n % 2 + 1}" for n in range(4)])
    runs = [("i0", "a", 1), ("i1", "b", 2), ("i2", "a", 3), ("i3", "b", 4), ("i3", "a", 90)]
    unsolved = [("i0", "b"), ("i1", "a"), ("i2", "b")]
    lines = [f"{i},1,{a},{t},ok" for i, a, t in runs] + [f"{i},1,{a},100,timeout" for i, a in unsolved]
    write("algorithm_runs.arff", names("instance_id", "repetition", "algorithm", "runtime", "runstatus"), lines)
    write("feature_values.arff", names("instance_id", "repetition", "'n vars'"), [f"i{n},1,{n % 2}" for n in range(3)])
    steps = names("instance_id", "repetition", "count", "read")
    write("feature_costs.arff", steps, ["i0,1,10,2", "i1,1,?,97", "i2,1,5,1", "i3,1,5,1"])
    write("feature_runstatus.arff", steps, ["i0,1,ok,ok", "i1,1,ok,ok", "i2,1,ok,presolved", "i3,1,ok,ok"])
    return aslib.read(tmp_path)


def test_a_scenario_is_read(scenario):
    assert scenario.algorithms == ["a", "b"]
    assert scenario.par10 == [[1, 1000], [1000, 2], [3, 1000], [90, 4]]
    assert scenario.features == ["n vars"]
    assert scenario.values == [[0], [1], [0], [None]]
    assert scenario.folds == [1, 2, 1, 2]


def taking(choose, *features):
    """Returns a selector that takes these algorithms and uses these features."""
    return lambda s, train, test: aslib.Picks([choose(s, i) for i in test], set(features))


def best(s, i):
    return min(range(2), key=lambda a: s.par10[i][a])


def test_the_best_closes_the_gap_and_the_best_single_closes_nothing(scenario):
    assert aslib.judge(scenario, taking(best)).gap == pytest.approx(1)
    assert aslib.judge(scenario, taking(lambda s, i: 0)).gap == pytest.approx(0)
    # Learned from one fold, the best single algorithm is the wrong one for the other.
    assert aslib.judge(scenario, aslib.single).gap < 0


def test_features_cost_the_steps_that_they_need(scenario):
    steps = scenario.steps
    assert steps.names == ["read", "count"]
    assert steps.needed({"n vars"}) == {"read", "count"}
    assert steps.needed({"n lines"}) == {"read"}
    assert steps.needed(set()) == set()
    # A step may solve an instance; then neither later steps nor the algorithm run.
    assert [steps.before(i, {"read", "count"}) for i in range(4)] == [(12, False), (97, False), (1, True), (6, False)]
    free, paid = (aslib.judge(scenario, taking(best, *features)).normalised for features in ([], ["n vars"]))
    assert free == pytest.approx(0)
    # Of the best 1, 2, 3 and 4: 12 more, as much, 1 instead of 3, and 6 more.
    alone = 1 + 1000 + 3 + 90 - (1 + 2 + 3 + 4)
    assert paid == pytest.approx((12 + 97 - 2 + 6) / alone)


def test_a_run_that_the_features_delay_beyond_the_limit_times_out(scenario):
    scenario.steps.seconds[3]["read"] = 20
    assert aslib._with_features(scenario, 3, 0, {"read"}) == 1000
    assert aslib._with_features(scenario, 3, 0, set()) == 90
