#!/usr/bin/env python3
"""The whole ah-train on PyTorch's published logs: time, memory and what is learned, as Markdown.

    scripts/bench_train.py LOGS_FOLDER [REPEATS=3] [-- AH_TRAIN_FLAGS...]

LOGS_FOLDER holds mixedmm_{a100,h100}, pad_mm_a100, mm_a100, mm_hf_a100, mm_timm_a100 and
flexattention_a100 as .txt.gz. Each training searches by default and writes its model, but no code.
Times are the least of REPEATS runs, peak memory is the greatest. Needs target/release/ah-train.

PyTorch's and scikit-learn's figures were measured on the same logs, on a machine of two cores: they
are constants here. A split of theirs is not a split of ours; differences below 0.001 say little.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
AH_TRAIN = ROOT / "target/release/ah-train"

# name: (file, slowdown of PyTorch's trainer, scikit-learn's tree of depth 8, forest by class and by cost)
LOGS = {
    "mixed_mm H100": ("mixedmm_h100", "1.0618", "1.0097", "1.0116 / 1.0067"),
    "mixed_mm A100": ("mixedmm_a100", "1.0421", "1.0081", "1.0134 / 1.0061"),
    "pad_mm A100": ("pad_mm_a100", "1.0278", "1.0057", "1.0030 / 1.0040"),
    "mm A100": ("mm_a100", "1.0208", "1.0102", "1.0081 / 1.0094"),
    "mm HF A100": ("mm_hf_a100", "1.0280", "1.0524", "1.0283 / 1.0206"),
    "mm TIMM A100": ("mm_timm_a100", "1.0561", "1.0381", "1.0232 / 1.0232"),
    "flex attention A100": ("flexattention_a100", "1.0166", "1.0110", "1.0091 / 1.0083"),
}

# job: (logs and flags, seconds and MiB of PyTorch's script, our limits)
JOBS = {
    "mixed_mm A100": (["mixedmm_a100"], "35", "462", "1.2"),
    "mixed_mm H100": (["mixedmm_h100"], "25", "360", "–"),
    "pad_mm A100": (["pad_mm_a100"], "252", "233", "1.0"),
    "mm A100 ranking": (
        ["mm_a100", "--ranking", "10"],
        "96",
        "449",
        "2.5",
    ),
}


def train(folder, words, flags, model):
    """Runs once: (seconds, processor seconds, peak MiB, what --json printed first)."""
    paths = [str(folder / f"{w}.txt.gz") if (folder / f"{w}.txt.gz").exists() else w for w in words]
    command = [AH_TRAIN, *paths, "--heuristic-name", "T", "--no-codegen", "--json", "--model", model, *flags]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(list(map(str, command)), stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            err.seek(0)
            sys.exit(f"{' '.join(map(str, command))}\n{err.read().decode()}")
        out.seek(0)
        printed = json.loads(out.readline())
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed


def least(runs):
    return min(r[0] for r in runs), min(r[1] for r in runs), max(r[2] for r in runs), runs[0][3]


def main():
    args = sys.argv[1:]
    flags = args[args.index("--") + 1 :] if "--" in args else []
    args = args[: args.index("--")] if "--" in args else args
    folder = pathlib.Path(args[0] if args else ROOT / "../shared/data")
    repeats = int(args[1]) if len(args) > 1 else 3
    if not folder.is_dir() or not AH_TRAIN.exists():
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        model, work_model = pathlib.Path(work) / "model.json", pathlib.Path(work) / "always.json"
        print("| whole training, default search | seconds | processor s | limit s | PyTorch s | peak MiB | PyTorch MiB |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for name, (words, seconds, mib, limit) in JOBS.items():
            wall, processor, peak, _ = least([train(folder, words, flags, model) for _ in range(repeats)])
            print(f"| {name} | {wall:.2f} | {processor:.2f} | {limit} | {seconds} | {peak:.0f} | {mib} |", flush=True)
        print()
        print(
            "| held-out inputs | with the promise | always deciding | p95 | worst | decides | > 5 % slower, promise"
            " | > 5 % slower, always | top 3 | top 10 | leaves | seconds | peak MiB | fallback"
            " | PyTorch | scikit-learn depth 8 | forest |"
        )
        print("| --- " * 17 + "|")
        for name, (file, pytorch, scikit_learn, forest) in LOGS.items():
            wall, _, peak, printed = least([train(folder, [file], flags, model) for _ in range(repeats)])
            metrics = printed["metrics"]
            safe = metrics["held_out"]
            # Learned without the promise's penalty, as for a heuristic that always decides.
            always = train(folder, [file, "--max-risk", "none"], flags, work_model)[3]["metrics"]["held_out"]
            leaves = sum("ranking" in node for node in json.loads(model.read_text())["tree"])
            ranking = [file, "--ranking", "10", "--max-risk", "none"]
            ranked = train(folder, ranking, flags, work_model)[3]["metrics"]["held_out"]
            print(
                f"| {name} | {safe['slowdown']:.4f} | {always['slowdown']:.4f} | {always['p95']:.3f} | {always['worst']:.2f}"
                f" | {safe['coverage']:.1%} | {safe['over_limit']:.2%} | {always['over_limit']:.2%}"
                f" | {ranked['top3']:.4f} | {ranked['top10']:.4f} | {leaves} | {wall:.2f} | {peak:.0f}"
                f" | {metrics['always_fallback']['metrics']['slowdown']:.3f} | {pytorch} | {scikit_learn} | {forest} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
