"""Heuristic files as ``ah-codegen --target python`` writes them, as far as the package looks at them."""

TEXT = """
from typing import NamedTuple, Optional

FEATURES = ("n", "x_dtype")
CHOICES = {choices!r}
FALLBACK = {fallback!r}

class Decision(NamedTuple):
    choice: object
    name: Optional[str]
    reason: Optional[str]

class Ranked(NamedTuple):
    choice: object
    name: str
    share: float
    allowed: bool

def _order(n, x_dtype):
    if str(x_dtype) not in ("torch.float32", "torch.float16"):
        return ()
    return CHOICES if float(n) <= 100.0 else CHOICES[::-1]

def ranked(n, x_dtype):
    order = _order(n, x_dtype)
    return [Ranked(name, name, 0.5, i < {allowed}) for i, name in enumerate(order)]

def decide(n, x_dtype, offered=None):
    if float(n) > 1000.0:
        return Decision(None, None, "unsafe leaf")
    for r in ranked(n, x_dtype):
        if r.allowed and (offered is None or r.name in offered):
            return Decision(r.choice, r.name, None)
    return Decision(None, None, "low confidence")

def device_mismatch(name=None, multiprocessors=None, *, capability=None, shared_memory=None, cores=None,
                    instruction_sets=()):
    if name == {device!r}:
        return None
    return f"learned on the GPU {device!r}, here {{name!r}}"
"""


def write(path, choices, fallback=None, device="Fake GPU", allowed=99):
    """Writes a heuristic: small ``n`` take the choices in order, large ones backwards, beyond 1000 it declines."""
    path.write_text(TEXT.format(choices=tuple(choices), fallback=fallback, device=device, allowed=allowed))
    return path
