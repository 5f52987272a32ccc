"""Choosing by measuring: as ``triton.autotune`` does, and in collecting mode into a log.

Known timings are taken from the log, then from the cache; only the rest is measured.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import device
from .check import Outputs
from .clock import GpuClock
from .environment import Environment
from .errors import LogError, MeasureError
from .key import Feature, Key, KeyReader, feature
from .log import LogWriter, Metadata, text
from .measure import Outcome, measure
from .race import TimingPolicy
from .source import source_hash
from .timings import Timings

if TYPE_CHECKING:
    from .tuner import Call, Tuner

TOOL = "autoheuristic-python 0.1.0"


class Recorder:
    """A log that grows by one input at a time, with the reasons of failures beside it."""

    def __init__(self, path: Path, name: str, seed: int, policy: TimingPolicy):
        """The log is made by the first input, because that tells the kinds of the features."""
        self.path, self._name, self._seed, self._policy = path, name, seed, policy
        self.measured = 0
        """Inputs that this process added."""
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

    def add(self, features: Mapping[str, Any], outcomes: Mapping[str, Outcome]) -> None:
        """Appends an input; ``known`` was asked before."""
        assert self._metadata is not None
        rows = {choice: outcome.rows or [float("inf")] for choice, outcome in outcomes.items()}
        with LogWriter(self.path, self._metadata) as writer:
            writer.append(features, [(choice, ms) for choice, times in rows.items() for ms in times])
            shown = writer.key(features)
        self._known[self._key(self._metadata, features)] = rows
        self.measured += 1
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
                "timing": self._policy.to_json(),
                "seed": self._seed,
                "tool": TOOL,
            },
        )
        with LogWriter(self.path, metadata) as writer:
            self._known = writer.inputs(metadata.features)
        self._metadata = metadata
        return metadata

    def _key(self, metadata: Metadata, features: Mapping[str, Any]) -> str:
        return text.row(text.value(features[name]) for name in metadata.features)


class Measuring:
    """Measures each new key."""

    def __init__(self, tuner: Tuner, environment: Environment, recorder: Recorder | None):
        """Also records what it measures, where a recorder is given."""
        self.recorder = recorder
        self._environment = environment
        self._timings: Timings | None = None
        features = [feature(name, tuner.arg_names) for name in tuner.keys if name in tuner.arg_names]
        known = {f.parameter for f in features}
        types = (name for name in tuner.arg_names if name not in known | tuner.constants)
        features += (Feature(f"{name}_dtype", name, True) for name in types)
        self.reader = KeyReader(features, tuner.arg_names, tuner.defaults)

    def outcomes(self, tuner: Tuner, key: Key, call: Call, choices: Sequence[int]) -> dict[int, Outcome]:
        """Returns an outcome of each of these configurations on this key.

        Raises:
            MeasureError: Nothing can be measured here.
            LogError: The log cannot take the input.

        """
        names = {tuner.names[i]: i for i in choices}
        # What is no tensor has no element type, and so no column.
        pairs = zip(self.reader.features, key)
        values = {f.name: value for f, value in pairs if not (f.is_dtype and value is None)}
        found = self.recorder.known(values, tuner.names) if self.recorder else {}
        if not found:
            found = self._measured(tuner, key, call, names)
            if self.recorder:
                self.recorder.add(values, found)
        return {names[name]: outcome for name, outcome in found.items() if name in names}

    def _measured(self, tuner: Tuner, key: Key, call: Call, names: Mapping[str, int]) -> dict[str, Outcome]:
        timings, key_text = self._cache(tuner), text.row(map(text.value, key))
        found = timings.get(key_text, list(names)) if timings else {}
        missing = [name for name in names if name not in found]
        if missing:
            fresh = self._measure(tuner, call, {name: names[name] for name in missing}, names)
            if timings:
                timings.put(key_text, fresh)
            found.update(fresh)
        return {name: found[name] for name in names}

    def _measure(
        self, tuner: Tuner, call: Call, missing: Mapping[str, int], names: Mapping[str, int]
    ) -> dict[str, Outcome]:
        if tuner.user_do_bench is not None:
            return {name: tuner.bench(call, i) for name, i in missing.items()}
        compile_all(tuner, call, list(missing.values()))
        try:
            outputs = Outputs(tuner.named_args(call), tuner.options.outputs, tuner.options.tolerance)
        except RuntimeError as error:
            raise MeasureError(
                f"{tuner.name}: the arguments cannot be copied for the check ({error}); name the outputs with outputs="
            ) from error
        launches = {name: tuner.prepared(call, i) for name, i in missing.items()}
        # A new configuration is checked against the first one, as all were.
        first = next(iter(names))
        reference = {} if first in launches else {first: tuner.prepared(call, names[first])}
        found = measure({**reference, **launches}, outputs, GpuClock(), tuner.options.policy, tuner.cannot_launch)
        return {name: found[name] for name in missing}

    def _cache(self, tuner: Tuner) -> Timings | None:
        folder = self._environment.timings_folder
        if folder is None or not tuner.cache_results or tuner.user_do_bench is not None:
            return None
        if self._timings is None:
            identity = {
                "kernel": source_hash(tuner.jit),
                "device": device.current(),
                "timing": tuner.options.policy.to_json(),
            }
            self._timings = Timings(folder, tuner.name, identity)
        return self._timings


def compile_all(tuner: Tuner, call: Call, choices: Sequence[int]) -> None:
    """Compiles these configurations in parallel, where Triton can (3.4 and later). Failures show when they run."""
    import triton

    mode = getattr(triton, "AsyncCompileMode", None)
    if mode is None or len(choices) < 2:
        return
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool, mode(pool, ignore_errors=True):
        for i in choices:
            try:
                tuner.launch(call, i, warmup=True)
            except Exception as error:
                if not tuner.cannot_launch(error):
                    raise
