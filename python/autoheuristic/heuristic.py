"""A heuristic: the Python file that ``ah-codegen --target python`` writes.

The file decides; this module only loads it and checks that it is what it should be.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Union

from .errors import HeuristicError

NEEDED = ("FEATURES", "CHOICES", "decide", "ranked", "device_mismatch")
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
                f"{self.shown}: expected a heuristic written by ah-codegen --target python, found a module without "
                f"{', '.join(missing)}; generate it again"
            )
        self.features: tuple[str, ...] = module.FEATURES
        """The names of the features, in the order of the functions' parameters."""
        self.choices: tuple[str, ...] = module.CHOICES
        """The names of all choices."""
        self.fallback: str | None = getattr(module, "FALLBACK", None)
        """The choice that the promise was made against."""
        self.decide: Any = module.decide
        """``decide(*values, offered=None)`` returns the choice, its name, and the reason for declining."""
        self._ranked = module.ranked
        self._mismatch = module.device_mismatch

    def ranked(self, values: Sequence[Any]) -> Iterator[str]:
        """Returns the choices that the heuristic allows here, best first."""
        return (ranked.name for ranked in self._ranked(*values) if ranked.allowed)

    def mismatch(self, device: dict[str, Any]) -> str | None:
        """Returns why the heuristic does not hold for this device (the identity of a log), or ``None``."""
        found: str | None = self._mismatch(
            device["name"],
            device["multiprocessors"],
            capability=tuple(device["capability"]),
            shared_memory=device["shared_memory"],
        )
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


def _load(path: Path) -> ModuleType:
    digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:8]
    spec = importlib.util.spec_from_file_location(f"autoheuristic_{path.stem}_{digest}", path)
    if spec is None or spec.loader is None:
        raise HeuristicError(
            f"{path}: expected a Python file, written by ah-codegen --target python; give its path, with .py"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # torch.compile looks a function's module up here.
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError as error:
        raise HeuristicError(f"{path}: there is no such file; generate it with ah-train --target python") from error
    except Exception as error:
        raise HeuristicError(f"{path}: the file does not run ({type(error).__name__}: {error})") from error
    return module


def _few(names: Sequence[str]) -> str:
    return ", ".join(list(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
