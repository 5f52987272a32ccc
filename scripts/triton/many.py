"""The float16 matrix product of `python/examples/matmul.py` with 640 configurations: those that fit an H100."""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "examples"))

import autoheuristic  # noqa: E402
import matmul  # noqa: E402
import triton  # noqa: E402

SHARED_MEMORY = 232448
TILES = [
    (m, n, warps)
    for m, n, warps in itertools.product((16, 32, 64, 128, 256), (32, 64, 128, 256), (4, 8))
    # Eight warps for larger tiles only, and no tile of 256 x 256.
    if (warps == 4 and m * n < 32768) or (warps == 8 and 4096 <= m * n <= 32768)
]
CONFIGS = [
    triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": group}, num_warps=warps, num_stages=stages)
    for (m, n, warps), k, stages, group in itertools.product(TILES, (32, 64, 128), (2, 3, 4, 5), (1, 8))
    if (m + n) * k * 2 * stages <= SHARED_MEMORY
]

matmul_kernel = autoheuristic.tune(CONFIGS, key=["M", "N", "K"], name="triton_mm_many", outputs=["c_ptr"])(
    matmul.matmul_kernel.fn
)


@matmul_kernel.example
def arguments(M, N, K):
    return matmul.arguments(M, N, K)
