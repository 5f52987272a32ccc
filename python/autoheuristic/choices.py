"""The names of configurations.

A choice is known by its name, in logs and heuristics alike: ``KEY=VALUE_KEY=VALUE…``, the keyword arguments in
alphabetical order, then ``num_warps`` and ``num_stages``, then the rarer options where they are set. A value ends at
the first ``_``, so values hold none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import ConfigError

DEFAULTS = {"num_ctas": 1, "maxnreg": None, "ir_override": None}
"""Options that a name mentions only where they differ from these."""


def choice_name(config: Any) -> str:
    """The name of a ``triton.Config``.

    ``Config({"BLOCK_N": 64, "BLOCK_M": 16}, num_warps=2)`` is ``BLOCK_M=16_BLOCK_N=64_num_warps=2_num_stages=3``.
    """
    parts = [*sorted(config.kwargs.items()), ("num_warps", config.num_warps), ("num_stages", config.num_stages)]
    rare = ((name, getattr(config, name, default), default) for name, default in DEFAULTS.items())
    parts += ((name, value) for name, value, default in rare if value != default)
    return "_".join(f"{key}={str(value).replace('_', '-').replace('=', '-')}" for key, value in parts)


def choice_names(configs: Sequence[Any]) -> list[str]:
    """The names of all configurations.

    Raises:
        ConfigError: Two configurations have one name.
    """
    names = [choice_name(config) for config in configs]
    for i, name in enumerate(names):
        if names.index(name) != i:
            raise ConfigError(
                f"the configurations {names.index(name)} and {i} have the same name {name}; "
                "remove one, or tell them apart by a keyword argument"
            )
    return names


def distinct(configs: Sequence[Any]) -> list[Any]:
    """The first configuration of each name: packages list some of theirs twice."""
    found: dict[str, Any] = {}
    for config in configs:
        found.setdefault(choice_name(config), config)
    return list(found.values())
