"""Choosing by measuring, as ``triton.autotune`` does. Known timings come from the cache; only the rest is measured."""

from __future__ import annotations

from collections.abc import Sequence

from . import device, text
from .check import Outputs
from .environment import Environment
from .errors import MeasureError
from .kernel import Call, Kernel
from .key import Feature, Key, KeyReader, feature
from .measure import measure
from .options import Options
from .outcome import TIMING, Outcome
from .source import source_hash
from .timings import Timings


class Measuring:
    """Measures each new key."""

    def __init__(self, name: str, kernel: Kernel, keys: Sequence[str], options: Options, environment: Environment):
        """Reads the cache at the first key."""
        self._name, self._kernel, self._options = name, kernel, options
        self._environment = environment
        self._timings: Timings | None = None
        features = [feature(name, kernel.arg_names) for name in keys if name in kernel.arg_names]
        known = {f.parameter for f in features}
        types = (name for name in kernel.arg_names if name not in known | kernel.constants)
        features += (Feature(f"{name}_dtype", name, True) for name in types)
        self.reader = KeyReader(features, kernel.arg_names, kernel.defaults)

    def outcomes(self, key: Key, call: Call, choices: Sequence[int]) -> dict[int, Outcome]:
        """Returns an outcome of each of these configurations on this key.

        Raises:
            MeasureError: Nothing can be measured here.

        """
        names = {self._kernel.names[i]: i for i in choices}
        timings, key_text = self._cache(), text.row(map(text.value, key))
        found = timings.get(key_text, list(names)) if timings else {}
        missing = [name for name in names if name not in found]
        if missing:
            # A new configuration is checked against the first one, as all were.
            fresh = self._measure(call, [names[name] for name in missing], next(iter(names.values())))
            if timings:
                timings.put(key_text, fresh)
            found.update(fresh)
        return {i: found[name] for name, i in names.items()}

    def _measure(self, call: Call, choices: Sequence[int], reference: int) -> dict[str, Outcome]:
        kernel, options = self._kernel, self._options
        if kernel.has_own_clock:
            return {kernel.names[i]: kernel.bench(call, i) for i in choices}
        try:
            outputs = Outputs(kernel.named_args(call), options.outputs, options.tolerance)
        except RuntimeError as error:
            raise MeasureError(
                f"{self._name}: the arguments cannot be copied for the check ({error}); name the outputs with outputs="
            ) from error
        return measure(kernel, call, choices, reference, outputs)

    def _cache(self) -> Timings | None:
        folder, kernel = self._environment.timings_folder, self._kernel
        if folder is None or not kernel.caches or kernel.has_own_clock:
            return None
        if self._timings is None:
            identity = {"kernel": source_hash(kernel.jit), "device": device.current(), "timing": TIMING}
            self._timings = Timings(folder, self._name, identity)
        return self._timings
