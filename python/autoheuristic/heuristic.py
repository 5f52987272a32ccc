"""A heuristic: the Python file that ``ah-train --target triton`` writes.

The file decides; this module only loads it and checks that it is what it should be.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Union

from . import device
from .errors import HeuristicError, shown

NEEDED = ("FEATURES", "CHOICES", "FALLBACK", "choose_among", "ranked")
Source = Union[str, "os.PathLike[str]", ModuleType]


class Heuristic:
    """A loaded heuristic file.

    Raises:
        HeuristicError: There is no such file, it does not run, or it is not such a file.
    """

    def __init__(self, source: Source):
        """Loads a file, or takes a module that is loaded already."""
        self.shown = getattr(source, "__file__", None) or str(source)
        module = source if isinstance(source, ModuleType) else _load(Path(source))
        missing = [name for name in NEEDED if not hasattr(module, name)]
        if missing:
            raise HeuristicError(
                f"{self.shown}: expected a heuristic written by ah-train --target triton, found a module without "
                f"{', '.join(missing)}; generate it again"
            )
        self._module: Any = module
        self.features: tuple[str, ...] = module.FEATURES
        """The names of the features, in the order of the functions' parameters."""
        self.choices: tuple[str, ...] = module.CHOICES
        self.fallback: str | None = module.FALLBACK
        """The choice that the promise was made against."""
        self.choose_among: Callable[..., str | None] = module.choose_among
        """``choose_among(offered, *values)`` returns the name of the pick; ``None`` where the heuristic declines."""
        self.is_boosted = hasattr(module, "_MASKED") or hasattr(module, "CLASSES")
        """Whether it adds up trees or looks a class up, in code that ``torch.compile`` cannot trace."""

    def in_order(self, features: Mapping[str, Any], offered: frozenset[str]) -> Iterator[str]:
        """The offered choices that the heuristic allows here, the pick first; none where it declines."""
        values = [features[name] for name in self.features]
        # A heuristic that is not told what is offered expects only what training usually saw: 1.5 % on sparse logs.
        picked = self.choose_among(offered, *values)
        # The fallback counts as offered even where it is not.
        if picked in offered:
            yield picked
            yield from (name for name in self._module.ranked(*values) if name in offered and name != picked)

    def other_source(self, source: str) -> str | None:
        """What to do where another source of the kernel was measured than the one of this hash."""
        if getattr(self._module, "SOURCE", source) == source:
            return None
        return f"{self.shown}: the kernel's source has changed; measure it again: {self._module.COMMAND} --log NEW"

    def unmeasured(self, names: Sequence[str]) -> str | None:
        """What to do where some of the kernel's configurations were never measured."""
        measured = getattr(self._module, "MEASURED", names)
        if not (new := [name for name in names if name not in measured]):
            return None
        return (
            f"{self.shown}: configurations that were never measured cannot be picked: {_few(new)}; "
            f"to measure only what is missing: {self._module.COMMAND}"
        )

    def mismatch(self) -> str | None:
        """On which device to ask instead; ``None`` on this one, and where the log named none."""
        if not hasattr(self._module, "device_mismatch"):
            return None
        here = device.current()
        identity = {"capability": tuple(here["capability"]), "shared_memory": here["shared_memory"]}
        found: str | None = self._module.device_mismatch(here["name"], here["multiprocessors"], **identity)
        return found

    def check_choices(self, names: Sequence[str]) -> None:
        """Checks that the heuristic chooses among these configurations.

        Raises:
            HeuristicError: It knows none of them.
        """
        if not set(names) & set(self.choices):
            raise HeuristicError(
                f"{self.shown}: the heuristic is for other configurations: expected some of {_few(names)}, "
                f"found {_few(self.choices)}; collect and learn again"
            )


def for_this_device(sources: Iterable[Source]) -> Heuristic:
    """The first of several heuristics that is for the current device.

    Raises:
        HeuristicError: None is, or one before it is not such a file.
    """
    mismatches = []
    for heuristic in map(Heuristic, sources):
        if (mismatch := heuristic.mismatch()) is None:
            return heuristic
        mismatches.append(f"{heuristic.shown}: {mismatch}")
    raise HeuristicError(f"no heuristic for this device ({'; '.join(mismatches)}); collect and learn on it")


def _load(path: Path) -> ModuleType:
    digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:8]
    name = f"autoheuristic_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceFileLoader(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # torch.compile looks a function's module up here.
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        why = f"the file does not run ({shown(error)})" if path.exists() else "there is no such file"
        raise HeuristicError(f"{path}: {why}; write it with autoheuristic tune, or ah-train --target triton") from error
    return module


def _few(names: Sequence[str]) -> str:
    return ", ".join(list(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
