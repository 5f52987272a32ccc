"""An autotuner of a package, attached: who chooses the configuration of a call.

A call that was seen before is one look-up in a dictionary. For a new input, in this order:

1. the heuristic's pick, then up to two more of its ranking where a pick cannot be launched;
2. in ``collect``, and while a CUDA graph is captured, the first configuration that can be launched;
3. the package's own autotuner.

Each new input is a line of the journal. An error of this package never reaches the program: it is a warning, and the
package's own autotuner runs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Callable

from ..choices import distinct
from ..errors import HeuristicError, MeasureError, shown, warn_once
from ..features import Features, Memory
from ..heuristic import Heuristic
from ..kernel import Call, Kernel, cannot_launch
from .calls import Journal, describe
from .settings import Identity, Settings, identify

MOST_PICKS = 3
"""Configurations of a ranking that are tried before the package's own autotuner runs."""
PACKAGE = -1
"""Stands for the package's own autotuner where a configuration's index stands."""


class State:
    """What is known of a kernel as long as its configurations stay the same."""

    def __init__(self, autotuner: Any, settings: Settings, call: Call, warn: Callable[[str], None]):
        """Finds the heuristic; warns of one that exists and does not serve.

        Raises:
            AutoHeuristicError: The kernel cannot be attached.
        """
        self.configs = autotuner.configs
        self.count = len(self.configs)
        self.kernel = Kernel(autotuner, distinct(autotuner.configs))
        self.identity: Identity = identify(self.kernel)
        self.features = Features.of_call(self.kernel, call)
        collects = settings.mode == "collect"
        self.heuristic: Heuristic | None = None
        try:
            self.heuristic = None if collects else self._find(settings)
        except HeuristicError as error:
            warn(f"{error}. The package's own autotuner runs")
        # An author's pruning may depend on any feature.
        names: Sequence[str] = self.features.names
        if autotuner.early_config_prune is None and not collects:
            of_package = self.features.of_package(autotuner.keys)
            names = of_package if self.heuristic is None else self.heuristic.features
        self.memory = Memory(Features.of_names(self.kernel, names))
        """The configuration to launch, by index; ``PACKAGE``: the package's own autotuner."""

    def is_of(self, autotuner: Any) -> bool:
        """Whether the autotuner still has the configurations of this state."""
        return autotuner.configs is self.configs and len(self.configs) == self.count

    def _find(self, settings: Settings) -> Heuristic | None:
        found = settings.heuristic(self.identity)
        if found is not None:
            found.check_choices(self.kernel.names)
            if lacking := [name for name in found.features if name not in self.features.names]:
                raise HeuristicError(f"{found.shown}: the call lacks its feature {lacking[0]!r}")
        return found


class AttachedKernel:
    """The ``run`` of one autotuner."""

    def __init__(self, autotuner: Any, settings: Settings, journal: Journal, package: str):
        """Its ``run`` takes the place of the autotuner's."""
        self.autotuner = autotuner
        self._settings, self._journal, self._package_name = settings, journal, package
        self._previous = vars(autotuner).get("run")
        self._state: State | None = None
        self._is_passive = False

    def detach(self) -> None:
        """Gives the autotuner its own ``run`` back."""
        own = vars(self.autotuner)
        if own.get("run") == self.run:
            own.pop("run")
            if self._previous is not None:
                self.autotuner.run = self._previous

    def run(self, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        """Launches the kernel."""
        state, known = self._state, None
        if self._is_passive or warmup:
            known = PACKAGE
        elif state is not None and state.is_of(self.autotuner):
            known = state.memory.find(grid, args, kwargs)
        if known == PACKAGE:
            return self._package(Call(grid, args, kwargs), warmup)
        if state is not None and known is not None:
            self.autotuner.best_config = state.kernel.configs[known]
            try:
                return state.kernel.launch(known, grid, args, kwargs)
            except Exception as error:
                if not cannot_launch(error):
                    raise
        return self._first(Call(grid, args, kwargs), known)

    def _package(self, call: Call, warmup: bool = False) -> Any:
        """Runs the package's own autotuner."""
        run = self._previous or functools.partial(type(self.autotuner).run, self.autotuner)
        return run(*call.args, grid=call.grid, warmup=warmup, **call.kwargs)

    def _first(self, call: Call, failed: int | None) -> Any:
        """Launches a call whose features are new, or whose remembered configuration ``failed`` to launch."""
        try:
            if self._state is None or not self._state.is_of(self.autotuner):
                is_choice = len(self.autotuner.configs) > 1
                self._state = State(self.autotuner, self._settings, call, self._warn) if is_choice else None
            state = self._state
            if state is not None:
                features = state.features.read(call)
                answer, candidates = self._decide(state, call, features)
        except Exception as error:
            # Of a lost device too: the package's next launch reports it in its own words.
            self._warn(f"{shown(error)}. The package's own autotuner runs")
            # A kernel that cannot be attached is not tried again.
            self._is_passive = self._state is None
            state = None
        if state is None:
            return self._package(call)
        index, result = state.kernel.launch_first(call, candidates, failed, self._warn)
        self._launched(state, call, features, answer if index is not None else "package", index)
        return self._package(call) if index is None else result

    def _decide(self, state: State, call: Call, features: Mapping[str, Any]) -> tuple[str, Sequence[int]]:
        """Decides a new input: who chooses, and the configurations to try, best first.

        Raises:
            AutoHeuristicError: Nothing can be decided.
        """
        offered = state.kernel.offered(self.autotuner.early_config_prune, self.autotuner.configs, call)
        if state.heuristic is not None:
            names = [*islice(state.heuristic.in_order(features, offered), MOST_PICKS)]
            if names:
                return "heuristic", [state.kernel.index[name] for name in names]
        if self._settings.mode == "collect" or (is_capturing() and not self._is_tuned(call)):
            return "first", [i for name, i in state.kernel.index.items() if name in offered]
        return "package", ()

    def _is_tuned(self, call: Call) -> bool:
        """Whether the package's autotuner has this key, so that it would not measure."""
        tuner = self.autotuner
        named = {**dict(zip(tuner.arg_names, call.args)), **call.kwargs}
        named = {name: value for name, value in named.items() if name in tuner.arg_names}
        types = [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
        return (*(named[key] for key in tuner.keys if key in named), *types) in tuner.cache

    def _launched(self, state: State, call: Call, features: Mapping[str, Any], answer: str, index: int | None) -> None:
        """Remembers a decision, and writes it to the journal."""
        choice = description = why_not = None
        if index is not None:
            self.autotuner.best_config, choice = state.kernel.configs[index], state.kernel.names[index]
        try:
            # While a graph is captured an answer is makeshift.
            if not is_capturing():
                state.memory.keep(call, PACKAGE if index is None else index)
                # What a heuristic decided is not measured later; reading the values of a tensor waits for the device.
                try:
                    description = None if answer == "heuristic" else describe(state.kernel, call)
                except MeasureError as error:
                    why_not = str(error)
            found = {"answer": answer, "choice": choice, "call": description, "why_not": why_not}
            self._journal.note(state.identity, self._package_name, features, found)
        except Exception as error:
            self._warn(f"a call is not remembered ({shown(error)})")

    def _warn(self, message: str, error: Exception | None = None) -> None:
        function = getattr(self.autotuner.base_fn, "__name__", "a kernel")
        warn_once(f"{self.autotuner.base_fn.__module__}.{function}: {message}")


def is_capturing() -> bool:
    """Whether launches go into a CUDA graph that is being captured: then nothing can be measured."""
    torch: Any = sys.modules.get("torch")
    try:
        return torch is not None and bool(torch.cuda.is_current_stream_capturing())
    except (AttributeError, RuntimeError):
        return False
