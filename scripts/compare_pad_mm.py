#!/usr/bin/env python3
"""Times the inputs of a pad_mm log again with PyTorch on the same GPU and compares.

    ah-collect --name pad_mm --backend cuda --num-samples 200 --seed 7 -o check.txt
    python3 scripts/compare_pad_mm.py check.txt [INPUTS] [--write pytorch.txt]

`orig` is compared with torch.mm, `pad` with Inductor's own pad_mm function (prepadded sides as its
should_pad_bench prepares them), both under triton.testing.do_bench. --write keeps PyTorch's times as a
log. Needs PyTorch with Triton.
"""

import argparse
import csv
import gzip
import json
import statistics
import sys

import torch
from torch._inductor.fx_passes import pad_mm as inductor
from triton.testing import do_bench

LIMITS = {"orig": 0.10, "pad": 0.15}
SHARE = 0.90
CLEAR_GAP = 0.10


def read(path):
    """The log's metadata, and the medians of each input's choices with the input's features."""
    opener = gzip.open if path.endswith(".gz") else open
    inputs = {}
    with opener(path, "rt") as lines:
        metadata = json.loads(next(lines))
        for row in csv.DictReader(lines):
            choice, feedback = row.pop("choice"), float(row.pop("feedback"))
            inputs.setdefault(tuple(row.items()), {}).setdefault(choice, []).append(feedback)
    return metadata, [(dict(k), {c: statistics.median(v) for c, v in t.items()}) for k, t in inputs.items()]


def write(path, metadata, timed):
    """A log of PyTorch's times: its own metadata, without what our tool adds about our timing."""
    with open(path, "w", newline="") as file:
        metadata = {k: v for k, v in metadata.items() if k != "autoheuristic_rs"}
        file.write(json.dumps(metadata) + "\n")
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([*timed[0][0], "choice", "feedback"])
        rows.writerows([*f.values(), choice, ms] for f, times in timed for choice, ms in times.items())


def matrix(rows, columns, row_stride, dtype):
    if row_stride == 1 and rows != 1 and columns != 1:
        return torch.randn(columns, rows, dtype=dtype, device="cuda").t()
    return torch.randn(rows, columns, dtype=dtype, device="cuda")


def time_with_pytorch(features):
    size = {name: int(features[name]) for name in features if name[0] in "mkn" and "dtype" not in name}
    dtype = getattr(torch, features["mat1_dtype"].removeprefix("torch."))
    torch.backends.cuda.matmul.allow_tf32 = features["using_tf32"] == "True"
    a = matrix(size["m"], size["k"], size["mat1_stride_0"], dtype)
    b = matrix(size["k"], size["n"], size["mat2_stride_0"], dtype)
    m, k, n = (size[f"{d}_padded_length"] for d in "mkn")
    a_ready, b_ready = features["prepadded_mat1"] == "True", features["prepadded_mat2"] == "True"
    a_given, b_given, zeros = a, b, []
    if a_ready and (m or k):
        a_given = inductor.pad_mat1(a, m_padded_length=m, k_padded_length=k)
        zeros.append(lambda: a_given[-m:, -k:].fill_(0))
    if b_ready and (k or n):
        b_given = inductor.pad_mat2(b, k_padded_length=k, n_padded_length=n)
        zeros.append(lambda: b_given[-k:, -n:].fill_(0))

    def pad():
        for fill in zeros:
            fill()
        inductor.pad_mm(a_given, b_given, m, k, n, mat1_pre_padded=a_ready, mat2_pre_padded=b_ready)

    bench = lambda f: do_bench(f, warmup=5, rep=30, return_mode="median")
    return {"orig": bench(lambda: torch.mm(a, b)), "pad": bench(pad)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log")
    parser.add_argument("inputs", nargs="?", type=int, help="only so many, the first")
    parser.add_argument("--write", metavar="LOG", help="keep PyTorch's times")
    given = parser.parse_args()
    metadata, inputs = read(given.log)
    inputs = inputs[: given.inputs]
    timed = []
    deviations = {choice: [] for choice in LIMITS}
    clear = agree = 0
    for features, ours in inputs:
        theirs = time_with_pytorch(features)
        timed.append((features, theirs))
        for choice in LIMITS:
            deviations[choice].append(ours[choice] / theirs[choice] - 1)
        best, second = sorted(theirs.values())
        if second > best * (1 + CLEAR_GAP):
            clear += 1
            agree += min(ours, key=ours.get) == min(theirs, key=theirs.get)
        shape = "x".join(features[d] for d in "mkn")
        layout = "".join("T" if features[f"mat{i}_stride_0"] == "1" else "N" for i in (1, 2))
        ready = "".join("p" if features[f"prepadded_mat{i}"] == "True" else "-" for i in (1, 2))
        times = " ".join(f"{c} {ours[c]:.4f} {theirs[c]:.4f} {ours[c] / theirs[c] - 1:+.1%}" for c in LIMITS)
        print(f"{shape:>20} {features['mat1_dtype'][6:]:9}{features['using_tf32'][:5]:6}{layout} {ready} {times}")
    if given.write:
        write(given.write, metadata, timed)
    good = True
    for choice, limit in LIMITS.items():
        values = deviations[choice]
        share = sum(abs(d) <= limit for d in values) / len(values)
        good &= share >= SHARE
        print(f"{choice}: within {limit:.0%} of PyTorch on {share:.1%} of {len(values)} inputs (wanted {SHARE:.0%}), "
              f"median {statistics.median(values):+.1%}")
    print(f"winners agree on {agree} of {clear} inputs whose times PyTorch sees more than {CLEAR_GAP:.0%} apart")
    return 0 if good and agree == clear else 1


if __name__ == "__main__":
    sys.exit(main())
