"""What the comparison of `attach` runs: operations of seven packages, with shapes to learn from and unseen ones.

Each workload makes the arguments of one shape and returns a function that runs the operation on them.
"""

import gc
import random
from dataclasses import dataclass, field
from typing import Any, Callable

Shape = dict[str, int]
MOST_ELEMENTS = 1 << 25


@dataclass
class Workload:
    """One operation of a package."""

    package: str
    make: Callable[..., Callable[[], Any]]
    """The function that runs the operation on a shape's arguments."""
    first: list[Shape]
    """The shapes of a fresh process, in this order."""
    draw: Callable[[random.Random, int], Shape]
    """Draws the i-th shape."""
    variables: dict[str, str] = field(default_factory=dict)
    """The environment of the package."""
    collecting: float = 12.0
    """Seconds of collecting."""
    steady: float = 30.0
    """Seconds of the comparison on unseen shapes, less what is begun before."""
    forget: Callable[[], None] = lambda: None
    """Forgets what the package itself keeps above its autotuners, so that they are asked again."""

    def learned(self):
        """The shapes to learn from, without end."""
        rng, i = random.Random(1), 0
        while True:
            yield self.draw(rng, i)
            i += 1

    def unseen(self, count: int) -> list[Shape]:
        """Shapes that are not among the first thousand to learn from, in the same order of kinds."""
        shapes = self.learned()
        known = [next(shapes) for _ in range(1000)]
        rng, found = random.Random(2), []
        while len(found) < count:
            shape = self.draw(rng, len(found))
            if shape not in known and shape not in found:
                found.append(shape)
        return found


# flash-linear-attention: heads and width are compile-time parameters, so a new number compiles everything again. A
# heuristic needs ten inputs, so the first fourteen have four heads, which is compiled once.
HEADS, WIDTH = [8, 16, 4], 64


def attention_shape(rng: random.Random, i: int) -> Shape:
    """Draws batch and length; the number of heads goes with the place."""
    heads, width = 4 if i < 14 else HEADS[(i - 14) // 4 % len(HEADS)], WIDTH
    while True:
        batch, length = rng.choice([1, 1, 2, 3, 4, 6, 8]), round(2 ** rng.uniform(8.0, 13.5))
        if rng.random() < 0.6:
            length = length // 64 * 64
        if batch * length * heads * width <= MOST_ELEMENTS:
            return {"batch": batch, "length": length, "heads": heads, "width": width}


ATTENTION_FIRST = [
    {"batch": 1, "length": 2048, "heads": 4, "width": 64},
    {"batch": 2, "length": 2048, "heads": 8, "width": 64},
    {"batch": 1, "length": 4096, "heads": 4, "width": 64},
    {"batch": 4, "length": 1000, "heads": 4, "width": 64},
    {"batch": 3, "length": 3000, "heads": 8, "width": 64},
]


def chunk_gla(batch, length, heads, width):
    import torch
    from fla.ops.gla import chunk_gla as op

    q, k, v = (_leaf(batch, length, heads, width) for _ in range(3))
    g = torch.nn.functional.logsigmoid(_leaf(batch, length, heads, width)).detach().requires_grad_()
    out = torch.randn_like(v)
    return lambda: torch.autograd.grad(op(q, k, v, g)[0], (q, k, v, g), out)


def chunk_delta_rule(batch, length, heads, width):
    import torch
    from fla.ops.delta_rule import chunk_delta_rule as op

    q, v = _leaf(batch, length, heads, width), _leaf(batch, length, heads, width)
    k = torch.nn.functional.normalize(_leaf(batch, length, heads, width), dim=-1).detach().requires_grad_()
    beta = _leaf(batch, length, heads).sigmoid().detach().requires_grad_()
    out = torch.randn_like(v)
    return lambda: torch.autograd.grad(op(q, k, v, beta)[0], (q, k, v, beta), out)


def liger_dyt(rows, columns):
    import torch
    from liger_kernel.ops.dyt import LigerDyTFunction

    x, out = _leaf(rows, columns), _leaf(rows, columns).detach()
    alpha, gamma, beta = (torch.rand(n, device="cuda", requires_grad=True) for n in (1, columns, columns))
    return lambda: torch.autograd.grad(LigerDyTFunction.apply(x, alpha, gamma, beta), (x, gamma, beta), out)


def cross_entropy(tokens, width, vocabulary):
    import torch
    from cut_cross_entropy import linear_cross_entropy

    e, c = _leaf(tokens, width), _leaf(vocabulary, width)
    targets = torch.randint(0, vocabulary, (tokens,), device="cuda")
    return lambda: torch.autograd.grad(linear_cross_entropy(e, c, targets), (e, c))


def int8_mm(m, n, k):
    import torch
    from torchao.prototype.quantized_training.int8_mm import scaled_int8_mm

    a = torch.randint(-128, 127, (m, k), device="cuda", dtype=torch.int8)
    b = torch.randint(-128, 127, (n, k), device="cuda", dtype=torch.int8).t()
    rows, columns = (torch.rand(size, device="cuda", dtype=torch.bfloat16) for size in (m, n))
    return lambda: scaled_int8_mm(a, b, rows, columns)


def fp8_quantization(m, n, k):
    import torch
    from torchao.prototype.blockwise_fp8_training import kernels

    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    return lambda: (
        kernels.triton_fp8_blockwise_act_quant_lhs(x),
        kernels.triton_fp8_blockwise_act_quant_rhs(x),
        kernels.triton_fp8_blockwise_act_quant_transposed_lhs(x),
        kernels.triton_fp8_blockwise_weight_quant_rhs(weight),
        kernels.triton_fp8_blockwise_weight_quant_transposed_rhs(weight),
    )


def flag_gems_ops(m, n, k):
    import flag_gems
    import torch

    a, b = (torch.randn(*size, device="cuda", dtype=torch.float16) for size in ((m, k), (k, n)))
    bias, vector = (torch.randn(size, device="cuda", dtype=torch.float16) for size in (n, k))
    return lambda: (
        flag_gems.mm(a, b),
        flag_gems.addmm(bias, a, b),
        flag_gems.mv(a, vector),
        flag_gems.log_softmax(a, -1),
        flag_gems.vector_norm(a, 2, [-1]),
    )


def swiglu(batch, length, width):
    import torch
    from flash_swiglu_mlp import FlashSwiGLUMLP

    mlp = FlashSwiGLUMLP(width, 11 * width // 4, device="cuda", dtype=torch.bfloat16)
    x = _leaf(batch, length, width)
    out = torch.randn_like(x)
    return lambda: torch.autograd.grad(mlp(x), x, out)


def maxsim(queries, query_length, documents, document_length):
    import torch
    from late_interaction_kernels import maxsim as op

    q, d = _leaf(queries, query_length, 128).detach(), _leaf(documents, document_length, 128).detach()
    return lambda: op(q, d)


def forget_flag_gems():
    """Empties the kernels' own tables of launches, which `libentry` keeps above the autotuners."""
    from flag_gems.utils.libentry import LibEntry

    for entry in (found for found in gc.get_objects() if type(found) is LibEntry):
        for launches in entry.kernel_cache:
            launches.clear()


def product_shape(rng: random.Random, i: int) -> Shape:
    """Draws the sizes of a product."""
    m, n, k = (rng.choice([128, 256, 512, 768, 1024, 2048, 3072, 4096]) for _ in range(3))
    return {"m": m * rng.choice([1, 1, 2, 3]), "n": n, "k": k}


def _sizes(**choices):
    return lambda rng, i: {name: rng.choice(values) for name, values in choices.items()}


PRODUCT_FIRST = [{"m": 1024, "n": 1024, "k": 1024}, {"m": 6144, "n": 4096, "k": 768}, {"m": 256, "n": 512, "k": 4096}]
ROWS = [24 * i for i in range(4, 600)]
WORKLOADS = {
    "chunk_gla": Workload("fla", chunk_gla, ATTENTION_FIRST, attention_shape, collecting=240.0, steady=150.0),
    "chunk_delta_rule": Workload(
        "fla", chunk_delta_rule, ATTENTION_FIRST, attention_shape, collecting=120.0, steady=110.0
    ),
    "liger dyt": Workload(
        "liger_kernel",
        liger_dyt,
        [{"rows": 2048, "columns": 4096}, {"rows": 4096, "columns": 4096}, {"rows": 1000, "columns": 1024}],
        _sizes(rows=ROWS, columns=[512, 1024, 2048, 4096, 8192]),
    ),
    "cut_cross_entropy": Workload(
        "cut_cross_entropy",
        cross_entropy,
        [{"tokens": t, "width": 1024, "vocabulary": 32000} for t in (4096, 1000, 8192)],
        _sizes(tokens=ROWS, width=[512, 1024, 2048], vocabulary=[32000, 50304]),
        {"CCE_AUTOTUNE": "1"},
    ),
    "torchao int8 mm": Workload("torchao", int8_mm, PRODUCT_FIRST, product_shape),
    "torchao fp8 quantization": Workload("torchao", fp8_quantization, PRODUCT_FIRST, product_shape),
    # Through tensor descriptors.
    "swiglu": Workload(
        "flash_swiglu_mlp",
        swiglu,
        [{"batch": b, "length": n, "width": 1024} for b, n in ((1, 2048), (4, 512), (2, 777))],
        _sizes(batch=[1, 2, 3, 4, 6, 8], length=range(40, 2600, 8), width=[1024]),
    ),
    "maxsim": Workload(
        "late_interaction_kernels",
        maxsim,
        [
            {"queries": q, "query_length": 32, "documents": d, "document_length": n}
            for q, d, n in ((16, 1000, 180), (1, 5000, 256), (64, 200, 300))
        ],
        _sizes(
            queries=[1, 4, 16, 64],
            query_length=[32],
            documents=[16, 100, 500, 1000, 4000],
            document_length=range(64, 520, 4),
        ),
    ),
    "flag_gems": Workload(
        "flag_gems",
        flag_gems_ops,
        PRODUCT_FIRST,
        product_shape,
        collecting=75.0,
        steady=260.0,
        forget=forget_flag_gems,
    ),
}
SECTIONS = {
    "all": list(WORKLOADS),
    "fla": [name for name, workload in WORKLOADS.items() if workload.package == "fla"],
    "others": [name for name, workload in WORKLOADS.items() if workload.package != "fla"],
}


def _leaf(*shape):
    import torch

    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).requires_grad_()
