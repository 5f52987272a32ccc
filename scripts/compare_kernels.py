#!/usr/bin/env python3
"""Measures our best choice and PyTorch's best on the same GPU in one run, and prints the ratios.

    python3 scripts/compare_kernels.py [--ah-collect PATH] [mixed_mm] [softmax] [mm]

Ours: ah-collect measures all choices on the sizes of SIZES; the best median counts. PyTorch: the faster
of eager and torch.compile with max-autotune, under triton.testing.do_bench. Both write 256 MiB before each
sample, so what both meet is an L2 full of written lines. GB/s count int8 weights once (mixed_mm), or one read
and one write (softmax); "copy" is the bandwidth of a device-to-device copy in the same run. mm compares
the best kernel of our own with cuBLAS as well. Needs PyTorch with Triton; mixed_mm and mm spend
most of the time compiling. Exits with 1 where a line ends in "MISSED".
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile

import torch
from triton.testing import do_bench

WEIGHTS = [(4096, 4096), (4096, 11008), (8192, 8192), (8192, 28672)]
SIZES = {
    "mixed_mm": [(m, k, n) for k, n in WEIGHTS for m in (1, 8, 16, 64)],
    "softmax": [(1024, 256), (8192, 1024), (8192, 4096), (8192, 16384), (4096, 65536), (128, 262144)],
    "mm": [(4096, 4096, 4096), (512, 4096, 4096), (16, 4096, 4096)],
}
# Target shares of the copy bandwidth.
MIXED_MM_SHARE, MIXED_MM_FROM, SOFTMAX_SHARE = 0.60, 64_000_000, 0.80
SOFTMAX_LARGE = {(8192, 4096), (8192, 16384), (4096, 65536)}
MM_SHARE_OF_CUBLAS = 0.60


def bench(function):
    return do_bench(function, return_mode="median")


def compiled(function, *operands):
    torch._dynamo.reset()
    made = torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)
    made(*operands)
    return bench(lambda: made(*operands))


def product_row(m, k, n, a, b, transposed):
    return {
        "m": m, "k": k, "n": n, "mat1_stride_0": k, "mat1_stride_1": 1,
        "mat2_stride_0": 1 if transposed else n, "mat2_stride_1": k if transposed else 1,
        "mat1_dtype": f"torch.{a}", "mat2_dtype": f"torch.{b}",
        "mat1_iscontig": True, "mat2_iscontig": not transposed, "using_tf32": "not_float_32",
    }  # fmt: skip


def ours(ah_collect, name, rows):
    """The median time of every choice, for each of the rows."""
    with tempfile.TemporaryDirectory() as folder:
        inputs, log = os.path.join(folder, "inputs.csv"), os.path.join(folder, "log.txt")
        with open(inputs, "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        words = [ah_collect, "--name", name, "--backend", "cuda", "--inputs", inputs, "-o", log]
        subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
        times = {}
        with open(log) as file:
            next(file)
            for row in csv.DictReader(file):
                key = tuple(str(row[feature]) for feature in rows[0] if feature in row)
                times.setdefault(key, {}).setdefault(row["choice"], []).append(float(row["feedback"]))
        features = [f for f in rows[0] if f in row]
    medians = {key: {c: statistics.median(v) for c, v in t.items()} for key, t in times.items()}
    return [medians[tuple(str(row[f]) for f in features)] for row in rows]


def line(shape, times, pytorch, note, good):
    choice = min(times, key=times.get)
    print(f"| {shape} | {times[choice]:.4f} | {pytorch:.4f} | {pytorch / times[choice]:.2f} | {note} | {choice} |"
          f"{'' if good else ' MISSED'}", flush=True)
    return good


def head(title, note):
    print(f"\n{title}\n\n| size | ours ms | PyTorch ms | PyTorch ÷ ours | {note} | choice |\n| --- | --- | --- | --- | --- | --- |")


def mixed_mm(ah_collect, copy):
    good = True
    for transposed in (True, False):
        layout = "weights n×k in memory (strides (1, k))" if transposed else "weights k×n in memory"
        head(f"mixed_mm, bfloat16 × int8, {layout}", "ours GB/s (of copy)")
        sizes = SIZES["mixed_mm"]
        rows = [product_row(m, k, n, "bfloat16", "int8", transposed) for m, k, n in sizes]
        for (m, k, n), times in zip(sizes, ours(ah_collect, "mixed_mm", rows)):
            a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
            b = torch.randint(-128, 128, (n, k) if transposed else (k, n), device="cuda", dtype=torch.int8)
            b = b.t() if transposed else b
            multiply = lambda a, b: torch.mm(a, b.to(a.dtype))
            pytorch = min(bench(lambda: multiply(a, b)), compiled(multiply, a, b))
            best = min(times.values())
            share = k * n / best * 1e-6 / copy
            wanted = m <= 16 and k * n >= MIXED_MM_FROM
            fast = best < pytorch and (not wanted or share >= MIXED_MM_SHARE)
            good &= line(f"m {m}, k {k}, n {n}", times, pytorch, f"{k * n / best * 1e-6:.0f} ({share:.0%})", fast)
    return good


def softmax(ah_collect, copy):
    good = True
    head("softmax, float32", "ours GB/s (of copy)")
    sizes = SIZES["softmax"]
    rows = [{"rows": r, "columns": c, "dtype": "torch.float32"} for r, c in sizes]
    for (r, c), times in zip(sizes, ours(ah_collect, "softmax", rows)):
        x = torch.randn(r, c, device="cuda")
        function = lambda x: torch.softmax(x, 1)
        pytorch = min(bench(lambda: function(x)), compiled(function, x))
        best = min(times.values())
        share = 8 * r * c / best * 1e-6 / copy
        fast = best <= pytorch and ((r, c) not in SOFTMAX_LARGE or share >= SOFTMAX_SHARE)
        good &= line(f"{r}×{c}", times, pytorch, f"{8 * r * c / best * 1e-6:.0f} ({share:.0%})", fast)
    return good


def mm(ah_collect, _copy):
    good = True
    head("mm, float16", "best kernel of our own, TFLOP/s (of cuBLAS)")
    sizes = SIZES["mm"]
    rows = [product_row(m, k, n, "float16", "float16", True) for m, k, n in sizes]
    for (m, k, n), times in zip(sizes, ours(ah_collect, "mm", rows)):
        a = torch.randn(m, k, device="cuda", dtype=torch.float16)
        b = torch.randn(n, k, device="cuda", dtype=torch.float16).t()
        pytorch = min(bench(lambda: torch.mm(a, b)), compiled(torch.mm, a, b))
        own = min(t for choice, t in times.items() if choice.startswith("type=cuda"))
        share = times["extern_mm"] / own
        note = f"{2e-9 * m * k * n / own:.0f} ({share:.0%})"
        wanted = m == k == n
        good &= line(f"m {m}, k {k}, n {n}", times, pytorch, note, not wanted or share >= MM_SHARE_OF_CUBLAS)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ah-collect", default="target/release/ah-collect")
    parser.add_argument("names", nargs="*", choices=[[], *SIZES], default=[])
    given = parser.parse_args()
    x = torch.empty(2**28, device="cuda")
    y = torch.empty_like(x)
    copy = 8 * x.numel() / bench(lambda: y.copy_(x)) * 1e-6
    del x, y
    torch.cuda.empty_cache()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; a copy moves {copy:.0f} GB/s")
    results = [globals()[name](given.ah_collect, copy) for name in given.names or SIZES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
