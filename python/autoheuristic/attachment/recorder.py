"""A log that a running program appends to, one input at a time."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import device
from ..errors import LogError
from ..log import LogWriter, Metadata, text
from ..outcome import Outcome

TOOL = "autoheuristic-python 0.1.0"


class Recorder:
    """A log that grows by one input at a time, with the reasons of failures beside it."""

    def __init__(self, path: Path, name: str, timing: Mapping[str, Any] | None):
        """The log is made by the first input, which shows the kinds of the features.

        ``timing`` is the timing policy; ``None`` where the package measures by its own clock.
        """
        self.path, self._name, self._timing = path, name, timing
        self._metadata: Metadata | None = None
        self._known: dict[str, dict[str, list[float]]] = {}

    def known(self, features: Mapping[str, Any], choices: Sequence[str]) -> dict[str, Outcome]:
        """Returns what the log holds of this input.

        Raises:
            LogError: The log at this path is of another run, or the input does not fit it.
            OSError: The file cannot be opened.

        """
        metadata = self._metadata or self._begin(features, choices)
        for name in metadata.features:
            if name not in features:
                raise LogError(f"{self.path}: the log has the feature {name!r}, which this call lacks; use another log")
            if (name in metadata.numerical_features) != text.is_number(features[name]):
                kind = "number" if name in metadata.numerical_features else "category"
                raise LogError(f"{self.path}: {name!r} is a {kind} there, found {features[name]!r}; use another log")
        times = self._known.get(self._key(metadata, features), {})
        failed = Outcome(reason="failed when the log was written")
        return {choice: failed if ms[0] == float("inf") else Outcome(ms) for choice, ms in times.items()}

    def inputs(self) -> Collection[Mapping[str, list[float]]]:
        """Returns the times of each input in the log; none before ``known`` was asked."""
        return self._known.values()

    def add(self, features: Mapping[str, Any], outcomes: Mapping[str, Outcome]) -> None:
        """Appends an input; ``known`` was asked before."""
        assert self._metadata is not None
        rows = {choice: outcome.rows or [float("inf")] for choice, outcome in outcomes.items()}
        with LogWriter(self.path, self._metadata) as writer:
            writer.append(features, [(choice, ms) for choice, times in rows.items() for ms in times])
            shown = writer.key(features)
        self._known[self._key(self._metadata, features)] = rows
        failures = [
            json.dumps({"input": shown, "choice": choice, "outcome": "failed", "reason": outcome.reason}) + "\n"
            for choice, outcome in outcomes.items()
            if outcome.reason is not None
        ]
        if failures:
            with open(f"{self.path}.outcomes.jsonl", "ab", buffering=0) as file:
                file.write("".join(failures).encode())

    def _begin(self, features: Mapping[str, Any], choices: Sequence[str]) -> Metadata:
        identity = device.current()
        metadata = Metadata(
            self._name,
            [name for name, value in features.items() if text.is_number(value)],
            [name for name, value in features.items() if not text.is_number(value)],
            sorted(choices),
            (identity["capability"][0], identity["capability"][1]),
            identity["shared_memory"],
            {
                "format": 1,
                "device": identity,
                **({} if self._timing is None else {"timing": dict(self._timing)}),
                "seed": 0,
                "tool": TOOL,
            },
        )
        with LogWriter(self.path, metadata) as writer:
            self._known = writer.inputs(metadata.features)
        self._metadata = metadata
        return metadata

    def _key(self, metadata: Metadata, features: Mapping[str, Any]) -> str:
        return text.row(text.value(features[name]) for name in metadata.features)
