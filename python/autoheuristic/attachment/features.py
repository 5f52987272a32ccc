"""The features of a call: the integers, categories and element types among its arguments, and its grid.

An author's ``key`` names a few arguments. Here each argument counts that is a number or a category, because the best
configuration may depend on a length that the key leaves out. The grid counts too: in many kernels the batch is visible
nowhere else. A grid that depends on the configuration is that of the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ..errors import FeatureError
from ..key import DTYPE, Args, Key

if TYPE_CHECKING:
    from ..kernel import Call, Kernel

NUMBER, CATEGORY, TYPE, GRID = "number", "category", "type", "grid"
AXES = ("grid_0", "grid_1", "grid_2")
ABSENT = "None"
"""The category of an argument that is ``None``."""


class Part(NamedTuple):
    """One feature."""

    name: str
    kind: str
    parameter: str


class CallFeatures:
    """Reads the features of the calls of one kernel."""

    def __init__(self, kernel: Kernel, call: Call):
        """The first call decides which arguments are features, and of which kind."""
        self._kernel = kernel
        arguments = self._arguments(call)
        tuned = {name for kwargs in kernel.all_kwargs for name in kwargs}
        self._parts = []
        for name in kernel.arg_names:
            kind = _kind(arguments[name], name in kernel.constants) if name in arguments and name not in tuned else None
            if kind is not None:
                self._parts.append(Part(f"{name}{DTYPE}" if kind == TYPE else name, kind, name))
        self._parts += [Part(axis, GRID, axis) for axis in AXES]
        names = [part.name for part in self._parts]
        if len(set(names)) < len(names):
            raise FeatureError(f"two features have one name, of {', '.join(names)}; rename a parameter of the kernel")

    def names(self) -> list[str]:
        """Returns the names of all features."""
        return [part.name for part in self._parts]

    def of_package(self, keys: Iterable[str]) -> list[str]:
        """Returns the features that the package's own key depends on: its arguments, and all element types."""
        wanted = set(keys)
        return [part.name for part in self._parts if part.parameter in wanted or part.kind == TYPE]

    def read(self, call: Call) -> dict[str, Any]:
        """Returns the features of a call: numbers, and the texts of categories.

        Raises:
            FeatureError: An argument is missing, or of another kind than in the first call.

        """
        arguments, values = self._arguments(call), {}
        for part in self._parts:
            if part.kind == GRID:
                continue
            if part.parameter not in arguments:
                raise FeatureError(f"the call lacks the argument {part.parameter!r}, which the first call had")
            value = arguments[part.parameter]
            kind = _kind(value, part.parameter in self._kernel.constants)
            if kind != part.kind:
                found = kind or type(value).__name__
                raise FeatureError(f"{part.parameter!r} was a {part.kind} in the first call, now it is a {found}")
            values[part.name] = _category(dtype_of(value) if kind == TYPE else value) if kind != NUMBER else value
        return {**values, **dict(zip(AXES, self.grid(call.grid, arguments)))}

    def grid(self, grid: Any, arguments: Mapping[str, Any]) -> tuple[int, int, int]:
        """Returns the three sizes of a grid."""
        if callable(grid):
            grid = grid({**arguments, **self._kernel.all_kwargs[0]})
        sizes = (grid,) if isinstance(grid, int) else tuple(grid)
        first, second, third = (*map(int, sizes), 1, 1)[:3]
        return first, second, third

    def reader(self, names: Iterable[str], call: Call) -> Callable[[Args, Mapping[str, Any]], Key]:
        """Returns a function from the arguments of a call, laid out as this one, to the values of these features.

        It is compiled, because a loop over the features takes 1 µs where the subscripts take 0.2. The number of
        positional arguments is part of the key, so a call laid out otherwise finds nothing, or raises.
        """
        wanted = set(names)
        known: dict[str, Any] = {"dtype_of": dtype_of}
        position = {name: i for i, name in enumerate(self._kernel.arg_names)}
        parts, uses_grid = ["len(a)"], False
        for part in self._parts:
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
        reader: Callable[[Args, Mapping[str, Any]], Key] = eval(f"lambda a, k: ({', '.join(parts)},)", known)
        return reader

    def _grid_of(self, args: Args, kwargs: Mapping[str, Any]) -> tuple[int, int, int]:
        arguments = {**self._kernel.defaults, **dict(zip(self._kernel.arg_names, args)), **kwargs}
        return self.grid(kwargs["grid"], arguments)

    def _arguments(self, call: Call) -> dict[str, Any]:
        return {**self._kernel.defaults, **self._kernel.named_args(call)}


def dtype_of(value: Any) -> Any:
    """Returns the element type of a tensor or of a tensor descriptor; ``None`` of anything else."""
    found = getattr(value, "dtype", None)
    return getattr(getattr(value, "base", None), "dtype", None) if found is None else found


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


def _category(value: Any) -> str:
    return ABSENT if value is None else str(value)
