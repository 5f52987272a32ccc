"""The decision in PyTorch's Inductor: its features, a handler that forces a way, and one that asks the heuristic."""

from torch._inductor.choices import InductorChoices
from torch._inductor.virtualized import V

WAYS = ("loop", "persistent")


def context(features):
    """The features of a reduction kernel; None where a size is not known while it compiles.

    `buffers` counts those with an element for each step of the reduction, and `itemsize` is the least of their element sizes.
    """
    try:
        length, outputs = int(features.reduction_numel), int(features.numel)
    except TypeError:  # a symbol: dynamic shapes
        return None
    whole = [name for name in features.buf_accesses() if V.graph.get_numel(name) == length * outputs]
    return {
        "length": length,
        "outputs": outputs,
        "hint": features.get_reduction_hint().name,
        "reductions": len(features.reduction_nodes()),
        "buffers": len(whole),
        "itemsize": min((V.graph.get_dtype(name).itemsize for name in whole), default=4),
    }


class Forced(InductorChoices):
    """Takes one way for each kernel, and keeps what it was asked and what PyTorch's own rule answers."""

    way = WAYS[0]
    asked: list = []

    @staticmethod
    def should_use_persistent_reduction(features, cooperative_reduction):
        rule = InductorChoices.should_use_persistent_reduction(features, cooperative_reduction)
        Forced.asked.append((context(features), WAYS[rule]))
        return Forced.way == "persistent"


class Learned(InductorChoices):
    """Asks the heuristic; where it answers `today` or declines, and where it was not measured, PyTorch's own rule decides."""

    @staticmethod
    def should_use_persistent_reduction(features, cooperative_reduction):
        import reduction_way

        rule = InductorChoices.should_use_persistent_reduction(features, cooperative_reduction)
        found = None if cooperative_reduction else context(features)
        way = reduction_way.choose(**found) if found else None
        return rule if way in (None, "today") else way == "persistent"
