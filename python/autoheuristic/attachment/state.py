"""What is known of an attached kernel: its configurations by name, its features and its heuristic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..choices import distinct
from ..errors import HeuristicError
from ..features import Features
from ..heuristic import Heuristic
from ..kernel import Call, Kernel
from .identity import Identity, identify
from .session import Session


class State:
    """What is known of a kernel as long as its configurations stay the same."""

    def __init__(self, autotuner: Any, session: Session, call: Call):
        """Finds the heuristic.

        Raises:
            AutoHeuristicError: The kernel cannot be attached.

        """
        self.configs = autotuner.configs
        self.count = len(self.configs)
        self.kernel = Kernel(autotuner, distinct(autotuner.configs))
        self.identity: Identity = identify(self.kernel)
        self.features = Features.of_call(self.kernel, call)
        self.index = {name: i for i, name in enumerate(self.kernel.names)}
        self.all_names = frozenset(self.kernel.names)
        collects = session.settings.mode == "collect"
        self.heuristic: Heuristic | None = None
        self.trouble: str | None = None
        """Why a heuristic that exists does not serve."""
        if not collects:
            self._find(session)
        self.names: Sequence[str] = self.features.names()
        """The features that a decision depends on; an author's pruning may depend on any."""
        if autotuner.early_config_prune is None and not collects:
            of_package = self.features.of_package(autotuner.keys)
            self.names = of_package if self.heuristic is None else self.heuristic.features

    def is_of(self, autotuner: Any) -> bool:
        """Whether the autotuner still has the configurations of this state."""
        return autotuner.configs is self.configs and len(self.configs) == self.count

    def _find(self, session: Session) -> None:
        try:
            self.heuristic = session.folder.heuristic(self.identity)
            if self.heuristic is not None:
                self.heuristic.check_choices(self.kernel.names)
                lacking = [name for name in self.heuristic.features if name not in self.features.names()]
                if lacking:
                    raise HeuristicError(f"{self.heuristic.shown}: the call lacks its feature {lacking[0]!r}")
        except HeuristicError as error:
            self.heuristic, self.trouble = None, str(error)
