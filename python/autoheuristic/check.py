"""Checks that each configuration computes what the first one does.

The tensors among the arguments are copied; before each configuration the outputs get their old contents back, and
after it they are compared with what the first configuration left. Outputs are the tensors that the user named, or
those that the first configuration changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
"""By type, as a share of the largest magnitude of the expected output. Configurations add in other orders: float32
differs by about sqrt(k) * 6e-8, also in TF32, whose rounding of operands all share. Other floats get 0.25; integers
must be equal."""

Errors = Sequence[tuple[str, Any]]
"""By output: its largest difference, a number that the device may still be computing."""


class Outputs:
    """The outputs of a kernel on one input."""

    def __init__(
        self, arguments: Mapping[str, Any], named: Sequence[str] | None, tolerance: float | None, compares: bool = True
    ):
        """Copies the tensors among the arguments, or those of them that are ``named``."""
        self._tolerance, self._compares = tolerance, compares
        self._named = named is not None
        of_tensors = ("clone", "copy_", "dtype", "data_ptr")
        tensors = {name: value for name, value in arguments.items() if all(hasattr(value, own) for own in of_tensors)}
        self._tensors = {name: tensors[name] for name in named} if named is not None else tensors
        self._before = {name: tensor.clone() for name, tensor in self._tensors.items()}
        self._expected: dict[str, Any] = {}
        self._allowed: dict[str, float] = {}
        """The largest difference of each output."""
        self._odd: set[str] = set()
        """The outputs in which NaN or infinities are expected."""

    def restore(self) -> None:
        """Gives the outputs their old contents back; before the first result there are none."""
        for name in self._expected:
            self._tensors[name].copy_(self._before[name])

    def expect_this(self) -> None:
        """Expects what the outputs hold now from every other configuration.

        This decides which tensors are outputs, and drops the copies of the others.
        """
        changed = {n: t for n, t in self._tensors.items() if self._named or not _same(t, self._before[n])}
        # None, where the outputs held the result already.
        changed = changed or self._tensors
        self._expected = {name: tensor.clone() for name, tensor in changed.items()}
        self._before = {name: self._before[name] for name in self._expected}
        self._allowed = {name: self._largest_difference(tensor) for name, tensor in self._expected.items()}
        self._odd = {name for name, tensor in self._expected.items() if float(_error(tensor, tensor, False)) != 0.0}

    def errors(self) -> Errors:
        """Returns the differences of the outputs from the expected ones, without waiting for the device."""
        compared = self._expected.items() if self._compares else ()
        return [(name, _error(self._tensors[name], expected, name in self._odd)) for name, expected in compared]

    def wrong(self, errors: Errors) -> str | None:
        """Waits for the differences, and returns what is wrong, or ``None``."""
        for name, difference in errors:
            error, allowed = float(difference), self._allowed[name]
            if not error <= allowed:  # NaN is wrong too.
                wrong = f"wrong result: {name!r} differs from the first configuration's"
                is_float = self._expected[name].dtype.is_floating_point
                return f"{wrong} by {error:.3g}, at most {allowed:.3g} is allowed (tolerance=)" if is_float else wrong
        return None

    def _largest_difference(self, expected: Any) -> float:
        if not expected.dtype.is_floating_point or expected.numel() == 0:
            return 0.0
        share = TOLERANCES.get(str(expected.dtype).split(".")[-1], 0.25) if self._tolerance is None else self._tolerance
        return share * float(_wide(expected).nan_to_num(0.0, 0.0, 0.0).abs().amax())


def _same(a: Any, b: Any) -> bool:
    """Whether two tensors are equal, where NaN equals itself: uninitialised memory may hold it."""
    if not a.dtype.is_floating_point:
        return bool(a.equal(b))
    return bool(_wide(a).allclose(_wide(b), rtol=0.0, atol=0.0, equal_nan=True))


def _wide(tensor: Any) -> Any:
    """Returns floats of eight bits as float32, because PyTorch does not compute with them."""
    return tensor.float() if tensor.element_size() < 2 else tensor


def _error(found: Any, expected: Any, is_odd: bool) -> Any:
    """Returns the largest difference; 1 for integers that differ. NaN and infinities equal themselves if ``is_odd``."""
    if expected.numel() == 0:
        return 0.0
    if not expected.dtype.is_floating_point:
        return (found != expected).any()
    found, expected = _wide(found), _wide(expected)
    difference = (found - expected).abs()
    if is_odd:  # Not always: it takes three times as long.
        difference = difference.masked_fill((found == expected) | (found.isnan() & expected.isnan()), 0.0)
    return difference.amax()
