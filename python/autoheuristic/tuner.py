"""A kernel under ``tune``.

A call that was seen before is one look-up in a dictionary. The first call with a new key asks the heuristic and
remembers what ran. Without a heuristic the kernel is Triton's own autotuner.

``Tuner`` is a ``triton.runtime.Autotuner``, so that whatever handles one (``torch.compile``,
``torch.library.wrap_triton``, ``triton.heuristics``) handles it too. This module and ``kernel`` import Triton when they
are loaded.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from triton.runtime.autotuner import Autotuner

from .check import Compared
from .choices import choice_name
from .environment import cache_folder, file_name, uses_heuristic
from .errors import AutoHeuristicError, ConfigError, FeatureError, HeuristicError, warn_once
from .features import GRID, TYPE, Features, Memory
from .heuristic import Heuristic, Source, for_this_device
from .kernel import Call, Kernel, cannot_launch


class Picker:
    """The heuristic's pick, then the next of its ranking, then the fallback; without a heuristic only the fallback."""

    def __init__(self, heuristic: Heuristic | None, kernel: Kernel, fallback: int, user: Callable[..., Any] | None):
        """For the configurations of this kernel; ``fallback`` is an index, ``user`` the author's pruning.

        Raises:
            HeuristicError: The heuristic is for other configurations.
            FeatureError: The heuristic needs a feature that the kernel does not have.
        """
        if heuristic is not None:
            heuristic.check_choices(kernel.names)
        self.heuristic, self._fallback, self._user = heuristic, fallback, user
        self._kernel = kernel
        self.features = Features.of_names(kernel, heuristic.features if heuristic is not None else ())
        self.memory = Memory(self.features)
        """The configuration that was launched, by index."""

    def candidates(self, features: Mapping[str, Any], offered: frozenset[str]) -> Iterable[int]:
        """The configurations to try, best first, each once. ``offered`` are those that the pruning left."""
        names = self.heuristic.in_order(features, offered) if self.heuristic is not None else ()
        index_of = self._kernel.index
        return dict.fromkeys([*(index_of[name] for name in names), self._fallback, *index_of.values()])

    @functools.cached_property
    def pruner(self) -> Callable[..., Any]:
        """An ``early_config_prune`` that leaves only the pick; of the author's pruning, what it leaves counts.

        ``torch.compile`` traces it, so it is plain: no class, no dictionary of configurations. Its guards compare it by
        identity.
        """
        features = [(part.parameter, part.kind == TYPE) for part in self.features.parts]
        # A pruner is not told the grid: the fallback runs where the heuristic asks for it.
        is_blind = self.heuristic is None or any(part.kind == GRID for part in self.features.parts)
        choose_among = None if is_blind else self.heuristic.choose_among  # type: ignore[union-attr]
        # Traced, one tree gives a graph for each leaf. The sum of many trees is made at once, for these very numbers.
        is_constant = self.heuristic is not None and self.heuristic.is_boosted
        if is_constant and "torch" in sys.modules:
            choose_among = sys.modules["torch"].compiler.assume_constant_result(choose_among)
        offered, index, fallback = frozenset(self._kernel.names), self._kernel.index, self._fallback
        # Parameters that the configurations set to the kernel's default.
        user, filled = self._user, tuple(self._kernel.filled)

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
        required = {"reset_to_zero": None, "restore_value": None}
        super().__init__(fn, fn.arg_names, list(configs), list(key), **{**required, **autotune})
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
        given: Any = options.fallback
        name = given if isinstance(given, str) else choice_name(given) if given is not None else self.kernel.names[0]
        if name not in self.kernel.names:
            raise ConfigError(
                f"{self.name}: expected one of the configurations as fallback, found {name}; "
                f"they are {', '.join(self.kernel.names)}"
            )
        self.fallback = self.kernel.index[name]
        """The configuration that runs where the heuristic declines, by index."""

    # Calls

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The launcher for a grid, as ``triton.jit`` kernels do."""

        def launch(*args: Any, **kwargs: Any) -> Any:
            picker = self._picker
            index = None if picker is None else picker.memory.find(grid, args, kwargs)
            if index is None:
                return self._first(Call(grid, args, kwargs))
            self.best_config = self.configs[index]
            try:
                return self.kernel.launch(index, grid, args, kwargs)
            except Exception as error:
                if not cannot_launch(error):
                    raise
                failed = error
            return self._first(Call(grid, args, kwargs), index, failed)

        return launch

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launches the kernel; with ``warmup`` it only compiles the pick."""
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        return self[grid](*args, **kwargs)

    def _first(self, call: Call, known: int | None = None, failed: Exception | None = None) -> Any:
        """Launches a call whose features are new, or whose ``known`` configuration failed to launch."""
        picker = self._picker
        if picker is None:
            return super().run(*call.args, grid=call.grid, warmup=False, **call.kwargs)
        try:
            features = picker.features.read(call)
            hash(tuple(features.values()))
        except (AutoHeuristicError, TypeError) as error:
            if isinstance(error, TypeError):
                error = FeatureError(f"a value of the key cannot be compared ({error}); leave it out")
            self._trouble(error)
            return self.kernel.launch(self.fallback, *call)
        offered = self.kernel.offered(self._user_prune, self.configs, call)
        index, result = self.kernel.launch_first(call, picker.candidates(features, offered), known, self._warn)
        if index is None:
            last: Any = result or failed
            raise last
        self.best_config = self.configs[index]
        picker.memory.keep(call, index)
        return result

    # Choosing

    @functools.cached_property
    def _picker(self) -> Picker | None:
        """What chooses; decided at the first call, when the device is known. ``None``: Triton's autotuner."""
        given, beside = self.options.heuristic, heuristic_file(self)
        sources: Any = given if isinstance(given, (list, tuple)) else [beside if given is None else given]
        if not sources or (given is None and not beside.exists()):
            return None
        fixed = Picker(None, self.kernel, self.fallback, self._user_prune)
        if not uses_heuristic(self.name):
            return fixed
        try:
            heuristic = for_this_device(sources)
            if self.options.fallback is None and heuristic.fallback in self.kernel.names:
                self.fallback = self.kernel.index[heuristic.fallback]
            if stale := heuristic.other_source(self.kernel.source_hash()):
                self._warn(stale, HeuristicError(stale))
            if new := heuristic.unmeasured(self.kernel.names):
                warn_once(new)
            return Picker(heuristic, self.kernel, self.fallback, self._user_prune)
        except AutoHeuristicError as error:
            if given is not None:
                self._trouble(error)
                return fixed
            self._warn(f"{error}. Triton's autotuner runs", error)
            return None

    @property
    def early_config_prune(self) -> Callable[..., Any] | None:
        """The pruning by which ``torch.compile`` and ``warmup`` see only the pick; else the user's."""
        picker = self._picker if hasattr(self, "fallback") else None
        return self._user_prune if picker is None else picker.pruner

    @early_config_prune.setter
    def early_config_prune(self, prune: Callable[..., Any] | None) -> None:
        self._user_prune = prune

    def use(self, heuristic: Source | Sequence[Source] | None) -> None:
        """Asks another heuristic from now on; with ``None`` the kernel is Triton's own autotuner."""
        self.options = dataclasses.replace(self.options, heuristic=() if heuristic is None else heuristic)
        self.__dict__.pop("_picker", None)
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
        warn_once(f"{self.name}: {message}")


def tune(
    configs: Sequence[Any],
    key: Sequence[str],
    *,
    heuristic: Source | Sequence[Source] | None = None,
    fallback: str | Any | None = None,
    name: str | None = None,
    strict: bool = False,
    outputs: Compared | None = None,
    tolerance: float | None = None,
    reference: Callable[..., Any] | None = None,
    **autotune: Any,
) -> Callable[[Any], Tuner]:
    """Chooses the configuration of a ``triton.jit`` kernel for each key; stands in the place of ``triton.autotune``.

    With a heuristic the first call on a new key launches the heuristic's pick at once. Where it declines, the
    fallback runs; where the pick cannot be launched, the next of the ranking. Without a heuristic, Triton's own
    autotuner measures each new key.

    Args:
        configs: The ``triton.Config`` objects.
        key: The parameters whose values, with the element types of the tensors, decide without a heuristic.
        heuristic: The file that ``autoheuristic tune`` wrote, or its module; of several, the first that is for the
            current device. By default ``MODULE.NAME.heuristic.py`` beside the kernel's source, if it is there.
        fallback: The configuration, or its name, for when the heuristic declines; by default the heuristic's
            fallback, else the first configuration.
        name: The name of the optimization and of its files; by default the kernel's.
        strict: Raise where the default is to warn and run the fallback.
        outputs: The tensors that the kernel writes, by parameter; by default those that the first configuration
            changed. Only these are compared while ``autoheuristic tune`` measures. Or a function of arguments, by
            name, that returns what to compare: ``lambda partial: {"sum": partial.sum(0)}``.
        tolerance: The largest difference of an output from the expected one, as a share of the largest magnitude; by
            default by element type and the length of sums.
        reference: A function of arguments, by name, that returns what the outputs should be, in higher precision:
            ``lambda a, b: {"c": a.double() @ b.double()}``. Without it the median of configurations is expected.
        autotune: Further arguments of ``triton.autotune``, such as ``prune_configs_by`` and ``reset_to_zero``. With a
            heuristic, only ``early_config_prune`` counts of the pruning.

    Raises:
        ConfigError: Two configurations have one name, or the fallback is none of them.
    """
    options = Options(heuristic, fallback, name, strict, outputs, tolerance, reference)
    return lambda fn: Tuner(fn, configs, key, options, **autotune)


def stem(tuner: Tuner) -> str:
    """The beginning of the names of a kernel's files: the module's, and the tuner's own name."""
    return file_name(f"{Path(tuner.base_fn.__code__.co_filename).stem}.{tuner.name}")


def heuristic_file(tuner: Tuner) -> Path:
    """Where ``autoheuristic tune`` writes a kernel's heuristic: beside the source of the kernel.

    That of an installed package lies in the user's cache, because an installation belongs to the installer.
    """
    source, name = Path(tuner.base_fn.__code__.co_filename), f"{stem(tuner)}.heuristic.py"
    if {"site-packages", "dist-packages"} & {*source.parts}:
        return cache_folder() / "tune" / file_name(tuner.base_fn.__module__.rpartition(".")[0]) / name
    return source.with_name(name)
