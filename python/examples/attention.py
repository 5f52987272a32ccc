"""Attention, forward, in float16: softmax(Q K^T) V for each head, in one kernel.

autoheuristic tune python/examples/attention.py:attention_kernel --inputs shapes.csv --max-seconds 60
"""

import torch
import triton
import triton.language as tl
from matmul import DEVICE, size

import autoheuristic

CONFIGS = [
    triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_warps=warps, num_stages=stages)
    for m, n, warps, stages in [
        (128, 128, 8, 2),
        (128, 64, 8, 3),
        (128, 64, 4, 3),
        (128, 32, 4, 4),
        (64, 128, 4, 2),
        (64, 64, 4, 3),
        (64, 32, 4, 4),
        (64, 64, 8, 2),
        (32, 64, 4, 3),
        (32, 32, 2, 4),
        (16, 64, 4, 3),
        (16, 128, 4, 2),
    ]
]
LOG2_E = 1.4426950408889634


# heads and n are not specialised on: 48 kernels to compile instead of 192.
@autoheuristic.tune(
    CONFIGS,
    key=["heads", "n", "D", "CAUSAL"],
    name="triton_attention",
    outputs=["o_ptr"],
)
@triton.jit(do_not_specialize=["heads", "n"])
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, heads, n, D: tl.constexpr, CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n, offs_d = tl.arange(0, BLOCK_N), tl.arange(0, D)
    head = tl.program_id(1).to(tl.int64) * n * D
    rows = head + offs_m[:, None] * D + offs_d[None, :]
    q = tl.load(q_ptr + rows, mask=offs_m[:, None] < n, other=0.0)
    largest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    accumulator = tl.zeros((BLOCK_M, D), tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BLOCK_M, n) if CAUSAL else n
    for begin in range(0, end, BLOCK_N):
        at = begin + offs_n
        k = tl.load(k_ptr + head + at[None, :] * D + offs_d[:, None], mask=at[None, :] < n, other=0.0)
        scores = tl.dot(q, k) * scale
        allowed = at[None, :] < n
        if CAUSAL:
            allowed = allowed & (offs_m[:, None] >= at[None, :])
        scores = tl.where(allowed, scores, -1e30)
        new = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(largest - new)
        total = total * shrink + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + head + at[:, None] * D + offs_d[None, :], mask=at[:, None] < n, other=0.0)
        accumulator = tl.dot(weights.to(tl.float16), v, accumulator * shrink[:, None])
        largest = new
    tl.store(o_ptr + rows, (accumulator / total[:, None]).to(tl.float16), mask=offs_m[:, None] < n)


def grid(heads, n):
    return lambda meta: (triton.cdiv(n, meta["BLOCK_M"]), heads)


def attention(q, k, v, causal, kernel=attention_kernel):
    """The attention of contiguous float16 tensors of the shape (heads, n, 64 or 128)."""
    heads, n, depth = q.shape
    o = torch.empty_like(q)
    kernel[grid(heads, n)](q, k, v, o, depth**-0.5 * LOG2_E, heads, n, depth, causal)
    return o


@attention_kernel.example
def arguments(heads, n, D, CAUSAL: bool):
    q, k, v = (torch.randn((heads, n, D), device=DEVICE, dtype=torch.float16) for _ in range(3))
    return grid(heads, n), (q, k, v, torch.empty_like(q), D**-0.5 * LOG2_E, heads, n, D, CAUSAL)


def draw(rng):
    """Draws an input: 2 to 256 heads, 16 to 8192 positions, of bounded work."""
    while True:
        row = {"heads": size(rng, 2, 256), "n": size(rng, 16, 8192)}
        row |= {"D": rng.choice([64, 128]), "CAUSAL": rng.choice([True, False])}
        if row["heads"] * row["n"] ** 2 * row["D"] <= 2**36:
            return row


def reference(arguments):
    """The output and what it should be."""
    q, k, v, o = arguments[:4]
    causal = arguments[8]
    return o, torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
