"""What ``tune`` takes beyond the arguments of ``triton.autotune``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .heuristic import Source
from .race import TimingPolicy


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of ``tune``, which documents them."""

    heuristic: Source | Sequence[Source] | None = None
    fallback: str | Any | None = None
    collect: bool | None = None
    log: Path | None = None
    name: str | None = None
    strict: bool = False
    policy: TimingPolicy = TimingPolicy()
    outputs: Sequence[str] | None = None
    tolerance: float | None = None
    seed: int = 0
