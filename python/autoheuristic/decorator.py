"""The decorator. It imports Triton when it is used, not when the package is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

from .heuristic import Source

if TYPE_CHECKING:
    from .tuner import Tuner


def tune(
    configs: Sequence[Any],
    key: Sequence[str],
    prune_configs_by: dict[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = True,
    *,
    heuristic: Source | Sequence[Source] | None = None,
    fallback: str | Any | None = None,
    name: str | None = None,
    strict: bool = False,
    outputs: Sequence[str] | None = None,
    tolerance: float | None = None,
) -> Callable[[Any], Tuner]:
    """Chooses the configuration of a ``triton.jit`` kernel for each key; stands in the place of ``triton.autotune``.

    With a heuristic the first call on a new key launches the heuristic's pick at once. Where it declines, the
    fallback runs; where the pick cannot be launched, the next of the ranking. Without a heuristic the first call on
    a new key measures, as ``triton.autotune`` does, but takes known timings from a cache on disk.

    Args:
        configs: The ``triton.Config`` objects.
        key: The parameters whose values, with the element types of the tensors, decide.
        prune_configs_by: As for ``triton.autotune``; with a heuristic only ``early_config_prune`` counts.
        reset_to_zero: As for ``triton.autotune``.
        restore_value: As for ``triton.autotune``.
        pre_hook: As for ``triton.autotune``: around launches that are measured.
        post_hook: As for ``triton.autotune``.
        warmup: As for ``triton.autotune`` (deprecated there): measure with ``do_bench``.
        rep: As for ``triton.autotune`` (deprecated there).
        use_cuda_graph: As for ``triton.autotune`` (deprecated there).
        do_bench: Measures in the place of the project's rules; neither checked nor cached.
        cache_results: Whether single timings are kept on disk.
        heuristic: The file that ``ah-codegen --target python`` wrote, or the module; of several, the first that is
            for the current device.
        fallback: The configuration, or its name, for when the heuristic declines; by default the heuristic's
            fallback, else the first configuration.
        name: The name of the optimization; by default the kernel's.
        strict: Raise where the default is to warn and run the fallback.
        outputs: The tensors that the kernel writes, by parameter; by default those that the first configuration
            changed. Only these are compared.
        tolerance: The largest difference of an output from the first configuration's, as a share of the largest
            magnitude; by default by element type.

    Raises:
        ConfigError: Two configurations have one name, or the fallback is none of them.

    """

    def decorate(fn: Any) -> Tuner:
        from .options import Options
        from .tuner import Tuner

        options = Options(
            heuristic=heuristic,
            fallback=fallback,
            name=name,
            strict=strict,
            outputs=outputs,
            tolerance=tolerance,
        )
        return Tuner(
            fn,
            configs,
            key,
            options,
            prune_configs_by=prune_configs_by,
            reset_to_zero=reset_to_zero,
            restore_value=restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )

    return decorate
