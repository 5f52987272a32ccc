"""scikit-learn: regression trees over the log slowdowns of all choices."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from ..task import Input, Task
from .fitted import Fitted, SkippedError


def tree(task: Task, train: Sequence[Input]) -> Fitted:
    """One tree of depth 8."""
    try:
        from sklearn.tree import DecisionTreeRegressor
    except ImportError as error:
        raise SkippedError(f"{error}; pip install scikit-learn") from error
    return _fit(DecisionTreeRegressor(max_depth=8, random_state=0), task, train)


def forest(task: Task, train: Sequence[Input]) -> Fitted:
    """A hundred trees of any depth."""
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError as error:
        raise SkippedError(f"{error}; pip install scikit-learn") from error
    return _fit(RandomForestRegressor(100, random_state=0, n_jobs=-1), task, train)


def _fit(model, task: Task, train: Sequence[Input]) -> Fitted:
    import numpy

    from .matrix import Encoder, log_slowdown

    encode = Encoder(task, train)
    choices = sorted({choice for i in train for choice in i.times})
    model.fit(encode(train), numpy.array([[log_slowdown(i, choice) for choice in choices] for i in train]))
    if hasattr(model, "n_jobs"):
        model.n_jobs = 1  # threads cost more than a single call gains
    place = {choice: column for column, choice in enumerate(choices)}

    def choose(inputs: Sequence[Input]) -> list:
        predicted = model.predict(encode(inputs)).reshape(len(inputs), -1)
        offered = ([c for c in i.times if c in place] for i in inputs)
        return [min(known, key=lambda c: row[place[c]], default=None) for known, row in zip(offered, predicted)]

    return Fitted(choose, len(pickle.dumps(model)))
