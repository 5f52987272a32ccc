"""The inputs of a tuned kernel, made by its example: the function that makes the arguments of one call.

``worker`` measures whatever has the members of ``Example``; the other one is ``attachment.recorded.Recorded``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .check import Outputs
from .errors import FeatureError, UsageError
from .features import DTYPE, Features
from .kernel import Call

if TYPE_CHECKING:
    from .tuner import Tuner

TRUTHS = {"True": True, "False": False}
CATEGORIES = ("bool", "str")
"""The annotations of a parameter that is a category; one without is a number, ``PARAMETER_dtype`` a type."""


def find_kernel(named: str) -> Tuner:
    """Returns the tuned kernel that ``module:kernel`` names; the module may be a file, ``examples/matmul.py:kernel``.

    Raises:
        UsageError: There is no such module or kernel, or it has no example.

    """
    module_name, colon, kernel_name = named.rpartition(":")
    if not colon:
        raise UsageError(f"expected MODULE:KERNEL, for example matmul:matmul_kernel, found {named!r}")
    path = Path(module_name)
    # As python -m and python FILE do.
    sys.path.insert(0, str(path.parent.resolve()) if path.suffix == ".py" else "")
    try:
        module = importlib.import_module(path.stem if path.suffix == ".py" else module_name)
    except ImportError as error:
        raise UsageError(f"cannot import {module_name} ({error}); run in its folder, or set PYTHONPATH") from error
    kernel: Any = getattr(module, kernel_name, None)
    if not hasattr(kernel, "example"):
        raise UsageError(
            f"{module_name}: expected a kernel under autoheuristic.tune named {kernel_name!r}, "
            f"found {type(kernel).__name__}"
        )
    if kernel.arguments is None:
        raise UsageError(
            f"{named}: the kernel has no example; put @{kernel_name}.example over a function that makes the "
            "arguments of a call from a row of the inputs"
        )
    found: Tuner = kernel
    return found


class Example:
    """Makes calls of a kernel from features."""

    compiling_seconds = 600.0
    """The most seconds of compiling the inputs to come; the launches compile what is left."""
    needs_compiled = False
    """Whether a configuration that was not compiled by then is left out."""

    def __init__(self, tuner: Tuner):
        """Features are the parameters of the example that are named as parameters of the kernel.

        Raises:
            UsageError: There is no such parameter.

        """
        assert tuner.arguments is not None
        tuner.use(None)  # The author's pruning counts, not a heuristic's.
        self.name, self.kernel, self._options, self._make = tuner.name, tuner.kernel, tuner.options, tuner.arguments
        self.fallback = [tuner.kernel.names[tuner.fallback]] if tuner.options.fallback is not None else []
        names = tuner.arg_names
        self._parameters = inspect.signature(self._make).parameters.values()
        found = [p for p in self._parameters if p.name in names or p.name.removesuffix(DTYPE) in names]
        kinds = {p.name: getattr(p.annotation, "__name__", str(p.annotation)) for p in found}
        self.columns = {name: kind in CATEGORIES or name.endswith(DTYPE) for name, kind in kinds.items()}
        """The features, and whether each is a category."""
        if not self.columns:
            raise UsageError(
                f"the example of {tuner.name} has no feature: expected parameters named as those of the kernel "
                f"({', '.join(names)}), or PARAMETER{DTYPE}, found {', '.join(p.name for p in self._parameters)}"
            )
        self._features = Features.of_names(tuner.kernel, self.columns)

    def call(self, context: Mapping[str, Any]) -> Call:
        """Makes the arguments of a call. What the example raises, for example ``OutOfMemoryError``, comes through.

        Raises:
            FeatureError: The call has other features than it was made of.

        """
        wanted = [parameter.name for parameter in self._parameters]
        values = {name: TRUTHS.get(value, value) for name, value in context.items() if name in wanted}
        grid, args, *kwargs = self._make(**values)
        call = Call(grid, tuple(args), dict(kwargs[0]) if kwargs else {})
        for name, found in self._features.read(call).items():
            asked = context[name]
            if str(asked) != str(found) if self.columns[name] else asked != found:
                raise FeatureError(f"the example was asked for {name}={asked}, and the call has {found}")
        return call

    def outputs(self, call: Call) -> Outputs:
        """Returns the outputs of a call, which are compared."""
        return Outputs(self.kernel.named_args(call), self._options.outputs, self._options.tolerance)

    def worth_measuring(self, offered: Sequence[int], context: Mapping[str, Any]) -> Sequence[int]:
        """Returns the configurations to measure, of those that pruning leaves: all."""
        return offered
