"""A float16 matrix product with 18 configurations, from a decoding step's sizes to a training step's.

autoheuristic tune python/examples/matmul.py:matmul_kernel --inputs shapes.csv --max-seconds 300
"""

import torch
import triton
import triton.language as tl

import autoheuristic

CONFIGS = [
    triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=warps, num_stages=stages)
    for m, n, k, warps, stages in [
        (128, 256, 64, 8, 3),
        (64, 256, 32, 4, 4),
        (128, 128, 32, 4, 4),
        (128, 64, 32, 4, 4),
        (64, 128, 32, 4, 4),
        (128, 32, 32, 4, 4),
        (64, 32, 32, 2, 5),
        (32, 64, 32, 2, 5),
        (128, 128, 64, 8, 3),
        (128, 128, 64, 4, 4),
        (64, 64, 64, 4, 4),
        (64, 128, 64, 4, 4),
        (32, 128, 64, 4, 4),
        (16, 128, 128, 4, 4),
        (16, 64, 128, 4, 5),
        (16, 256, 64, 4, 4),
        (256, 128, 64, 8, 3),
        (64, 256, 64, 8, 3),
    ]
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # With TRITON_INTERPRET=1, a CPU will do.


@autoheuristic.tune(CONFIGS, key=["M", "N", "K"], name="matmul", outputs=["c_ptr"])
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr = 8,
):  # fmt: skip
    # Programs of GROUP_M rows of blocks run one after the other, so that they share columns of B in the L2.
    pid = tl.program_id(0)
    blocks_m, blocks_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * blocks_n
    first_m = pid // in_group * GROUP_M
    group_m = min(blocks_m - first_m, GROUP_M)
    pid_m = first_m + pid % in_group % group_m
    pid_n = pid % in_group // group_m

    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + offs_cm[:, None] * stride_cm + offs_cn[None, :] * stride_cn
    tl.store(c_ptrs, accumulator.to(tl.float16), mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def grid(M, N):
    return lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)


def matmul(a, b, kernel=matmul_kernel):
    """The product of two float16 matrices."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    kernel[grid(M, N)](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    return c


@matmul_kernel.example
def arguments(M, N, K):
    a, b = (torch.randn(size, device=DEVICE, dtype=torch.float16) for size in ((M, K), (K, N)))
    c = torch.empty((M, N), device=DEVICE, dtype=torch.float16)
    return grid(M, N), (a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())


def draw(rng):
    """Draws an input: sizes from 16 to 8192, logarithmically, half of them multiples of 16."""
    return {name: size(rng, 16, 8192) for name in "MNK"}


def size(rng, least, most):
    drawn = round(least * (most / least) ** rng.random())
    return max(drawn // 16, 1) * 16 if rng.random() < 0.5 else drawn


def reference(arguments):
    """The output and what it should be."""
    a, b, c = arguments[:3]
    return c, a @ b
