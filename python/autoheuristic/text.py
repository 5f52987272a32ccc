"""Values and rows as they stand in a log.

Numbers are the shortest decimal that reads back to the same double, without an exponent, so that the Rust
tools and this package write the same bytes for the same input.
"""

from __future__ import annotations

import csv
import math
from decimal import Decimal
from typing import Any, Union

from .errors import LogError

Value = Union[int, float, str]
"""A feature's value: a number, or the text of a category."""


def is_number(value: Any) -> bool:
    """Whether a value is numerical; truth values are categories."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number(value: int | float) -> str:
    """Returns the text of a number: ``0.0000001``, ``2``, ``inf``."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    text = format(Decimal(repr(value)), "f")
    return text[:-2] if text.endswith(".0") else text


def parse_number(text: str) -> int | float | None:
    """Reads a number; ``None`` for other text and for NaN."""
    if text.isdecimal() and text.isascii():
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return None
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def value(value: Any) -> str:
    """Returns the text of a feature's value; anything that is no number is a category."""
    return number(value) if is_number(value) else str(value)


def field(text: str) -> str:
    """Quotes a field where CSV needs it. A row is one line, so line ends are an error."""
    if "\n" in text or "\r" in text:
        raise LogError(f"expected a name or value of one line, found {text!r}; rename it")
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


def row(fields: Any) -> str:
    """Joins texts into one line of CSV, without its end."""
    return ",".join(map(field, fields))


def split(line: str) -> list[str]:
    """Splits one line of CSV.

    Raises:
        ValueError: A quote is not closed, or text follows a closing quote.

    """
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from error
