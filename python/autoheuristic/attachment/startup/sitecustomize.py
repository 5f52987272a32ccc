"""Python runs this at its start where ``python -m autoheuristic attach`` put its folder on ``PYTHONPATH``."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path


def _next() -> None:
    """Runs the ``sitecustomize`` that this one hides."""
    here = Path(__file__).resolve().parent
    hidden = [folder for folder in sys.path if Path(folder or ".").resolve() != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", hidden)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_next()
if importlib.util.find_spec("autoheuristic") is None:
    # Run from its source. Last, so that it hides nothing.
    sys.path.append(str(Path(__file__).resolve().parents[3]))
try:
    import autoheuristic  # noqa: F401 (reads AUTOHEURISTIC_ATTACH)
except Exception as error:
    print(f"autoheuristic: nothing is attached ({type(error).__name__}: {error})", file=sys.stderr)
