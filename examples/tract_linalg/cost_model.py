#!/usr/bin/env python3
"""Learns tract's choice of a matmul kernel from tract's timings, and judges it beside tract's cost model.

    cost_model.py learn TRACT [PROCESSOR ...] [--out FOLDER]
    cost_model.py judge TRACT [PROCESSOR ...] [--seeds 6]

TRACT is a checkout of github.com/sonos/tract. `learn` writes FOLDER/PROCESSOR_formula.rs for each processor, to lie
beside tract's PROCESSOR_linear.rs. `judge` holds out a fifth of the shapes (SHA-256 of "seed:m,k,n"), learns from the
others, compiles the Rust file that `learn` would write, and compares its kernels with the measured best. It stops if
that file decides otherwise than ah-codegen's code of the same model. `--timings FOLDER` reads FOLDER/PROCESSOR.csv.gz
(m, k, n, kernel, mr, nr, seconds) instead of tract's PROCESSOR.txt. Needs ah-train, ah-codegen and rustfmt; to judge,
rustc.

`judge` prints, by processor: the shapes; then, of tract's table, of tract's method on the shapes that ours learns from,
and of ours, the loss in % (geometric mean), the loss of all shapes together, and the longest time over the best one.
"""

import argparse
import collections
import csv
import gzip
import hashlib
import itertools
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# tract picks while it builds a plan and keeps the kernel for all runs. There is always a kernel to take.
LEARN = "--runs-per-decision 1000 --learner cost_tree --size best --max-risk none --outside decide --no-codegen"
TERMS = ["1", "k", "ceil(m / mr) * mr * (ceil(n / nr) * nr)", "ceil(m / mr) * mr * (ceil(n / nr) * nr) * k"]


class Kernel(collections.namedtuple("Kernel", "family mr nr")):
    """A kernel by its family, such as arm64simd-a53, and its tile."""

    @classmethod
    def of_tract(cls, name):
        before, mr, nr, after = re.fullmatch(r"(\w+)_mmm_f32_(\d+)x(\d+)_?(\w*)", name).groups()
        return cls("-".join(filter(None, [before.replace("_", "-"), after])), int(mr), int(nr))

    def choice(self):
        """The name that import gives it."""
        return f"kernel={self.family}_mr={self.mr}_nr={self.nr}"

    def padded(self, m, n):
        return -(-m // self.mr) * self.mr, -(-n // self.nr) * self.nr


class Linear:
    """tract's cost model: three coefficients a kernel, and one for all."""

    def __init__(self, kernels, coeffs, restream, default):
        self.kernels, self.coeffs, self.restream, self.default = kernels, coeffs, restream, default

    @classmethod
    def shipped(cls, text):
        """Reads a PROCESSOR_linear.rs."""
        default, kernels, coeffs, restream = re.search(
            r'default_kernel: "(\w+)".*kernels: &\[(.*?)\].*coeffs: &\[(.*)\],\s*restream: ([\d.e+-]+)', text, re.DOTALL
        ).groups()
        kernels = re.findall(r"\w+", kernels)
        rows = [[float(x) for x in row.split(",")] for row in re.findall(r"\[(.*?)\]", coeffs)]
        return cls(
            {Kernel.of_tract(name): name for name in kernels},
            dict(zip(map(Kernel.of_tract, kernels), rows)),
            float(restream),
            default,
        )

    @staticmethod
    def terms(kernel, m, k, n):
        rows, columns = kernel.padded(m, n)
        return rows * columns * k, rows // kernel.mr * (columns // kernel.nr), 1

    def fitted(self, times):
        """The model with coefficients from these times: non-negative least squares, as tract does."""
        rows = collections.defaultdict(list)
        for shape, kernels in times.items():
            for kernel, seconds in kernels.items():
                rows[kernel].append((self.terms(kernel, *shape), seconds))
        return Linear(
            self.kernels, {kernel: non_negative(of) for kernel, of in rows.items()}, self.restream, self.default
        )

    def pick(self, shape, kernels):
        """Kernels of one column are for vectors alone."""
        m, k, n = shape

        def expected(kernel):
            rows, columns = kernel.padded(m, n)
            products = sum(c * x for c, x in zip(self.coeffs[kernel], self.terms(kernel, m, k, n)))
            return products + self.restream * rows * (columns // kernel.nr) * k

        return min((kernel for kernel in kernels if kernel.nr > 1 or n == 1), key=expected)


def non_negative(rows):
    """Non-negative least squares by all subsets of the terms. Terms are scaled to at most 1, times to at most 1."""
    scale = [max(terms[at] for terms, _ in rows) for at in range(3)]
    longest = max(seconds for _, seconds in rows)
    rows = [([x / s for x, s in zip(terms, scale)], seconds / longest) for terms, seconds in rows]
    best, found = math.inf, None
    for some in itertools.chain.from_iterable(itertools.combinations(range(3), size) for size in (1, 2, 3)):
        solved = solve(
            [[sum(x[a] * x[b] for x, _ in rows) for b in some] + [sum(x[a] * y for x, y in rows)] for a in some]
        )
        if solved is None or min(solved) < 0:
            continue
        coeffs = [dict(zip(some, solved)).get(at, 0.0) for at in range(3)]
        error = sum((sum(c * x for c, x in zip(coeffs, terms)) - y) ** 2 for terms, y in rows)
        if error < best:
            best, found = error, [c * longest / s for c, s in zip(coeffs, scale)]
    return found


def solve(rows):
    """Gauss-Jordan elimination with pivots; the last column is the right side."""
    for at in range(len(rows)):
        pivot = max(range(at, len(rows)), key=lambda row: abs(rows[row][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        if abs(rows[at][at]) < 1e-14:
            return None
        rows[at] = [x / rows[at][at] for x in rows[at]]
        for other in range(len(rows)):
            if other != at:
                rows[other] = [x - rows[other][at] * y for x, y in zip(rows[other], rows[at])]
    return [row[-1] for row in rows]


class Processor:
    """A processor's timings, and the cost model that tract ships for it."""

    def __init__(self, tract, name, timings):
        self.name, linear = name, next(tract.glob(f"linalg/src/*/{name}_linear.rs"))
        self.shipped = Linear.shipped(linear.read_text())
        self.times = collections.defaultdict(dict)
        if timings:
            with gzip.open(timings / f"{name}.csv.gz", "rt") as file:
                rows = [
                    (
                        Kernel(row["kernel"], int(row["mr"]), int(row["nr"])),
                        *(row[x] for x in ("m", "k", "n", "seconds")),
                    )
                    for row in csv.DictReader(file)
                ]
        else:
            lines = linear.with_name(f"{name}.txt").read_text().splitlines()
            rows = [(Kernel.of_tract(of[0]), *of[3:]) for of in map(str.split, lines)]
        for kernel, m, k, n, seconds in rows:
            self.times[int(m), int(k), int(n)][kernel] = float(seconds)

    def learned(self, shapes, folder):
        """Learns from these shapes; leaves ah-codegen's mmm.rs in FOLDER, returns the text of the file for tract."""
        table = folder / "times.csv"
        rows = (
            f"{m},{k},{n},{kernel.family},{kernel.mr},{kernel.nr},{seconds}"
            for m, k, n in shapes
            for kernel, seconds in self.times[m, k, n].items()
        )
        table.write_text("\n".join(["m,k,n,kernel,mr,nr,seconds", *rows]) + "\n")
        log, model = folder / "times.txt", folder / "model.json"
        log.unlink(missing_ok=True)
        run(
            "ah-train",
            "import",
            table,
            "--name",
            self.name,
            "--features",
            "m,k,n",
            "--choice",
            "kernel,mr,nr",
            "--time",
            "seconds",
            "-o",
            log,
        )
        run("ah-train", log, "--heuristic-name", "mmm", *LEARN.split(), "--model", model)
        run("ah-codegen", model, "--target", "rust", "--force", "--into", folder / "mmm.rs")
        return self.rust(json.loads(model.read_text()), (folder / "mmm.rs").read_text(), len(shapes))

    def rust(self, model, code, shapes):
        """The file for tract: coefficients and factors of the model, and `leaf` of ah-codegen's code."""
        costs = model.get("costs")
        if not costs or costs["terms"] != TERMS or len(costs["classes"]) != 1:
            raise SystemExit(
                f"{self.name}: expected a cost formula of the terms {TERMS}, found {costs and costs['terms']}"
            )
        names = {kernel.choice(): name for kernel, name in self.shipped.kernels.items()}
        [rows] = (of["rows"] for of in costs["classes"])
        choices = [choice for choice in model["choices"] if choice in rows]
        # In the order of the code: leaves of the tree with the same factors are one there.
        table = re.search(r"static FACTORS.*?= \[\n(.*?)^\];", code, re.DOTALL | re.MULTILINE)[1]
        leaves = [
            dict(zip(model["choices"], map(str.strip, row.split(","))))
            for row in re.findall(r"\[(.*?)\]", table, re.DOTALL)
        ]
        leaf, *helpers = leaf_and_helpers(code.split("\npub mod decide")[0])
        return "\n".join(
            [
                "// Generated by cost_model.py of autoheuristic-rs (examples/tract_linalg) — do not hand-edit.",
                f"// platform: {self.name}   {shapes} shapes, {len(choices)} kernels, classes: {len(leaves)}",
                "use crate::frame::mmm::FormulaCostModel;",
                "",
                "pub fn formula_model() -> FormulaCostModel<'static> {",
                "    FormulaCostModel {",
                f'        default_kernel: "{self.shipped.default}",',
                "        kernels: &[",
                *(f'            "{names[choice]}",' for choice in choices),
                "        ],",
                "        // Seconds: c0, c1, c2, c3.",
                "        coeffs: &[",
                *(f"            [{', '.join(number(c / 1e3) for c in rows[choice][2:])}]," for choice in choices),
                "        ],",
                "        leaf,",
                "        factors: &[",
                *(
                    f"            &[{', '.join(factors[choice] for choice in choices)}],"
                    for factors in leaves
                ),
                "        ],",
                f"        restream: {number(self.shipped.restream)},",
                "    }",
                "}",
                "",
                "/// The class of a shape.",
                leaf,
                *helpers,
            ]
        )

    def picks(self, shapes, folder):
        """The kernels that the Rust file in FOLDER picks, after a comparison with ah-codegen's code."""
        for name in ("judge.rs", "formula_cost_model.rs"):
            shutil.copy(HERE / name, folder)
        run("rustc", "--edition", "2024", "-A", "warnings", folder / "judge.rs", "-o", folder / "judge")
        asked = "".join(f"{m},{k},{n}\n" for m, k, n in shapes)
        picks = {}
        for shape, line in zip(shapes, run(folder / "judge", stdin=asked).splitlines()):
            name, warm, expected = line.split()
            if Kernel.of_tract(warm).choice() != expected:
                raise SystemExit(f"{self.name} {shape}: the file for tract picks {warm}, ah-codegen's code {expected}")
            picks[shape] = Kernel.of_tract(name)
        return picks

    def judged(self, seeds):
        """By model (loss, loss in total, worst), the means of the seeds and the worst of all."""
        figures = collections.defaultdict(list)
        for seed in range(seeds):
            held_out = [shape for shape in self.times if is_held_out(seed, shape)]
            learned = [shape for shape in self.times if not is_held_out(seed, shape)]
            refit = self.shipped.fitted({shape: self.times[shape] for shape in learned})
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                (folder / "formula.rs").write_text(self.learned(learned, folder))
                picks = self.picks(list(self.times), folder)
            shipped = {shape: self.shipped.pick(shape, self.times[shape]) for shape in held_out}
            its_fit = {shape: refit.pick(shape, self.times[shape]) for shape in held_out}
            for name, taken in {"shipped": shipped, "its fit": its_fit, "ours": picks}.items():
                pairs = [(self.times[shape][taken[shape]], min(self.times[shape].values())) for shape in held_out]
                loss = math.exp(statistics.fmean(math.log(taken / best) for taken, best in pairs)) - 1
                total = sum(taken for taken, _ in pairs) / sum(best for _, best in pairs) - 1
                figures[name].append((loss, total, max(taken / best for taken, best in pairs)))
        return {
            name: (statistics.fmean(x[0] for x in of), statistics.fmean(x[1] for x in of), max(x[2] for x in of))
            for name, of in figures.items()
        }


def leaf_and_helpers(code):
    """The function `leaf` of ah-codegen's code as one of (m, k, n), and the functions that it calls."""
    functions = {
        text.split("(")[0].split()[-1]: text for text in re.findall(r"^fn \w+\(.*?^}\n", code, re.DOTALL | re.MULTILINE)
    }
    leaf = functions.get("leaf", "fn leaf(_: &Context) -> Option<usize> {\n    Some(0)\n}\n")
    head, body = leaf.split("\n", 1)
    names = [name if f"c.{name}" in body else f"_{name}" for name in "mkn"]
    body = re.sub(r"\bceil\((\w+) as f64 / (\d+)\.0\)", r"\1.div_ceil(\2) as f64", body.replace("c.", ""))
    called = [f"fn leaf({', '.join(f'{name}: usize' for name in names)}) -> Option<usize> {{\n{body}"]
    for text in called:
        text = re.sub("//.*", "", text)
        new = [
            name
            for name in functions
            if re.search(rf"\b{name}\(", text) and functions[name] not in called and name != "leaf"
        ]
        called += [functions[name] for name in new]
    return called


def number(x):
    """A number as tract's own files have it: 1.9576639e-11, 0e0."""
    digits, exponent = f"{x:.7e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"


def is_held_out(seed, shape):
    drawn = hashlib.sha256(f"{seed}:{','.join(map(str, shape))}".encode()).digest()
    return int.from_bytes(drawn[:8], "big") < 2**64 // 5


def run(*command, stdin=None):
    """The output of a command; ends with its messages if it fails."""
    done = subprocess.run(list(map(str, command)), input=stdin, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("what", choices=["learn", "judge"])
    arguments.add_argument("tract", type=pathlib.Path)
    arguments.add_argument("processors", nargs="*", metavar="PROCESSOR")
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    arguments.add_argument("--seeds", type=int, default=6)
    arguments.add_argument("--timings", type=pathlib.Path)
    given = arguments.parse_args()
    all_of_them = sorted(
        path.name.removesuffix("_linear.rs")
        for path in given.tract.glob("linalg/src/*/*_linear.rs")
        if "_mmv_" not in path.name
    )
    if not all_of_them:
        raise SystemExit(f"{given.tract}: expected a checkout of tract, with linalg/src/*/PROCESSOR_linear.rs")
    for name in given.processors or all_of_them:
        if name not in all_of_them:
            raise SystemExit(f"{name}: expected a processor of tract: {', '.join(all_of_them)}")
        processor = Processor(given.tract, name, given.timings)
        if given.what == "learn":
            with tempfile.TemporaryDirectory() as folder:
                text = processor.learned(list(processor.times), pathlib.Path(folder))
            path = given.out / f"{name}_formula.rs"
            path.write_text(text)
            run("rustfmt", "--edition", "2024", "--config-path", given.tract, path)
            print(f"wrote {path}")
            continue
        figures = processor.judged(given.seeds)
        cells = [f"{100 * of[at]:.2f}" if at < 2 else f"{of[at]:.2f}" for at in range(3) for of in figures.values()]
        print(f"| {name} | {len(processor.times)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
