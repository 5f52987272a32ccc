"""The first line of a log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import LogError, MetadataError

OURS = "autoheuristic_rs"
"""The key that holds device, timing policy, seed and tool; PyTorch's readers pass it over."""

KEYS = ("name", "shared_memory", "device_capa", "numerical_features", "categorical_features", "choices", OURS)


@dataclass
class Metadata:
    """What a log says about all its rows. The keys are PyTorch's, ours is ``collection``."""

    name: str
    numerical_features: list[str] = field(default_factory=list)
    categorical_features: list[str] = field(default_factory=list)
    choices: list[str] | None = None
    """All choices, sorted; ``None`` where the log does not say."""
    device_capa: tuple[int, int] = (0, 0)
    """Compute capability; (0, 0) for a processor."""
    shared_memory: int | None = 0
    """Bytes of shared memory that a block may opt into."""
    collection: dict[str, Any] | None = None
    """``format``, ``device``, ``timing``, ``seed``, ``tool``: how the log was measured."""

    @property
    def features(self) -> list[str]:
        """All features: numerical, then categorical. The order of the columns is the header's."""
        return [*self.numerical_features, *self.categorical_features]

    def to_json(self) -> str:
        """Returns the line, without its end."""
        values = (
            self.name,
            self.shared_memory,
            list(self.device_capa),
            self.numerical_features,
            self.categorical_features,
            self.choices,
            self.collection,
        )
        present = {key: value for key, value in zip(KEYS, values) if value is not None}
        return json.dumps(present, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str, path: str) -> Metadata:
        """Reads the line.

        Raises:
            LogError: It is not the metadata of a log.

        """
        expected = "a JSON object with name, device_capa, numerical_features and categorical_features"
        try:
            found = json.loads(line)
            metadata = cls(
                name=found["name"],
                numerical_features=_names(found["numerical_features"]),
                categorical_features=_names(found["categorical_features"]),
                choices=_names(found["choices"]) if found.get("choices") is not None else None,
                device_capa=tuple(map(int, found["device_capa"])),  # type: ignore[arg-type]
                shared_memory=found.get("shared_memory"),
                collection=found.get(OURS),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LogError(
                f"{path}, line 1: expected {expected}, found {line[:80]!r} ({type(error).__name__}: {error}); "
                "is this a log of AutoHeuristic?"
            ) from error
        names = metadata.features
        if twice := [name for name in names if names.count(name) > 1]:
            raise LogError(f"{path}, line 1: expected distinct features, found {twice[0]!r} twice; rename one")
        return metadata

    def agree(self, other: Metadata, path: str, hint: str, ignore: Iterable[str] = ()) -> None:
        """Checks that rows of ``other`` may stand in this log.

        Lists of features count as sets, the tool's version does not count, nor do choices or a timing policy that only
        one gives.

        Raises:
            MetadataError: It names each key that differs, with both values.

        """
        found = [d for d in _differences("", self._normal(other), other._normal(self)) if d[0] not in ignore]
        if found:
            listed = "; ".join(f"{key} (log: {log}, other: {mine})" for key, log, mine in found)
            raise MetadataError(f"{path}: the metadata differ in {listed}; {hint}")

    def _normal(self, other: Metadata) -> dict[str, Any]:
        normal: dict[str, Any] = json.loads(self.to_json())
        for kind in ("numerical_features", "categorical_features"):
            normal[kind] = sorted(normal[kind])
        if self.choices is None or other.choices is None:
            normal.pop("choices", None)
        if isinstance(normal.get(OURS), dict):
            normal[OURS].pop("tool", None)
            # A program may add its own timings to a log of a collector.
            if not all(isinstance(m.collection, dict) and m.collection.get("timing") for m in (self, other)):
                normal[OURS].pop("timing", None)
        return normal


def _names(found: Any) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise TypeError("expected a list of names")
    return found


def _differences(key: str, a: Any, b: Any) -> list[tuple[str, str, str]]:
    if isinstance(a, dict) and isinstance(b, dict):
        return [
            difference
            for name in sorted({*a, *b})
            for difference in _differences(f"{key}.{name}" if key else name, a.get(name), b.get(name))
        ]
    if a == b:
        return []
    return [(key, _shown(a), _shown(b))]


def _shown(value: Any) -> str:
    return "absent" if value is None else json.dumps(value)
