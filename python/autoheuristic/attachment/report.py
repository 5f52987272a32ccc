"""What attached kernels were asked: for each kernel the inputs, who chose, and the inputs that no log holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import calls
from .calls import key_of
from .replay import logged

ANSWERS = ("heuristic", "first", "package")
MOST_SHOWN = 3


@dataclass
class Asked:
    """The inputs that one kernel was asked for."""

    kernel: str
    inputs: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    """By their values as texts, in the order of the names: the last line of the journal."""
    unmeasured: list[dict[str, Any]] = field(default_factory=list)
    """The features of the inputs that the log does not hold."""

    @property
    def answers(self) -> Counter[str]:
        """How many inputs each way decided."""
        return Counter(line["answer"] for line in self.inputs.values())


def asked(journal: Path) -> list[Asked]:
    """Reads a journal and the logs beside it.

    Raises:
        OSError: The journal cannot be read.

    """
    kernels: dict[str, Asked] = {}
    for line in calls.read(journal):
        stem = str(line.get("kernel"))
        known = kernels.setdefault(stem, Asked(f"{line.get('module')}.{line.get('function')}"))
        known.inputs[key_of(line["features"], sorted(line["features"]))] = line
    for stem, found in kernels.items():
        names = sorted(next(iter(found.inputs.values()))["features"])
        measured = logged(journal.parent / f"{stem}.txt", names)
        found.unmeasured = [line["features"] for key, line in found.inputs.items() if key not in measured]
    return sorted(kernels.values(), key=lambda k: k.kernel)


def table(journal: Path) -> str:
    """Returns the report of one journal, for people."""
    lines = [f"{journal.parent.name}: who chose, by new input"]
    for kernel in asked(journal):
        answers = kernel.answers
        counts = ", ".join(f"{answer} {answers[answer]}" for answer in ANSWERS if answers[answer])
        lines.append(f"{kernel.kernel}: {len(kernel.inputs)} inputs ({counts})")
        if kernel.unmeasured:
            shown = "; ".join(_shown(features) for features in kernel.unmeasured[:MOST_SHOWN])
            more = "; …" if len(kernel.unmeasured) > MOST_SHOWN else ""
            lines.append(f"  {len(kernel.unmeasured)} never measured: {shown}{more}")
    return "\n".join(lines)


def _shown(features: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in features.items())
