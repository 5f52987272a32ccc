#!/usr/bin/env python3
"""Shows that a generated artifact works in a real PyTorch with a GPU.

    ah-codegen model.json --target pytorch --out DIR
    ah-train evaluate model.json LOG --decisions decisions.tsv
    scripts/pytorch_overlay.py DIR/_Name.py --log LOG --decisions decisions.tsv

The artifact is put into a temporary folder before PyTorch's own folder of learned heuristics
(PyTorch itself is not changed), PyTorch's own LearnedHeuristicController finds it, and its decisions
are compared with those of the model. Then products are compiled with and without
TORCHINDUCTOR_AUTOHEURISTIC_USE=pad_mm: was the heuristic asked, what did it say, how long does
the compiled product take, and how long compiling it?
"""

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

# The learned heuristic of the H200 pads some of these; PyTorch does not ask about the aligned one.
SHAPES = [(4095, 4097, 4095), (1023, 2049, 4097), (2047, 8191, 1025), (770, 770, 770), (1031, 16384, 8192), (4096, 4096, 4096)]


def overlay(artifact):
    """Lets PyTorch find the artifact, before its own heuristics."""
    import torch._inductor.autoheuristic.artifacts as artifacts

    folder = tempfile.mkdtemp(prefix="overlay-")
    shutil.copy(artifact, folder)
    artifacts.__path__.insert(0, folder)
    return folder


def check(log, decisions, most):
    """Compares the controller's decisions with the model's; returns how many were compared."""
    import torch
    from torch._inductor.autoheuristic.autoheuristic_utils import AHContext, AHMetadata
    from torch._inductor.autoheuristic.learned_heuristic_controller import LearnedHeuristicController

    with (gzip.open if log.endswith(".gz") else open)(log, "rt") as file:
        metadata = json.loads(file.readline())
        names = file.readline().strip().split(",")[:-2]
    numerical = set(metadata["numerical_features"])
    with open(decisions) as file:
        lines = file.read().splitlines()
    step = max(1, len(lines) // most)
    choices = sorted({c for line in lines for c in line.split("\t")[1].split(";") if c})
    compared = 0
    for line in lines[::step]:
        key, ranking = line.split("\t")
        context = AHContext()
        for name, text in zip(names, key.split(",")):
            value = int(text) if name in numerical else {"True": True, "False": False}.get(text, text)
            context.add_feature(name, value, is_categorical=name not in numerical)
        given = AHMetadata(metadata["shared_memory"], tuple(metadata["device_capa"]), choices, metadata["name"])
        got = LearnedHeuristicController(given, context).get_decision()
        expected = ranking.split(";")[0] or None
        if got != expected:
            sys.exit(f"error: expected {expected}, found {got} for {key}")
        compared += 1
    return compared, torch.__version__


def child(artifact, padding):
    """Compiles and times the products; prints one JSON object."""
    import torch
    import torch._inductor.config as config
    from torch._dynamo.utils import counters
    from torch._inductor.autoheuristic.learned_heuristic_controller import LearnedHeuristicController

    overlay(artifact)
    config.shape_padding = padding
    asked = []
    original = LearnedHeuristicController.get_decision

    def get_decision(self):
        decision = original(self)
        who = [type(h).__name__ for h in self.get_heuristics(self.metadata.name) if h.check_precondition(self.metadata, self.context)]
        asked.append([who[0] if who else None, decision])
        return decision

    LearnedHeuristicController.get_decision = get_decision
    from triton.testing import do_bench

    products = []
    for m, k, n in SHAPES:
        torch._dynamo.reset()
        asked.clear()
        benched = counters["inductor"]["pad_mm_bench"]
        a = torch.randn(m, k, device="cuda", dtype=torch.float16)
        b = torch.randn(k, n, device="cuda", dtype=torch.float16)
        compiled = torch.compile(lambda a, b: a @ b, dynamic=False)
        begin = time.perf_counter()
        result = compiled(a, b)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        torch.testing.assert_close(result, a @ b, rtol=2e-2, atol=k**0.5 * 2e-2)
        products.append(
            {
                "shape": [m, k, n],
                "asked": list(asked),
                "benchmarked": counters["inductor"]["pad_mm_bench"] - benched,
                "compile_s": seconds,
                "ms": do_bench(lambda: compiled(a, b), return_mode="median"),
            }
        )
    print(json.dumps({"device": torch.cuda.get_device_name(), "products": products}))


def compile_with(artifact, use, padding):
    environment = dict(os.environ, TORCHINDUCTOR_AUTOHEURISTIC_USE=use, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", PYTHONWARNINGS="ignore")
    words = [sys.executable, __file__, artifact, "--child", "padding" if padding else "plain"]
    output = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(output.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact")
    parser.add_argument("--log", help="the log that the decisions are of")
    parser.add_argument("--decisions", help="what ah-train evaluate --decisions wrote")
    parser.add_argument("--most", type=int, default=400, help="decisions to compare")
    parser.add_argument("--no-gpu", action="store_true", help="only compare decisions")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.artifact, given.child == "padding")
    if given.log:
        overlay(given.artifact)
        compared, version = check(given.log, given.decisions, given.most)
        print(f"PyTorch {version}: its controller found the artifact; {compared} decisions are those of the model")
    if given.no_gpu:
        return None
    runs = [compile_with(given.artifact, use, padding) for use, padding in (("pad_mm", True), ("", True), ("", False))]
    print(f"{runs[0]['device']}, float16, milliseconds of the compiled product (seconds to compile)")
    print("| m, k, n | heuristic asked | its choice | with it | PyTorch measures itself | never padded |")
    print("| --- | --- | --- | --- | --- | --- |")
    for with_it, without, plain in zip(*(run["products"] for run in runs)):
        who, choice = with_it["asked"][0] if with_it["asked"] else ("no", "-")
        cell = lambda p: f"{p['ms']:.4f} ({p['compile_s']:.2f})"
        shape = ", ".join(map(str, with_it["shape"]))
        print(f"| {shape} | {who} | {choice} | {cell(with_it)} | {cell(without)} | {cell(plain)} |")
    return None


if __name__ == "__main__":
    main()
