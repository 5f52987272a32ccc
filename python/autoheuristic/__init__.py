"""Learned choices for Triton kernels, without the warm-up of autotuning.

Put ``tune`` where ``triton.autotune`` stands::

    @autoheuristic.tune(configs=CONFIGS, key=["M", "N", "K"], heuristic="matmul_h200.py")
    @triton.jit
    def matmul_kernel(...): ...

The heuristic comes from measurements: ``python -m autoheuristic collect`` starts ``ah-collect``, which writes
``train.txt``; ``ah-train`` learns from it, and its target ``python`` is the file. ``Log`` reads and writes such logs.

``attach`` does the same for the kernels of a package whose source stays as it is::

    autoheuristic.attach("fla")

Nothing but the standard library is imported here; Triton and PyTorch are imported where a kernel needs them.
"""

from .attachment import attach, attach_from_environment, detach
from .decorator import tune
from .errors import (
    AutoHeuristicError,
    AutoHeuristicWarning,
    ConfigError,
    FeatureError,
    HeuristicError,
    LogError,
    MeasureError,
    MetadataError,
)
from .log import Log

__version__ = "0.1.0"

__all__ = [
    "AutoHeuristicError",
    "AutoHeuristicWarning",
    "ConfigError",
    "FeatureError",
    "HeuristicError",
    "Log",
    "LogError",
    "MeasureError",
    "MetadataError",
    "attach",
    "detach",
    "tune",
]

attach_from_environment()
