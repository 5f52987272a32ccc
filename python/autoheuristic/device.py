"""The device that kernels run on, as a log's metadata hold it."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from .errors import MeasureError

CONTEXTS = 4 << 30
"""Bytes: this process and its predecessor hold 0.5 GiB each on an H100 before they allocate anything."""


def current() -> dict[str, Any]:
    """The identity of the current GPU.

    Raises:
        MeasureError: There is none.
    """
    try:
        import torch

        index = torch.cuda.current_device()
    except (ImportError, RuntimeError, AssertionError) as error:
        raise MeasureError(f"expected a GPU that PyTorch can use, found none ({error})") from error
    return _identity(index)


def held_by_others() -> int:
    """The bytes of the device's memory that other programs hold; 0 if it is no more than their start takes."""
    torch: Any = sys.modules.get("torch")
    try:
        free, total = torch.cuda.mem_get_info()
        held = int(total - free - torch.cuda.memory_reserved())
    except (AttributeError, RuntimeError):
        return 0
    return held if held > CONTEXTS else 0


@functools.cache
def _identity(index: int) -> dict[str, Any]:
    import torch
    import triton
    from triton.runtime import driver

    properties = torch.cuda.get_device_properties(index)
    known: dict[str, int] = driver.active.utils.get_device_properties(index)
    # ROCm builds name their version elsewhere; the driver's number is the CUDA version that it supports.
    runtime = getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None) or "unknown"
    version = _driver_version()
    return {
        "kind": "cuda",
        "name": properties.name,
        "capability": [properties.major, properties.minor],
        "multiprocessors": properties.multi_processor_count,
        "shared_memory": known.get("max_shared_mem", getattr(properties, "shared_memory_per_block_optin", 0)),
        "l2": getattr(properties, "L2_cache_size", 0),
        "memory": properties.total_memory,
        "clock_khz": known.get("sm_clock_rate", 0),
        "memory_clock_khz": known.get("mem_clock_rate", 0),
        "driver": f"{version // 1000}.{version % 1000 // 10}" if version else "unknown",
        "runtime": f"torch {torch.__version__} triton {triton.__version__} cuda {runtime}",
    }


def _driver_version() -> int:
    """The CUDA version that the driver supports, ``13000`` for 13.0; 0 if there is none to ask."""
    version = ctypes.c_int()
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return 0
    return version.value
