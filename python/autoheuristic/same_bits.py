"""``tune --same-bits``: picks only among configurations whose outputs are equal, bit by bit, on every measured input.

So a pick never changes a result. Where none are equal, ``--invariant M`` fixes the configuration over a feature: a row
then has the same bits in every batch.
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
from .log import Log, Value

MOST_SHOWN = 8
Times = Mapping[tuple[Value, ...], Mapping[str, float]]
"""By input, the median time of each choice."""


def restrict(log: Path, bits: Path, invariant: Sequence[str]) -> list[str]:
    """Rewrites a log so that only picks of equal bits can be learned from it, and returns the lines to print.

    Raises:
        MeasureError: No two configurations give the same bits on all inputs, and no feature is to be invariant.

    """
    found, digests = Log.read(log), _digests(bits)
    times = {i: {c: statistics.median(ms) for c, ms in of.items()} for i, of in found.inputs().items()}
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
    cost, members = next((each for each in losses if len(each[1]) > 1), (math.inf, []))
    if members:
        found.write(log, members)
        what = f"these {len(members)}"
    elif losses and invariant:
        names = [names[0] for names in classes.values()]
        cost, what = _fix(found, times, names, invariant), f"one configuration over all {', '.join(invariant)}"
        found.write(log, names)
    else:
        raise MeasureError("\n".join([*lines, "no two of them agree; --invariant FEATURE takes one over a feature"]))
    return [*lines, f"Picks {what}: with the best of them, {100 * cost - 100:.2f} % slower than a free choice."]


def loss(times: Times, members: Sequence[str]) -> float:
    """Returns the geometric mean of the best of these over the best of all."""
    ratios = (min(of[name] for name in members) / min(of.values()) for of in times.values())
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _fix(log: Log, times: Times, names: Sequence[str], invariant: Sequence[str]) -> float:
    """Drops the invariant features: a time is then the mean slowdown over them. Returns the loss of the best picks."""
    rest = [i for i, name in enumerate(log.features) if name not in invariant]
    groups: dict[tuple[Value, ...], list[Mapping[str, float]]] = defaultdict(list)
    for values, of in times.items():
        groups[tuple(values[i] for i in rest)].append({name: of[name] / min(of.values()) for name in names})
    means = {
        key: {name: math.exp(statistics.fmean(math.log(of[name]) for of in group)) for name in names}
        for key, group in groups.items()
    }
    weights = [math.log(min(means[key].values())) * len(group) for key, group in groups.items()]
    log.replace([log.features[i] for i in rest], {key: {n: [ms] for n, ms in of.items()} for key, of in means.items()})
    return math.exp(sum(weights) / len(times))


def _digests(path: Path) -> dict[str, dict[str, list[int]]]:
    """Returns the digests of each configuration's outputs, by the input's values as texts."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {json.dumps([str(value) for value in line["input"]]): line["bits"] for line in lines}
