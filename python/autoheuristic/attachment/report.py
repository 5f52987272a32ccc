"""What attached kernels were asked: for each kernel the inputs, who chose, and the inputs that no log holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from . import calls
from .calls import key_of
from .replay import logged

ANSWERS = ("heuristic", "first", "package")
MOST_SHOWN = 3


class Asked(NamedTuple):
    """The inputs that one kernel was asked for."""

    kernel: str
    inputs: list[dict[str, Any]]
    """For each, the last line of the journal."""
    answers: Counter[str]
    """How many inputs each way decided."""
    unmeasured: list[dict[str, Any]]
    """The features of the inputs that the log does not hold."""


def asked(journal: Path) -> list[Asked]:
    """Reads a journal and the logs beside it.

    Raises:
        OSError: The journal cannot be read.

    """
    kernels: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for line in calls.read(journal):
        kernels.setdefault(str(line.get("kernel")), {})[key_of(line["features"], sorted(line["features"]))] = line
    found = []
    for stem, lines in kernels.items():
        inputs = list(lines.values())
        measured = logged(journal.parent / f"{stem}.txt", sorted(inputs[0]["features"]))
        unmeasured = [line["features"] for key, line in lines.items() if key not in measured]
        name = f"{inputs[0].get('module')}.{inputs[0].get('function')}"
        found.append(Asked(name, inputs, Counter(line["answer"] for line in inputs), unmeasured))
    return sorted(found, key=lambda kernel: kernel.kernel)


def table(journal: Path) -> str:
    """Returns the report of one journal, for people."""
    lines = [f"{journal.parent.name}: who chose, by new input"]
    for name, inputs, answers, unmeasured in asked(journal):
        counts = ", ".join(f"{answer} {answers[answer]}" for answer in ANSWERS if answers[answer])
        lines.append(f"{name}: {len(inputs)} inputs ({counts})")
        if unmeasured:
            shown = "; ".join(map(_shown, unmeasured[:MOST_SHOWN]))
            more = "; …" if len(unmeasured) > MOST_SHOWN else ""
            lines.append(f"  {len(unmeasured)} never measured: {shown}{more}")
    return "\n".join(lines)


def _shown(features: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in features.items())
