"""The selectors, by name. Each makes a ``Fitted`` of a task and the inputs to learn from."""

from . import ah_train, fixed, lightgbm, nnls, pytorch, scikit

SELECTORS = {
    "fallback": fixed.fallback,
    "best-single": fixed.best_single,
    "pytorch": pytorch.fit,
    "tree-8": scikit.tree,
    "forest": scikit.forest,
    "lightgbm": lightgbm.fit,
    "nnls": nnls.fit,
    "ah-train": ah_train.with_promise,
    "ah-train-always": ah_train.always,
    "ah-train-best": ah_train.best,
}
