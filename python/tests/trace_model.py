"""Traces a function that calls a tuned kernel with torch.compile's front end; nothing runs on a device.

Run by test_torch_compile.py in a process of its own, with the real PyTorch and Triton. Prints, for each graph, the
configurations that reach the back end.
"""

import sys

import fake_device
import torch
import torch._dynamo.variables.builder
import torch._higher_order_ops.triton_kernel_wrap as wrap
import torch.utils._triton
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

import autoheuristic
import autoheuristic.device


class Device(fake_device.Device):
    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr, FACTOR: tl.constexpr = 2):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * FACTOR, mask=at < n)


def main(file):
    driver.set_active(Device())
    # Without a GPU, PyTorch holds Triton to be absent.
    torch.utils._triton.has_triton_package = torch.utils._triton.has_triton = lambda **options: True
    autoheuristic.device.current = lambda: fake_device.IDENTITY
    configs = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]
    kernel = autoheuristic.tune(configs, ["n"], heuristic=file, strict=True)(double)

    def model(x):
        y = torch.empty_like(x)
        kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
        return y + 1

    def backend(graph, inputs):
        for node in graph.graph.nodes:
            if "triton" in str(node.target):
                reached = wrap.kernel_side_table.get_kernel(node.kwargs["kernel_idx"])
                # Inductor compiles only kernels whose every parameter has a value.
                assert [config.kwargs["FACTOR"] for config in reached.configs] == [2], reached.configs
                print("graph", [config.kwargs["BLOCK"] for config in reached.configs], flush=True)
        return lambda *inputs: [torch.zeros(1)]

    def sets_the_default(x):
        y = torch.empty_like(x)
        kernel[(1,)](x, y, x.numel(), FACTOR=3)
        return y

    try:
        torch.compile(sets_the_default, backend=backend, fullgraph=True)(torch.randn(10))
    except Exception as error:
        assert "set FACTOR in the configurations" in str(error), error
    else:
        raise AssertionError("torch.compile would run the kernel with FACTOR=2")

    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=backend, fullgraph=True, dynamic=dynamic)
        for size in (10, 20, 500, 400, 5000, 30):
            print("dynamic" if dynamic else "static", size, flush=True)
            compiled(torch.randn(size))


if __name__ == "__main__":
    main(sys.argv[1])
