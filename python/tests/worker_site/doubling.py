"""A tuned kernel on the fake GPU: the best of three configurations depends on ``n``, and some misbehave."""

import os
import time

import triton
from fake_triton import Kernel, tensors
from sitecustomize import DEVICE
from triton.runtime.errors import OutOfResources

import autoheuristic

# Short, because a worker may not claim more time than passed.
FAKE = Kernel(DEVICE, {16: 0.005, 32: lambda a: 0.003 if a["n"] < 100 else 0.006, 64: 0.004, 128: 0.001})
BLOCKS = map(int, os.environ.get("BLOCKS", "16,32,64,128").split(","))
CONFIGS = [triton.Config({"BLOCK": block}) for block in BLOCKS]
FAKE.src += os.environ.get("BODY", "")
FAULT = os.environ.get("FAULT", "")
if FAULT == "wrong":
    FAKE.faults[128] = "wrong"
if FAULT == "hang":
    FAKE.ms[128] = lambda a: time.sleep(60)
if FAULT in ("memory", "held"):
    OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})
    FAKE.faults[128] = OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
if FAULT == "arguments":
    FAKE.faults = dict.fromkeys(FAKE.ms, TypeError("missing a required argument: 'm'"))
if FAULT == "remade":
    FAKE.faults[128] = AssertionError("is pruned")
if FAULT == "too large":
    FAKE.faults[128] = OutOfResources(300000, 232448, "shared memory")


def prune(configs, named, **kwargs):
    if FAULT == "remade":
        # As the attention of Triton's tutorial: new objects, one of them of no configuration.
        return [triton.Config({"BLOCK": block}) for block in (16, 32, 64, 8)]
    if FAULT == "pruner":
        return [c for c in configs if named["K"] > c.kwargs["BLOCK"]]
    return [c for c in configs if c.kwargs["BLOCK"] != 128] if FAULT == "pruned" else configs


kernel = autoheuristic.tune(CONFIGS, ["n"], prune_configs_by={"early_config_prune": prune}, fallback=CONFIGS[0])(FAKE)
bare = autoheuristic.tune(CONFIGS, ["n"])(FAKE)
featureless = autoheuristic.tune(CONFIGS, ["n"])(FAKE)
other = 5


@kernel.example
def example(n, x_dtype: str = "torch.float32", rows=1, note: str = ""):
    print("half a line of the example", end="")
    if n == 13 or FAULT == "example":
        raise ValueError(f"{n} is unlucky")
    if FAULT == "lost" and n == 77:
        FAKE.faults[32] = "lost"
    x, y = tensors()
    return (rows + 0,), (x, y, n if n != 14 else 15), {"m": 5}


@featureless.example
def nothing(size):
    return (1,), (*tensors(), size, 5)
