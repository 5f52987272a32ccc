"""Finds the autotuners of packages: those that exist, and those that will be made.

Triton is not imported for this. If it is not there yet, its module ``autotuner`` is patched when it is imported.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable

from ..errors import warn_once
from .calls import Journal
from .settings import Settings, is_of

MODULE = "triton.runtime.autotuner"


class Hook:
    """Attaches the autotuners of some packages."""

    def __init__(self, settings: Settings):
        """Attaches what exists, and what will be made from now on."""
        self._settings, self._journal = settings, Journal(settings)
        self._attached: dict[int, Any] = {}
        """By the identity of the autotuner, which the attached kernel keeps alive."""
        self._removed = False
        self._undo: Callable[[], None] = lambda: None
        atexit.register(self._at_exit)
        if MODULE in sys.modules:
            self.patch(sys.modules[MODULE])
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Finds the module of autotuners as everybody does, and patches it once it has run."""
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_patch(module: ModuleType) -> None:
                execute(module)
                self.patch(module)

            spec.loader.exec_module = execute_and_patch  # type: ignore[method-assign]
        return spec

    def patch(self, module: ModuleType) -> None:
        """Attaches the autotuners of this module's class, and lets its constructor attach new ones."""
        autotuner: Any = module.Autotuner
        init = autotuner.__init__

        @functools.wraps(init)
        def attach_new(tuner: Any, *args: Any, **kwargs: Any) -> None:
            init(tuner, *args, **kwargs)
            self.attach(tuner)

        def undo() -> None:
            # Another package may have wrapped the constructor since; then it stays, and attaches nothing.
            if autotuner.__init__ is attach_new:
                autotuner.__init__ = init

        autotuner.__init__, self._undo = attach_new, undo
        for found in gc.get_objects():
            # By its type: isinstance would ask lazy modules and proxies for their class.
            if issubclass(type(found), autotuner) and hasattr(found, "base_fn"):
                self.attach(found)

    def attach(self, tuner: Any) -> None:
        """Attaches an autotuner, if it belongs to one of the packages."""
        package = self._settings.package_of(tuner.base_fn)
        if package is None:
            return
        from ..tuner import Tuner  # Imports Triton, which is there.
        from .attached import AttachedKernel

        if isinstance(tuner, Tuner):
            return
        kernel = AttachedKernel(tuner, self._settings, self._journal, package)
        if not self._removed and self._attached.setdefault(id(tuner), kernel) is kernel:
            tuner.run = kernel.run

    def _at_exit(self) -> None:
        """Warns of packages that were imported and have no tuned kernel."""
        functions = [kernel.autotuner.base_fn for kernel in list(self._attached.values())]
        for package in self._settings.packages:
            if package in sys.modules and not any(is_of(function, package) for function in functions):
                warn_once(f"{package}: no triton.autotune kernel of it was imported, so nothing is attached")

    def remove(self) -> None:
        """Detaches all kernels, and attaches no more."""
        self._removed = True
        atexit.unregister(self._at_exit)
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._undo()
        for kernel in list(self._attached.values()):
            kernel.detach()
        self._attached.clear()
