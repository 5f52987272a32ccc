"""Checks that each configuration computes what it should.

The tensors among the arguments are copied; before each configuration the outputs get their old contents back, and
after it they are compared with what is expected: a reference that the author gives, else the median of up to ``SAMPLE``
configurations, element by element, so that no single wrong one decides. Outputs are the tensors that the author named,
or those that the first configuration changed.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Union

from .errors import ConfigError, of_author

TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""By type, the least tolerance as a share of the largest expected magnitude. Other floats get 0.25; integers must be
equal."""
ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""Half a unit in the last place. A sum of ``n`` terms that is kept in a type differs by about ``sqrt(n)`` of them."""
MOST_TOLERANCE = 0.1
"""The most that the length of sums allows."""
TF32 = 2e-3
"""A reference in float64 also shows what TF32 rounds off the operands: up to 5e-4 of each product."""
FAR = 4.0
"""A difference of more than this many times the allowed one is no rounding."""
WRONG, SLIGHTLY = "wrong result", "slightly"
"""Words of the reasons, by which a summary counts them."""
HELP = "tolerance=, outputs= or reference= decide"
SAMPLE, SAMPLE_BYTES = 7, 1 << 30
"""The configurations whose outputs are kept for the median, and the most bytes of them beyond three."""
Results = Mapping[str, Any]
Compared = Union[Sequence[str], Callable[..., Results]]
Errors = Sequence[tuple[str, Any]]
"""By output: its largest difference, a number that the device may still be computing."""


class Outputs:
    """The outputs of a kernel on one input."""

    def __init__(
        self,
        arguments: Mapping[str, Any],
        named: Compared | None = None,
        tolerance: float | None = None,
        reference: Callable[..., Any] | None = None,
        compares: bool = True,
    ):
        """Copies the tensors among the arguments, or those of them that are ``named``.

        Raises:
            ConfigError: A name is none of a tensor.
        """
        self._arguments, self._named, self._tolerance = arguments, named, tolerance
        self._reference, self._compares = reference, compares
        of_tensors = ("clone", "copy_", "dtype", "data_ptr")
        bases = {name: value.base if is_descriptor(value) else value for name, value in arguments.items()}
        tensors = {name: value for name, value in bases.items() if all(hasattr(value, own) for own in of_tensors)}
        self._is_listed = named is not None and not callable(named)
        if self._is_listed and (absent := [name for name in named if name not in tensors]):  # type: ignore[union-attr]
            raise ConfigError(f"outputs=: expected tensors, of {', '.join(tensors)}; found {absent[0]!r}")
        self._length = max((max(tensor.shape, default=1) for tensor in tensors.values()), default=1)
        """No sum of the kernel is expected to have more terms."""
        self._tensors = {name: tensors[name] for name in named} if self._is_listed else tensors  # type: ignore[union-attr]
        self._before = {name: tensor.clone() for name, tensor in self._tensors.items()}
        self._kept: dict[int, dict[str, Any]] = {}
        """The results of some configurations, for the median."""
        self._expected: dict[str, Any] = {}
        self._allowed: dict[str, float] = {}
        """The largest difference of each output."""
        self._odd: set[str] = set()
        """The outputs in which NaN or infinities are expected."""

    @property
    def sample(self) -> int:
        """How many configurations must run before any is compared: the first one shows which tensors are outputs."""
        if not self._compares or self._reference is not None:
            return 1
        size = sum(tensor.numel() * tensor.element_size() for tensor in self._tensors.values())
        return SAMPLE if size * SAMPLE <= SAMPLE_BYTES else 3

    def restore(self) -> None:
        """Gives the outputs their old contents back."""
        for name, before in self._before.items():
            self._tensors[name].copy_(before)

    def keep(self, index: int) -> None:
        """Keeps the result of a configuration; the first one decides which tensors are outputs."""
        if not self._kept and not self._is_listed:
            changed = {n: t for n, t in self._tensors.items() if float(_error(t, self._before[n], True)) != 0.0}
            # None, where the outputs held the result already.
            self._tensors = changed or self._tensors
            self._before = {name: self._before[name] for name in self._tensors}
        self._kept[index] = {name: tensor.clone() for name, tensor in self._results().items()}

    def expect(self) -> None:
        """Decides what every configuration should compute, once the sample has run.

        Raises:
            ConfigError: The reference names no output.
        """
        if not self._compares:
            return
        kept = list(self._kept.values())
        if self._reference is None:
            # Of an even number, the last one does not vote; of two, the first one is expected.
            odd = kept[: (len(kept) - 1) // 2 * 2 + 1]
            self._expected = {name: _median([results[name] for results in odd]) for name in kept[0]}
        else:
            self.restore()
            found = called(self._reference, self._arguments)
            self._expected = dict(found) if isinstance(found, Mapping) else dict.fromkeys(kept[0], found)
            if unknown := [name for name in self._expected if name not in kept[0]]:
                raise ConfigError(f"reference=: expected {', '.join(kept[0])} among the outputs, found {unknown[0]!r}")
        self._allowed = {name: self._tolerated(kept[0][name], value) for name, value in self._expected.items()}
        self._odd = {name for name, value in self._expected.items() if float(_error(value, value, False)) != 0.0}

    def errors(self, kept: int | None = None) -> Errors:
        """The differences of the outputs, or of a ``kept`` result, without waiting for the device."""
        found = self._results() if kept is None and self._expected else self._kept.get(kept, {})  # type: ignore[arg-type]
        return [(name, _error(found[name], value, name in self._odd)) for name, value in self._expected.items()]

    def digest(self) -> list[Any]:
        """A number for the bits of each output, without waiting for the device."""
        found = self._results()
        return [_digest(found[name]) for name in sorted(found)]

    def wrong(self, errors: Errors) -> str | None:
        """Waits for the differences, and returns what is wrong, or ``None``."""
        for name, difference in errors:
            error, allowed = float(difference), self._allowed[name]
            if not error <= allowed:  # NaN is wrong too.
                of = "the median of the configurations" if self._reference is None else "reference="
                wrong = f"{WRONG}: {name!r} differs from {of}"
                if not self._expected[name].dtype.is_floating_point:
                    return f"{wrong} ({HELP})"
                how = SLIGHTLY if error <= FAR * allowed else "far"
                return f"{wrong} by {error:.3g}, {how} above the {allowed:.3g} allowed ({HELP})"
        return None

    def _results(self) -> Results:
        named = self._named
        return called(named, self._arguments) if callable(named) else self._tensors

    def _tolerated(self, found: Any, expected: Any) -> float:
        if not found.dtype.is_floating_point or expected.numel() == 0:
            return 0.0
        # What is compared may be computed from the tensors in a finer type: their own rounding counts.
        kinds = [str(tensor.dtype).split(".")[-1] for tensor in (found, *self._tensors.values())]
        kind = max((kind for kind in kinds if "float" in kind), key=lambda kind: ROUNDING.get(kind, 1.0))
        share = max(TOLERANCES.get(kind, 0.25), min(ROUNDING.get(kind, 0.0) * math.sqrt(self._length), MOST_TOLERANCE))
        if self._reference is not None and kind == "float32":
            share = max(share, TF32)
        share = share if self._tolerance is None else self._tolerance
        return share * float(_wide(expected).nan_to_num(0.0, 0.0, 0.0).abs().amax())


def _digest(tensor: Any) -> Any:
    """A number that other bits change: a sum, modulo 2^64, of the elements' bits times odd numbers."""
    import torch

    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    flat = tensor.contiguous().flatten().view(kinds[tensor.element_size()]).long()
    place = torch.arange(flat.numel(), device=flat.device)
    return ((flat ^ (place * 0x9E3779B97F4A7C1)) * (2 * place + 1)).sum()


def is_descriptor(value: Any) -> bool:
    """Whether an argument is a tensor descriptor, through which the tensor memory accelerator loads blocks."""
    return hasattr(value, "block_shape") and hasattr(value, "base")


def called(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Calls a function of the author with those of the kernel's arguments that it has parameters for, by name."""
    parameters = inspect.signature(function).parameters.values()
    takes_all = any(p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters)
    wanted = arguments if takes_all else [p.name for p in parameters if p.name in arguments]
    return of_author(function.__name__, function, **{name: arguments[name] for name in wanted})


def _median(values: Sequence[Any]) -> Any:
    """The median of an odd number of tensors, element by element; NaN only where all have it."""
    ordered = [_wide(value) for value in values]
    for end in range(len(ordered) - 1, 0, -1):
        for i in range(end):
            ordered[i], ordered[i + 1] = ordered[i].fmin(ordered[i + 1]), ordered[i].fmax(ordered[i + 1])
    return ordered[len(ordered) // 2]


def _wide(tensor: Any) -> Any:
    """Floats of eight bits as float32 and truth values as integers: PyTorch does not compute with them."""
    if str(tensor.dtype) == "torch.bool":
        return tensor.char()
    return tensor.float() if tensor.dtype.is_floating_point and tensor.element_size() < 2 else tensor


def _error(found: Any, expected: Any, is_odd: bool) -> Any:
    """The largest difference; 1 for integers that differ. NaN and infinities equal themselves if ``is_odd``."""
    if expected.numel() == 0:
        return 0.0
    found, expected = _wide(found), _wide(expected)
    if not found.dtype.is_floating_point:
        return (found != expected).any()
    difference = (found - expected).abs()
    if is_odd:  # Not always: it takes three times as long.
        difference = difference.masked_fill((found == expected) | (found.isnan() & expected.isnan()), 0.0)
    return difference.amax()
