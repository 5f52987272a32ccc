"""PyTorch's trainer, by its recipe: a classification tree on each input's winner, and a way to decline.

``torchgen/_autoheuristic/train_decision.py`` and the scripts beside it have the recipe: the grid, the part that sets
the threshold on a leaf's probability, the leaves that are unsafe. The features and splits are the benchmark's own.
"""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass

from ..task import Input, Task
from .fitted import Fitted, SkippedError


@dataclass(frozen=True)
class Recipe:
    """The settings of one of PyTorch's training scripts."""

    depths: tuple = (5, 6, 7)
    leaves: tuple = (1, 5, 10, 0.01, 0.05, 0.02)
    criteria: tuple = ("gini", "entropy")
    wrong: float = 0.01
    """The share of wrong predictions on the validation part that the threshold allows."""
    validation: float = 0.18
    """The validation part's share of the inputs to learn from."""
    limit: float = math.inf
    """A leaf is unsafe if its choice takes this many times as long as the fallback on an input of the leaf."""


FIXED = {"leaves": (0.01,), "criteria": ("entropy",), "wrong": 1.0, "validation": 0.19}
RECIPES = {
    "mm": Recipe(depths=(5,), **FIXED),
    "mixed_mm": Recipe(depths=(5,), limit=1.05, **FIXED),
    "flex_attention": Recipe(depths=(6,), limit=1.12, **FIXED),
}
"""By optimization; ``pad_mm`` and every other one take the default of the base class."""


def fit(task: Task, train: Sequence[Input]) -> Fitted:
    """Searches the grid for the tree that is right most often with few enough wrong predictions."""
    try:
        import numpy
        from sklearn.model_selection import train_test_split
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise SkippedError(f"{error}; pip install scikit-learn") from error
    from ..score import best_fallback
    from .matrix import Encoder

    recipe = RECIPES.get(task.log.name, Recipe())
    fallback = task.fallback or best_fallback(train)
    encode = Encoder(task, train)
    known = [i for i in train if len(i.times) > 1]
    grown, validation = train_test_split(known, test_size=recipe.validation, random_state=42)
    rows, winners = encode(grown), [_winner(i) for i in grown]

    def is_unsafe(i: Input, choice: str) -> bool:
        return i.worked(choice) and i.worked(fallback) and i.times[choice] > recipe.limit * i.times[fallback]

    def predict(tree, inputs: Sequence[Input]):
        """Each input's leaf, choice and the choice's probability there."""
        probabilities = tree.predict_proba(encoded := encode(inputs))
        best = probabilities.argmax(axis=1)
        return zip(inputs, tree.apply(encoded), tree.classes_[best], probabilities.max(axis=1))

    best = None
    for depth, leaf, criterion in itertools.product(recipe.depths, recipe.leaves, recipe.criteria):
        tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, criterion=criterion, random_state=42).fit(
            rows, numpy.array(winners)
        )
        unsafe = {leaf for i, leaf, choice, _ in predict(tree, grown) if is_unsafe(i, choice)}
        decided = [
            (sure, choice == _winner(i))
            for i, leaf, choice, sure in predict(tree, validation)
            if leaf not in unsafe and choice in i.times
        ]
        wrong = sorted(sure for sure, right in decided if not right)
        excess = len(wrong) - int(len(validation) * recipe.wrong)
        threshold = 0.0 if excess <= 0 else wrong[min(excess, len(wrong) - 1)]
        sure_enough = [right for sure, right in decided if sure > threshold or sure == 1.0]
        right = sum(sure_enough)
        if len(sure_enough) - right <= len(validation) * recipe.wrong and (best is None or right > best[0]):
            best = (right, tree, unsafe, threshold)
    if best is None:
        raise SkippedError("every tree is wrong too often on the validation part; PyTorch generates no heuristic")
    _, tree, unsafe, threshold = best

    def choose(inputs: Sequence[Input]) -> list:
        return [
            choice if leaf not in unsafe and choice in i.times and (sure > threshold or sure == 1.0) else None
            for i, leaf, choice, sure in predict(tree, inputs)
        ]

    return Fitted(choose, len(pickle.dumps(tree)))


def _winner(i: Input) -> str:
    return min(i.times, key=i.times.__getitem__)
