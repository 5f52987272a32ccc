"""Choosing by a heuristic: a pure function of the key, so that all ranks of a program choose alike."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Callable

from .features import TYPE, Features
from .heuristic import Heuristic
from .kernel import Kernel


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
        choose_among = None if self.heuristic is None else self.heuristic.choose_among
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
