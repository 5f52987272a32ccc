"""The parts of Triton 3.6 that the package touches, for machines without it.

``AUTOHEURISTIC_TEST_TRITON=1`` runs the same tests on the classes of the Triton that is installed; the device
stays fake.
"""

from __future__ import annotations

import os
import sys
import types

import fake_device


class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas = kwargs, num_warps, num_stages, num_ctas
        self.maxnreg, self.pre_hook, self.ir_override = maxnreg, pre_hook, ir_override

    def all_kwargs(self):
        options = ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")
        return {**self.kwargs, **{o: getattr(self, o) for o in options if getattr(self, o) is not None}}


class Autotuner:
    """The parts of Triton's class that the package calls."""

    def __init__(
        self,
        fn,
        arg_names,
        configs,
        key,
        reset_to_zero,
        restore_value,
        pre_hook=None,
        post_hook=None,
        prune_configs_by=None,
        warmup=None,
        rep=None,
        use_cuda_graph=False,
        do_bench=None,
        cache_results=False,
    ):
        self.configs = configs or [Config({})]
        self.keys, self.cache, self.arg_names, self.cache_results = key, {}, arg_names, cache_results
        self.reset_to_zero, self.restore_value = list(reset_to_zero or []), list(restore_value or [])
        self.pre_hook = pre_hook or self._prepare
        self.post_hook = post_hook or self._restore
        prune = prune_configs_by or {}
        self.early_config_prune = prune.get("early_config_prune")
        self.perf_model = prune.get("perf_model")
        self.configs_top_k = prune.get("top_k", 1.0)
        self.fn = self.base_fn = fn
        while not isinstance(self.base_fn, types.FunctionType):
            self.base_fn = self.base_fn.fn
        self._do_bench = do_bench

    def _prepare(self, kwargs, reset_only=False):
        for name in self.reset_to_zero:
            kwargs[name].zero_()
        self.copies = {name: kwargs[name].clone() for name in self.restore_value}

    def _restore(self, kwargs, exception):
        for name in self.restore_value:
            kwargs[name].copy_(self.copies[name])

    def prune_configs(self, kwargs):
        configs = self.configs
        if self.early_config_prune:
            configs = self.early_config_prune(configs, self.nargs, **kwargs)
        if self.perf_model:
            kept = int(len(self.configs) * self.configs_top_k)
            configs = sorted(configs, key=lambda c: self.perf_model(**self.nargs, **kwargs, **c.all_kwargs()))[:kept]
        return configs

    def _bench(self, *args, config, **meta):
        def kernel_call():
            self.fn.run(*args, **meta, **config.all_kwargs())

        try:
            return self._do_bench(kernel_call, quantiles=(0.5, 0.2, 0.8))
        except (OutOfResources, PTXASError):
            return [float("inf")] * 3

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        named = {name: value for name, value in {**self.nargs, **kwargs}.items() if name in self.arg_names}
        types = [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
        key = (*(named[name] for name in self.keys if name in named), *types)
        if len(self.configs) > 1 and key not in self.cache:
            timings = {c: self._bench(*args, config=c, **kwargs) for c in self.prune_configs(kwargs)}
            self.cache[key] = min(timings, key=timings.get)
            self.pre_hook({**self.nargs, **kwargs, **self.cache[key].all_kwargs()}, reset_only=True)
            self.configs_timings = timings
        config = self.best_config = self.cache[key] if len(self.configs) > 1 else self.configs[0]
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        result = self.fn.run(*args, **kwargs, **config.all_kwargs())
        self.nargs = None
        return result

    def warmup(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        return [self.fn.warmup(*args, **kwargs, **c.all_kwargs()) for c in self.prune_configs(kwargs)]


class OutOfResources(Exception):
    def __init__(self, required, limit, name):
        super().__init__(f"out of resource: {name}, Required: {required}, Hardware limit: {limit}")


class PTXASError(Exception):
    pass


class CompilationError(Exception):
    def __init__(self, src, node, error_message=None):
        super().__init__(error_message)


class DriverConfig:
    active = None

    def set_active(self, driver):
        self.active = driver


def _module(name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    return module


def install():
    """Puts the fake where ``import triton`` finds it, unless the real one is asked for."""
    if os.environ.get("AUTOHEURISTIC_TEST_TRITON") == "1":
        return
    driver = DriverConfig()
    errors = _module("triton.runtime.errors", OutOfResources=OutOfResources, PTXASError=PTXASError)
    autotuner = _module("triton.runtime.autotuner", Autotuner=Autotuner, Config=Config)
    runtime = _module("triton.runtime", errors=errors, autotuner=autotuner, driver=driver)
    compiler_errors = _module("triton.compiler.errors", CompilationError=CompilationError)
    compiler = _module("triton.compiler", errors=compiler_errors)
    _module("triton", runtime=runtime, compiler=compiler, Config=Config, __version__="fake")


class Kernel:
    """A kernel of ``triton.jit``'s shape whose configurations can misbehave.

    It doubles ``x`` into ``y`` and takes ``ms[BLOCK]`` milliseconds of the device.
    """

    def __init__(self, device, ms, faults=None):
        self.device, self.ms, self.faults = device, dict(ms), dict(faults or {})
        self.launched, self.compiled = [], []

        def double(x, y, n, m, BLOCK):
            raise AssertionError("the device runs it")

        self.fn = double
        self.src = "def double(x, y, n, m, BLOCK): ..."
        self.arg_names = ["x", "y", "n", "m", "BLOCK"]
        self.constexprs = [4]

    def warmup(self, *args, grid, **kwargs):
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def run(self, *args, grid, warmup, **kwargs):
        named = {**dict(zip(self.arg_names, args)), **kwargs}
        block = named["BLOCK"]
        fault = self.faults.get(block)
        if isinstance(fault, Exception):
            raise fault
        self.compiled.append(block)
        if warmup:
            return block
        self.launched.append(block)
        if fault == "lost":
            self.device.broken = "CUDA error: an illegal memory access was encountered"
        factor = 3.0 if fault == "wrong" else 2.0
        if fault != "idle":
            named["y"].values[:] = [factor * v for v in named["x"].values]
        ms = self.ms[block]
        self.device.now += ms(named) if callable(ms) else ms
        return block


def tensors(count=4):
    """``x`` and ``y`` of one call."""
    return fake_device.Tensor(range(1, count + 1)), fake_device.Tensor([math_nan] * count)


math_nan = float("nan")
