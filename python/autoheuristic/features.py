"""The features of a kernel's calls: what a choice depends on.

A feature is the value of a parameter of the kernel (``M``), or the element type of one (``a_ptr_dtype``). Under
``tune`` the heuristic names its features. Under ``attach`` each argument counts that is a number or a category, because
the best configuration may depend on a length that the author's key leaves out. The grid counts too: in many kernels the
batch is visible nowhere else. A grid that depends on the configuration is that of the first one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, NamedTuple

from .errors import FeatureError
from .kernel import Call, Kernel

VALUE, NUMBER, CATEGORY, TYPE, GRID = "value", "number", "category", "type", "grid"
"""Kinds of features; a value may be anything."""
DTYPE = "_dtype"
AXES = ("grid_0", "grid_1", "grid_2")
Key = tuple[Any, ...]
Reader = Callable[..., Key]
"""A function from the grid, the arguments and the keyword arguments of a call to the values of its features."""
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
        self.readers: dict[tuple[Any, ...], Reader] = {}
        """By the layout of a call: the number of positional arguments, and the names of the others."""

    @classmethod
    def of_names(cls, kernel: Kernel, names: Iterable[str]) -> Features:
        """The features of these names.

        Raises:
            FeatureError: The kernel has no such parameter.
        """
        return cls(kernel, [_part(name, kernel.arg_names) for name in names])

    @classmethod
    def of_call(cls, kernel: Kernel, call: Call) -> Features:
        """All features of a call, which decides which arguments are features, and their kinds.

        Raises:
            FeatureError: Two features would have one name.
        """
        arguments = {**kernel.defaults, **kernel.named_args(call)}
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
        """The features that an author's key depends on: its arguments, and all element types."""
        wanted = set(keys)
        return [part.name for part in self.parts if part.parameter in wanted or part.kind == TYPE]

    def read(self, call: Call) -> dict[str, Any]:
        """The features of a call: numbers, and the texts of categories.

        Raises:
            FeatureError: An argument is missing, or of another kind than in the first call.
        """
        found: dict[str, Any] = {}
        for (name, kind, parameter), value in zip(self.parts, self.reader(call)(*call)):
            other = _kind(value, parameter in self._kernel.constants)
            if kind in (NUMBER, CATEGORY) and other != kind:
                shown = other or type(value).__name__
                raise FeatureError(f"{parameter!r} was a {kind} in the first call, now it is a {shown}")
            found[name] = str(value) if kind in (TYPE, CATEGORY) else value
        return found

    def reader(self, call: Call) -> Reader:
        """The reader of calls that are laid out as this one.

        It is compiled: a loop over the features takes 1 us where subscripts take 0.2.

        Raises:
            FeatureError: An argument is missing.
        """
        layout = (len(call.args), *call.kwargs)
        if layout in self.readers:
            return self.readers[layout]
        known: dict[str, Any] = {"dtype_of": dtype_of, "sizes": lambda *parts: self._kernel.grid(Call(*parts))}
        values = []
        for _, kind, parameter in self.parts:
            if kind == GRID:
                values.append(f"sizes(g, a, k)[{AXES.index(parameter)}]")
                continue
            at = self._kernel.arg_names.index(parameter)
            if at < len(call.args):
                value = f"a[{at}]"
            elif parameter in call.kwargs:
                value = f"k[{parameter!r}]"
            elif parameter in self._kernel.defaults:
                value, known[f"d{at}"] = f"d{at}", self._kernel.defaults[parameter]
            else:
                raise FeatureError(f"the call lacks the argument {parameter!r}, which the choice depends on; pass it")
            values.append(f"dtype_of({value})" if kind == TYPE else value)
        self.readers[layout] = eval(f"lambda g, a, k: ({''.join(f'{value}, ' for value in values)})", known)
        return self.readers[layout]


class Memory:
    """What was decided for the calls of a kernel, by their features: a call that was seen before is one look-up."""

    def __init__(self, features: Features):
        """A decision depends on these features."""
        self._features = features
        self.known: dict[Key, Any] = {}

    def find(self, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The decision for a call; ``None`` if it is new. What is wrong with it shows when it is decided."""
        try:
            read = self._features.readers.get((len(args), *kwargs)) or self._features.reader(Call(grid, args, kwargs))
            return self.known.get(read(grid, args, kwargs))
        except Exception:
            return None

    def keep(self, call: Call, decision: Any) -> None:
        """Remembers a decision."""
        if len(self.known) >= MOST_KEYS:
            self.known.clear()
        self.known[self._features.reader(call)(*call)] = decision


def dtype_of(value: Any) -> Any:
    """The element type of a tensor or of a tensor descriptor; ``None`` of anything else."""
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


def _kind(value: Any, is_constant: bool) -> str | None:
    """The kind of an argument's feature; ``None`` if it is none: a float, a function, a tuple."""
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
