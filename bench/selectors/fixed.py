"""Selectors that do not look at the input."""

from collections.abc import Sequence

from ..score import best_single as by_loss
from ..task import Input, Task
from .fitted import Fitted


def fallback(task: Task, train: Sequence[Input]) -> Fitted:
    """Always declines."""
    return Fitted(lambda inputs: [None for _ in inputs], 0)


def best_single(task: Task, train: Sequence[Input]) -> Fitted:
    """Takes the best choice of the inputs learned from; a second one where it is not offered."""
    single = [choice for choice in by_loss(train) if choice is not None]
    taken = lambda i: next((choice for choice in single if choice in i.times), None)  # noqa: E731
    return Fitted(lambda inputs: [taken(i) for i in inputs], sum(map(len, single)))
