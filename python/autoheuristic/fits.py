"""Which configurations need too much shared memory, predicted from those that were compiled.

A configuration that is at least as large as one that does not fit does not fit either. Larger means: no number of it is
smaller (block sizes, stages), and everything else is the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


class Fits:
    """The configurations of one kernel, for arguments that share their compiled kernels."""

    def __init__(self, configs: Sequence[Mapping[str, Any]], limit: int):
        """``configs`` are the arguments of each; ``limit`` is the most shared memory of a block in bytes."""
        self._configs, self._limit = configs, limit
        self._too_large: dict[int, int] = {}
        """The bytes that compiled configurations need, of those that do not fit."""

    def smallest_first(self, choices: Iterable[int]) -> list[int]:
        """Returns configurations in an order in which one that does not fit comes before those that are larger."""
        return sorted(choices, key=lambda i: math.prod(v for v in self._configs[i].values() if _is_size(v) and v > 0))

    def note(self, index: int, shared_memory: int) -> None:
        """Notes what a compiled configuration needs."""
        if shared_memory > self._limit and self.why_not(index) is None:
            self._too_large[index] = shared_memory

    def why_not(self, index: int) -> str | None:
        """Returns why a configuration is predicted not to fit; ``None`` if it may."""
        for smaller, need in self._too_large.items():
            config, least = self._configs[index], self._configs[smaller]
            is_other = smaller != index and config.keys() == least.keys()
            pairs = ((value, least[name]) for name, value in config.items())
            if is_other and all(a >= b if _is_size(a) and _is_size(b) else a == b for a, b in pairs):
                return f"predicted not to fit: a smaller configuration needs {need} bytes of {self._limit}"
        return None


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
