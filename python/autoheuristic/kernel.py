"""A ``triton.Autotuner`` as a list of named configurations that can each be launched.

This module imports Triton when it is loaded.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any, Callable, NamedTuple

import triton.runtime.errors
from triton.compiler.errors import CompilationError

from .check import is_descriptor
from .choices import choice_name, choice_names
from .clock import Launch
from .errors import of_author

CANNOT_LAUNCH = (
    CompilationError,
    *(getattr(triton.runtime.errors, n) for n in ("OutOfResources", "PTXASError") if hasattr(triton.runtime.errors, n)),
)


class Call(NamedTuple):
    """One call of a kernel."""

    grid: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Kernel:
    """The kernel of an autotuner, and its configurations by index."""

    def __init__(self, autotuner: Any, configs: Sequence[Any]):
        """Of the autotuner's configurations, takes these.

        Raises:
            ConfigError: Two configurations have one name.
        """
        self._autotuner = autotuner
        self.replace(configs)
        self.names = choice_names(self.configs)
        """The names of the configurations, in their order."""
        self.index = {name: i for i, name in enumerate(self.names)}
        """By name."""
        self._all = frozenset(self.names)
        self.all_kwargs: list[dict[str, Any]] = [config.all_kwargs() for config in self.configs]
        self.arg_names: Sequence[str] = autotuner.arg_names
        self.jit = autotuner.fn
        while not inspect.isfunction(self.jit.fn):
            self.jit = self.jit.fn  # Inside `triton.heuristics`.
        self.run = autotuner.fn.run
        tuned = {name for kwargs in self.all_kwargs for name in kwargs}
        self.constants = tuned | {self.jit.arg_names[i] for i in getattr(self.jit, "constexprs", ())}
        """Parameters that are no run-time arguments."""
        parameters = inspect.signature(autotuner.base_fn).parameters.values()
        self.defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
        self.filled = {name: self.defaults[name] for name in self.constants - tuned if name in self.defaults}
        """Compile-time parameters that no configuration sets, because the kernel has a default."""

    def replace(self, configs: Sequence[Any]) -> None:
        """Takes other objects of the same configurations; the names stay."""
        self.configs: list[Any] = list(configs)
        self._positions = {id(config): i for i, config in enumerate(self.configs)}

    def source_hash(self) -> str:
        """The hash of the kernel's source."""
        return source_hash(self.jit)

    def launch(self, index: int, grid: Any, args: Sequence[Any], kwargs: dict[str, Any], warmup: bool = False) -> Any:
        """Launches one configuration for the parts of a call, or only compiles it."""
        config, chosen = self.configs[index], self.all_kwargs[index]
        if config.pre_hook is not None:
            named = {**dict(zip(self.arg_names, args)), **kwargs}
            # What is compiled depends on the blocks of tensor descriptors, which the hook sets.
            if not warmup or any(map(is_descriptor, named.values())):
                config.pre_hook({**named, **chosen})
        return self.run(*args, grid=grid, warmup=warmup, **kwargs, **chosen)

    def launch_first(
        self, call: Call, candidates: Iterable[int], failed: int | None, warn: Callable[[str, Exception], None]
    ) -> tuple[int | None, Any]:
        """Launches the first of these configurations that can be launched, and returns it with what its launch returns.

        It is not the one that ``failed`` already. Warns of each that cannot be launched; if none can, returns the last
        error.
        """
        last: Exception | None = None
        for index in candidates:
            if index == failed:
                continue
            try:
                return index, self.launch(index, *call)
            except Exception as error:
                if not cannot_launch(error):
                    raise
                warn(f"{self.names[index]} cannot be launched ({error}); the next one runs", error)
                last = error
        return None, last

    def prepared(self, call: Call, index: int) -> Launch:
        """The launch of one configuration, with the hooks around it."""
        arguments = {**self.named_args(call), **self.all_kwargs[index]}
        config, autotuner = self.configs[index], self._autotuner

        def before() -> None:
            if config.pre_hook is not None:
                config.pre_hook(arguments)
            autotuner.pre_hook(arguments)

        direct: Callable[[], object] | None = None

        def run() -> object:
            nonlocal direct
            if direct is not None:
                return direct()
            compiled = self.run(*call.args, grid=call.grid, warmup=False, **call.kwargs, **self.all_kwargs[index])
            direct = self._direct(compiled, call, index)
            return compiled

        return Launch(before, run, lambda exception: autotuner.post_hook(arguments, exception=exception))

    def _direct(self, compiled: Any, call: Call, index: int) -> Callable[[], object] | None:
        """A function that launches a compiled kernel without looking it up, which takes the host half as long.

        ``None`` where other code takes part in a launch.
        """
        is_plain = self.jit is self._autotuner.fn and not getattr(self.jit, "pre_run_hooks", None)
        if not is_plain or not hasattr(compiled, "packed_metadata"):
            return None
        named = {**self.defaults, **self.named_args(call), **self.all_kwargs[index]}
        return functools.partial(compiled[self.grid(call, index)], *(named[name] for name in self.jit.arg_names))

    def pruned(self, call: Call) -> list[int]:
        """The configurations that the autotuner would benchmark: all, or what ``prune_configs_by`` leaves."""
        autotuner = self._autotuner
        autotuner.nargs = dict(zip(self.arg_names, call.args))
        try:
            kept = of_author("prune_configs_by", autotuner.prune_configs, call.kwargs)
        finally:
            autotuner.nargs = {}
        return [i for config in kept if (i := self.position(config)) is not None]

    def offered(self, prune: Callable[..., Any] | None, configs: Sequence[Any], call: Call) -> frozenset[str]:
        """The names of the configurations that an ``early_config_prune`` leaves, if there is one."""
        if prune is None:
            return self._all
        kept = of_author("early_config_prune", prune, configs, dict(zip(self.arg_names, call.args)), **call.kwargs)
        return frozenset(self.names[i] for config in kept if (i := self.position(config)) is not None)

    def position(self, config: Any) -> int | None:
        """The index of a configuration; ``None`` of one that a pruner made and that is none of these."""
        # By identity first: a name takes 3 us, and a pruner is asked for all of 640.
        found = self._positions.get(id(config))
        return self.index.get(choice_name(config)) if found is None else found

    def specialization(self, call: Call) -> tuple[Any, ...]:
        """What a compiled kernel depends on: calls that agree in it share their kernels.

        Triton tells integers apart that are 1 or multiples of 16 or need 64 bits, and pointers that are aligned to 16.
        """
        named = self.named_args(call)
        return tuple((name, *_kind(named[name], name in self.constants)) for name in sorted(named))

    def named_args(self, call: Call) -> dict[str, Any]:
        """The arguments of a call by name."""
        return {**dict(zip(self.arg_names, call.args)), **call.kwargs}

    def grid(self, call: Call, index: int = 0) -> tuple[int, ...]:
        """The three sizes of a call's grid with a configuration."""
        grid = call.grid
        if callable(grid):
            grid = grid({**self.defaults, **self.named_args(call), **self.all_kwargs[index]})
        sizes = (grid,) if isinstance(grid, int) else tuple(grid)
        return (*map(int, sizes), 1, 1)[:3]


def cannot_launch(error: Exception) -> bool:
    """Whether an exception says that a configuration does not compile or does not fit the device."""
    # A failed pass of the compiler is a plain RuntimeError.
    passes = isinstance(error, RuntimeError) and "PassManager::run failed" in str(error)
    return passes or isinstance(error, CANNOT_LAUNCH)


def _kind(value: Any, is_constant: bool) -> tuple[Any, ...]:
    if hasattr(value, "data_ptr"):
        return "tensor", str(value.dtype), value.data_ptr() % 16 == 0
    if is_descriptor(value):
        return "descriptor", str(value.base.dtype), tuple(value.block_shape)
    if isinstance(value, int) and not is_constant:
        return "int", value == 1, value % 16 == 0, not -(2**31) <= value < 2**31
    return ("float",) if isinstance(value, float) and not is_constant else ("constant", str(value))


def source_hash(kernel: Any) -> str:
    """The hash of a kernel's text, that of all functions it calls, and the constants it reads.

    A kernel is anything with ``src`` and ``fn``, as ``triton.jit`` makes them. Triton's own ``cache_key`` contains the
    line at which a kernel begins, so a configuration added above the kernel would change it.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    todo = [kernel]
    while todo:
        function = todo.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        digest.update(function.src.encode())
        for name, value in _globals(function.fn):
            if hasattr(value, "src") and hasattr(value, "fn"):
                todo.append(value)
            elif isinstance(value, (int, float, str)) or type(value).__name__ == "constexpr":
                digest.update(f"{name}={value!r};".encode())
    return digest.hexdigest()


def _globals(function: Any) -> Iterator[tuple[str, Any]]:
    """The globals that a function names, those of the modules that it names too."""
    names = sorted(_names(function.__code__))
    found = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    closure = zip(function.__code__.co_freevars, function.__closure__ or ())
    found += [(name, cell.cell_contents) for name, cell in closure]
    for name, value in list(found):
        # Libraries count by their version; only functions of the user's modules are followed.
        if isinstance(value, ModuleType) and not value.__name__.startswith("triton"):
            found += [(f"{name}.{inner}", getattr(value, inner)) for inner in names if hasattr(value, inner)]
    return iter(found)


def _names(code: CodeType) -> set[str]:
    return {*code.co_names, *(n for c in code.co_consts if isinstance(c, CodeType) for n in _names(c))}
