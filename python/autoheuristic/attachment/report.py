"""What attached kernels were asked: for each kernel the inputs, who chose, and the inputs that no log holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from . import calls
from .replay import logged

ANSWERS = ("heuristic", "first", "package")
MOST_SHOWN = 3


def table(journal: Path) -> str:
    """Returns the report of one journal and the logs beside it, for people.

    Raises:
        OSError: The journal cannot be read.

    """
    found = []
    for stem, lines in calls.inputs(journal).items():
        first = next(iter(lines.values()))
        answers = Counter(line["answer"] for line in lines.values())
        counts = ", ".join(f"{answer} {answers[answer]}" for answer in ANSWERS if answers[answer])
        shown = f"{first.get('module')}.{first.get('function')}: {len(lines)} inputs ({counts})"
        measured = logged(journal.parent / f"{stem}.txt", list(first["features"]))
        if unmeasured := [line["features"] for key, line in lines.items() if key not in measured]:
            some = "; ".join(" ".join(f"{k}={v}" for k, v in features.items()) for features in unmeasured[:MOST_SHOWN])
            more = "; …" if len(unmeasured) > MOST_SHOWN else ""
            shown += f"\n  {len(unmeasured)} never measured: {some}{more}"
        found.append(shown)
    return "\n".join([f"{journal.parent.name}: who chose, by new input", *sorted(found)])
