#!/usr/bin/env python3
"""Latency of generated code on the contexts of a log, beside other generators for the same tree.

    pip install m2cgen==0.10.0 tl2cgen==1.0.0 treelite==4.8.1 scikit-learn==1.9.1 torch==2.11.0
    scripts/bench_codegen.py MODEL LOG [WORK_FOLDER]

Ours decides from the logged values: derived features and precondition included. m2cgen and tl2cgen
know neither, so they are given a tree of one output (the number of the leaf) and the values of its
features, computed before; all must end in the same leaves. PyTorch's own heuristic for the
optimization is called as PyTorch calls it. Each decides all distinct contexts of the log, in another
order each round, so that the branch predictor learns no sequence; give a log that the model did not learn from.
Prints nanoseconds a decision: the median of the rounds, the least, and the 99th percentile of single decisions,
less the cost of reading the clock. What is not installed is passed over.
"""

import csv
import gzip
import importlib.util
import json
import os
import pathlib
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time
import types

MOST_CONTEXTS = 2000
ROUNDS = 301
SINGLE_ROUNDS = 21
C_FLAGS = ["gcc", "-O3"]
RUNTIME = pathlib.Path(__file__).resolve().parents[1] / "crates/ah-runtime"


def contexts(model, log):
    with (gzip.open if log.endswith(".gz") else open)(log, "rt") as file:
        file.readline()
        rows = csv.DictReader(file)
        names = [f["name"] for f in model["features"]]
        seen = {}
        for row in rows:
            seen.setdefault(tuple(row[n] for n in names))
    return list(seen)[:: max(1, len(seen) // MOST_CONTEXTS)]


def rust(work, crate, rows, model):
    """The generated crate, and the model file through ah-runtime: one program for both."""
    fields = re.search(r"pub struct Context \{(.*?)\n\}", (crate / "src/context.rs").read_text(), re.S)[1]
    fields = re.findall(r"pub (\w+): (\w+)", fields)
    name = crate.name
    reads = ", ".join(f"{f}: v[{i}].parse().unwrap()" for i, (f, _) in enumerate(fields))
    project = work / "latency"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "Cargo.toml").write_text(
        f'[package]\nname = "latency"\nedition = "2024"\n[dependencies]\n{name} = {{ path = "{crate.resolve()}" }}\n'
        f'ah-runtime = {{ path = "{RUNTIME}" }}\n[workspace]\n'
    )
    (project / "Cargo.lock").write_bytes((RUNTIME.parents[1] / "Cargo.lock").read_bytes())
    kinds = ["category" if f["kind"] == "categorical" else "number" for f in model["features"]]
    scalars = ", ".join(f"{kind}(v[{i}])" for i, kind in enumerate(kinds))
    (project / "src/main.rs").write_text(
        f"""use std::hint::black_box;
use std::time::Instant;
use ah_runtime::ah_types::Scalar;
use ah_runtime::{{Heuristic, LoadedModel}};
fn number(text: &str) -> Scalar<'_> {{ text.parse::<f64>().unwrap().into() }}
fn category(text: &str) -> Scalar<'_> {{ match text {{ "True" => true.into(), "False" => false.into(), text => text.into() }} }}
fn shuffle<T>(contexts: &mut [T], seed: &mut u64) {{
    for i in (1..contexts.len()).rev() {{
        *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        contexts.swap(i, (*seed >> 33) as usize % (i + 1));
    }}
}}
fn quantile(times: &mut [f64], share: f64) -> f64 {{
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share) as usize]
}}
fn times<T>(contexts: &mut [T], f: impl Fn(&T) -> usize) {{
    let mut seed = 1;
    let mut rounds: Vec<f64> = (0..{ROUNDS}).map(|_| {{
        shuffle(contexts, &mut seed);
        let begin = Instant::now();
        for c in &*contexts {{ black_box(f(black_box(c))); }}
        begin.elapsed().as_nanos() as f64 / contexts.len() as f64
    }}).collect();
    let mut clock: Vec<f64> = (0..10_000).map(|_| Instant::now().elapsed().as_nanos() as f64).collect();
    let mut single: Vec<f64> = (0..{SINGLE_ROUNDS}).flat_map(|_| {{
        shuffle(contexts, &mut seed);
        contexts.iter().map(|c| {{
            let begin = Instant::now();
            black_box(f(black_box(c)));
            begin.elapsed().as_nanos() as f64
        }}).collect::<Vec<f64>>()
    }}).collect();
    let p99 = quantile(&mut single, 0.99) - quantile(&mut clock, 0.5);
    print!("{{:.1}} {{:.1}} {{:.0}} ", quantile(&mut rounds, 0.5), rounds[0], p99);
}}
fn main() {{
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let mut contexts: Vec<_> = text.lines().map(|l| {{ let v: Vec<&str> = l.split('\\t').collect(); {name}::Context {{ {reads} }} }}).collect();
    times(&mut contexts, |c| {name}::choose(c).map_or(999, |c| c as usize));
    times(&mut contexts, |c| {name}::ranked(c).len());
    println!();
    let model = LoadedModel::read(std::path::Path::new(&std::env::args().nth(2).unwrap())).unwrap();
    let mut values: Vec<Vec<Scalar<'_>>> = text.lines().map(|l| {{ let v: Vec<&str> = l.split('\\t').collect(); vec![{scalars}] }}).collect();
    times(&mut values, |c| model.choose(c).unwrap_or(999));
    times(&mut values, |c| {{ let mut count = 0; let _ = model.ranked(c, &mut |_| count += 1); count }});
}}
"""
    )
    build = work.resolve().parent / "build"
    subprocess.run(["cargo", "build", "--release", "--quiet", "--offline", "--target-dir", build], cwd=project, check=True)
    program = shutil.copy2(build / "release/latency", work / "latency-rust")
    lines = []

    def line(number):
        if not lines:
            printed = subprocess.check_output([program, rows, model["path"]], text=True)
            lines.extend(printed.splitlines())
        return lines[number].split()

    return [lambda: line(0), lambda: line(1)]


C_TIMING = f"""
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void) {{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }}
static int order(const void *a, const void *b) {{ double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }}
static uint64_t seed = 1;
static size_t next(size_t below) {{ seed = seed * 6364136223846793005u + 1442695040888963407u; return (size_t)(seed >> 33) % below; }}
#define SHUFFLE(ROWS, COUNT) do {{ for (i = (COUNT) - 1; i > 0; --i) {{ size_t j = next(i + 1); \\
    memcpy(&spare, &ROWS[i], sizeof spare); memcpy(&ROWS[i], &ROWS[j], sizeof spare); memcpy(&ROWS[j], &spare, sizeof spare); }} }} while (0)
/* Times CALL on each of ROWS, which it reads by the variable i. */
#define TIMES(ROWS, COUNT, CALL) do {{ static double times[{ROUNDS}], clock_[10000]; double *single; int r; size_t i, k = 0; __typeof__(ROWS[0]) spare; \\
    single = malloc(sizeof(double) * {SINGLE_ROUNDS} * (COUNT)); \\
    for (r = 0; r < {ROUNDS}; ++r) {{ double begin; SHUFFLE(ROWS, COUNT); begin = now(); for (i = 0; i < (COUNT); ++i) {{ CALL; }} times[r] = (now() - begin) / (COUNT); }} \\
    for (r = 0; r < 10000; ++r) {{ double begin = now(); clock_[r] = now() - begin; }} \\
    for (r = 0; r < {SINGLE_ROUNDS}; ++r) {{ SHUFFLE(ROWS, COUNT); for (i = 0; i < (COUNT); ++i) {{ double begin = now(); CALL; single[k++] = now() - begin; }} }} \\
    qsort(times, {ROUNDS}, sizeof *times, order); qsort(clock_, 10000, sizeof *clock_, order); qsort(single, k, sizeof *single, order); \\
    printf("%.1f %.1f %.0f ", times[{ROUNDS} / 2], times[0], single[(size_t)((double)(k - 1) * 0.99)] - clock_[5000]); free(single); }} while (0)
"""


def c(work, header, rows):
    prefix = header.stem
    fields = re.search(r"typedef struct \{(.*?)\n\} " + prefix + "_context;", header.read_text(), re.S)[1]
    fields = re.findall(r"(int64_t|double|int) (\w+);", fields)
    reads = []
    for kind, name in fields:
        value = {"int64_t": "strtoll(f, 0, 10)", "double": "strtod(f, 0)", "int": f"{prefix}_{name}_is(f, strlen(f))"}[kind]
        reads.append(f"c->{name} = {value}; f += strlen(f) + 1;")
    source = work / "latency.c"
    source.write_text(
        f"""{C_TIMING}
#include "{header.resolve()}"
static {prefix}_context contexts[1 << 16];
int main(int n, char **v) {{
    static char line[1 << 16]; static {prefix}_ranked_choice ranking[{prefix.upper()}_MOST_RANKED]; volatile size_t sink; size_t count = 0; FILE *in = fopen(v[1], "r"); (void)n; (void)ranking;
    while (fgets(line, sizeof line, in)) {{ {prefix}_context *c = &contexts[count++]; char *f = line, *p; for (p = line; *p; ++p) if (*p == '\\t' || *p == '\\n') *p = 0; {" ".join(reads)} }}
    TIMES(contexts, count, sink = (size_t){prefix}_choose(&contexts[i]));
    TIMES(contexts, count, sink = {prefix}_ranked(&contexts[i], ranking));
    (void)sink; return 0;
}}
"""
    )
    program = work / "latency-c"
    subprocess.run([*C_FLAGS, source, "-o", program, "-lm"], check=True)
    return lambda: subprocess.check_output([program, rows], text=True).split()


class Peers:
    """The model's one tree over columns of numbers, as other generators take it."""

    def __init__(self, work, module, model, found):
        self.work, self.nodes = work, model["tree"]
        self.columns = sorted({self.column(n) for n in self.nodes if "left" in n}, key=str)
        self.leaf = {}
        for at, node in enumerate(self.nodes):
            if "left" not in node:
                self.leaf[at] = len(self.leaf)
        values = derived_values(module, model, found)
        self.rows = [[self.value(row, *column) for column in self.columns] for row in values]
        self.expected = [self.end(row) for row in self.rows]

    @staticmethod
    def column(node):
        return (node["feature"], node.get("category"))

    @staticmethod
    def value(row, feature, category):
        return float(row[feature]) if category is None else float(str(row[feature]) == category)

    def split(self, node):
        """Column and threshold: a category is 1 where it is the one asked for, and goes right."""
        return self.columns.index(self.column(node)), node.get("threshold", 0.5)

    def child(self, at, right):
        left = self.nodes[at]["left"]
        return self.nodes[at].get("right", left + 1) if right else left

    def end(self, row):
        at = 0
        while "left" in self.nodes[at]:
            column, threshold = self.split(self.nodes[at])
            at = self.child(at, row[column] > threshold)
        return self.leaf[at]

    def time(self, source, call, declare, fill, rows="rows"):
        """Builds a program around generated C; it must find the same leaves."""
        data = self.work / "columns.bin"
        data.write_bytes(b"".join(struct.pack(f"{len(r)}d", *r) for r in self.rows))
        count, width = len(self.rows), len(self.columns)
        main = self.work / "peer.c"
        main.write_text(
            f"""{C_TIMING}
{declare}
static double rows[{count}][{width}];
int main(int n, char **v) {{
    volatile double sink; size_t i, j; FILE *in = fopen(v[1], "rb"); (void)n;
    if (fread(rows, sizeof rows, 1, in) != 1) return 1;
    {fill}
    for (i = 0; i < {count}; ++i) fprintf(stderr, "%.0f\\n", {call});
    TIMES({rows}, {count}, sink = {call});
    (void)sink; (void)j; return 0;
}}
""".replace("COUNT_", str(count)).replace("WIDTH_", str(width))
        )
        program = self.work / (pathlib.Path(source).parent.name + "-program")
        subprocess.run([*C_FLAGS, main, source, "-o", program, "-lm"], check=True)

        def run():
            done = subprocess.run([program, data], check=True, capture_output=True, text=True)
            if [int(x) for x in done.stderr.split()] != self.expected:
                sys.exit(f"error: {source}: other leaves than the model's")
            return [*done.stdout.split(), "-", "-", "-"]

        return run

    def m2cgen(self):
        import m2cgen
        import numpy
        from sklearn.tree import DecisionTreeRegressor

        order = self.nodes
        children = lambda right: numpy.array([self.child(i, right) if "left" in n else -1 for i, n in enumerate(order)])
        split = [self.split(n) if "left" in n else (-2, -2.0) for n in order]
        tree = DecisionTreeRegressor().fit(numpy.zeros((2, len(self.columns))), [0, 1])
        tree.tree_ = types.SimpleNamespace(
            children_left=children(False),
            children_right=children(True),
            feature=numpy.array([s[0] for s in split]),
            threshold=numpy.array([s[1] for s in split], dtype=float),
            value=numpy.array([[[float(self.leaf.get(i, 0))]] for i in range(len(order))]),
        )
        folder = self.work / "m2cgen"
        folder.mkdir(exist_ok=True)
        # It prints f64 in full.
        (folder / "score.c").write_text(m2cgen.export_to_c(tree))
        return self.time(folder / "score.c", "score(rows[i])", "double score(double *);", "")

    def tl2cgen(self):
        import tl2cgen
        from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

        builder = ModelBuilder(
            threshold_type="float64",
            leaf_output_type="float64",
            metadata=Metadata(
                num_feature=len(self.columns),
                task_type="kRegressor",
                average_tree_output=False,
                num_target=1,
                num_class=[1],
                leaf_vector_shape=(1, 1),
            ),
            tree_annotation=TreeAnnotation(num_tree=1, target_id=[0], class_id=[0]),
            postprocessor=PostProcessorFunc(name="identity"),
            base_scores=[0.0],
        )
        builder.start_tree()
        for at, node in enumerate(self.nodes):
            builder.start_node(at)
            if "left" in node:
                column, threshold = self.split(node)
                builder.numerical_test(
                    feature_id=column, threshold=threshold, default_left=True, opname="<=",
                    left_child_key=self.child(at, False), right_child_key=self.child(at, True),
                )
            else:
                builder.leaf(float(self.leaf[at]))
            builder.end_node()
        builder.end_tree()
        folder = self.work / "tl2cgen"
        tl2cgen.generate_c_code(builder.commit(), folder, {"parallel_comp": 0})
        declare = f'#include "{(folder / "header.h").resolve()}"\nstatic union Entry entries[COUNT_][WIDTH_];\nstatic double leaf(union Entry *e) {{ double x = 0; predict(e, 1, &x); return x; }}'
        fill = "for (i = 0; i < COUNT_; ++i) for (j = 0; j < WIDTH_; ++j) entries[i][j].fvalue = rows[i][j];"
        return self.time(folder / "main.c", "leaf(entries[i])", declare, fill, "entries")


def derived_values(module, model, found):
    """All features of each context: the functions of the target python compute the derived ones."""
    functions = re.findall(r"^# `(.*?)`: .*\ndef _feature_(\w+)\((.*?)\)", module.read_text(), re.M)
    spec = importlib.util.spec_from_file_location("heuristic", module)
    heuristic = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(heuristic)
    rows = []
    for row in found:
        values = {}
        for feature, text in zip(model["features"], row):
            values[feature["name"]] = text if feature["kind"] == "categorical" else float(text)
        known = {parameter: values[name] for parameter, name in zip(heuristic.PARAMETERS, heuristic.FEATURES)}
        for name, identifier, parameters in functions:
            arguments = [known[p] for p in re.findall(r"(\w+):", parameters)]
            known[identifier] = values[name] = getattr(heuristic, f"_feature_{identifier}")(*arguments)
        rows.append(values)
    return rows


def pytorch(model, found):
    """PyTorch's own heuristic: the context is there, derived features are built and applied."""
    import torch._inductor.autoheuristic.autoheuristic_utils as utils
    from torch._inductor.autoheuristic.learned_heuristic_controller import LearnedHeuristicController

    optimization = model["optimization"]
    operations = getattr(utils, f"{optimization}_operations")
    metadata = utils.AHMetadata(model["shared_memory"], tuple(model["device_capa"]), model["choices"], optimization)

    def context(row):
        built = utils.AHContext()
        for feature, text in zip(model["features"], row):
            categorical = feature["kind"] == "categorical"
            value = {"True": True, "False": False}.get(text, text) if categorical else int(float(text))
            built.add_feature(feature["name"], value, is_categorical=categorical)
        return built

    def decide(built):
        built.apply_operations(operations())
        return LearnedHeuristicController(metadata, built).get_decision()

    decide(context(found[0]))
    heuristics = LearnedHeuristicController(metadata, context(found[0])).get_heuristics(optimization)
    if not any(h.check_precondition(metadata, context(found[0])) for h in heuristics):
        raise ImportError("it has no heuristic for this device")
    times = []
    for _ in range(5):
        built = [context(row) for row in found]
        begin = time.perf_counter_ns()
        for one in built:
            decide(one)
        times.append((time.perf_counter_ns() - begin) / len(found))
    return [f"{statistics.median(times):.0f}", f"{min(times):.0f}", "-", "-", "-", "-"]


def python(path, model, found):
    """Ours in CPython. A decision takes long enough that the clock does not count."""
    spec = importlib.util.spec_from_file_location("heuristic", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kinds = [str if f["kind"] == "categorical" else int if f.get("integer") else float for f in model["features"]]
    built = [tuple(kind(text) for kind, text in zip(kinds, row)) for row in found]
    columns = []
    for ask in (module.choose, module.ranked):
        rounds = []
        for _ in range(21):
            begin = time.perf_counter_ns()
            for values in built:
                ask(*values)
            rounds.append((time.perf_counter_ns() - begin) / len(built))
        single = []
        for values in built:
            begin = time.perf_counter_ns()
            ask(*values)
            single.append(time.perf_counter_ns() - begin)
        p99 = sorted(single)[int(0.99 * (len(single) - 1))]
        columns += [f"{statistics.median(rounds):.0f}", f"{min(rounds):.0f}", f"{p99:.0f}"]
    return columns


def main():
    model = json.load(open(sys.argv[1]))
    model["path"] = os.path.abspath(sys.argv[1])
    work = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else "target/latency")
    work.mkdir(parents=True, exist_ok=True)
    codegen = os.environ.get("AH_CODEGEN", "target/release/ah-codegen")
    subprocess.run([codegen, sys.argv[1], "--target", "rust,c,python", "--out", work / "generated"], check=True)
    (crate,) = (p for p in (work / "generated").iterdir() if p.is_dir())
    header = work / "generated" / f"{crate.name}.h"
    rows = work / "contexts.tsv"
    found = contexts(model, sys.argv[2])
    rows.write_text("".join("\t".join(r) + "\n" for r in found))
    boosters = model.get("boosters", {}).get("trees", [])
    leaves = sum("ranking" in node for node in model["tree"]) + sum(isinstance(node, int) for tree in boosters for node in tree)
    module = work / "generated" / f"{crate.name}.py"

    rust_programs = rust(work, crate, rows, model)
    ways = [("Rust", lambda: rust_programs[0]), ("model file, ah-runtime", lambda: rust_programs[1])]
    ways += [("C, gcc -O3", lambda: c(work, header, rows))]
    ways.append(("Python, CPython", lambda: lambda: python(module, model, found)))
    if not boosters:
        peers = Peers(work, module, model, found)
        ways += [("m2cgen, gcc -O3 (features given)", peers.m2cgen), ("tl2cgen, gcc -O3 (features given)", peers.tl2cgen)]
    ways.append(("PyTorch's own, CPython", lambda: lambda: pytorch(model, found)))
    built = []
    for name, way in ways:
        try:
            built.append((name, way()))
        except ImportError as error:
            print(f"passed over: {name}: {error}", file=sys.stderr)
    print(f"{len(found)} distinct contexts, {leaves} leaves; nanoseconds a decision, median (least) of {ROUNDS} rounds")
    print("| code | choose | p99 | ranked | p99 |\n| --- | --- | --- | --- | --- |")
    for name, run in built:
        try:
            median, least, p99, ranked, ranked_least, ranked_p99 = run()
        except ImportError as error:
            print(f"passed over: {name}: {error}", file=sys.stderr)
            continue
        print(f"| {name} | {median} ({least}) | {p99} | {ranked} ({ranked_least}) | {ranked_p99} |")


if __name__ == "__main__":
    main()
