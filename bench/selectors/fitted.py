"""What a selector returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..task import Input


class SkippedError(Exception):
    """The selector cannot run here; the message says what is missing."""


@dataclass(frozen=True)
class Fitted:
    """A selector that has learned."""

    choose: Callable[[Sequence[Input]], list]
    """The choice for each input, or None; reads the features and the offered names alone."""
    size: int
    """Bytes."""
    one: Callable[[Input], object] | None = None
    """A call for one input, if it differs from ``choose`` on a list of one."""
