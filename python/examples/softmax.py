"""The softmax of each row of a float16 matrix: a kernel that the memory bounds.

autoheuristic tune python/examples/softmax.py:softmax_kernel --inputs shapes.csv --max-seconds 60
"""

import torch
import triton
import triton.language as tl
from matmul import DEVICE, size

import autoheuristic

CONFIGS = [
    triton.Config({"ROWS": rows, "BLOCK": block}, num_warps=warps, num_stages=2)
    for rows, block, warps in [
        (1, 512, 2),
        (1, 1024, 4),
        (1, 2048, 4),
        (1, 2048, 8),
        (1, 4096, 8),
        (1, 4096, 16),
        (1, 8192, 8),
        (1, 8192, 16),
        (1, 16384, 16),
        (1, 16384, 32),
        (2, 512, 4),
        (4, 256, 4),
        (4, 1024, 8),
        (8, 128, 4),
        (16, 64, 4),
        (32, 32, 4),
    ]
]


@autoheuristic.tune(
    CONFIGS,
    key=["rows", "columns"],
    name="triton_softmax",
    outputs=["y_ptr"],
)
@triton.jit
def softmax_kernel(x_ptr, y_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    block = tl.arange(0, BLOCK)[None, :]
    x_ptrs, y_ptrs = x_ptr + row * columns + block, y_ptr + row * columns + block
    in_rows = row < rows
    if columns <= BLOCK:  # The rows fit into registers: read once.
        x = tl.load(x_ptrs, mask=in_rows & (block < columns), other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=1, keep_dims=True))
        y = e / tl.sum(e, axis=1, keep_dims=True)
        tl.store(y_ptrs, y.to(tl.float16), mask=in_rows & (block < columns))
    else:
        largest = tl.full((ROWS, 1), -float("inf"), tl.float32)
        total = tl.zeros((ROWS, 1), tl.float32)
        for begin in range(0, columns, BLOCK):
            mask = in_rows & (block < columns - begin)
            x = tl.load(x_ptrs + begin, mask=mask, other=-float("inf")).to(tl.float32)
            new = tl.maximum(largest, tl.max(x, axis=1, keep_dims=True))
            total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new), axis=1, keep_dims=True)
            largest = new
        for begin in range(0, columns, BLOCK):
            mask = in_rows & (block < columns - begin)
            x = tl.load(x_ptrs + begin, mask=mask, other=-float("inf")).to(tl.float32)
            tl.store(y_ptrs + begin, (tl.exp(x - largest) / total).to(tl.float16), mask=mask)


def grid(rows):
    return lambda meta: (triton.cdiv(rows, meta["ROWS"]),)


def softmax(x, kernel=softmax_kernel):
    """The softmax of each row of a contiguous float16 matrix."""
    rows, columns = x.shape
    y = torch.empty_like(x)
    kernel[grid(rows)](x, y, rows, columns)
    return y


@softmax_kernel.example
def arguments(rows, columns):
    x = torch.randn((rows, columns), device=DEVICE, dtype=torch.float16)
    return grid(rows), (x, torch.empty_like(x), rows, columns)


def draw(rng):
    """Draws an input: 2 to 65536 rows of 16 to 65536 columns, at most 2 ** 27 elements."""
    while True:
        row = {"rows": size(rng, 2, 65536), "columns": size(rng, 16, 65536)}
        if row["rows"] * row["columns"] <= 2**27:
            return row


def reference(arguments):
    """The output and what it should be."""
    x, y = arguments[:2]
    return y, torch.softmax(x, dim=1)
