"""The log: what is read, written, appended and refused."""

import gzip
import math
import multiprocessing
import random

import pytest

from autoheuristic import AutoHeuristicWarning, Log, LogError, MetadataError
from autoheuristic.attachment.recorder import Recorder, begin_log
from autoheuristic.outcome import Outcome
from autoheuristic.text import number, parse_number

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


def small(**times):
    log = Log("mm", ["m"], ["dtype"])
    log.add({"m": 8, "dtype": "torch.float16"}, times or {"a": 1.5, "b": [2.0, 2.5]})
    return log


def test_reading(path, tmp_path):
    log = Log.read(path)
    values = ("torch.float16", 8, 0.5)
    assert list(log) == [(values, "a", 1.5), (values, 'b, "quoted"', math.inf)]
    assert log.features == ["dtype", "m", "k"] and log.choices == ["a", 'b, "quoted"']
    (tmp_path / "packed").write_bytes(gzip.compress(TEXT.encode()))
    assert list(Log.read(tmp_path / "packed")) == list(log)


def test_written_logs_read_back(tmp_path):
    log = small(**{'b, "quoted"': [1e-7, 123456789.123], "c": math.inf})
    for name in ("train.txt", "train.txt.gz"):
        log.write(tmp_path / name)
        assert list(Log.read(tmp_path / name)) == list(log)
    text = (tmp_path / "train.txt").read_text()
    assert text.splitlines()[1:3] == ["m,dtype,choice,feedback", '8,torch.float16,"b, ""quoted""",0.0000001']
    assert gzip.decompress((tmp_path / "train.txt.gz").read_bytes()).decode() == text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["train.txt", "train.txt.gz"], "nothing is left beside them"


def test_numbers_read_back_to_the_same_double():
    source = random.Random(0)
    for _ in range(2000):
        x = source.uniform(-1, 1) * 10.0 ** source.randint(-300, 300)
        assert "e" not in number(x) and float(number(x)) == x == float(parse_number(number(x)))
    assert [number(x) for x in (1, 1.0, 0.1, 1e22, math.inf, 2**63)] == [
        "1", "1", "0.1", "1" + "0" * 22, "inf", str(2**63)]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{"name"', '{"nam"', r"line 1: expected a JSON object .*is this a log"),
        ('["m", "k"]', '["m", "m"]', "line 1: expected distinct features, found 'm' twice"),
        ("dtype,m,k", "dtype,m", "line 2: expected each of the columns m, k, dtype, choice, feedback once"),
        ("8,0.5,a", "eight,0.5,a", "line 3, column 'm': expected a number, found 'eight'; mend the row"),
        ("8,0.5,a", "nan,0.5,a", "line 3, column 'm': expected a number, found 'nan'"),
        ("a,1.5", "a,nan", "line 3, column 'feedback': expected a time in milliseconds above 0, or inf, found 'nan'"),
        ("a,1.5", "a,0", "found '0'"),
        ("a,1.5", ",1.5", "column 'choice': expected a choice's name"),
        ("a,1.5", "1.5", "line 3: expected 5 fields, found 4"),
        ('"b, ""quoted"""', '"b', "line 5: expected a closed quote"),
    ],
)
def test_malformed_logs_are_named_with_their_place(path, old, new, message):
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(LogError, match=message):
        Log.read(path)


def test_bad_rows_can_be_passed_over(path):
    path.write_text(TEXT.replace("a,1.5", "a,nan"))
    log = Log.read(path, skip_bad_rows=True)
    assert len(log) == 1 and len(log.skipped) == 1 and "line 3" in log.skipped[0]


def test_an_empty_file_and_a_short_gzip(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(LogError, match="empty file"):
        Log.read(tmp_path / "empty")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT.encode() * 50)[:-20])
    with pytest.raises(LogError, match="cut short|expected"):
        Log.read(tmp_path / "cut.gz")


@pytest.mark.parametrize(
    ("features", "times", "message"),
    [
        ({"m": 8}, {"a": 1.0}, "expected a value for each of m, dtype, found m"),
        ({"m": 8, "dtype": "x", "n": 1}, {"a": 1.0}, "found m, dtype, n"),
        ({"m": "8", "dtype": "x"}, {"a": 1.0}, "'m': expected a number, found '8'"),
        ({"m": math.nan, "dtype": "x"}, {"a": 1.0}, "expected a number, found nan"),
        ({"m": 8, "dtype": "x"}, {"a": math.nan}, "'a' on .*found nan; leave out what was not measured"),
        ({"m": 8, "dtype": "x"}, {"a": 1.0, "b": [1.0, 0.0]}, "'b' on .*found 0"),
    ],
)
def test_rows_that_do_not_fit_are_refused_whole(features, times, message):
    log = Log("mm", ["m"], ["dtype"])
    with pytest.raises(LogError, match=message):
        log.add(features, times)
    assert len(log) == 0


# Appending: the log of an attached kernel.


@pytest.fixture
def recorder(device, tmp_path):
    return lambda path=tmp_path / "new" / "train.txt", name="mm": Recorder(path, name, None)


def add(recorder, m=8, dtype="torch.float16", **times):
    features = {"m": m, "dtype": dtype}
    recorder.known(features, ["a", "b"])
    recorder.add(features, {choice: Outcome(ms) for choice, ms in (times or {"a": [1.5], "b": [2.0, 2.5]}).items()})
    return Log.read(recorder.path)


def test_appending_begins_a_log_and_goes_on(recorder):
    add(recorder())
    log = add(recorder(), m=9, a=[3.0], b=[])
    first, second = (8, "torch.float16"), (9, "torch.float16")
    assert log.inputs() == {first: {"a": [1.5], "b": [2.0, 2.5]}, second: {"a": [3.0], "b": [math.inf]}}
    assert recorder().known({"m": 8, "dtype": "torch.float16"}, ["a", "b"])["b"].rows == [2.0, 2.5]


def test_appending_keeps_the_order_of_columns(recorder):
    path = add(recorder()) and recorder().path
    path.write_text(path.read_text().replace("m,dtype,choice", "dtype,m,choice").replace("8,torch.float16", "x,8"))
    add(recorder(), m=2, dtype="x")
    assert path.read_text().splitlines()[-1] == "x,2,b,2.5"


def test_appending_to_the_log_of_another_run_is_refused(recorder, tmp_path):
    add(recorder())
    before = recorder().path.read_text()
    with pytest.raises(MetadataError, match="name"):
        add(recorder(name="mm2"))
    with pytest.raises(MetadataError, match=r"choices \(log: \[\"a\", \"b\"\], other: \[\"a\"\]\)"):
        recorder().known({"m": 8, "dtype": "x"}, ["a"])
    with pytest.raises(MetadataError, match="numerical_features"):
        recorder().known({"m": "8", "dtype": "x"}, ["a", "b"])
    assert recorder().path.read_text() == before
    (tmp_path / "packed.gz").write_bytes(gzip.compress(TEXT.encode()))
    with pytest.raises(LogError, match="packed with gzip"):
        add(recorder(tmp_path / "packed.gz"))
    (tmp_path / "notes").write_text("not a log, but longer than the head of one would be" * 99)
    with pytest.raises(LogError, match="is this a log"):
        add(recorder(tmp_path / "notes"))


def test_a_torn_last_line_is_cut_off(recorder):
    log = add(recorder())
    path = recorder().path
    whole = path.read_text()
    for torn in ("8,torch.flo", "x" * 200_000):
        path.write_text(whole + torn)
        with pytest.warns(AutoHeuristicWarning, match="torn last line"):
            begin_log(path, log)
        assert path.read_text() == whole
    path.write_text(whole[:20])  # A torn head.
    add(recorder())
    assert path.read_text() == whole


def append_many(recorder, process):
    for i in range(50):
        add(recorder, m=i, dtype=f"p{process}" * 500, a=[1.0], b=[2.0])


def test_two_processes_never_interleave(recorder):
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=append_many, args=(recorder(), p)) for p in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    inputs = Log.read(recorder().path).inputs()
    assert len(inputs) == 200 and all(times == {"a": [1.0], "b": [2.0]} for times in inputs.values())
