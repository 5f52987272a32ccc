"""The decorator. It imports Triton when it is used, not when the package is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

from .heuristic import Source

if TYPE_CHECKING:
    from .check import Compared
    from .tuner import Tuner


def tune(
    configs: Sequence[Any],
    key: Sequence[str],
    *,
    heuristic: Source | Sequence[Source] | None = None,
    fallback: str | Any | None = None,
    name: str | None = None,
    strict: bool = False,
    outputs: Compared | None = None,
    tolerance: float | None = None,
    reference: Callable[..., Any] | None = None,
    **autotune: Any,
) -> Callable[[Any], Tuner]:
    """Chooses the configuration of a ``triton.jit`` kernel for each key; stands in the place of ``triton.autotune``.

    With a heuristic the first call on a new key launches the heuristic's pick at once. Where it declines, the
    fallback runs; where the pick cannot be launched, the next of the ranking. Without a heuristic, Triton's own
    autotuner measures each new key.

    Args:
        configs: The ``triton.Config`` objects.
        key: The parameters whose values, with the element types of the tensors, decide without a heuristic.
        heuristic: The file that ``autoheuristic tune`` wrote, or its module; of several, the first that is for the
            current device. By default ``MODULE.NAME.heuristic.py`` beside the kernel's source, if it is there.
        fallback: The configuration, or its name, for when the heuristic declines; by default the heuristic's
            fallback, else the first configuration.
        name: The name of the optimization and of its files; by default the kernel's.
        strict: Raise where the default is to warn and run the fallback.
        outputs: The tensors that the kernel writes, by parameter; by default those that the first configuration
            changed. Only these are compared while ``autoheuristic tune`` measures. Or a function of arguments, by
            name, that returns what to compare: ``lambda partial: {"sum": partial.sum(0)}``.
        tolerance: The largest difference of an output from the expected one, as a share of the largest magnitude; by
            default by element type and the length of sums.
        reference: A function of arguments, by name, that returns what the outputs should be, in higher precision:
            ``lambda a, b: {"c": a.double() @ b.double()}``. Without it the median of configurations is expected.
        autotune: Further arguments of ``triton.autotune``, such as ``prune_configs_by`` and ``reset_to_zero``. With a
            heuristic, only ``early_config_prune`` counts of the pruning.

    Raises:
        ConfigError: Two configurations have one name, or the fallback is none of them.
    """

    def decorate(fn: Any) -> Tuner:
        from .tuner import Options, Tuner

        options = Options(heuristic, fallback, name, strict, outputs, tolerance, reference)
        return Tuner(fn, configs, key, options, **autotune)

    return decorate
