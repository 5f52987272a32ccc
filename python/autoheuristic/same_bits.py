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

from .environment import counted
from .errors import MeasureError
from .log import Log, Value, json_lines

MOST_SHOWN = 8
Times = Mapping[tuple[Value, ...], Mapping[str, float]]
"""By input, the median time of each choice."""
FOOTER = """

# Choices of equal bits, the fastest first. One class is taken for each value of {names}, for others the first.
CLASSES = {classes!r}
CLASS_OF = {class_of!r}


def ranked(*values):
    known = dict(zip(FEATURES, values))
    members = CLASSES[CLASS_OF.get(tuple(str(known.get(name)) for name in {names!r}), 0)]
    # What the ranking does not know comes last, in the order of the measured times.
    order = dict.fromkeys([*(entry[0] for entry in _ranking(*values) or ()), *members])
    return [name for name in order if name in members]


def choose_among(offered, *values):
    return next((name for name in ranked(*values) if name in offered), None)
"""
"""What a heuristic that takes several classes ends with: its functions then choose in one class."""


def restrict(log: Path, bits: Path, invariant: Sequence[str]) -> tuple[list[str], str]:
    """Rewrites a log so that only picks of equal bits can be learned from it: those of the class that loses least.

    With invariant features, each value of the other features takes its best class if the log has it with two values of
    the invariant ones; elsewhere the class that loses least on all inputs is taken.

    Returns what to print, and what the heuristic ends with.

    Raises:
        MeasureError: An invariant feature is none of the log, or no two configurations agree on all inputs.
    """
    found, digests = Log.read(log), _digests(bits)
    if unknown := [name for name in invariant if name not in found.features]:
        raise MeasureError(f"--invariant: expected one of {', '.join(found.features)}, found {unknown[0]!r}")
    times = {i: {name: statistics.median(ms) for name, ms in of.items()} for i, of in found.inputs().items()}
    whole = [name for name in found.choices if all(math.isfinite(of.get(name, math.inf)) for of in times.values())]
    of_bits: dict[str, list[str]] = defaultdict(list)
    for name in whole:
        of_inputs = [digests.get(json.dumps([str(v) for v in values]), {}).get(name) for values in times]
        # A configuration whose own bits change from run to run is in no class.
        if None not in of_inputs:
            of_bits[json.dumps(of_inputs)].append(name)
    losses = sorted((loss(times, members), members) for members in of_bits.values())
    lines = [f"Classes of equal bits, of {counted(len(whole), 'configuration')} that run on all inputs: {len(losses)}"]
    lines += [f"  loses {100 * cost - 100:6.2f} %: {', '.join(members)}" for cost, members in losses[:MOST_SHOWN]]
    # One configuration alone is a choice only where others are taken on other inputs.
    usable = [members for _, members in losses if invariant or len(members) > 1]
    if not usable:
        raise MeasureError("\n".join([*lines, "no two of them agree; --invariant FEATURE takes one over a feature"]))
    classes = [tuple(sorted(members, key=lambda name: loss(times, [name]))) for members in usable]
    rest = [i for i, name in enumerate(found.features) if invariant and name not in invariant]
    groups: dict[tuple[str, ...], dict[tuple[Value, ...], Mapping[str, float]]] = defaultdict(dict)
    for values, of in times.items():
        groups[tuple(str(values[i]) for i in rest)][values] = of
    best = {key: min(range(len(classes)), key=lambda at: loss(of, classes[at])) for key, of in groups.items()}
    taken = {key: at for key, at in best.items() if rest and len(groups[key]) > 1}
    # The classes are in the order of their losses on all inputs.
    logs = [math.log(loss(of, classes[taken.get(key, 0)])) * len(of) for key, of in groups.items()]
    over, names = 100 * math.exp(sum(logs) / len(times)) - 100, [found.features[i] for i in rest]
    is_one = not taken and len(classes[0]) > 1
    found.write(log, [name for members in (classes[:1] if is_one else classes) for name in members])
    if is_one:
        what = f"Picks these {len(classes[0])}: with the best of them"
        return [*lines, f"{what}, {over:.2f} % slower than a free choice."], ""
    groups_taken, over_all = counted(len(taken), "value"), ", ".join(invariant)
    what = f"Takes one class for each of {groups_taken} of {', '.join(names)}, over all {over_all}"
    footer = FOOTER.format(names=names, classes=classes, class_of=taken)
    return [*lines, f"{what}: with the best of each, {over:.2f} % slower than a free choice."], footer


def loss(times: Times, members: Sequence[str]) -> float:
    """The geometric mean of the best of these over the best of all."""
    ratios = (min(of[name] for name in members) / min(of.values()) for of in times.values())
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _digests(path: Path) -> dict[str, dict[str, list[int]]]:
    """The digests of each configuration's outputs, by the input's values as texts.

    An input has several lines where a configuration lost the device: each process writes what it checked.
    """
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for line in json_lines(path):
        found[json.dumps([str(value) for value in line["input"]])].update(line["bits"])
    return found
