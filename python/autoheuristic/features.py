"""The features of a kernel's calls: what a choice depends on.

A feature is the value of a parameter of the kernel (``M``), or the element type of one (``a_ptr_dtype``). Under
``tune`` the heuristic names its features. Under ``attach`` each argument counts that is a number or a category, because
the best configuration may depend on a length that the author's key leaves out. The grid counts too: in many kernels the
batch is visible nowhere else. A grid that depends on the configuration is that of the first one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from .errors import FeatureError

if TYPE_CHECKING:
    from .kernel import Call, Kernel

VALUE, NUMBER, CATEGORY, TYPE, GRID = "value", "number", "category", "type", "grid"
"""Kinds of features; a value may be anything."""
DTYPE = "_dtype"
AXES = ("grid_0", "grid_1", "grid_2")
Key = tuple[Any, ...]
Reader = Callable[[tuple[Any, ...], Mapping[str, Any]], Key]
MOST_KEYS = 100_000
"""Keys that are remembered; a server whose sizes never repeat begins anew then."""


class Part(NamedTuple):
    """One feature."""

    name: str
    kind: str
    parameter: str


class Features:
    """Reads some features of the calls of one kernel."""

    def __init__(self, kernel: Kernel, parts: Iterable[Part]):
        """``of_names`` and ``of_call`` find the parts."""
        self._kernel, self.parts = kernel, list(parts)
        self.names = [part.name for part in self.parts]

    @classmethod
    def of_names(cls, kernel: Kernel, names: Iterable[str]) -> Features:
        """Returns the features of these names.

        Raises:
            FeatureError: The kernel has no such parameter.
        """
        return cls(kernel, [_part(name, kernel.arg_names) for name in names])

    @classmethod
    def of_call(cls, kernel: Kernel, call: Call) -> Features:
        """Returns all features of a call, which decides which arguments are features, and their kinds.

        Raises:
            FeatureError: Two features would have one name.
        """
        arguments = _arguments(kernel, call)
        tuned = {name for kwargs in kernel.all_kwargs for name in kwargs}
        parts = []
        for name in kernel.arg_names:
            kind = _kind(arguments[name], name in kernel.constants) if name in arguments and name not in tuned else None
            if kind is not None:
                parts.append(Part(f"{name}{DTYPE}" if kind == TYPE else name, kind, name))
        parts += [Part(axis, GRID, axis) for axis in AXES]
        names = [part.name for part in parts]
        if len(set(names)) < len(names):
            raise FeatureError(f"two features have one name, of {', '.join(names)}; rename a parameter of the kernel")
        return cls(kernel, parts)

    def of_package(self, keys: Iterable[str]) -> list[str]:
        """Returns the features that an author's key depends on: its arguments, and all element types."""
        wanted = set(keys)
        return [part.name for part in self.parts if part.parameter in wanted or part.kind == TYPE]

    def read(self, call: Call) -> dict[str, Any]:
        """Returns the features of a call: numbers, and the texts of categories.

        Raises:
            FeatureError: An argument is missing, or of another kind than in the first call.
        """
        arguments = _arguments(self._kernel, call)
        values: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        for name, kind, parameter in self.parts:
            if kind == GRID:
                sizes = sizes or dict(zip(AXES, _grid(call.grid, arguments, self._kernel)))
                values[name] = sizes[name]
                continue
            if parameter not in arguments:
                raise FeatureError(f"the call lacks the argument {parameter!r}, which the choice depends on; pass it")
            value = arguments[parameter]
            other = _kind(value, parameter in self._kernel.constants)
            if kind in (NUMBER, CATEGORY) and other != kind:
                shown = other or type(value).__name__
                raise FeatureError(f"{parameter!r} was a {kind} in the first call, now it is a {shown}")
            values[name] = str(dtype_of(value)) if kind == TYPE else str(value) if kind == CATEGORY else value
        return values

    def reader(self, names: Iterable[str], call: Call) -> Reader:
        """Returns a function from the arguments of a call, laid out as this one, to the values of these features.

        It is compiled, because a loop over the features takes 1 us where the subscripts take 0.2. The number of
        positional arguments is part of the key, so a call laid out otherwise finds nothing, or raises.
        """
        wanted = set(names)
        known: dict[str, Any] = {"dtype_of": dtype_of}
        position = {name: i for i, name in enumerate(self._kernel.arg_names)}
        parts, uses_grid = ["len(a)"], False
        for part in self.parts:
            if part.name not in wanted:
                continue
            if part.kind == GRID:
                uses_grid = True
                continue
            i, name = position[part.parameter], part.parameter
            if i < len(call.args):
                value = f"a[{i}]"
            elif name in call.kwargs:
                value = f"k[{name!r}]"
            else:
                known[f"d{i}"] = self._kernel.defaults[name]
                value = f"k.get({name!r}, d{i})"
            parts.append(f"dtype_of({value})" if part.kind == TYPE else value)
        if uses_grid:
            known["grid"] = self._grid_of
            parts.append("grid(a, k)" if callable(call.grid) else "k['grid']")
        reader: Reader = eval(f"lambda a, k: ({', '.join(parts)},)", known)
        return reader

    def _grid_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, ...]:
        arguments = {**self._kernel.defaults, **dict(zip(self._kernel.arg_names, args)), **kwargs}
        return _grid(kwargs["grid"], arguments, self._kernel)


class Memory:
    """What was decided for the calls of a kernel, by their features: a call that was seen before is one look-up."""

    def __init__(self, features: Features, names: Iterable[str], call: Call):
        """A decision depends on the features of these names. Calls are laid out as this one."""
        names = list(names)
        self.reads_grid = any(name in AXES for name in names)
        """Whether the grid must be among the keyword arguments that are read."""
        self.read = features.reader(names, call)
        self.known: dict[Key, Any] = {}

    def keep(self, call: Call, decision: Any) -> None:
        """Remembers a decision, if the call is laid out as the first one."""
        if len(self.known) >= MOST_KEYS:
            self.known.clear()
        with contextlib.suppress(IndexError, KeyError):
            self.known[self.read(call.args, {**call.kwargs, "grid": call.grid})] = decision


def dtype_of(value: Any) -> Any:
    """Returns the element type of a tensor or of a tensor descriptor; ``None`` of anything else."""
    found = getattr(value, "dtype", None)
    return getattr(getattr(value, "base", None), "dtype", None) if found is None else found


def _part(name: str, parameters: Iterable[str]) -> Part:
    if name in AXES:
        return Part(name, GRID, name)
    if name in parameters:
        return Part(name, VALUE, name)
    if name.endswith(DTYPE) and name[: -len(DTYPE)] in parameters:
        return Part(name, TYPE, name[: -len(DTYPE)])
    expected = f"a parameter of the kernel ({', '.join(parameters)}), PARAMETER{DTYPE} or one of {', '.join(AXES)}"
    raise FeatureError(f"expected the name of {expected}, found {name!r}")


def _arguments(kernel: Kernel, call: Call) -> dict[str, Any]:
    return {**kernel.defaults, **kernel.named_args(call)}


def _grid(grid: Any, arguments: Mapping[str, Any], kernel: Kernel) -> tuple[int, ...]:
    """Returns the three sizes of a grid."""
    if callable(grid):
        grid = grid({**arguments, **kernel.all_kwargs[0]})
    sizes = (grid,) if isinstance(grid, int) else tuple(grid)
    return (*map(int, sizes), 1, 1)[:3]


def _kind(value: Any, is_constant: bool) -> str | None:
    """Returns the kind of an argument's feature; ``None`` if it is none: a float, a function, a tuple."""
    if dtype_of(value) is not None:
        return TYPE
    if value is None:
        return CATEGORY if is_constant else TYPE
    if isinstance(value, (bool, str)):
        return CATEGORY
    if isinstance(value, int):
        return NUMBER
    # Types as compile-time parameters: tl.float16, torch.bfloat16.
    return CATEGORY if type(value).__name__ == "dtype" else None
