"""The rules of the benchmark, on inputs made by hand."""

import json
import math

import pytest
from autoheuristic import Log

from bench.score import best_fallback, best_single, judge, paid
from bench.selectors import SELECTORS, ah_train
from bench.selectors.fitted import SkippedError
from bench.task import Input, Task, held_out

INF = math.inf


def made(**times):
    return Input((1,), times, "1")


def test_who_pays_for_what():
    i = made(a=2.0, b=1.0, c=INF, d=8.0)
    assert paid(i, "b", "a") == 1.0
    assert paid(i, None, "a") == 2.0, "declined: the fallback"
    assert paid(i, "c", "a") == 2.0, "failed: the fallback"
    assert paid(i, "e", "a") == 2.0, "not offered: the fallback"
    assert paid(i, None, "c") == 8.0, "the fallback failed: the slowest that worked"


def test_the_score_counts_losses_and_slow_inputs():
    inputs = [made(a=1.0, b=2.0), made(a=2.0, b=1.0), made(b=3.0)]
    score = judge(inputs, ["b", None, "b"], fallback="a")
    assert score.loss == pytest.approx(4 ** (1 / 3))
    assert score.total == pytest.approx(7 / 5)
    assert score.p99 == 2.0
    assert score.slower == 0.5, "the third input has no fallback to compare with"
    assert score.declined == pytest.approx(1 / 3)
    assert score.losses == [1.0, 2.0, 2.0]


def test_the_best_single_choice_pays_where_it_is_missing():
    inputs = [made(a=1.0, b=1.1, d=9.0), made(b=1.1, c=1.0, d=9.0)]
    assert best_fallback(inputs) == "b"
    assert best_single(inputs) == ("a", "c")
    assert best_single(inputs[:1]) == ("a", None)


def test_the_split_never_changes():
    held = [number for number in range(40) if held_out(f"{number},128", seed=0)]
    assert held == HELD
    assert held != [number for number in range(40) if held_out(f"{number},128", seed=1)]


HELD = [4, 10, 11, 12, 15, 18, 27, 28, 33, 37]


@pytest.fixture
def task(tmp_path):
    """Block 64 wins below 1500, block 128 above; only every third input is offered the slow one."""
    metadata = {"name": "made", "shared_memory": 0, "device_capa": [0, 0], "numerical_features": ["n"], "categorical_features": []}
    log = Log(metadata, ["n"])
    for n in range(1, 1201):
        small, large = (1.0, 1.5) if 2 * n < 1500 else (1.5, 1.0)
        slow = {"BLOCK=1": [9.0]} if n % 3 == 0 else {}
        log.inputs()[(2 * n,)] = {"BLOCK=64": [small], "BLOCK=128": [large], **slow}
    inputs = [Input(v, {c: ms[0] for c, ms in t.items()}, str(v[0])) for v, t in log.inputs().items()]
    return Task("made", tmp_path, None, ["n"], "BLOCK=64", [], log, inputs)


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_takes_what_is_offered(task, name):
    [(_, train, test)] = task.split("inputs", 0, {})
    try:
        fitted = SELECTORS[name](task, train)
    except SkippedError as reason:
        pytest.skip(str(reason))
    taken = fitted.choose(test)
    assert all(choice is None or choice in i.times for choice, i in zip(taken, test))
    score = judge(test, taken, task.fallback)
    if name in ("fallback", "best-single"):
        assert score.loss > 1.1
    else:
        assert score.loss < 1.01, "a single threshold decides"


def test_a_log_survives_the_way_to_ah_train(task, tmp_path):
    task.write(task.inputs[:3], tmp_path / "log.txt")
    head, columns, *rows = (tmp_path / "log.txt").read_text().splitlines()
    assert json.loads(head)["name"] == "made"
    assert columns == "n,choice,feedback" and len(rows) == 7


def test_a_small_number_is_found_however_it_is_written():
    assert ah_train._values("3.3e-05,float16,") == ah_train._values("0.000033,float16,")
    assert ah_train._values("nan") == ("nan",), "a number that is not equal to itself would be lost"
