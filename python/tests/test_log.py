"""Reading a log."""

import gzip
import math
from pathlib import Path

import pytest

from autoheuristic import Log, LogError

TEXT = '''\
{"name": "mm", "shared_memory": 0, "device_capa": [9, 0], "numerical_features": ["m", "k"], "categorical_features": ["dtype"]}
dtype,m,k,choice,feedback
torch.float16,8,0.5,a,1.5

torch.float16,8,0.5,"b, ""quoted""",inf
'''


@pytest.fixture
def path(tmp_path):
    (tmp_path / "train.txt").write_text(TEXT)
    return tmp_path / "train.txt"


def test_reading(path, tmp_path):
    log = Log.read(path)
    times = {("torch.float16", 8, 0.5): {"a": [1.5], 'b, "quoted"': [math.inf]}}
    assert log.inputs() == times
    assert log.features == ["dtype", "m", "k"] and log.choices == ["a", 'b, "quoted"']
    (tmp_path / "packed").write_bytes(gzip.compress(TEXT.encode()))
    assert Log.read(tmp_path / "packed").inputs() == times


def test_logs_of_this_repository_are_read():
    log = Log.read(Path(__file__).resolve().parents[2] / "data" / "softmax" / "h200.txt.gz")
    assert log.name == "softmax" and len(log.inputs()) > 300


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{"name"', '{"nam"', "line 2: expected a log of AutoHeuristic .KeyError: 'name'"),
        ('"m", "k"]', '"m", "n"]', "line 2: .*expected each of the columns m, n, dtype, choice, feedback once"),
        ("dtype,m,k", "dtype,m", "line 2: .*expected each of the columns m, k, dtype, choice, feedback once"),
        ("8,0.5,a", "eight,0.5,a", "line 3: .*could not convert string to float: 'eight'"),
        ("a,1.5", "a,nan", "line 3: .*expected a time in milliseconds above 0, or inf, found 'nan'"),
        ("a,1.5", "a,", "line 3: .*expected a time in milliseconds above 0, or inf, found ''"),
        ("a,1.5", "a,0", "line 3: .*expected a time in milliseconds above 0, or inf, found '0'"),
        ("a,1.5", "1.5", "line 3: .*expected 5 fields, found 4"),
        ('"b, ""quoted"""', '"b', "expected a log of AutoHeuristic .Error: "),
    ],
)
def test_malformed_logs_are_named_with_their_place(path, old, new, message):
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(LogError, match=message):
        Log.read(path)


def test_missing_numbers_are_nan(path):
    path.write_text(TEXT.replace("8,0.5", ",nan"))
    (values,) = Log.read(path).inputs()
    assert values[0] == "torch.float16" and math.isnan(values[1]) and math.isnan(values[2])


def test_an_empty_file_and_a_short_gzip(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(LogError, match="line 1: expected a log"):
        Log.read(tmp_path / "empty")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT.encode() * 50)[:-20])
    with pytest.raises(LogError, match="expected a log"):
        Log.read(tmp_path / "cut.gz")
