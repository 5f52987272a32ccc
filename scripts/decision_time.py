#!/usr/bin/env python3
"""Measures the table of crates/ah-train/src/net/decision_time.rs: the time of a decision by the parts of a model that it visits.

    cargo build --release --bin ah-train --bin ah-codegen
    scripts/decision_time.py [WORK_FOLDER]

Learns models of several sizes from logs under data/, times each as generated Rust, C and Python and as a model file
(scripts/bench_codegen.py, the least of its rounds), and fits nanoseconds that are not negative to the parts: the call, splits and
derived features on the path, boosted trees, and the numbers of their rows. Prints a table of the models and the constants.
"""

import json
import pathlib
import subprocess
import sys

import bench_codegen

MODELS = [
    ("softmax", "--learner cost_tree --max-leaves 4"),
    ("softmax", "--learner cost_tree --max-leaves 32"),
    ("softmax", "--learner cost_tree"),
    ("softmax", "--learner boosted"),
    ("mixed_mm", "--learner cost_tree --max-leaves 16"),
    ("mixed_mm", "--learner cost_tree"),
    ("mixed_mm", "--learner boosted"),
    ("pad_mm", "--learner cost_tree --max-leaves 32"),
    ("mm", "--learner cost_tree"),
]
PARTS = ["call", "split", "derived", "booster", "row_number"]
# Nanoseconds that are assumed beforehand: models of a few sizes do not tell all parts apart. A part that is twice as large counts as
# an error of 10 % in one model.
ASSUMED = {
    "RUST": [5, 2, 4, 12, 0.3],
    "C": [5, 2, 4, 15, 0.4],
    "PYTHON": [250, 40, 250, 200, 15],
    "MODEL_FILE": [35, 6, 15, 20, 0.4],
}
FORMS = list(ASSUMED)


def visited(model):
    """The parts of a model that a decision visits, as decision_time.rs counts them."""
    logged = {feature["name"] for feature in model["features"]}
    nodes, open_, splits, derived, inputs = model["tree"], [(0, 0, frozenset())], 0.0, 0.0, 0
    while open_:
        at, depth, found = open_.pop()
        node = nodes[at]
        if "left" in node:
            found |= {node["feature"]} - logged
            left = node["left"]
            open_ += [(left, depth + 1, found), (node.get("right", left + 1), depth + 1, found)]
        else:
            inputs += node["samples"]
            splits += node["samples"] * depth
            derived += node["samples"] * len(found)
    boosters = model.get("boosters")
    if not boosters:
        return [1, splits / inputs, derived / inputs, 0, 0]
    names = {column if isinstance(column, str) else column[0] for column in boosters["columns"]}
    names |= {node["feature"] for node in nodes if "left" in node}
    trees = len(boosters["trees"])
    return [1, splits / inputs, len(names - logged), trees, trees * (len(model["choices"]) + 1)]


def least_squares(rows, times, assumed):
    """The numbers that are not negative with the least squares of relative errors, by coordinate descent."""
    equations = [([x / time for x in row], 1.0) for row, time in zip(rows, times)]
    for part, ns in enumerate(assumed):
        equations.append(([0.1 / ns if other == part else 0.0 for other in range(len(PARTS))], 0.1))
    found = [float(ns) for ns in assumed]
    for _ in range(20_000):
        for part in range(len(PARTS)):
            square = sum(row[part] ** 2 for row, _ in equations)
            error = sum(row[part] * (to - sum(x * f for x, f in zip(row, found))) for row, to in equations)
            found[part] = max(0.0, found[part] + error / square)
    return found


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    work = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "target/decision-time").resolve()
    parts, times = [], {form: [] for form in FORMS}
    print("| log | model | splits | derived | boosted trees | Rust | C | Python | model file |\n" + "| --- " * 9 + "|")
    for number, (log, flags) in enumerate(MODELS):
        folder = work / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        path, data = folder / "m.model.json", root / f"data/{log}/h200.txt.gz"
        train = [root / "target/release/ah-train", data, "--heuristic-name", "Timed", "--no-codegen", "--model", path]
        subprocess.run([*train, *flags.split(), "-q"], check=True, stdout=subprocess.DEVNULL)
        model = json.loads(path.read_text())
        model["path"] = str(path)
        codegen = [root / "target/release/ah-codegen", path, "--target", "rust,c,python", "--out", folder / "generated"]
        subprocess.run([*codegen, "-q"], check=True)
        found = bench_codegen.contexts(model, str(data))
        rows = folder / "contexts.tsv"
        rows.write_text("".join("\t".join(row) + "\n" for row in found))
        crate, header = folder / "generated/timed", folder / "generated/timed.h"
        rust, loaded = bench_codegen.rust(folder, crate, rows, model)
        measured = [rust(), bench_codegen.c(folder, header, rows)()]
        measured += [bench_codegen.python(folder / "generated/timed.py", model, found), loaded()]
        least = [float(columns[1]) for columns in measured]
        parts.append(visited(model))
        for form, ns in zip(FORMS, least):
            times[form].append(ns)
        _, splits, derived, boosters, _ = parts[-1]
        shown = [f"{splits:.1f}", f"{derived:.1f}", str(boosters), *(f"{ns:.0f}" for ns in least)]
        print(f"| {log} | {flags.removeprefix('--learner ')} | {' | '.join(shown)} |", flush=True)
    for form in FORMS:
        found = least_squares(parts, times[form], ASSUMED[form])
        fields = ", ".join(f"{part}: {ns:.1f}" for part, ns in zip(PARTS, found))
        print(f"const {form}: Nanoseconds = Nanoseconds {{ {fields} }};")


if __name__ == "__main__":
    main()
