#!/usr/bin/env python3
"""Draws docs/slowdown_curves.svg: our heuristics beside PyTorch's own, on PyTorch's published logs.

    cargo build --release -p ah-train
    scripts/slowdown_curves.py            # needs PyTorch (2.11), for its heuristics, and the logs in ../shared/data

A fifth of each log's inputs is held out by a hash. Ours learns from the others. PyTorch's heuristic is the one that it
ships, which was learned from the whole published log, so it has seen the inputs that it is judged on here. Each curve
holds the slowdowns of the held-out inputs in ascending order: time of what runs over time of the fastest choice.
Where a heuristic declines, the fallback runs. Prints the geometric means; the picture holds only the curves.
"""

import argparse
import collections
import gzip
import hashlib
import json
import math
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# The optimization's fallback: what PyTorch does without a heuristic.
LOGS = {
    "mixed_mm, A100": ("mixedmm_a100.txt.gz", "extern_fallback_mixed_mm"),
    "mixed_mm, H100": ("mixedmm_h100.txt.gz", "extern_fallback_mixed_mm"),
    "pad_mm, A100": ("pad_mm_a100.txt.gz", "orig"),
}
SERIES = ["AutoHeuristic for Rust", "PyTorch's AutoHeuristic", "best single choice"]
POINTS = 161


def read(path):
    """The first two lines, and the rows of each input by its features' text."""
    inputs = collections.defaultdict(list)
    with gzip.open(path, "rt") as lines:
        head = next(lines) + next(lines)
        for line in lines:
            if line.strip():
                inputs[line.rsplit(",", 2)[0]].append(line)
    return head, inputs


def is_held_out(key):
    return hashlib.blake2b(key.encode(), digest_size=8).digest()[0] < 256 / 5


def ours(tool, head, inputs, folder):
    """The choice for each held-out input, None where the heuristic declines."""
    parts = {"train": lambda key: not is_held_out(key), "test": is_held_out}
    for name, belongs in parts.items():
        with open(f"{folder}/{name}.txt", "w") as file:
            file.write(head)
            file.writelines(row for key, rows in inputs.items() if belongs(key) for row in rows)
    quiet = {"cwd": folder, "check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([tool, "train.txt", "--heuristic-name", "Curve", "--no-codegen"], **quiet)
    subprocess.run([tool, "evaluate", "model.json", "test.txt", "--decisions", "decisions.tsv"], **quiet)
    with open(f"{folder}/decisions.tsv") as file:
        pairs = (line.rstrip("\n").split("\t") for line in file)
        return {key: ranking.split(";")[0] or None for key, ranking in pairs}


def pytorchs(head, times):
    """The choice of PyTorch's own heuristic for each of these inputs, asked as PyTorch asks it."""
    from torch._inductor.autoheuristic import autoheuristic_utils as utils
    from torch._inductor.autoheuristic.learned_heuristic_controller import LearnedHeuristicController

    metadata = json.loads(head.splitlines()[0])
    names = head.splitlines()[1].split(",")[:-2]
    operations = getattr(utils, f"{metadata['name']}_operations")()
    numerical = set(metadata["numerical_features"])
    device = metadata["shared_memory"], tuple(metadata["device_capa"])
    chosen = {}
    for key, known in times.items():
        context = utils.AHContext()
        for name, text in zip(names, key.split(",")):
            value = int(text) if name in numerical else {"True": True, "False": False}.get(text, text)
            context.add_feature(name, value, is_categorical=name not in numerical)
        context.apply_operations(operations)
        given = utils.AHMetadata(*device, list(known), metadata["name"])
        chosen[key] = LearnedHeuristicController(given, context).get_decision()
    return chosen


def slowdowns(times, fallback, chosen):
    """The slowdown of each input, ascending. A choice without a time costs what the fallback costs."""
    found = []
    for key, known in times.items():
        time = known.get(chosen[key], math.inf)
        time = time if math.isfinite(time) else known.get(fallback, math.inf)
        found.append((time if math.isfinite(time) else max(filter(math.isfinite, known.values()))) / min(known.values()))
    return sorted(found)


def judge(tool, path, fallback):
    head, inputs = read(path)
    times = {}
    for key, rows in inputs.items():
        samples = collections.defaultdict(list)
        for row in rows:
            _, choice, feedback = row.strip().rsplit(",", 2)
            samples[choice].append(float(feedback))
        times[key] = {choice: statistics.median(values) for choice, values in samples.items()}
    held_out = {key: t for key, t in times.items() if is_held_out(key) and any(map(math.isfinite, t.values()))}
    training = {key: t for key, t in times.items() if not is_held_out(key)}
    mean = lambda values: math.exp(statistics.fmean(map(math.log, values)))
    always = lambda choice, inputs: slowdowns(inputs, fallback, dict.fromkeys(inputs, choice))
    single = min(sorted({c for t in training.values() for c in t}), key=lambda choice: mean(always(choice, training)))
    with tempfile.TemporaryDirectory() as folder:
        of_ours = ours(tool, head, inputs, folder)
    of_pytorch = pytorchs(head, held_out)
    curves = [
        slowdowns(held_out, fallback, of_ours),
        slowdowns(held_out, fallback, of_pytorch),
        always(single, held_out),
    ]
    decided = {key: known for key, known in held_out.items() if of_pytorch[key]}
    where_decided = len(decided) / len(held_out), mean(slowdowns(decided, fallback, of_pytorch))
    return len(held_out), curves, [mean(curve) for curve in curves], where_decided


def svg(panels):
    """The picture: a panel for each log, readable on light and dark pages."""
    width, height, left, top, gap = 262, 190, 46, 62, 24
    most = 0.5  # of the axis; what lies above is cut
    at = lambda panel, x, y: (left + panel * (width + gap) + x * width, top + height - min(y, most) / most * height)
    total = left + len(panels) * (width + gap)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {top + height + 46}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>Time lost on held-out inputs of PyTorch's published logs, by heuristic</title>",
        "<style>text{fill:#1b1f24}.a{stroke:#d0d7de}.c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#8b949e}"
        "polyline,.key{fill:none;stroke-width:2.5}.c1{stroke-dasharray:7 3}.c2{stroke-dasharray:2 3}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.a{stroke:#30363d}.c0{stroke:#56b4e9}.c1{stroke:#ff8a4c}}</style>",
    ]
    for i, name in enumerate(SERIES):
        x = left + i * 250
        out.append(f'<path class="key c{i}" d="M{x} 16h34"/><text x="{x + 42}" y="21">{name}</text>')
    for panel, (name, inputs, curves, means) in enumerate(panels):
        x0, y0 = at(panel, 0, 0)
        out.append(f'<text x="{x0}" y="{top - 12}" font-weight="600">{name} ({inputs} inputs)</text>')
        for percent in range(0, 51, 10):
            _, y = at(panel, 0, percent / 100)
            out.append(f'<path class="a" d="M{x0} {y:.1f}h{width}"/>')
            if panel == 0:
                out.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>')
        for share in (0, 50, 100):
            x, _ = at(panel, share / 100, 0)
            anchor = {0: "start", 50: "middle", 100: "end"}[share]
            out.append(f'<text x="{x}" y="{y0 + 18}" text-anchor="{anchor}">{share} %</text>')
        for i in reversed(range(len(curves))):
            sampled = (curves[i][round(p / (POINTS - 1) * (len(curves[i]) - 1))] - 1 for p in range(POINTS))
            places = (at(panel, p / (POINTS - 1), y) for p, y in enumerate(sampled))
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            out.append(f'<polyline class="c{i}" points="{points}"/>')
    below = top + height + 38
    out.append(f'<text x="{left}" y="{below}">up: time lost to the fastest choice; across: share of inputs, sorted by it. Lower is better.</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=f"{HERE}/../../shared/data")
    parser.add_argument("--tool", default=f"{HERE}/../target/release/ah-train")
    parser.add_argument("--out", default=f"{HERE}/../docs/slowdown_curves.svg")
    given = parser.parse_args()
    panels = []
    print(f"| log | held-out inputs | {' | '.join(SERIES)} | PyTorch's decides | and loses there |")
    print("| --- " * 7 + "|")
    for name, (file, fallback) in LOGS.items():
        inputs, curves, means, (share, there) = judge(os.path.abspath(given.tool), f"{given.data}/{file}", fallback)
        panels.append((name, inputs, curves, means))
        print(f"| {name} | {inputs} | {' | '.join(f'{mean:.4f}' for mean in means)} | {share:.1%} | {there:.4f} |", flush=True)
    with open(given.out, "w") as file:
        file.write(svg(panels))


if __name__ == "__main__":
    main()
