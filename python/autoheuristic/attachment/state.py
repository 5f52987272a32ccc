"""What is known of an attached kernel: its configurations by name, its features, its heuristic and its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..choices import distinct
from ..errors import HeuristicError
from ..heuristic import Heuristic
from ..kernel import Call, Kernel
from ..outcome import TIMING
from .features import CallFeatures
from .identity import Identity, identify
from .recorder import Recorder
from .remembered import Remembered
from .session import Session


class State:
    """What is known of a kernel as long as its configurations stay the same."""

    def __init__(self, autotuner: Any, session: Session, call: Call):
        """Finds the heuristic and the log.

        Raises:
            AutoHeuristicError: The kernel cannot be attached.

        """
        self.configs = autotuner.configs
        self.count = len(self.configs)
        self.kernel = Kernel(autotuner, distinct(autotuner.configs))
        self.identity: Identity = identify(self.kernel)
        self.features = CallFeatures(self.kernel, call)
        self.index = {name: i for i, name in enumerate(self.kernel.names)}
        collects = session.settings.mode == "collect"
        log = session.folder.log(self.identity)
        self.recorder = Recorder(log, self.identity.stem, TIMING if collects else None)
        self.heuristic: Heuristic | None = None
        self.remembered: Remembered | None = None
        self.trouble: str | None = None
        """Why a heuristic that exists does not serve."""
        if session.settings.mode == "serve":
            self._find(session, autotuner.keys)
        self.names: Sequence[str] = self.features.names()
        """The features that a decision depends on; an author's pruning may depend on any."""
        if autotuner.early_config_prune is None and not collects:
            of_package = self.features.of_package(autotuner.keys)
            self.names = of_package if self.heuristic is None else self.heuristic.features
        self.is_passive = self.heuristic is None and not self.remembered and not collects
        """Whether the package's own autotuner decides each call."""

    def is_of(self, autotuner: Any) -> bool:
        """Whether the autotuner still has the configurations of this state."""
        return autotuner.configs is self.configs and len(self.configs) == self.count

    def _find(self, session: Session, keys: Sequence[str]) -> None:
        try:
            self.heuristic = session.folder.heuristic(self.identity)
            if self.heuristic is not None:
                self.heuristic.check_choices(self.kernel.names)
                lacking = [name for name in self.heuristic.features if name not in self.features.names()]
                if lacking:
                    raise HeuristicError(f"{self.heuristic.shown}: the call lacks its feature {lacking[0]!r}")
        except HeuristicError as error:
            self.heuristic, self.trouble = None, str(error)
        if self.heuristic is None:
            log = session.folder.read_log(self.identity)
            self.remembered = Remembered(log, self.features.of_package(keys)) if log is not None else None
