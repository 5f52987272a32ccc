"""A float16 matrix product whose parts of K are added in a fixed order: configurations with as many parts have equal bits.

The last program of a tile adds the parts of all, the first one first. A part is a multiple of 128 of K, so its bits do not depend on BLOCK_K.

autoheuristic tune scripts/triton/split_k.py:product --inputs shapes.csv --same-bits --invariant M
"""

import autoheuristic
import torch
import triton
import triton.language as tl

TILES = {
    1: [(128, 256, 64), (128, 128, 64), (64, 128, 64), (64, 64, 64), (32, 64, 128), (16, 64, 128), (16, 128, 128)],
    2: [(128, 128, 64), (64, 64, 64), (16, 64, 128), (16, 128, 128)],
    4: [(128, 128, 64), (64, 64, 64), (16, 64, 128), (16, 128, 128)],
    8: [(64, 64, 64), (16, 64, 128), (16, 32, 128)],
}
CONFIGS = [
    triton.Config(
        {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SPLIT_K": parts},
        num_warps=8 if n == 256 else 4,
        num_stages=3 if n == 256 else 4,
    )
    for parts, tiles in TILES.items()
    for m, n, k in tiles
]


@autoheuristic.tune(CONFIGS, key=["M", "N", "K"], name="split_k", outputs=["c"])
@triton.jit(do_not_specialize=["M"])  # A batch of 1 would be a constant, which has no type.
def product(
    a, b, c, sums, arrived, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr, GROUP_M: tl.constexpr = 8,
):  # fmt: skip
    pid, part = tl.program_id(0), tl.program_id(1)
    blocks_m, blocks_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * blocks_n
    first_m = pid // in_group * GROUP_M
    group_m = min(blocks_m - first_m, GROUP_M)
    rows = (first_m + pid % in_group % group_m) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (pid % in_group // group_m) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    span = tl.cdiv(K, 128 * SPLIT_K) * 128
    begin = part * span
    end = min(K, begin + span)
    a_ptrs = a + (rows % M)[:, None] * K + (begin + depth)[None, :]
    b_ptrs = b + (begin + depth)[:, None] * N + (columns % N)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(begin, end, BLOCK_K):
        x = tl.load(a_ptrs, mask=depth[None, :] < end - k, other=0.0)
        y = tl.load(b_ptrs, mask=depth[:, None] < end - k, other=0.0)
        total = tl.dot(x, y, total)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    place = rows.to(tl.int64)[:, None] * N + columns[None, :]
    if SPLIT_K == 1:
        tl.store(c + place, total.to(tl.float16), mask=inside)
    else:
        size = M.to(tl.int64) * N
        tl.store(sums + part * size + place, total, mask=inside)
        tl.debug_barrier()
        if tl.atomic_add(arrived + pid, 1, sem="acq_rel", scope="gpu") == SPLIT_K - 1:
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for i in range(SPLIT_K):
                total += tl.load(sums + i * size + place, mask=inside, other=0.0, cache_modifier=".cg")
            tl.store(c + place, total.to(tl.float16), mask=inside)
            tl.store(arrived + pid, 0)


@product.example
def arguments(M, N, K):
    a, b = (torch.randn(size, device="cuda", dtype=torch.float16) for size in ((M, K), (K, N)))
    c = torch.empty((M, N), device="cuda", dtype=torch.float16)
    sums = torch.empty((max(TILES), M, N), device="cuda")
    arrived = torch.zeros(triton.cdiv(M, 16) * triton.cdiv(N, 32), device="cuda", dtype=torch.int32)
    return grid(M, N), (a, b, c, sums, arrived, M, N, K)


def grid(M, N):
    return lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), meta["SPLIT_K"])
