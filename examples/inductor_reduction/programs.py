"""Programs with one reduction kernel each, as PyTorch's users write them, and how their inputs are drawn.

A program gets tensors of the shape (rows, length), or (batch, length, columns) where the reduced dimension is not the last one.
"""

import math
import random
from typing import Callable, NamedTuple

import torch
from torch.nn import functional as F


class Program(NamedTuple):
    run: Callable
    tensors: int = 1
    """How many tensors of the whole shape it gets."""
    weights: int = 0
    """How many vectors of the reduced length it gets after them."""
    inner: bool = True
    """Whether the last dimension is reduced."""


def _quantize(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    return (x / scale).round().to(torch.int8), scale


def _rms_norm(x, weight):
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight


def _rms_norm_backward(grad, x, weight):
    x32, g32 = x.float(), (grad * weight).float()
    scale = torch.rsqrt(x32.square().mean(-1, keepdim=True) + 1e-6)
    return (scale * (g32 - x32 * scale.square() * (g32 * x32).mean(-1, keepdim=True))).to(x.dtype)


def _layer_norm_backward(grad, x, weight):
    x32, g32 = x.float(), (grad * weight).float()
    variance, mean = torch.var_mean(x32, -1, correction=0, keepdim=True)
    normal = (x32 - mean) * torch.rsqrt(variance + 1e-5)
    centred = g32 - g32.mean(-1, keepdim=True) - normal * (g32 * normal).mean(-1, keepdim=True)
    return (torch.rsqrt(variance + 1e-5) * centred).to(x.dtype)


PROGRAMS = {
    "softmax": Program(lambda x: torch.softmax(x, -1)),
    "log_softmax": Program(lambda x: torch.log_softmax(x, -1)),
    "logsumexp": Program(lambda x: torch.logsumexp(x.float(), -1)),
    "sum_of_squares": Program(lambda x: x.float().square().sum(-1)),
    "amax": Program(lambda x: x.amax(-1)),
    "rms_norm": Program(_rms_norm, weights=1),
    "layer_norm": Program(lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), weights=2),
    "layer_norm_gelu": Program(lambda x, w, b: F.gelu(F.layer_norm(x, x.shape[-1:], w, b)), weights=2),
    "softmax_backward": Program(lambda grad, y: grad * y - y * (grad * y).sum(-1, keepdim=True), tensors=2),
    "rms_norm_backward": Program(_rms_norm_backward, tensors=2, weights=1),
    "layer_norm_backward": Program(_layer_norm_backward, tensors=2, weights=1),
    "masked_softmax": Program(lambda x, mask: torch.softmax(x * 0.125 + torch.where(mask > 0, 0.0, -1e4), -1), tensors=2),
    "quantize": Program(_quantize),
    "outer_softmax": Program(lambda x: torch.softmax(x, 1), inner=False),
    "outer_mean": Program(lambda x: x.float().mean(1), inner=False),
    "outer_var": Program(lambda x: x.float().var(1), inner=False),
}
"""What is learned from."""

OTHER_PROGRAMS = {
    "add_rms_norm": Program(lambda x, residual, w: (_rms_norm(x + residual, w), x + residual), tensors=2, weights=1),
    "normalize": Program(lambda x: F.normalize(x.float(), dim=-1).to(x.dtype)),
    "gated_rms_norm": Program(lambda x, gate, w: _rms_norm(x * F.silu(gate), w), tensors=2, weights=1),
    "entropy": Program(lambda x: -(torch.softmax(x.float(), -1) * torch.log_softmax(x.float(), -1)).sum(-1)),
    "cosine": Program(lambda x, y: F.cosine_similarity(x.float(), y.float(), dim=-1), tensors=2),
    "outer_log_softmax": Program(lambda x: torch.log_softmax(x, 1), inner=False),
}
"""What only judges: none of them is learned from."""

LARGEST = {True: 32768, False: 1024}
"""The longest reduction that a persistent kernel is tried on, where the last dimension is reduced and where another one is."""


class Input(NamedTuple):
    name: str
    program: Program
    shape: tuple
    dtype: torch.dtype

    def tensors(self):
        """The arguments of the program on the GPU."""
        length = self.shape[-1 if self.program.inner else 1]
        whole = [torch.randn(self.shape, device="cuda", dtype=self.dtype) for _ in range(self.program.tensors)]
        return whole + [torch.randn(length, device="cuda", dtype=self.dtype) for _ in range(self.program.weights)]


def draw(programs: dict[str, Program], seed: int, at: int) -> Input:
    """Draws the `at`-th input: each octave of the length and of all elements is as likely as any other, half of the lengths are round."""
    rng = random.Random(f"{seed} {at}")
    name = rng.choice(sorted(programs))
    program = programs[name]
    length = round(2 ** rng.uniform(5, math.log2(LARGEST[program.inner])))
    if rng.random() < 0.5:
        unit = 2 ** max(4, int(math.log2(length)) - 3)
        length = max(unit, length // unit * unit)
    elements = 2 ** rng.uniform(14, 26.5)
    dtype = rng.choice([torch.bfloat16, torch.bfloat16, torch.float16, torch.float32])
    others = max(8, round(elements / length))
    if program.inner:
        return Input(name, program, (others, length), dtype)
    columns = min(others, round(2 ** rng.uniform(3, 12)))
    return Input(name, program, (max(1, others // columns), length, columns), dtype)
