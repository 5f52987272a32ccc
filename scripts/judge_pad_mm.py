#!/usr/bin/env python3
"""Judges pad_mm artifacts, ours and PyTorch's own, on logs that neither was learned from.

    ah-codegen generated/pad_mm_h200.model.json --target pytorch --out DIR
    ah-collect --name pad_mm --backend cuda --seed 1001 --num-samples 1000 -o fresh.txt
    python3 scripts/compare_pad_mm.py fresh.txt --write pytorch.txt
    python3 scripts/judge_pad_mm.py fresh.txt pytorch.txt --artifact DIR/_PadMmH200.py --artifact _PadMMH200.py

An artifact decides as PyTorch lets it: its context gets PyTorch's augmented features, a confidence under
its threshold or no answer means `orig`. Where an artifact is given by its name alone, PyTorch's own folder
is searched. Prints the geometric mean of time ÷ best time, and on how many inputs what runs is more than 5 %
slower than `orig`; of those, "apart" counts the ones whose every repetition says so, and "again", with
--repeat, the ones that a second measurement confirms. Inputs with m, k or n under 768 are left out.
"""

import argparse
import csv
import gzip
import importlib.util
import json
import math
import os
import statistics

from torch._inductor.autoheuristic import artifacts
from torch._inductor.autoheuristic.autoheuristic_utils import AHContext, AHMetadata, pad_mm_operations
from torch._inductor.autoheuristic.learnedheuristic_interface import LearnedHeuristicDecision

LEAST, LIMIT = 768, 1.05


def read(path):
    """Metadata, and for each input (by its features' text) the times of each choice."""
    inputs = {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as lines:
        metadata = json.loads(next(lines))
        for row in csv.DictReader(lines):
            choice, feedback = row.pop("choice"), float(row.pop("feedback"))
            inputs.setdefault(tuple(row.items()), {}).setdefault(choice, []).append(feedback)
    whole = {k: t for k, t in inputs.items() if len(t) == 2 and all(int(dict(k)[d]) >= LEAST for d in "mkn")}
    return metadata, whole


def load(path):
    """The one heuristic of an artifact's file."""
    if not os.path.exists(path):
        path = os.path.join(list(artifacts.__path__)[0], path)
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, LearnedHeuristicDecision)]
    return next(c for c in classes if c is not LearnedHeuristicDecision)()


def decide(heuristic, metadata, features):
    """The choice; None where the heuristic declines."""
    numerical = set(metadata["numerical_features"])
    context = AHContext()
    for name, text in features.items():
        value = int(text) if name in numerical else {"True": True, "False": False}.get(text, text)
        context.add_feature(name, value, is_categorical=name not in numerical)
    context.apply_operations(pad_mm_operations())
    given = AHMetadata(metadata["shared_memory"], tuple(metadata["device_capa"]), ["orig", "pad"], "pad_mm")
    if not heuristic.check_precondition(given, context):
        return None
    return heuristic.get_decision(context, ["orig", "pad"])


def judge(log, repeat, heuristic):
    metadata, inputs = log
    loss, declined, slower, apart, again = 0.0, 0, 0, 0, 0
    for key, times in inputs.items():
        choice = decide(heuristic, metadata, dict(key))
        declined += choice is None
        choice = choice or "orig"
        median = {c: statistics.median(t) for c, t in times.items()}
        loss += math.log(median[choice] / min(median.values()))
        if median[choice] > LIMIT * median["orig"]:
            slower += 1
            apart += min(times[choice]) > LIMIT * max(times["orig"])
            second = repeat.get(key)
            again += bool(second) and statistics.median(second[choice]) > LIMIT * statistics.median(second["orig"])
    n = len(inputs)
    confirmed = f"{again}" if repeat else "-"
    return f"{math.exp(loss / n):.4f} | {declined / n:.1%} | {slower} ({slower / n:.2%}) | {apart} | {confirmed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--artifact", action="append", required=True)
    parser.add_argument("--repeat", help="a second measurement of the inputs of the first log")
    given = parser.parse_args()
    repeat = read(given.repeat)[1] if given.repeat else {}
    print("| log | inputs | artifact | slowdown | declines | > 5 % slower than orig | apart | again |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for path in given.logs:
        log = read(path)
        for artifact in given.artifact:
            row = judge(log, repeat, load(artifact))
            print(f"| {os.path.basename(path)} | {len(log[1])} | {os.path.basename(artifact)} | {row} |", flush=True)


if __name__ == "__main__":
    main()
