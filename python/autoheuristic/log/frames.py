"""The columns of a data frame, whichever library made it."""

from __future__ import annotations

from typing import Any

from ..errors import LogError


def columns(frame: Any) -> dict[str, list[Any]]:
    """Returns each column of a pandas or polars frame as a list of Python values."""
    if hasattr(frame, "to_dicts") and hasattr(frame, "get_column"):  # polars
        return {name: frame.get_column(name).to_list() for name in frame.columns}
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):  # pandas
        return {str(name): frame[name].tolist() for name in frame.columns}
    raise LogError(f"expected a pandas or polars frame, found {type(frame).__name__}")
