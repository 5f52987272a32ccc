"""``tune --same-bits``: classes of configurations by the bits of their outputs."""

import json

import heuristics
import pytest

from autoheuristic import Log, MeasureError
from autoheuristic.same_bits import restrict

TIMES = {"a": 1.0, "b": 1.1, "c": 1.2, "d": 2.0}


@pytest.fixture
def measured(tmp_path):
    """Returns a function that writes a log and the bits of its inputs; ``bits`` maps (M, N) to one number a choice."""

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
    *table, last = restrict(log, file, [])
    assert table == [
        "Classes of equal bits, of 4 configurations that run on all inputs: 2",
        "  loses   4.88 %: b, c",
        "  loses  22.47 %: a, d",
    ], "equal on one input is not enough"
    assert last == "Picks these 2: with the best of them, 4.88 % slower than a free choice."
    assert Log.read(log).choices == ["b", "c"]


def test_a_configuration_that_changes_its_own_bits_is_in_no_class(measured):
    log, file = measured({(1, 8): {"b": 1, "c": 1, "d": 1}})
    assert "Picks these 3" in restrict(log, file, [])[-1] and "a" not in Log.read(log).choices


def test_where_none_agree_it_says_so_or_takes_one_over_the_batch(measured):
    bits = {(m, n): dict(zip("abcd", range(4))) for m in (1, 2) for n in (8, 9)}
    slow = {"a": 1.0, "b": 1.0, "c": 4.0, "d": 4.0}
    log, file = measured(bits, lambda m, n: {**slow, "a": 1.21} if (m, n) == (1, 8) else slow)
    with pytest.raises(MeasureError, match="(?s)all inputs: 4.*no two of them agree; --invariant FEATURE"):
        restrict(log, file, [])
    assert "one configuration over all M: with the best of them, 0.00 % slower" in restrict(log, file, ["M"])[-1]
    found = Log.read(log)
    assert found.features == ["N"] and sorted(found.inputs()) == [(8,), (9,)]
    assert found.inputs()[(8,)]["a"] == [pytest.approx(1.1)]
