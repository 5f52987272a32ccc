"""What a run left out, by the file beside its log: configurations that failed, and inputs that nothing measured."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .check import SLIGHTLY, WRONG

MOST_SHOWN = 8


def path_of(log: Path) -> Path:
    """Returns the file of outcomes beside a log."""
    return log.with_name(f"{log.name}.outcomes.jsonl")


def read(log: Path, begin: int = 0) -> Iterator[Mapping[str, Any]]:
    """Returns the records from this byte on, without torn ones."""
    path = path_of(log)
    for line in path.read_bytes()[begin:].splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
            yield {"choices": [record["choice"]], **record} if "choice" in record else record
        except ValueError:
            continue


def size(log: Path) -> int:
    """Returns the bytes of the records so far."""
    return path_of(log).stat().st_size if path_of(log).exists() else 0


def unmeasured(log: Path, begin: int) -> list[str]:
    """Returns the reasons why inputs or configurations were not measured, the first one first, from this byte on."""
    return [str(record["reason"]) for record in read(log, begin) if record.get("outcome") == "unmeasured"]


def failures(log: Path, inputs: int, choices: int) -> list[str]:
    """Returns a line for each configuration that failed, those that failed most first, and what they have in common."""
    reasons: dict[str, dict[str, str]] = defaultdict(dict)
    for record in read(log):
        for choice in record.get("choices", ()) if record.get("outcome") == "failed" else ():
            reasons[choice][record["input"]] = str(record["reason"])
    lines, often = [], 0
    for name, by_input in sorted(reasons.items(), key=lambda found: -len(found[1])):
        failed, wrong = [*by_input.values()], sum(reason.startswith(WRONG) for reason in by_input.values())
        slightly = sum(f", {SLIGHTLY} above" in reason for reason in failed)
        counts = f"{wrong} wrong, {slightly} of them slightly" if wrong else "none wrong"
        often += 2 * len(failed) > inputs
        lines.append(f"  {name}: on {len(failed)} of {inputs} inputs ({counts}): {failed[0]}")
    if len(lines) > MOST_SHOWN:
        lines[MOST_SHOWN:] = [f"  and {len(lines) - MOST_SHOWN} more"]
    if lines:
        what = f"{often} of {choices} configurations failed on most inputs, and are not picked there"
        lines.insert(0, f"{what if often else f'{len(reasons)} of {choices} configurations failed on some inputs'}:")
    return lines
