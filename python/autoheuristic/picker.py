"""Choosing by a heuristic: a pure function of the key, so that all ranks of a program choose alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Callable

from .heuristic import Heuristic
from .key import Feature, Key, KeyReader, feature


class Fixed:
    """Always the fallback: the heuristic is switched off, or cannot be used."""

    def __init__(self, names: Sequence[str], fallback: int):
        """Of these configurations, by name; ``fallback`` is an index."""
        self.reader = KeyReader((), (), {})
        self._count, self.fallback = len(names), fallback

    def candidates(self, key: Key, offered: frozenset[str] | None) -> Iterator[int]:
        """Returns the configurations to try, best first: the fallback, then the others."""
        yield self.fallback
        yield from (i for i in range(self._count) if i != self.fallback)

    def prune(self, user: Callable[..., Any] | None, filled: Sequence[str]) -> Callable[..., Any]:
        """Returns an ``early_config_prune`` that leaves only the fallback.

        ``filled`` are parameters that the configurations set to the kernel's default.
        """
        index = self.fallback

        def only_the_fallback(configs: Any, named_args: Any, **kwargs: Any) -> Any:
            _refuse(filled, named_args, kwargs)
            return [configs[index]]

        return only_the_fallback


class Picker(Fixed):
    """The heuristic's pick, then the next of its ranking, then the fallback."""

    def __init__(
        self,
        heuristic: Heuristic,
        names: Sequence[str],
        fallback: int,
        parameters: Sequence[str],
        defaults: dict[str, Any],
    ):
        """For the configurations of these names.

        Raises:
            HeuristicError: The heuristic is for other configurations.
            FeatureError: The heuristic needs a feature that the kernel does not have.

        """
        super().__init__(names, fallback)
        heuristic.check_choices(names)
        self._heuristic = heuristic
        self._names = frozenset(names)
        self._index = {name: i for i, name in enumerate(names)}
        self._features: list[Feature] = [feature(name, parameters) for name in heuristic.features]
        self.reader = KeyReader(self._features, parameters, defaults)

    def candidates(self, key: Key, offered: frozenset[str] | None) -> Iterator[int]:
        """Returns the configurations to try, best first, each once.

        ``offered`` are the names that the caller's pruning left; ``None`` where it has none.
        """
        # A heuristic that is not told what is offered expects only what training usually saw: 1.5 % on sparse logs.
        offered = self._names if offered is None else offered
        picked = self._heuristic.decide(*key, offered=offered).name
        tried = set()
        for name in self._in_order(key, picked):
            index = self._index.get(name)
            if index is not None and index not in tried and name in offered:
                tried.add(index)
                yield index
        for index in super().candidates(key, offered):
            if index not in tried:
                yield index

    def _in_order(self, key: Key, picked: str | None) -> Iterator[str]:
        if picked is not None:
            yield picked
            yield from self._heuristic.ranked(key)

    def prune(self, user: Callable[..., Any] | None, filled: Sequence[str]) -> Callable[..., Any]:
        """Returns an ``early_config_prune`` that leaves only the pick.

        ``torch.compile`` traces it, so it is plain: no class, no dictionary of configurations.
        """
        features, decide, offered = self._features, self._heuristic.decide, self._names
        index, fallback = self._index, self.fallback

        def only_the_pick(configs: Any, named_args: Any, **kwargs: Any) -> Any:
            _refuse(filled, named_args, kwargs)
            arguments = {**named_args, **kwargs}
            values = [str(arguments[f.parameter].dtype) if f.is_dtype else arguments[f.parameter] for f in features]
            picked = decide(*values, offered=offered).name
            pick = configs[fallback if picked is None else index[picked]]
            if user is not None and not any(config is pick for config in user(configs, named_args, **kwargs)):
                pick = configs[fallback]
            return [pick]

        return only_the_pick


def _refuse(filled: Sequence[str], named_args: Any, kwargs: Any) -> None:
    """Refuses a call that sets a parameter which the configurations set too: torch.compile would take theirs."""
    for name in filled:
        if name in named_args or name in kwargs:
            raise ValueError(f"under torch.compile, set {name} in the configurations instead of in the call")
