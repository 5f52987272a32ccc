"""What can go wrong. Each message says what, where, expected, found, and what to do.

A tuned kernel raises these only with ``strict=True``; otherwise it warns once and runs its fallback.
The command line maps them to the exit codes that all tools of the project share.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

INTERRUPTED = 130
"""The exit code of a run that a person ends."""


class AutoHeuristicError(Exception):
    """The base of all errors of this package; most are of a malformed input."""

    exit_code = 3


def of_author(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function of the author of a kernel, and says so where it raises.

    Raises:
        NotMeasuredError: It raised. A ``RuntimeError`` comes through: it may be a fault of the device.
    """
    try:
        return function(*args, **kwargs)
    except (RuntimeError, AutoHeuristicError):
        raise
    except Exception as error:
        raise NotMeasuredError(f"{what} raised {shown(error)}; repair it") from error


def shown(error: Exception) -> str:
    """What to say about an error: its kind too, unless it is one of ours."""
    if isinstance(error, AutoHeuristicError):
        return str(error)
    while isinstance(error.__cause__, type(error)):  # Triton's compiler raises again at each call of a function.
        error = error.__cause__
    # Its text quotes the kernel between the place and the reason.
    reason = getattr(error, "error_message", None)
    text = f"{str(error).splitlines()[0]} {reason}" if reason else str(error)
    return f"{type(error).__name__}: {text}"[:500]


class LogError(AutoHeuristicError):
    """A log is malformed."""


class HeuristicError(AutoHeuristicError):
    """A heuristic file cannot be used: broken, for other configurations, or for another device."""


class FeatureError(AutoHeuristicError):
    """A call lacks an argument that the key or the heuristic needs."""


class ConfigError(AutoHeuristicError):
    """The arguments of ``tune`` or of a command are wrong, or what they name."""

    exit_code = 2


class MeasureError(AutoHeuristicError):
    """No configuration could be measured."""

    exit_code = 5


class DeviceLostError(MeasureError):
    """The device reported a fault; this process can measure no more."""


class NotMeasuredError(MeasureError):
    """The author's code raised, or another program holds the memory: no choice is at fault; a later run tries again."""


class NoMemoryError(NotMeasuredError):
    """A configuration alone needs more memory than the device has: it cannot run here."""


class AutoHeuristicWarning(UserWarning):
    """A kernel runs its fallback, or a measurement was not recorded; the message says why."""


_warned: set[str] = set()


def warn_once(message: str) -> None:
    """Warns of each message once."""
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, AutoHeuristicWarning, stacklevel=3)
