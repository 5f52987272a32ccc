"""An autotuner of a package, attached: who chooses the configuration of a call.

A call that was seen before is one look-up in a dictionary. For a new input, in this order:

1. the heuristic's pick, then up to two more of its ranking where a pick cannot be launched;
2. in ``collect``, and while a CUDA graph is captured, the first configuration that can be launched;
3. the package's own autotuner.

Each new input is a line of the journal. An error of this package never reaches the program: it is a warning, and the
package's own autotuner runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Callable

from ..choices import distinct
from ..errors import HeuristicError, MeasureError, shown
from ..features import Features, Memory
from ..heuristic import Heuristic
from ..kernel import Call, Kernel, cannot_launch
from .calls import describe
from .identity import Identity, identify
from .session import Session, is_capturing

MOST_PICKS = 3
"""Configurations of a ranking that are tried before the package's own autotuner runs."""


class State:
    """What is known of a kernel as long as its configurations stay the same."""

    def __init__(self, autotuner: Any, session: Session, call: Call, warn: Callable[[str], None]):
        """Finds the heuristic; warns of one that exists and does not serve.

        Raises:
            AutoHeuristicError: The kernel cannot be attached.
        """
        self.configs = autotuner.configs
        self.count = len(self.configs)
        self.kernel = Kernel(autotuner, distinct(autotuner.configs))
        self.identity: Identity = identify(self.kernel)
        self.features = Features.of_call(self.kernel, call)
        collects = session.settings.mode == "collect"
        self.heuristic: Heuristic | None = None
        try:
            self.heuristic = None if collects else self._find(session)
        except HeuristicError as error:
            warn(f"{error}. The package's own autotuner runs")
        # An author's pruning may depend on any feature.
        names: Sequence[str] = self.features.names
        if autotuner.early_config_prune is None and not collects:
            of_package = self.features.of_package(autotuner.keys)
            names = of_package if self.heuristic is None else self.heuristic.features
        self.memory = Memory(self.features, names, call)
        """The arguments and the configuration to launch; ``(None, None)``: the package's own autotuner."""

    def is_of(self, autotuner: Any) -> bool:
        """Whether the autotuner still has the configurations of this state."""
        return autotuner.configs is self.configs and len(self.configs) == self.count

    def _find(self, session: Session) -> Heuristic | None:
        found = session.settings.heuristic(self.identity)
        if found is not None:
            found.check_choices(self.kernel.names)
            if lacking := [name for name in found.features if name not in self.features.names]:
                raise HeuristicError(f"{found.shown}: the call lacks its feature {lacking[0]!r}")
        return found


class AttachedKernel:
    """The ``run`` of one autotuner."""

    def __init__(self, autotuner: Any, session: Session, package: str):
        """Takes the place of ``autotuner.run``."""
        self.autotuner = autotuner
        self._session, self._package_name = session, package
        self._previous = vars(autotuner).get("run")
        self._state: State | None = None
        self._is_passive = False
        autotuner.run = self.run

    def detach(self) -> None:
        """Gives the autotuner its own ``run`` back."""
        own = vars(self.autotuner)
        if own.get("run") == self.run:
            own.pop("run")
            if self._previous is not None:
                self.autotuner.run = self._previous

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Launches the kernel; ``grid`` and ``warmup`` are among the keyword arguments."""
        if self._is_passive:
            return self._package(args, kwargs)
        state, found = self._state, None
        if state is not None and state.is_of(self.autotuner):
            try:
                found = state.memory.known[state.memory.read(args, kwargs)]
            except Exception:  # Not seen yet, or laid out in another way: whatever is wrong shows again below.
                found = None
        if found is None:
            return self._first(args, kwargs, None)
        chosen, config = found
        if chosen is None:
            return self._package(args, kwargs)
        self.autotuner.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**dict(zip(self.autotuner.arg_names, args)), **kwargs, **chosen})
        try:
            return self.autotuner.fn.run(*args, **kwargs, **chosen)
        except Exception as error:
            if not cannot_launch(error):
                raise
            return self._first(args, kwargs, config)

    def _package(self, args: Any, kwargs: Any) -> Any:
        """Runs the package's own autotuner."""
        if self._previous is None:
            return type(self.autotuner).run(self.autotuner, *args, **kwargs)
        return self._previous(*args, **kwargs)

    def _first(self, args: Any, kwargs: Any, failed: Any) -> Any:
        """Launches a call whose key is new, or whose remembered configuration ``failed`` to launch."""
        if kwargs.get("warmup"):
            return self._package(args, kwargs)
        rest = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
        call, decided = Call(kwargs.get("grid"), args, rest), None
        try:
            state = self._ready(call)
            if state is not None:
                features = state.features.read(call)
                decided = state, features, *self._decide(state, call, features)
        except Exception as error:
            # Of a lost device too: the package's next launch reports it in its own words.
            self._warn(f"{shown(error)}. The package's own autotuner runs")
            # A kernel that cannot be attached is not tried again.
            self._is_passive = self._state is None
        if decided is None:
            return self._package(args, kwargs)
        state, features, answer, candidates = decided
        index, result = state.kernel.launch_first(call, candidates, failed, self._warn)
        self._launched(state, call, features, answer if index is not None else "package", index)
        return self._package(args, kwargs) if index is None else result

    def _ready(self, call: Call) -> State | None:
        """Returns the state for the configurations as they are now; ``None`` if there is nothing to choose."""
        state = self._state
        if state is None or not state.is_of(self.autotuner):
            if len(self.autotuner.configs) < 2:
                return None
            state = self._state = State(self.autotuner, self._session, call, self._warn)
        return state

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
        if self._session.settings.mode == "collect" or (is_capturing() and not self._is_tuned(call)):
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
                chosen = (None, None) if index is None else (state.kernel.all_kwargs[index], self.autotuner.best_config)
                state.memory.keep(call, chosen)
                # What a heuristic decided is not measured later; reading the values of a tensor waits for the device.
                description = None if answer == "heuristic" else describe(state.kernel, call)
        except MeasureError as error:
            why_not = str(error)
        except Exception as error:
            self._warn(f"a call is not remembered ({shown(error)})")
            return
        try:
            found = {"answer": answer, "choice": choice, "call": description, "why_not": why_not}
            self._session.note(state.identity, self._package_name, features, found)
        except Exception as error:
            self._warn(f"a call is not remembered ({shown(error)})")

    def _warn(self, message: str, error: Exception | None = None) -> None:
        function = getattr(self.autotuner.base_fn, "__name__", "a kernel")
        self._session.warn(f"{self.autotuner.base_fn.__module__}.{function}: {message}")
