#!/usr/bin/env python3
"""Measures the time of a decision: generated Rust, C and Python, a model file, and the generated crate asked through ah-runtime.

    cargo build --release --bin ah-train --bin ah-codegen
    scripts/decision_time.py MODEL LOG...   # these models, each on the contexts of its log
    scripts/decision_time.py                # models of several sizes, learned from logs under data/

All derived features and preconditions are included; through ah-runtime also its guards. Each form decides the distinct contexts of
the log, in another order each round so that the branch predictor learns no sequence, and all must decide alike. Prints nanoseconds
a decision, the least of the rounds. Without models it also fits the constants of crates/ah-train/src/overhead/decision_time.rs: the
nanoseconds of a call, of splits and derived features on the path, of boosted trees, and of their columns and rows. Divide them by
the nanoseconds of a small decision.
"""

import csv
import gzip
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "target/decision-time"
MOST_CONTEXTS, ROUNDS = 2000, 301
FORMS = ["Rust", "C, gcc -O3", "Python", "model file", "Rust through ah-runtime"]
MODELS = [
    ("softmax", "--learner cost_tree --max-leaves 4"),
    ("softmax", "--learner cost_tree --max-leaves 32"),
    ("softmax", "--learner cost_tree"),
    ("softmax", "--learner boosted"),
    ("mixed_mm", "--learner cost_tree --max-leaves 16"),
    ("mixed_mm", "--learner cost_tree"),
    ("mixed_mm", "--learner boosted"),
    ("pad_mm", "--learner cost_tree --max-leaves 32"),
    ("pad_mm", "--learner boosted"),
    ("mm", "--learner cost_tree"),
    ("mm", "--learner boosted"),
]
PARTS = ["call", "split", "derived", "boosted", "column", "row"]
# Nanoseconds that are assumed beforehand: models of a few sizes do not tell all parts apart. A part that is twice as large counts as
# an error of 10 % in one model.
ASSUMED = {
    "Rust": [0.5, 0.55, 1.3, 80, 6, 0.8],
    "C, gcc -O3": [0.5, 0.55, 1.3, 80, 6, 0.8],
    "Python": [47, 8, 55, 1130, 200, 150],
    "model file": [63, 1.3, 17.5, 110, 11, 0.8],
}

RUST = """use std::hint::black_box;
use std::time::Instant;
use ah_runtime::{AutoHeuristic, Device, Heuristic, LoadedModel, Optimization, Role, Scalar};
fn number(text: &str) -> f64 { text.parse().unwrap() }
#[allow(dead_code)] // Models without categories.
fn scalar(text: &str) -> Scalar<'_> { match text { "True" => true.into(), "False" => false.into(), text => text.into() } }
fn least<T>(contexts: &mut [T], f: impl Fn(&T) -> usize) {
    let mut seed = 1_u64;
    let round = |_| {
        for i in (1..contexts.len()).rev() {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            contexts.swap(i, (seed >> 33) as usize % (i + 1));
        }
        let begin = Instant::now();
        for c in &*contexts { black_box(f(black_box(c))); }
        begin.elapsed().as_nanos() as f64 / contexts.len() as f64
    };
    println!("{:.1}", (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min));
}
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\\t').collect()).collect();
    let mut contexts: Vec<_> = rows.iter().map(|v| CONTEXT).collect();
    let mut values: Vec<Vec<Scalar<'_>>> = rows.iter().map(|v| vec![SCALARS]).collect();
    let read = || LoadedModel::read(std::path::Path::new(&arguments[2])).unwrap();
    let model = read();
    let (name, choices) = (model.model().optimization.clone(), model.model().choices.clone());
    let device = model.model().device.clone();
    let point = || {
        let mut point = AutoHeuristic::builder(&name).choices(choices.clone()).role(Role::Consult);
        if let Some(fallback) = model.model().fallback { point = point.fallback(model.model().choice_name(fallback)); }
        match Optimization::built_in(&name) {
            Ok(optimization) => point = point.optimization(&optimization),
            Err(_) => for f in model.model().features.base().features() { point = point.feature(f.clone()); },
        }
        match &device { Some(Device::Cuda(_) | Device::Cpu(_)) => point.device(device.clone().unwrap()), None => point }
    };
    let by_crate = point().heuristic(timed::Heuristic).build().unwrap();
    for (c, values) in contexts.iter().zip(&values) {
        let [a, b] = [CHOOSE.map_or(999, |choice| choice as usize), model.choose(values).unwrap_or(999)];
        assert_eq!(a, b, "the crate decides otherwise than the model file");
        assert!(a == 999 || by_crate.choose(values).is_learned(), "ah-runtime does not ask the crate");
    }
    least(&mut contexts, |c| { let _ = c; CHOOSE.map_or(999, |choice| choice as usize) });
    least(&mut values, |v| model.choose(v).unwrap_or(999));
    least(&mut values, |v| by_crate.choose(v).index);
}
"""

C = """#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "HEADER"
static struct timed_context contexts[MOST + 1], spare;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int n, char **v) {
    static char line[1 << 16];
    volatile int sink;
    size_t count = 0, i, j;
    uint64_t seed = 1;
    double least = 1e300;
    int round;
    FILE *in = fopen(v[1], "r");
    (void)n;
    while (fgets(line, sizeof line, in)) {
        struct timed_context *c = &contexts[count++];
        char *f[64] = {0}, *rest = strdup(line);
        for (i = 0; i < COLUMNS; ++i) { f[i] = rest; rest += strcspn(rest, "\\t\\n"); *rest++ = 0; }
        READS
    }
    for (round = 0; round < ROUNDS; ++round) {
        double begin, ns;
        for (i = count - 1; i > 0; --i) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            j = (size_t)(seed >> 33) % (i + 1), spare = contexts[i], contexts[i] = contexts[j], contexts[j] = spare;
        }
        begin = now();
        for (i = 0; i < count; ++i) sink = timed_choose(&contexts[i]);
        ns = (now() - begin) / count;
        if (ns < least) least = ns;
    }
    (void)sink;
    printf("%.1f\\n", least);
    return 0;
}
"""


def contexts(model, log):
    with (gzip.open if str(log).endswith(".gz") else open)(log, "rt") as file:
        file.readline()
        names = [feature["name"] for feature in model["features"]]
        seen = list(dict.fromkeys(tuple(row[name] for name in names) for row in csv.DictReader(file)))
    return seen[:: -(-len(seen) // MOST_CONTEXTS)]


def fields(text, pattern, model):
    """The groups of each field of a printed context, with the column of the feature of its name."""
    names = [feature["name"] for feature in model["features"]]
    return [(names.index(found["name"]), found) for found in re.finditer(pattern, text, re.M)]


def rust(folder, rows, path, model):
    crate = folder / "timed"
    body = (crate / "src/lib.rs").read_text()
    kinds = {"i64": "number(v[{}]) as i64", "f64": "number(v[{}])", "bool": 'v[{}] == "True"', "&'a str": "v[{}]"}
    context = re.search(r"pub struct Context.*?\n\}", body, re.S)
    found = fields(context[0] if context else "", r"^    pub (?P<name>\w+): (?P<kind>[^,]+),$", model)
    reads = [f"{of['name']}: {kinds[of['kind']].format(at)}" for at, of in found]
    call = "timed::choose(c)" if reads else "timed::choose()"
    declines = "-> Option<Choice>" in re.search(r"pub (?:const )?fn choose\(.*?\{", body)[0]
    scalars = [f"scalar(v[{i}])" if f["kind"] == "categorical" else f"number(v[{i}]).into()" for i, f in enumerate(model["features"])]
    program = RUST.replace("ROUNDS", str(ROUNDS)).replace("SCALARS", ", ".join(scalars))
    program = program.replace("CONTEXT", f"timed::Context {{ {', '.join(reads)} }}" if reads else "{ let _ = v; }")
    project = folder / "program"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "src/main.rs").write_text(program.replace("CHOOSE", call if declines else f"Some({call})"))
    (project / "Cargo.toml").write_text(
        '[package]\nname = "program"\nedition = "2024"\n[dependencies]\n'
        f'timed = {{ path = "{crate}", features = ["runtime"] }}\nah-runtime = {{ path = "{ROOT}/crates/ah-runtime", features = ["record"] }}\n[workspace]\n'
    )
    shutil.copy2(ROOT / "Cargo.lock", project)
    build = WORK / "build"
    subprocess.run(["cargo", "build", "--release", "--quiet", "--offline", "--target-dir", build], cwd=project, check=True)
    return [float(ns) for ns in subprocess.check_output([build / "release/program", rows, path], text=True).split()]


def c(folder, rows, model):
    header = folder / "timed.h"
    kinds = {"int64_t": "strtoll(f[{}], 0, 10)", "double": "strtod(f[{}], 0)", "bool": '!strcmp(f[{}], "True")', "const char": "f[{}]"}
    context = re.search(r"struct timed_context \{(.*?)\n\};", header.read_text(), re.S)
    found = fields(context[1] if context else "", r"^    (?P<kind>int64_t|double|bool|const char) \*?(?P<name>\w+);", model)
    reads = [f"c->{of['name']} = {kinds[of['kind']].format(at)};" for at, of in found]
    program = C.replace("HEADER", str(header)).replace("READS", " ".join(reads)).replace("ROUNDS", str(ROUNDS))
    (folder / "timed.c").write_text(program.replace("COLUMNS", str(len(model["features"]))).replace("MOST", str(2 * MOST_CONTEXTS)))
    subprocess.run(["gcc", "-O3", folder / "timed.c", "-o", folder / "timed-c", "-lm"], check=True)
    return float(subprocess.check_output([folder / "timed-c", rows], text=True))


def python(module, model, found, columns):
    kinds = [str if f["kind"] == "categorical" else int if f.get("integer") else float for f in model["features"]]
    built = [tuple(kinds[at](row[at]) for at in columns) for row in found]
    choose, rounds = module.choose, []
    for _ in range(21):
        # A round is longer than a turn of the scheduler.
        begin = time.thread_time_ns()
        for values in built:
            choose(*values)
        rounds.append((time.thread_time_ns() - begin) / len(built))
    return min(rounds)


def measured(path, log, folder):
    """The nanoseconds of a decision of a model by each form."""
    model = json.loads(path.read_text())
    model["heuristic"] = "timed"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "timed.model.json"
    path.write_text(json.dumps(model))
    codegen = [ROOT / "target/release/ah-codegen", path, "--out", folder, "--force", "-q"]
    subprocess.run([*codegen, "--target", "rust", "--with", "runtime", "--runtime-path", ROOT / "crates/ah-runtime"], check=True)
    subprocess.run([*codegen, "--target", "c,python"], check=True)
    spec = importlib.util.spec_from_file_location("timed", folder / "timed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = [feature["name"] for feature in model["features"]]
    columns = [names.index(name) for name in module.FEATURES]
    found = contexts(model, log)
    rows = folder / "contexts.tsv"
    rows.write_text("".join("\t".join(row) + "\n" for row in found))
    by_crate, by_file, by_runtime = rust(folder, rows, path, model)
    return model, [by_crate, c(folder, rows, model), python(module, model, found, columns), by_file, by_runtime]


def visited(model):
    """The parts of a model that a decision visits, as overhead/decision_time.rs counts them."""
    logged = {feature["name"] for feature in model["features"]}
    nodes, open_, splits, derived, inputs = model["tree"], [(0, 0, frozenset())], 0.0, 0.0, 0
    while open_:
        at, depth, found = open_.pop()
        node = nodes[at]
        if "right" in node:
            found |= {node["feature"]} - logged
            open_ += [(at + 1, depth + 1, found), (node["right"], depth + 1, found)]
        else:
            inputs += node["samples"]
            splits += node["samples"] * depth
            derived += node["samples"] * len(found)
    boosters = model.get("boosters")
    if not boosters:
        return [1, splits / inputs, derived / inputs, 0, 0, 0]
    names = {column if isinstance(column, str) else column[0] for column in boosters["columns"]}
    names |= {node["feature"] for node in nodes if "right" in node}
    trees = len(boosters["trees"])
    columns, rows = len(boosters["columns"]) * -(-trees // 24), trees * -(-len(model["choices"]) // 16)
    return [0, splits / inputs, len(names - logged), 1, columns, rows]


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
    given = [pathlib.Path(path).resolve() for path in sys.argv[1:]]
    asked = [(path, log, path.name.removesuffix(".model.json")) for path, log in zip(given[::2], given[1::2])]
    shutil.rmtree(WORK, ignore_errors=True)
    for number, (log, flags) in enumerate([] if given else MODELS):
        data, path = ROOT / f"data/{log}/h200.txt.gz", WORK / f"{number}.model.json"
        WORK.mkdir(parents=True, exist_ok=True)
        train = [ROOT / "target/release/ah-train", data, "--heuristic-name", "timed", "--no-codegen", "--model", path, "-q"]
        subprocess.run([*train, *flags.split()], check=True, stdout=subprocess.DEVNULL)
        asked.append((path, data, f"{log}, {flags.removeprefix('--learner ')}"))
    print(f"| model | splits | derived | boosted trees | {' | '.join(FORMS)} |\n" + "| --- " * (4 + len(FORMS)) + "|")
    parts, times = [], []
    for number, (path, log, name) in enumerate(asked):
        model, least = measured(path, log, WORK / str(number))
        parts.append(visited(model))
        times.append(least)
        _, splits, derived, _, _, _ = parts[-1]
        boosters = len(model.get("boosters", {}).get("trees", []))
        print(f"| {name} | {splits:.1f} | {derived:.1f} | {boosters} | {' | '.join(f'{ns:.1f}' for ns in least)} |", flush=True)
    for at, form in enumerate([] if given else ASSUMED):
        found = least_squares(parts, [row[at] for row in times], ASSUMED[form])
        print(f"{form}: {', '.join(f'{part}: {ns:.2f}' for part, ns in zip(PARTS, found))}")


if __name__ == "__main__":
    main()
