"""What can go wrong. Each message says what, where, expected, found, and what to do.

A tuned kernel raises these only with ``strict=True``; otherwise it warns once and runs its fallback.
The command line maps them to the exit codes that all tools of the project share.
"""

from __future__ import annotations

INTERRUPTED = 130
"""The exit code of a run that a person ends."""


class AutoHeuristicError(Exception):
    """The base of all errors of this package."""

    exit_code = 1


def shown(error: Exception) -> str:
    """Returns what to say about an error: its kind too, unless it is one of ours."""
    return str(error) if isinstance(error, AutoHeuristicError) else f"{type(error).__name__}: {error}"[:500]


class LogError(AutoHeuristicError):
    """A log is malformed."""

    exit_code = 3


class HeuristicError(AutoHeuristicError):
    """A heuristic file cannot be used: broken, for other configurations, or for another device."""

    exit_code = 3


class FeatureError(AutoHeuristicError):
    """A call lacks an argument that the key or the heuristic needs."""

    exit_code = 3


class ConfigError(AutoHeuristicError):
    """The configurations, the fallback or the arguments of ``tune`` make no sense together."""

    exit_code = 2


class MeasureError(AutoHeuristicError):
    """No configuration could be measured."""

    exit_code = 5


class DeviceLostError(MeasureError):
    """The device reported a fault; this process can measure no more."""


class NoMemoryError(MeasureError):
    """The device's memory does not suffice for this input; the process can measure others."""


class UsageError(AutoHeuristicError):
    """The command line, or what it names, is wrong."""

    exit_code = 2


class AutoHeuristicWarning(UserWarning):
    """A kernel runs its fallback, or a measurement was not recorded; the message says why."""
