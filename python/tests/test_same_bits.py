"""``tune --same-bits``: classes of configurations by the bits of their outputs."""

import json

import heuristics
import pytest

from autoheuristic import Log, MeasureError
from autoheuristic.heuristic import Heuristic
from autoheuristic.same_bits import restrict

FREE = """
FEATURES, CHOICES, FALLBACK = ("M", "N"), ("a", "b", "c", "d"), None

def _ranking(M, N):
    return [(name, name == "c") for name in ("cdab" if N == 9 else "abcd" if M == 1 else "cba")]

def ranked(M, N):
    return ["c"]

def choose_among(offered, M, N):
    return "c"
"""
"""A heuristic that takes other classes at other M, and allows what is no slower than c alone."""
TIMES = {"a": 1.0, "b": 1.1, "c": 1.2, "d": 2.0}


@pytest.fixture
def measured(tmp_path):
    """A function that writes a log and the bits of its inputs; ``bits`` maps (M, N) to one number a choice."""

    def write(bits, times=lambda m, n: TIMES):
        log, file = tmp_path / "x.txt", tmp_path / "x.bits.jsonl"
        heuristics.write_log(log, "x", ["M", "N"], [(key, times(*key)) for key in bits])
        lines = ({"input": key, "bits": {c: [bit] for c, bit in of.items()}} for key, of in bits.items())
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return log, file

    return write


def test_the_class_that_loses_least_is_kept(measured):
    bits = {(1, 8): {"a": 1, "b": 2, "c": 2, "d": 1}, (2, 8): {"a": 3, "b": 3, "c": 3, "d": 3}}
    log, file = measured(bits, lambda m, n: TIMES if m == 1 else {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.5})
    *table, last = restrict(log, file, [])[0]
    assert table == [
        "Classes of equal bits, of 4 configurations that run on all inputs: 2",
        "  loses   4.88 %: b, c",
        "  loses  22.47 %: a, d",
    ], "equal on one input is not enough"
    assert last == "Picks these 2: with the best of them, 4.88 % slower than a free choice."
    assert Log.read(log).choices == ["b", "c"]


def test_a_configuration_that_changes_its_own_bits_is_in_no_class(measured):
    log, file = measured({(1, 8): {"b": 1, "c": 1, "d": 1}})
    assert "Picks these 3" in restrict(log, file, [])[0][-1] and "a" not in Log.read(log).choices


def test_bits_from_before_a_lost_device_count(measured):
    log, file = measured({(1, 8): {"b": 1}, (2, 8): {"b": 1, "c": 1}})
    with open(file, "a") as lines:
        lines.write(json.dumps({"input": [1, 8], "bits": {"c": [1]}}) + "\n")
    assert "Picks these 2" in restrict(log, file, [])[0][-1]


def test_where_none_agree_it_says_so(measured):
    log, file = measured({(m, n): dict(zip("abcd", range(4))) for m in (1, 2) for n in (8, 9)})
    with pytest.raises(MeasureError, match="(?s)all inputs: 4.*no two of them agree; --invariant FEATURE"):
        restrict(log, file, [])
    assert restrict(log, file, ["M"])[0][-1].startswith("Takes one class for each of 2 values of N, over all M")
    assert Log.read(log).choices == ["a", "b", "c", "d"]
    log, file = measured({(m, m + 7): dict(zip("abcd", range(4))) for m in (1, 2)})
    (*_, last), footer = restrict(log, file, ["M"])
    assert "each of 0 values" in last and "CLASS_OF = {}" in footer, "the class that loses least, one configuration"
    assert Log.read(log).choices == ["a", "b", "c", "d"], "nothing is learned from a log of one choice"


def test_a_class_is_taken_for_each_value_of_the_other_features(measured, tmp_path):
    """With few columns split parts of K win (a, b), with many the whole (c, d); at M = 3 the whole always wins."""
    bits = {(m, n): {"a": 1, "b": 1, "c": 2, "d": 2} for m in (1, 2, 3) for n in (8, 9)} | {
        (1, 7): dict(zip("abcd", "1122"))
    }
    whole = {"a": 3.0, "b": 3.0, "c": 1.0, "d": 2.0}
    parts = {
        1: {"a": 1.0, "b": 2.0, "c": 3.0, "d": 3.0},
        2: {"a": 2.0, "b": 1.0, "c": 3.0, "d": 9.0},
        3: {**whole, "b": 1.1},
    }
    log, file = measured(bits, lambda m, n: parts[m] if n == 8 else whole)
    table, footer = restrict(log, file, ["M"])
    assert table[-1] == (
        "Takes one class for each of 2 values of N, over all M: with the best of each, 1.37 % slower than a free choice."
    ), "1.1 once, of seven inputs"
    assert "CLASS_OF = {('8',): 1, ('9',): 0}" in footer
    path = tmp_path / "x.py"
    path.write_text(FREE + footer)
    found = Heuristic(path)
    picks = {key: next(found.in_order(dict(zip("MN", key)), frozenset("abcd"))) for key in [*bits, (5, 5)]}
    assert picks == {
        (1, 8): "a",
        (2, 8): "b",
        (3, 8): "b",
        (1, 9): "c",
        (2, 9): "c",
        (3, 9): "c",
        (1, 7): "c",
        (5, 5): "c",
    }
    assert [found.choose_among(frozenset("abcd"), m, 8) for m in (1, 2)] == ["a", "b"]
    assert found.choose_among(frozenset("cd"), 1, 8) is None, "nothing of the class is offered"
    assert found.is_boosted, "torch.compile asks while it traces, and does not trace this"
    with pytest.raises(MeasureError, match="expected one of M, N, found 'K'"):
        restrict(log, file, ["K"])
