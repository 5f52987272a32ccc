#!/usr/bin/env python3
"""Latency of generated code on the contexts of a log.

    scripts/bench_codegen.py MODEL LOG [WORK_FOLDER]

The Rust crate and the C header are generated and built; each decides all distinct contexts of the
log in turn, features and precondition included. Prints nanoseconds a decision: the median of 101 rounds.
"""

import csv
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

ROUNDS = 101


def contexts(model, log):
    with (gzip.open if log.endswith(".gz") else open)(log, "rt") as file:
        file.readline()
        rows = csv.DictReader(file)
        names = [f["name"] for f in model["features"]]
        seen = {}
        for row in rows:
            seen.setdefault(tuple(row[n] for n in names))
    return list(seen)


def rust(work, crate, model, rows):
    fields = re.search(r"pub struct Context \{(.*?)\n\}", (crate / "src/context.rs").read_text(), re.S)[1]
    fields = re.findall(r"pub (\w+): (\w+)", fields)
    name = crate.name
    reads = ", ".join(f"{f}: v[{i}].parse().unwrap()" for i, (f, _) in enumerate(fields))
    project = work / "latency"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "Cargo.toml").write_text(
        f'[package]\nname = "latency"\nedition = "2024"\n[dependencies]\n{name} = {{ path = "{crate.resolve()}" }}\n[workspace]\n'
    )
    (project / "src/main.rs").write_text(
        f"""use std::hint::black_box;
use std::time::Instant;
fn median(contexts: &[{name}::Context], f: impl Fn(&{name}::Context) -> usize) -> f64 {{
    let mut times: Vec<f64> = (0..{ROUNDS}).map(|_| {{
        let begin = Instant::now();
        for c in contexts {{ black_box(f(black_box(c))); }}
        begin.elapsed().as_nanos() as f64 / contexts.len() as f64
    }}).collect();
    times.sort_by(f64::total_cmp);
    times[{ROUNDS} / 2]
}}
fn main() {{
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let contexts: Vec<_> = text.lines().map(|l| {{ let v: Vec<&str> = l.split('\\t').collect(); {name}::Context {{ {reads} }} }}).collect();
    println!("{{:.2}} {{:.2}}", median(&contexts, |c| {name}::choose(c).map_or(999, |c| c as usize)), median(&contexts, |c| {name}::ranked(c).len()));
}}
"""
    )
    subprocess.run(["cargo", "build", "--release", "--quiet", "--offline"], cwd=project, check=True)
    program = project / "target/release/latency"
    return subprocess.check_output([program, rows], text=True).split()


def c(work, header, model, rows):
    text = header.read_text()
    prefix = header.stem
    fields = re.search(r"typedef struct \{(.*?)\n\} " + prefix + "_context;", text, re.S)[1]
    fields = re.findall(r"(int64_t|double|int) (\w+);", fields)
    reads = []
    for kind, name in fields:
        value = {"int64_t": "strtoll(f, 0, 10)", "double": "strtod(f, 0)", "int": f"{prefix}_{name}_is(f, strlen(f))"}[kind]
        reads.append(f"c->{name} = {value}; f += strlen(f) + 1;")
    source = work / "latency.c"
    source.write_text(
        f"""#define _POSIX_C_SOURCE 199309L
#include "{header.resolve()}"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static {prefix}_context contexts[1 << 16];
static double now(void) {{ struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }}
static int order(const void *a, const void *b) {{ double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }}
int main(int n, char **v) {{
    static char line[1 << 16]; static double times[{ROUNDS}]; volatile size_t sink; int count = 0, i, r, way; FILE *in = fopen(v[1], "r"); (void)n;
    while (fgets(line, sizeof line, in)) {{ {prefix}_context *c = &contexts[count++]; char *f = line, *p; for (p = line; *p; ++p) if (*p == '\\t' || *p == '\\n') *p = 0; {" ".join(reads)} }}
    for (way = 0; way < 2; ++way) {{
        for (r = 0; r < {ROUNDS}; ++r) {{ double begin = now(); for (i = 0; i < count; ++i) {{ if (way == 0) sink = (size_t){prefix}_choose(&contexts[i]); else {{ size_t k; {prefix}_ranked(&contexts[i], &k); sink = k; }} }} times[r] = (now() - begin) / count; }}
        qsort(times, {ROUNDS}, sizeof *times, order); printf("%.2f ", times[{ROUNDS} / 2]);
    }}
    (void)sink; return 0;
}}
"""
    )
    program = work / "latency-c"
    subprocess.run(["gcc", "-O3", source, "-o", program, "-lm"], check=True)
    return subprocess.check_output([program, rows], text=True).split()


def main():
    model = json.load(open(sys.argv[1]))
    work = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else "target/latency")
    work.mkdir(parents=True, exist_ok=True)
    codegen = os.environ.get("AH_CODEGEN", "target/release/ah-codegen")
    subprocess.run([codegen, sys.argv[1], "--target", "rust,c,pytorch", "--out", work / "generated"], check=True)
    (crate,) = (p for p in (work / "generated").iterdir() if p.is_dir())
    rows = work / "contexts.tsv"
    found = contexts(model, sys.argv[2])
    rows.write_text("".join("\t".join(r) + "\n" for r in found))
    leaves = sum("ranking" in n for n in model["trees"][0]["nodes"])
    print(f"{len(found)} distinct contexts, {leaves} leaves; nanoseconds a decision, median of {ROUNDS} rounds")
    print("| code | choose | ranked |\n| --- | --- | --- |")
    print("| Rust |", " | ".join(rust(work, crate, model, rows)), "|")
    print("| C, gcc -O3 |", " | ".join(c(work, work / "generated" / f"{crate.name}.h", model, rows)), "|")


if __name__ == "__main__":
    main()
