"""``tune --same-bits``: picks only among configurations whose outputs are equal, bit by bit, on every measured input.

So a pick never changes a result. ``--invariant M`` takes a class of such configurations for each value of the other
features, over all ``M``: a row then has the same bits in every batch.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .environment import counted
from .errors import MeasureError
from .log import Log, Value

MOST_SHOWN = 8
Times = Mapping[tuple[Value, ...], Mapping[str, float]]
"""By input, the median time of each choice."""


def restrict(log: Path, bits: Path, invariant: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Rewrites a log so that only picks of equal bits can be learned from it: those of the class that loses least.

    With invariant features all classes stay. Each value of the other features that the log has with two values of the
    invariant ones takes its best class; elsewhere the class that loses least on all inputs is taken.

    Returns what to print, and what the heuristic gets.

    Raises:
        MeasureError: An invariant feature is none of the log, or no two configurations agree on all inputs.
    """
    found, digests = Log.read(log), _digests(bits)
    if unknown := [name for name in invariant if name not in found.features]:
        raise MeasureError(f"--invariant: expected one of {', '.join(found.features)}, found {unknown[0]!r}")
    times = {i: {name: statistics.median(ms) for name, ms in of.items()} for i, of in found.inputs().items()}
    whole = [name for name in found.choices if all(math.isfinite(of.get(name, math.inf)) for of in times.values())]
    classes: dict[str, list[str]] = defaultdict(list)
    for name in whole:
        of_inputs = [digests.get(json.dumps([str(v) for v in values]), {}).get(name) for values in times]
        # A configuration whose own bits change from run to run is in no class.
        if None not in of_inputs:
            classes[json.dumps(of_inputs)].append(name)
    losses = sorted((loss(times, members), members) for members in classes.values())
    lines = [f"Classes of equal bits, of {counted(len(whole), 'configuration')} that run on all inputs: {len(losses)}"]
    lines += [f"  loses {100 * cost - 100:6.2f} %: {', '.join(members)}" for cost, members in losses[:MOST_SHOWN]]
    if losses and invariant:
        found.write(log, [name for members in classes.values() for name in members])
        line, footer = _fixed(found.features, times, [*classes.values()], invariant)
        return [*lines, line], footer
    cost, members = next((each for each in losses if len(each[1]) > 1), (math.inf, []))
    if not members:
        raise MeasureError("\n".join([*lines, "no two of them agree; --invariant FEATURE takes one over a feature"]))
    found.write(log, members)
    what = f"Picks these {len(members)}: with the best of them"
    return [*lines, f"{what}, {100 * cost - 100:.2f} % slower than a free choice."], {}


def _fixed(
    features: Sequence[str], times: Times, classes: Sequence[Sequence[str]], invariant: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    """Takes a class for each value of the other features. Returns a line to print, and what the heuristic gets."""
    rest = [i for i, name in enumerate(features) if name not in invariant]
    groups: dict[tuple[str, ...], dict[tuple[Value, ...], Mapping[str, float]]] = defaultdict(dict)
    for values, of in times.items():
        groups[tuple(str(values[i]) for i in rest)][values] = of

    def best(inputs: Times) -> int:
        return min(range(len(classes)), key=lambda at: loss(inputs, classes[at]))

    other = best(times)
    taken = {key: best(inputs) for key, inputs in groups.items() if len(inputs) > 1}
    logs = [math.log(loss(of, classes[taken.get(key, other)])) * len(of) for key, of in groups.items()]
    over, names = 100 * math.exp(sum(logs) / len(times)) - 100, [features[i] for i in rest]
    line = f"Takes one class for each of {len(taken)} values of {', '.join(names)}, over all {', '.join(invariant)}"
    line += f": with the best of each, {over:.2f} % slower than a free choice."
    ordered = [tuple(sorted(members, key=lambda name: loss(times, [name]))) for members in classes]
    return line, {"CLASSES": ordered, "FIXED": names, "CLASS_OF": taken, "OTHER_CLASS": other}


def loss(times: Times, members: Sequence[str]) -> float:
    """Returns the geometric mean of the best of these over the best of all."""
    ratios = (min(of[name] for name in members) / min(of.values()) for of in times.values())
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _digests(path: Path) -> dict[str, dict[str, list[int]]]:
    """Returns the digests of each configuration's outputs, by the input's values as texts.

    An input has several lines where a configuration lost the device: each process writes what it checked.
    """
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        found[json.dumps([str(value) for value in line["input"]])].update(line["bits"])
    return found
