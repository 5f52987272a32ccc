"""A device that exists only in memory: its time passes only when a kernel runs.

It stands where Triton's active driver stands, so the clock of the package runs as it does on a GPU.
"""

from __future__ import annotations

import math

IDENTITY = {
    "kind": "cuda",
    "name": "Fake GPU",
    "capability": [9, 0],
    "multiprocessors": 132,
    "shared_memory": 232448,
    "l2": 62914560,
    "memory": 150000000000,
    "clock_khz": 1980000,
    "memory_clock_khz": 3201000,
    "driver": "13.0",
    "runtime": "fake 1.0",
}


class Device:
    """Counts milliseconds."""

    def __init__(self):
        self.now = 0.0
        self.flushes = 0
        self.late = iter(())
        """Whether the host is late with the next launches; afterwards it is in time."""
        self.is_slow = False
        """Whether the device is done with a sample before the host begins the next but one."""
        self.recorded = []
        self.broken = None
        """What synchronizing raises, once the device is lost."""

    # Triton's driver

    def get_device_interface(self):
        return self

    def get_empty_cache_for_benchmark(self):
        return []

    def clear_cache(self, cache):
        self.flushes += 1
        self.now += 0.06

    def get_benchmarker(self):
        raise AssertionError("the package times by itself")

    # Its device interface

    def Event(self, enable_timing):
        assert enable_timing
        return Event(self)

    def synchronize(self):
        if self.broken:
            raise RuntimeError(self.broken)


class Event:
    def __init__(self, device):
        self.device = device

    def record(self):
        self.at = self.device.now
        self.device.recorded = [*self.device.recorded[-1:], self]

    def query(self):
        is_start = self is self.device.recorded[0]
        return next(self.device.late, False) if is_start else self.device.is_slow

    def elapsed_time(self, end):
        return end.at - self.at


class Dtype:
    def __init__(self, name, is_floating_point=True):
        self.name, self.is_floating_point = name, is_floating_point
        self.itemsize = int(name.lstrip("float").lstrip("int")) // 8

    def __str__(self):
        return f"torch.{self.name}"


FLOAT16, FLOAT32, INT32 = Dtype("float16"), Dtype("float32"), Dtype("int32", False)


class Tensor:
    """A list of numbers with the few methods that the check of results needs."""

    def __init__(self, values, dtype=FLOAT32):
        self.values, self.dtype = list(values), dtype

    @property
    def shape(self):
        return (len(self.values),)

    def stride(self):
        return (1,)

    def tolist(self):
        return list(self.values)

    def clone(self):
        return Tensor(self.values, self.dtype)

    def copy_(self, other):
        self.values[:] = other.values

    def data_ptr(self):
        return id(self)

    def flatten(self):
        return self

    def min(self):
        return min(self.values)

    def max(self):
        return max(self.values)

    def __getitem__(self, part):
        return Tensor(self.values[part], self.dtype)

    def __ge__(self, other):
        return Tensor(a >= b for a, b in zip(self.values, other.values))

    def all(self):
        return all(self.values)

    def numel(self):
        return len(self.values)

    def element_size(self):
        return 4

    def equal(self, other):
        return self.values == other.values

    def allclose(self, other, rtol, atol, equal_nan):
        assert rtol == 0.0 and equal_nan
        pairs = zip(self.values, other.values)
        return all(a == b or (a != a and b != b) or abs(a - b) <= atol for a, b in pairs)

    def __sub__(self, other):
        return Tensor(a - b for a, b in zip(self.values, other.values))

    def abs(self):
        return Tensor(map(abs, self.values))

    def amax(self):
        return math.nan if any(v != v for v in self.values) else max(self.values)

    def fmin(self, other):
        return Tensor(b if a != a else a if b != b else min(a, b) for a, b in zip(self.values, other.values))

    def fmax(self, other):
        return Tensor(b if a != a else a if b != b else max(a, b) for a, b in zip(self.values, other.values))

    def isnan(self):
        return Tensor(v != v for v in self.values)

    def masked_fill(self, mask, value):
        return Tensor(value if masked else v for v, masked in zip(self.values, mask.values))

    def __or__(self, other):
        return Tensor(a or b for a, b in zip(self.values, other.values))

    def __and__(self, other):
        return Tensor(a and b for a, b in zip(self.values, other.values))

    def __eq__(self, other):
        return Tensor(a == b for a, b in zip(self.values, other.values))

    __hash__ = object.__hash__

    def __ne__(self, other):
        return Tensor(a != b for a, b in zip(self.values, other.values))

    def any(self):
        return any(self.values)

    def nan_to_num(self, nan=0.0, posinf=math.inf, neginf=-math.inf):
        change = {math.inf: posinf, -math.inf: neginf}
        return Tensor(nan if v != v else change.get(v, v) for v in self.values)

    def zero_(self):
        self.values[:] = [0.0] * len(self.values)
