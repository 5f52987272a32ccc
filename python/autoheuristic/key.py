"""What a pick depends on: the values of some arguments, and the types of some tensors.

A feature is a parameter of the kernel (``M``), or the element type of one (``a_ptr_dtype``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple

from .errors import FeatureError

DTYPE = "_dtype"
Args = tuple[Any, ...]
Key = tuple[Any, ...]


class Feature(NamedTuple):
    """One part of a key."""

    name: str
    parameter: str
    is_dtype: bool
    """Whether it is the parameter's element type instead of its value."""


def feature(name: str, parameters: Sequence[str]) -> Feature:
    """Returns the feature of this name.

    Raises:
        FeatureError: The kernel has no such parameter.

    """
    if name in parameters:
        return Feature(name, name, False)
    if name.endswith(DTYPE) and name[: -len(DTYPE)] in parameters:
        return Feature(name, name[: -len(DTYPE)], True)
    raise FeatureError(
        f"expected the name of a parameter of the kernel ({', '.join(parameters)}) or PARAMETER{DTYPE}, found {name!r}"
    )


class KeyReader:
    """Reads the key from the arguments of a call."""

    def __init__(self, features: Sequence[Feature], parameters: Sequence[str], defaults: Mapping[str, Any]):
        """``parameters`` are the kernel's, in order; ``defaults`` are those that have one."""
        self.features = tuple(features)
        self._position = {name: i for i, name in enumerate(parameters)}
        self._defaults = defaults

    def read(self, args: Args, kwargs: Mapping[str, Any]) -> Key:
        """Returns the key of a call.

        Raises:
            FeatureError: An argument is missing.

        """
        return tuple(self._value(feature, args, kwargs) for feature in self.features)

    def _value(self, feature: Feature, args: Args, kwargs: Mapping[str, Any]) -> Any:
        position, name = self._position[feature.parameter], feature.parameter
        if position < len(args):
            value = args[position]
        elif name in kwargs:
            value = kwargs[name]
        elif name in self._defaults:
            value = self._defaults[name]
        else:
            raise FeatureError(f"the call lacks the argument {name!r}, which the choice depends on; pass it")
        return getattr(value, "dtype", None) if feature.is_dtype else value

    def fast(self, args: Args, kwargs: Mapping[str, Any]) -> Callable[[Args, Mapping[str, Any]], Key] | None:
        """Returns a function that reads the key of calls laid out as this one; ``None`` where a default is used.

        It is compiled, because a loop over the features takes 1 µs where the subscripts take 0.2. On a call laid
        out otherwise it raises IndexError or KeyError.
        """
        parts = []
        for feature in self.features:
            position = self._position[feature.parameter]
            if position >= len(args) and feature.parameter not in kwargs:
                return None
            part = f"a[{position}]" if position < len(args) else f"k[{feature.parameter!r}]"
            parts.append(f"getattr({part}, 'dtype', None)" if feature.is_dtype else part)
        reader: Callable[[Args, Mapping[str, Any]], Key] = eval(f"lambda a, k: ({''.join(p + ',' for p in parts)})")
        return reader
