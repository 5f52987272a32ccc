"""A kernel under ``tune``.

A call that was seen before is one look-up in a dictionary. The first call with a new key asks the heuristic and
remembers what ran. Without a heuristic the kernel is Triton's own autotuner.

``Tuner`` is a ``triton.runtime.Autotuner``, so that whatever handles one (``torch.compile``,
``torch.library.wrap_triton``, ``triton.heuristics``) handles it too. This module and
``kernel`` import Triton when they are loaded.
"""

from __future__ import annotations

import copy
import dataclasses
import operator
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Callable

from triton.runtime.autotuner import Autotuner

from .check import Compared
from .choices import choice_name
from .environment import cache_folder, file_name, uses_heuristic
from .errors import AutoHeuristicError, AutoHeuristicWarning, ConfigError, FeatureError, HeuristicError
from .features import GRID, MOST_KEYS, TYPE, Features, Key, Memory
from .heuristic import Heuristic, Source, for_this_device
from .kernel import Call, Kernel, cannot_launch
from .source import source_hash


class Picker:
    """The heuristic's pick, then the next of its ranking, then the fallback; without a heuristic only the fallback."""

    def __init__(self, heuristic: Heuristic | None, kernel: Kernel, fallback: int):
        """For the configurations of this kernel; ``fallback`` is an index.

        Raises:
            HeuristicError: The heuristic is for other configurations.
            FeatureError: The heuristic needs a feature that the kernel does not have.
        """
        if heuristic is not None:
            heuristic.check_choices(kernel.names)
        self.heuristic, self._fallback = heuristic, fallback
        self._names, self._index = frozenset(kernel.names), kernel.index
        self.features = Features.of_names(kernel, heuristic.features if heuristic is not None else ())

    def candidates(self, features: Mapping[str, Any], offered: frozenset[str]) -> Iterator[int]:
        """Returns the configurations to try, best first, each once. ``offered`` are those that the pruning left."""
        names = self.heuristic.in_order(features, offered) if self.heuristic is not None else ()
        tried = set()
        for index in chain(map(self._index.__getitem__, names), [self._fallback], self._index.values()):
            if index not in tried:
                tried.add(index)
                yield index

    def prune(self, user: Callable[..., Any] | None, filled: Sequence[str]) -> Callable[..., Any]:
        """Returns an ``early_config_prune`` that leaves only the pick; of ``user``'s pruning, what it leaves counts.

        ``filled`` are parameters that the configurations set to the kernel's default. ``torch.compile`` traces it, so
        it is plain: no class, no dictionary of configurations.
        """
        features = [(part.parameter, part.kind == TYPE) for part in self.features.parts]
        # A pruner is not told the grid: the fallback runs where the heuristic asks for it.
        is_blind = self.heuristic is None or any(part.kind == GRID for part in self.features.parts)
        choose_among = None if is_blind else self.heuristic.choose_among  # type: ignore[union-attr]
        # Traced, one tree gives a graph for each leaf. The sum of many trees is made at once, for these very numbers.
        is_constant = self.heuristic is not None and self.heuristic.is_boosted
        if is_constant and "torch" in sys.modules:
            choose_among = sys.modules["torch"].compiler.assume_constant_result(choose_among)
        offered, index, fallback = self._names, self._index, self._fallback

        def only_the_pick(configs: Any, named_args: Any, **kwargs: Any) -> Any:
            arguments = {**named_args, **kwargs}
            for name in filled:
                if name in arguments:
                    raise ValueError(f"under torch.compile, set {name} in the configurations instead of in the call")
            picked = None
            if choose_among is not None:
                values = [str(arguments[name].dtype) if is_type else arguments[name] for name, is_type in features]
                if is_constant:
                    values = [operator.index(value) if isinstance(value, int) else value for value in values]
                picked = choose_among(offered, *values)
            pick = configs[fallback if picked is None else index.get(picked, fallback)]
            if user is not None and not any(config is pick for config in user(configs, named_args, **kwargs)):
                pick = configs[fallback]
            return [pick]

        return only_the_pick


@dataclasses.dataclass(frozen=True)
class Options:
    """What ``tune`` takes beyond the arguments of ``triton.autotune``; it documents them."""

    heuristic: Source | Sequence[Source] | None = None
    fallback: str | Any | None = None
    name: str | None = None
    strict: bool = False
    outputs: Compared | None = None
    tolerance: float | None = None
    reference: Callable[..., Any] | None = None


class Tuner(Autotuner):  # type: ignore[misc]
    """A tuned kernel; ``tune`` makes it."""

    configs: list[Any]

    def __init__(self, fn: Any, configs: Sequence[Any], key: Sequence[str], options: Options, **autotune: Any):
        """Wraps ``fn``; ``autotune`` are further arguments of ``triton.autotune``.

        Raises:
            ConfigError: Two configurations have one name, or the fallback is none of them.
        """
        self._user_prune: Callable[..., Any] | None = None
        self._pruner: Callable[..., Any] | None = None
        self._picker: Picker | None = None
        self._is_ready = False
        self._searches = True
        """Whether a heuristic beside the source is asked."""
        super().__init__(
            fn,
            fn.arg_names,
            list(configs),
            list(key),
            autotune.pop("reset_to_zero", None),
            autotune.pop("restore_value", None),
            **autotune,
        )
        self.options = options
        self.kernel = Kernel(self, self.configs)
        self.name: str = options.name or self.base_fn.__name__
        self.arguments: Callable[..., Any] | None = None
        """What ``example`` registered."""
        self.best_config: Any = None
        """What the last call launched."""
        if self.kernel.filled:
            # torch.compile needs a value for every parameter.
            self.configs = [copy.copy(config) for config in self.configs]
            for config in self.configs:
                config.kwargs = {**self.kernel.filled, **config.kwargs}
            self.kernel.replace(self.configs)
        self.fallback = self._index_of(options.fallback)
        """The configuration that runs where the heuristic declines, by index."""
        self._launch = self.kernel.run
        self._memory: Any = None
        """The ``Memory`` of launches: the arguments of each, and the configuration."""
        self._warned: set[str] = set()

    # Calls

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """Returns the launcher for a grid, as ``triton.jit`` kernels do."""

        def launch(*args: Any, **kwargs: Any) -> Any:
            memory = self._memory
            try:
                read = kwargs if not memory.reads_grid else {**kwargs, "grid": grid}
                chosen, self.best_config = memory.known[memory.read(args, read)]
            except Exception:  # Not seen yet, or laid out in another way: whatever is wrong shows again below.
                chosen = None
            if chosen is None:
                return self._first(Call(grid, args, kwargs))
            try:
                return self._launch(*args, grid=grid, warmup=False, **kwargs, **chosen)
            except Exception as error:
                if not cannot_launch(error):
                    raise
                failed = error
            return self._first(Call(grid, args, kwargs), failed)

        return launch

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launches the kernel; with ``warmup`` it only compiles the pick."""
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        return self[grid](*args, **kwargs)

    def _first(self, call: Call, failed: Exception | None = None) -> Any:
        """Launches a call whose key is new, or whose remembered configuration ``failed`` to launch."""
        picker = self._ready()
        if picker is None:
            return super().run(*call.args, grid=call.grid, warmup=False, **call.kwargs)
        try:
            features = picker.features.read(call)
            key = tuple(features.values())
            known = self.cache.get(key)
        except (AutoHeuristicError, TypeError) as error:
            if isinstance(error, TypeError):
                error = FeatureError(f"{self.name}: a value of the key cannot be compared ({error}); leave it out")
            self._trouble(error)
            return self.kernel.launch(call, self.fallback)
        if known is not None and failed is None:
            self.best_config = known
            return self.kernel.launch(call, self.configs.index(known))
        errors = [] if failed is None else [failed]

        def warn(message: str, error: Exception) -> None:
            errors.append(error)
            self._warn(f"{self.name}: {message}", error)

        offered = self.kernel.offered(self._user_prune, self.configs, call)
        candidates = picker.candidates(features, offered)
        index, result = self.kernel.launch_first(call, candidates, None if failed is None else known, warn)
        if index is None:
            raise errors[-1]
        self._remember(picker, key, call, index)
        return result

    def _remember(self, picker: Picker, key: Key, call: Call, index: int) -> None:
        if len(self.cache) >= MOST_KEYS:
            self.cache.clear()
        self.best_config = self.cache[key] = self.configs[index]
        if self._memory is None:
            self._memory = Memory(picker.features, picker.features.names, call)
        # A configuration with a hook of its own takes the slower way each time, and so does a call laid out otherwise.
        if self.best_config.pre_hook is None:
            self._memory.keep(call, (self.kernel.all_kwargs[index], self.best_config))

    # Choosing

    def _ready(self) -> Picker | None:
        """Returns what chooses; decided at the first call, when the device is known. ``None``: Triton's autotuner."""
        if not self._is_ready:
            self._picker, self._is_ready = self._find(), True
        return self._picker

    def _find(self) -> Picker | None:
        given: Any = self.options.heuristic
        is_named = given is not None
        if not is_named:
            beside = heuristic_file(self)
            if not self._searches or not beside.exists():
                return None
            given = beside
        fixed = Picker(None, self.kernel, self.fallback)
        if not uses_heuristic(self.name):
            return fixed
        try:
            heuristic = for_this_device(given if isinstance(given, (list, tuple)) else [given])
            if self.options.fallback is None and heuristic.fallback in self.kernel.names:
                self.fallback = self.kernel.names.index(heuristic.fallback)
            if stale := heuristic.other_source(source_hash(self.kernel.jit)):
                self._warn(stale, HeuristicError(stale))
            if new := heuristic.unmeasured(self.kernel.names):
                warnings.warn(new, AutoHeuristicWarning, stacklevel=2)
            return Picker(heuristic, self.kernel, self.fallback)
        except AutoHeuristicError as error:
            if is_named:
                self._trouble(error)
                return fixed
            self._warn(f"{error}. Triton's autotuner runs", error)
            return None

    @property
    def early_config_prune(self) -> Callable[..., Any] | None:
        """The pruning by which ``torch.compile`` and ``warmup`` see only the pick; else the user's."""
        picker = self._ready() if hasattr(self, "options") else None
        if picker is None:
            return self._user_prune
        # One object: guards of torch.compile compare it by identity.
        if self._pruner is None:
            self._pruner = picker.prune(self._user_prune, tuple(self.kernel.filled))
        return self._pruner

    @early_config_prune.setter
    def early_config_prune(self, prune: Callable[..., Any] | None) -> None:
        self._user_prune = prune

    def use(self, heuristic: Source | Sequence[Source] | None) -> None:
        """Asks another heuristic from now on; with ``None`` the kernel is Triton's own autotuner."""
        self.options = dataclasses.replace(self.options, heuristic=heuristic)
        self._searches = False
        self._picker = self._pruner = self._memory = None
        self._is_ready = False
        self.cache.clear()

    def example(self, arguments: Callable[..., Any]) -> Callable[..., Any]:
        """Registers the function that makes the arguments of one call, for ``autoheuristic tune``.

        Its parameters are columns of the file of inputs. Those with the name of a parameter of the kernel, or
        ``PARAMETER_dtype``, are the features: numbers, or categories where they are annotated as ``bool`` or ``str``.
        Where others change an argument or the grid, that is a feature too. It returns ``(grid, args)`` or
        ``(grid, args, kwargs)``::

            @matmul_kernel.example
            def arguments(M, N, K):
                a = torch.randn(M, K, device="cuda", dtype=torch.float16)
                ...
                return grid, (a, b, c, M, N, K)
        """
        self.arguments = arguments
        return arguments

    # Troubles

    def _trouble(self, error: Exception) -> None:
        """Raises where the caller wants it strict; else warns that the fallback runs."""
        self._warn(f"{error}. The fallback {self.kernel.names[self.fallback]} runs", error)

    def _warn(self, message: str, error: Exception) -> None:
        if self.options.strict:
            raise error
        if message not in self._warned:
            self._warned.add(message)
            warnings.warn(message, AutoHeuristicWarning, stacklevel=2)

    def _index_of(self, fallback: Any) -> int:
        if fallback is None:
            return 0
        name = fallback if isinstance(fallback, str) else choice_name(fallback)
        if name not in self.kernel.names:
            raise ConfigError(
                f"{self.name}: expected one of the configurations as fallback, found {name}; "
                f"they are {', '.join(self.kernel.names)}"
            )
        return self.kernel.names.index(name)


def stem(tuner: Tuner) -> str:
    """Returns the beginning of the names of a kernel's files: the module's, and the tuner's own name."""
    return file_name(f"{Path(tuner.base_fn.__code__.co_filename).stem}.{tuner.name}")


def heuristic_file(tuner: Tuner) -> Path:
    """Returns where ``autoheuristic tune`` writes a kernel's heuristic: beside the source of the kernel.

    That of an installed package lies in the user's cache, because an installation belongs to the installer.
    """
    source, name = Path(tuner.base_fn.__code__.co_filename), f"{stem(tuner)}.heuristic.py"
    if {"site-packages", "dist-packages"} & {*source.parts}:
        return cache_folder() / "tune" / file_name(tuner.base_fn.__module__.rpartition(".")[0]) / name
    return source.with_name(name)
