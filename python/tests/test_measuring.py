"""The clock: samples that the host launched late are taken again."""

import pytest

from autoheuristic.clock import LEAD, GpuClock, Launch


def launch(device, times):
    """A launch that takes these milliseconds, one after the other."""
    times = iter(times)

    def run():
        device.now += next(times)

    return Launch(lambda: None, run, lambda error: None)


def test_a_sample_that_was_launched_late_is_taken_again(device):
    device.late = iter([False, True, False])
    times = GpuClock().time([launch(device, [1.0]), launch(device, [2.5, 2.0])], cold=True)
    assert times == pytest.approx([1.0, 2.0])
    assert device.flushes == LEAD + 1 + LEAD


def test_a_slow_host_gets_a_lead_before_each_sample(device):
    device.is_slow = True
    assert GpuClock().time([launch(device, [1.0]) for _ in range(5)], cold=True) == pytest.approx([1.0] * 5)
    assert device.flushes == 5 * LEAD


def test_a_host_that_is_always_late_gives_its_least_time(device):
    device.late = iter([True] * 9)
    assert GpuClock().time([launch(device, [5.0, 3.0, 4.0, 6.0, 7.0])], cold=True) == pytest.approx([3.0])
