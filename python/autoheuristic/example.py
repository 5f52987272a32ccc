"""The inputs of a tuned kernel, made by its example: the function that makes the arguments of one call.

``worker`` measures whatever has the members of ``Example``; the other one is ``attachment.recorded.Recorded``.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .check import Outputs
from .errors import ConfigError, FeatureError, of_author
from .features import AXES, DTYPE, GRID, NUMBER, Features
from .kernel import Call

if TYPE_CHECKING:
    from .tuner import Tuner

MOST_PROBED = 8
"""Values of the other columns that are tried, to find what the features do not determine."""
TRUTHS = {"True": True, "False": False}
CATEGORIES = ("bool", "str")
"""The annotations of a parameter that is a category; one without is a number, ``PARAMETER_dtype`` a type."""


def find_kernel(named: str) -> Tuner:
    """The tuned kernel that ``module:kernel`` names; the module may be a file, ``examples/matmul.py:kernel``.

    Raises:
        ConfigError: There is no such module or kernel, or it has no example.
    """
    module_name, colon, kernel_name = named.rpartition(":")
    if not colon:
        raise ConfigError(f"expected MODULE:KERNEL, for example matmul:matmul_kernel, found {named!r}")
    path = Path(module_name)
    # As python -m and python FILE do.
    sys.path.insert(0, str(path.parent.resolve()) if path.suffix == ".py" else "")
    try:
        module = importlib.import_module(path.stem if path.suffix == ".py" else module_name)
    except ImportError as error:
        raise ConfigError(f"cannot import {module_name} ({error}); run in its folder, or set PYTHONPATH") from error
    kernel: Any = getattr(module, kernel_name, None)
    if not hasattr(kernel, "example"):
        expected = f"a kernel under autoheuristic.tune named {kernel_name!r}"
        raise ConfigError(f"{module_name}: expected {expected}, found {type(kernel).__name__}")
    if kernel.arguments is None:
        example = f"put @{kernel_name}.example over a function that makes the arguments of a call from a line of inputs"
        raise ConfigError(f"{named}: the kernel has no example; {example}")
    found: Tuner = kernel
    return found


class Example:
    """Makes calls of a kernel from features."""

    compiling_seconds = 600.0
    """The most seconds of compiling the inputs to come; the launches compile what is left."""
    needs_compiled = False
    """Whether a configuration that was not compiled by then is left out."""

    def __init__(self, tuner: Tuner, observed: Sequence[str] = ()):
        """Features are the parameters of the example that are named as parameters of the kernel.

        ``observed`` are others that only the calls show, such as ``grid_0``: numbers.

        Raises:
            ConfigError: There is no such parameter.
        """
        assert tuner.arguments is not None
        tuner.use(None)  # The author's pruning counts, not a heuristic's.
        self.name, self.kernel, self._options, self._make = tuner.name, tuner.kernel, tuner.options, tuner.arguments
        self.fallback = [tuner.kernel.names[tuner.fallback]] if tuner.options.fallback is not None else []
        names = tuner.arg_names
        self._parameters = inspect.signature(self._make).parameters.values()
        found = [p for p in self._parameters if p.name in names or p.name.removesuffix(DTYPE) in names]
        kinds = {p.name: getattr(p.annotation, "__name__", str(p.annotation)) for p in self._parameters}
        self._is_text = {name: kind in CATEGORIES or name.endswith(DTYPE) for name, kind in kinds.items()}
        self.columns = {p.name: self._is_text[p.name] for p in found}
        """The features, and whether each is a category."""
        if not self.columns:
            raise ConfigError(
                f"the example of {tuner.name} has no feature: expected parameters named as those of the kernel "
                f"({', '.join(names)}), or PARAMETER{DTYPE}, found {', '.join(p.name for p in self._parameters)}"
            )
        self.columns |= dict.fromkeys(observed, False)
        self._features = Features.of_names(tuner.kernel, self.columns)
        self.source_hash = tuner.kernel.source_hash()

    def hidden(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """The numbers of the calls that the features do not determine: they change where other columns do.

        Arguments first; the grid only where no argument shows the change. ``rows`` are lines of the inputs.
        """
        others = [name for name in self._is_text if name not in self.columns and rows and name in rows[0]]
        found: list[str] = []
        probes = {tuple(row[name] for name in others): row for row in rows} if others else {}
        for row in list(probes.values())[:MOST_PROBED]:
            with contextlib.suppress(Exception):  # It shows again when the input is measured.
                calls = [self.call(each) for each in (rows[0], {**rows[0], **{name: row[name] for name in others}})]
                features = Features.of_call(self.kernel, calls[0])
                numbers = [part.name for part in features.parts if part.kind in (NUMBER, GRID)]
                (a, b), known = map(features.read, calls), {*self.columns, *found}
                changed = [name for name in numbers if name not in known and a[name] != b[name]]
                if arguments := [name for name in changed if name not in AXES]:
                    found += arguments
                elif not any(a[name] != b[name] for name in found):
                    found += changed
        return found

    def call(self, context: Mapping[str, Any]) -> Call:
        """Makes the arguments of a call. A ``RuntimeError`` of the example, as ``OutOfMemoryError`` is, comes through.

        Raises:
            NotMeasuredError: The example raised.
            FeatureError: The call has other features than it was made of.
        """
        wanted = [parameter.name for parameter in self._parameters]
        context = {n: v if self._is_text.get(n) else _number(v) for n, v in context.items()}
        values = {name: TRUTHS.get(value, value) for name, value in context.items() if name in wanted}
        grid, args, *kwargs = of_author("the example", self._make, **values)
        call = Call(grid, tuple(args), dict(kwargs[0]) if kwargs else {})
        for name, found in self._features.read(call).items():
            asked = context[name]
            if str(asked) != str(found) if self.columns[name] else asked != found:
                raise FeatureError(f"the example was asked for {name}={asked}, and the call has {found}")
        return call

    def outputs(self, call: Call) -> Outputs:
        """The outputs of a call, which are compared."""
        options = self._options
        return Outputs(self.kernel.named_args(call), options.outputs, options.tolerance, options.reference)

    def worth_measuring(self, offered: Sequence[int], context: Mapping[str, Any]) -> Sequence[int]:
        """The configurations to measure, of those that pruning leaves: all."""
        return offered


def _number(value: Any) -> Any:
    """The number that a text is, else the text: further columns come as texts."""
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value
