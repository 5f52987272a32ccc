"""Learned choices for Triton kernels, without the warm-up of autotuning.

Put ``tune`` where ``triton.autotune`` stands::

    @autoheuristic.tune(configs=CONFIGS, key=["M", "N", "K"])
    @triton.jit
    def matmul_kernel(...): ...

``autoheuristic tune matmul.py:matmul_kernel --inputs shapes.csv`` measures, learns, and writes the heuristic beside the
kernel's source, where ``tune`` finds it. ``Log`` reads the times.

``attach`` does the same for the kernels of a package whose source stays as it is::

    autoheuristic.attach("fla")

Nothing but the standard library is imported here; Triton and PyTorch are imported where a kernel needs them.
"""

from typing import TYPE_CHECKING, Any

from .attachment import attach, attach_from_environment, detach
from .environment import VERSION
from .errors import (
    AutoHeuristicError,
    AutoHeuristicWarning,
    ConfigError,
    FeatureError,
    HeuristicError,
    LogError,
    MeasureError,
)
from .log import Log

if TYPE_CHECKING:
    from .tuner import tune

__version__ = VERSION

__all__ = [
    "AutoHeuristicError",
    "AutoHeuristicWarning",
    "ConfigError",
    "FeatureError",
    "HeuristicError",
    "Log",
    "LogError",
    "MeasureError",
    "attach",
    "detach",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name != "tune":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .tuner import tune

    return tune


attach_from_environment()
