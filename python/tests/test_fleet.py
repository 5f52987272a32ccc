"""A fleet on a real Ray cluster of several nodes of this machine: a node dies, a shard hangs, devices differ."""

import os
import stat
import subprocess
import threading
import time
from pathlib import Path

import heuristics
import pytest

pytest.importorskip("ray", reason="Ray is not installed: nothing is tested on a fleet")
import ray
from ray.cluster_utils import Cluster

from autoheuristic import fleet
from autoheuristic.errors import ConfigError

HERE = Path(__file__).resolve().parent
DRAWS, SHARDS = 40, 8
CARD = {"num_cpus": 1, "resources": {"card": 1}}


@pytest.fixture
def cluster(monkeypatch):
    """A head on which the driver runs, and two nodes of one device each."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]))
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    started.devices = [started.add_node(num_cpus=1, resources={"card": 1}) for _ in range(2)]
    yield started
    ray.shutdown()
    started.shutdown()


@pytest.fixture
def words(tmp_path):
    """Measures the fake device, whose times depend on nothing but the input."""
    return script(tmp_path, "exec")


def script(folder, last, pace=5000):
    """A collector: a shell script that runs ah-collect on the fake device at its end; `pace` is microseconds a sample."""
    path = folder / f"collect-{pace}.sh"
    collect = f"{last} {heuristics.tool('ah-collect')} --worker {heuristics.tool('examples/fake')} \"$@\""
    path.write_text(f"#!/bin/sh\nexport AH_FAKE_PACE_US={pace}\n{collect}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return [str(path), "--draws", str(DRAWS)]


def one_machine(words, folder):
    log = folder / "one.txt"
    subprocess.run([*words, "--output", str(log)], check=True, capture_output=True)
    return log


def rows(*logs):
    """The rows without the choice whose samples depend on how many fit into the budget."""
    return sorted(row for log in logs for row in log.read_text().splitlines()[2:] if ",noisy," not in row)


def run(cluster, words, folder, hang_seconds=60.0, resources=CARD):
    ray.init(address=cluster.address, ignore_reinit_error=True, log_to_driver=False)
    return fleet.fleet(words, folder, SHARDS, hang_seconds, resources)


def test_a_node_dies_and_nothing_is_lost_or_measured_twice(cluster, words, tmp_path, capfd):
    folder = tmp_path / "fleet"

    def kill():
        while sum(log.read_bytes().count(b"\n") for log in folder.glob("shard.*.txt")) < 20:
            time.sleep(0.1)
        cluster.remove_node(cluster.devices[0], allow_graceful=False)

    threading.Thread(target=kill, daemon=True).start()
    # Four seconds a shard: with one second, a busy machine had seen a whole shard before the node was dead.
    assert run(cluster, script(tmp_path, "exec", pace=60_000), folder) == 0
    out, talk = capfd.readouterr()
    assert "lost; it starts again" in talk, talk
    assert rows(folder / "fake.txt") == rows(one_machine(words, tmp_path)), out
    # The same command has nothing to do.
    before = (folder / "fake.txt").read_bytes()
    assert run(cluster, words, folder) == 0
    assert (folder / "fake.txt").read_bytes() == before


def test_a_shard_that_hangs_starts_elsewhere(cluster, tmp_path, capfd):
    # The first process that gets there never ends.
    words = script(tmp_path, f'if mkdir {tmp_path}/hung 2>/dev/null; then exec sleep 600; fi; exec')
    assert run(cluster, words, tmp_path / "fleet", hang_seconds=4.0) == 0
    assert "hung: its log did not grow for 4 s" in capfd.readouterr().err
    assert rows(tmp_path / "fleet" / "fake.txt") == rows(one_machine(words, tmp_path))


def test_a_shard_that_fails_everywhere_is_given_up_and_the_others_are_kept(cluster, tmp_path, capfd):
    words = script(tmp_path, 'case "$*" in *"--shard 3/8"*) echo broken >&2; exit 4;; esac; exec')
    assert run(cluster, words, tmp_path / "fleet") == 5
    table = capfd.readouterr().out
    assert "failed: ah-collect ended with 4: broken" in table
    assert len([line for line in table.splitlines() if line.endswith(" done")]) == SHARDS - 1


def test_two_kinds_of_devices_give_two_logs(cluster, tmp_path):
    one = one_machine(script(tmp_path, "exec"), tmp_path)
    # A worker that names another device, in each second shard.
    other = tmp_path / "other.sh"
    other.write_text(f"#!/bin/sh\n{heuristics.tool('examples/fake')} | sed -u 's/\"model\":\"fake\"/\"model\":\"other\"/'\n")
    other.chmod(other.stat().st_mode | stat.S_IXUSR)
    collect = f"exec {heuristics.tool('ah-collect')} --worker {other} \"$@\""
    words = script(tmp_path, f'case "$*" in *"--shard "[2468]/8*) {collect};; esac; exec')
    folder = tmp_path / "fleet"
    assert run(cluster, words, folder) == 0
    assert rows(folder / "fake.txt", folder / "other.txt") == rows(one)
    assert 0 < len(rows(folder / "fake.txt")) < len(rows(one))


def test_a_wrong_command_ends_the_fleet_at_once(cluster, words, tmp_path):
    with pytest.raises(ConfigError, match="--draws N"):
        run(cluster, words[:1], tmp_path / "fleet")
    with pytest.raises(ConfigError, match="--unknown"):
        run(cluster, [*words, "--unknown"], tmp_path / "fleet")
