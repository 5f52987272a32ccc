#!/usr/bin/env python3
"""A training step of public architectures under torch.compile, with three ways to decide what to pad.

    ah-codegen generated/pad_mm_h200.model.json --target pytorch --out DIR
    scripts/train_padded.py DIR/_PadMmH200.py

Vocabularies are odd numbers or nearly so (GPT-2 has 50257 tokens), and products with them are slow unless
they are padded. Padding is never used, decided by PyTorch's own benchmarks while it compiles (its default), or
decided by the artifact, which PyTorch finds as it finds its own heuristics. Each run is a fresh process with
empty caches. It compiles one block, which all blocks share, and the head with its loss. A step is forward,
backward and AdamW in bfloat16 on random tokens. Prints the median time of a step, the time of the first step
(compiling included), and what was decided.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace

from pytorch_overlay import overlay

WAYS = {"plain": "never padded", "benchmark": "PyTorch benchmarks", "heuristic": "our heuristic"}


@dataclass(frozen=True)
class Architecture:
    """The shapes of a language model, and of the batch that it trains on."""

    vocabulary: int
    width: int
    hidden: int
    blocks: int
    heads: int
    key_heads: int
    gated: bool  # SwiGLU without biases, as Llama; else GELU with biases
    causal: bool
    head_bias: bool
    sequences: int
    tokens: int


ARCHITECTURES = {
    "GPT-2": Architecture(50257, 768, 3072, 12, 12, 12, False, True, False, 8, 1024),
    # With the padding token that fine-tuning adds to Llama's 32000.
    "TinyLlama-1.1B": Architecture(32001, 2048, 5632, 22, 32, 4, True, True, False, 4, 2048),
    "BERT-base": Architecture(30522, 768, 3072, 12, 12, 12, False, False, True, 16, 512),
}


def build(shape, device):
    """Returns a function that takes one training step and returns its loss."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            bias, size = not shape.gated, shape.width // shape.heads
            self.sizes = [shape.width, shape.key_heads * size, shape.key_heads * size]
            norm = nn.RMSNorm if shape.gated else nn.LayerNorm
            self.norms = nn.ModuleList([norm(shape.width), norm(shape.width)])
            self.qkv = nn.Linear(shape.width, sum(self.sizes), bias)
            self.out = nn.Linear(shape.width, shape.width, bias)
            self.up = nn.Linear(shape.width, shape.hidden * (2 if shape.gated else 1), bias)
            self.down = nn.Linear(shape.hidden, shape.width, bias)

        def forward(self, x):
            batch, tokens, width = x.shape
            parts = self.qkv(self.norms[0](x)).split(self.sizes, -1)
            q, k, v = (p.view(batch, tokens, -1, width // shape.heads).transpose(1, 2) for p in parts)
            mixed = functional.scaled_dot_product_attention(
                q, k, v, is_causal=shape.causal, enable_gqa=shape.heads != shape.key_heads
            )
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
            up = self.up(self.norms[1](x))
            if shape.gated:
                gate, up = up.chunk(2, -1)
                return x + self.down(functional.silu(gate) * up)
            return x + self.down(functional.gelu(up, approximate="tanh"))

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = (nn.RMSNorm if shape.gated else nn.LayerNorm)(shape.width)
            self.out = nn.Linear(shape.width, shape.vocabulary, shape.head_bias)

        def forward(self, x, targets):
            logits = self.out(self.norm(x))
            return functional.cross_entropy(logits.view(-1, shape.vocabulary).float(), targets.view(-1))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(shape.vocabulary, shape.width)
            self.positions = nn.Embedding(shape.tokens, shape.width)
            self.blocks = nn.ModuleList(Block() for _ in range(shape.blocks))
            self.head = Head()
            if not shape.causal or not shape.gated:
                self.head.out.weight = self.embedding.weight  # tied, as in GPT-2 and BERT
            for part in [*self.blocks, self.head]:
                part.compile(dynamic=False)

        def forward(self, tokens, targets):
            x = self.embedding(tokens) + self.positions.weight
            for block in self.blocks:
                x = block(x)
            return self.head(x, targets)

    torch.manual_seed(0)
    with torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        model = Model()
        for weight in model.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
        tokens = torch.randint(shape.vocabulary, (2, shape.sequences, shape.tokens))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        loss = model(*tokens)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def child(given):
    """One run in this process: waits for its turn on standard input, prints one JSON object."""
    import torch
    import torch._inductor.compile_fx
    import torch._inductor.config as config
    from torch._dynamo.utils import counters
    from torch._inductor.autoheuristic.learned_heuristic_controller import LearnedHeuristicController

    name, way = given.child.split(":")
    shape = ARCHITECTURES[name]
    if given.tiny:
        shape = replace(shape, vocabulary=257, width=64, hidden=96, blocks=2, heads=4, key_heads=min(shape.key_heads, 4), tokens=32)
    if way == "heuristic":
        overlay(given.artifact)
    config.shape_padding = way != "plain"
    answers = []
    original = LearnedHeuristicController.get_decision

    def get_decision(self):
        answers.append(original(self))
        return answers[-1]

    LearnedHeuristicController.get_decision = get_decision
    print("ready", flush=True)
    sys.stdin.readline()

    device = "cpu" if given.tiny else "cuda"
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    step = build(shape, device)
    wait()
    begin = time.perf_counter()
    step()
    wait()
    first = time.perf_counter() - begin
    times = []
    for _ in range(given.steps):
        begin = time.perf_counter()
        loss = step()
        wait()
        times.append((time.perf_counter() - begin) * 1e3)
    result = {
        "model": name,
        "way": way,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "first_s": first,
        "ms": statistics.median(times[3:]),
        "loss": loss.item(),
        "answers": answers,
        "benchmarked": counters["inductor"]["pad_mm_bench"],
        "graphs": counters["stats"]["unique_graphs"],
    }
    print(json.dumps(result), flush=True)


def start(given, name, way):
    folder = tempfile.TemporaryDirectory(prefix="train-padded-")
    environment = dict(
        os.environ,
        TORCHINDUCTOR_CACHE_DIR=folder.name,
        TORCHINDUCTOR_AUTOHEURISTIC_USE="pad_mm" if way == "heuristic" else "",
        PYTHONWARNINGS="ignore",
    )
    words = [sys.executable, __file__, given.artifact, "--child", f"{name}:{way}", "--steps", str(given.steps)]
    words += ["--tiny"] * given.tiny
    pipe = subprocess.PIPE
    return folder, subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, text=True)


def run(given, names):
    """Yields the result of each run. The next process imports PyTorch while this one works."""
    turns = [(name, way) for _ in range(given.repeats) for name in names for way in WAYS]
    following = start(given, *turns[0])
    for turn in range(len(turns)):
        folder, process = following
        if process.stdout.readline() != "ready\n":
            sys.exit(f"error: {' '.join(turns[turn])} did not start")
        if turn + 1 < len(turns):
            following = start(given, *turns[turn + 1])
        output, _ = process.communicate("go\n")
        folder.cleanup()
        if process.returncode == 0:
            yield json.loads(output.splitlines()[-1])
        else:
            print(f"error: {' '.join(turns[turn])} failed", file=sys.stderr)


def table(results):
    """Rows of Markdown: medians over the repetitions."""
    yield "| model | | step, ms | first step, s | benchmarked | asked, padded | loss |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, way in dict.fromkeys((r["model"], r["way"]) for r in results):
        runs = [r for r in results if (r["model"], r["way"]) == (name, way)]
        ms, first, loss = (statistics.median(r[key] for r in runs) for key in ("ms", "first_s", "loss"))
        answers = runs[0]["answers"]
        said = f"{len(answers)}, {answers.count('pad')}" if answers else "–"
        spread = " ".join(f"{r['ms']:.2f}" for r in runs)
        yield f"| {name} | {WAYS[way]} | {ms:.2f} ({spread}) | {first:.1f} | {runs[0]['benchmarked']} | {said} | {loss:.4f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("artifact")
    parser.add_argument("--models", default=",".join(ARCHITECTURES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--json", help="also write each run's result to this file, one line each")
    parser.add_argument("--tiny", action="store_true", help="tiny models on the CPU, which pads nothing: tries the script")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given)
    results = []
    try:
        for result in run(given, given.models.split(",")):
            results.append(result)
            if given.json:
                with open(given.json, "a") as file:
                    print(json.dumps(result), file=file)
            print(f"{result['model']}, {WAYS[result['way']]}: {result['ms']:.2f} ms", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted: the table has the runs so far", file=sys.stderr)
    if not results:
        return 130
    print(f"{results[0]['device']}, PyTorch {results[0]['torch']}, {time.strftime('%Y-%m-%d')}")
    print("\n".join(table(results)))
    return None


if __name__ == "__main__":
    main()
