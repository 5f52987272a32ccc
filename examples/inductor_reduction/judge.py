"""Judges the heuristic: python3 judge.py fresh.csv.gz others.csv.gz [--model]

Each table has fresh inputs that `measure.py` timed: PyTorch's rule, the heuristic, and always one way, beside the faster way of
each input. With `--model` two layers of a transformer are compiled with PyTorch's handler and with the heuristic's, and a training
step is timed.
"""

import argparse
import csv
import gzip
import math
import statistics
from collections import defaultdict

import reduction_way


def read(path):
    """The features of each input and the median milliseconds of its ways."""
    features, times = {}, defaultdict(lambda: defaultdict(list))
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at, way, ms = row.pop("id"), row.pop("way"), float(row.pop("ms"))
            features[at] = {name: value if name in ("hint", "program") else int(value) for name, value in row.items()}
            times[at][way].append(ms)
    return [(features[at], {way: statistics.median(ms) for way, ms in of.items()}) for at, of in times.items()]


def judge(path):
    inputs = read(path)

    def learned(context, ms):
        way = reduction_way.choose(**{name: context[name] for name in reduction_way.FEATURES})
        return ms[way or "today"]

    sides = {
        "PyTorch's rule": lambda context, ms: ms["today"],
        "the heuristic": learned,
        "always loop": lambda context, ms: ms["loop"],
        "always persistent": lambda context, ms: ms["persistent"],
    }
    least = [min(ms.values()) for _, ms in inputs]
    print(f"{path}: {len(inputs)} inputs")
    print(f"{'':20}total, of least   geometric mean   worst   > 5 % slower than PyTorch   slowest beside PyTorch")
    for name, side in sides.items():
        taken = [side(*of) for of in inputs]
        ratio = [ms / best for ms, best in zip(taken, least)]
        beside = [ms / of["today"] for ms, (_, of) in zip(taken, inputs)]
        mean = math.exp(statistics.fmean(map(math.log, ratio)))
        slower = sum(b > 1.05 for b in beside) / len(beside)
        print(f"  {name:20}{sum(taken) / sum(least):13.3f}{mean:17.3f}{max(ratio):8.2f}{slower:28.1%}{max(beside):24.2f}")


def layer(width, hidden, torch, F):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(width) for _ in range(2))
            self.qkv, self.out = torch.nn.Linear(width, 3 * width, bias=False), torch.nn.Linear(width, width, bias=False)
            self.up, self.gate = (torch.nn.Linear(width, hidden, bias=False) for _ in range(2))
            self.down = torch.nn.Linear(hidden, width, bias=False)

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = self.qkv(self.norms[0](x)).view(batch, length, 3, -1, 128).permute(2, 0, 3, 1, 4)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
            y = self.norms[1](x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    return Layer()


def model():
    """Times a training step of a model of two layers, with either handler in turns."""
    import torch
    from choices import Learned, context
    from torch._inductor import config
    from torch._inductor.choices import InductorChoices
    from torch._inductor.virtualized import V
    from torch.nn import functional as F

    config.force_disable_caches = True
    for width, vocabulary, tokens in ((4096, 32000, (2, 2048)), (1536, 50304, (8, 1024))):
        torch.manual_seed(0)
        blocks = [layer(width, 11 * width // 4, torch, F) for _ in range(2)]
        layers = torch.nn.Sequential(*blocks, torch.nn.RMSNorm(width), torch.nn.Linear(width, vocabulary, bias=False))
        layers = layers.to("cuda", torch.bfloat16)
        x = torch.randn(*tokens, width, device="cuda", dtype=torch.bfloat16)
        target = torch.randint(vocabulary, (tokens[0] * tokens[1],), device="cuda")
        steps, asked = {}, {}
        for name, handler in (("PyTorch's rule", InductorChoices), ("the heuristic", Learned)):
            found = asked[name] = []

            class Noted(handler):
                @staticmethod
                def should_use_persistent_reduction(features, cooperative, handler=handler, found=found):
                    answer = handler.should_use_persistent_reduction(features, cooperative)
                    found.append((tuple((context(features) or {}).items()), answer))
                    return answer

            torch._dynamo.reset()
            V.set_choices_handler(Noted())

            def loss(x, layers=layers, target=target):
                return F.cross_entropy(layers(x).flatten(0, 1).float(), target)

            compiled = torch.compile(loss)

            def step(compiled=compiled, layers=layers, x=x):
                layers.zero_grad()
                compiled(x).backward()

            for _ in range(3):
                step()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            steps[name] = graph
        times = {name: [] for name in steps}
        for turn in range(30):
            for name in sorted(steps, reverse=turn % 2):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                steps[name].replay()
                end.record()
                torch.cuda.synchronize()
                times[name].append(start.elapsed_time(end))
        ours, rule = dict(asked["the heuristic"]), dict(asked["PyTorch's rule"])
        changed = sum(ours[kernel] != rule[kernel] for kernel in ours if kernel in rule)
        ms = {name: statistics.median(of) for name, of in times.items()}
        print(f"two layers of {width}, {vocabulary} words, {tokens} tokens: {ms}, {len(ours)} kernels asked for, {changed} changed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--model", action="store_true")
    options = parser.parse_args()
    for path in options.tables:
        judge(path)
    if options.model:
        model()
