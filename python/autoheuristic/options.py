"""What ``tune`` takes beyond the arguments of ``triton.autotune``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from .heuristic import Source


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of ``tune``, which documents them."""

    heuristic: Source | Sequence[Source] | None = None
    fallback: str | Any | None = None
    name: str | None = None
    strict: bool = False
    outputs: Sequence[str] | None = None
    tolerance: float | None = None
