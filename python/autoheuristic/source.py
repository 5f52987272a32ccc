"""The hash of a kernel's source: of its text, that of all functions it calls, and the constants it reads.

Triton's own ``cache_key`` contains the line at which a kernel begins, so a configuration added above the kernel
would change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any


def source_hash(kernel: Any) -> str:
    """Returns the hash of a kernel (anything with ``src`` and ``fn``, as ``triton.jit`` makes them)."""
    digest = hashlib.sha256()
    seen: set[int] = set()
    todo = [kernel]
    while todo:
        function = todo.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        digest.update(function.src.encode())
        for name, value in _globals(function.fn):
            if hasattr(value, "src") and hasattr(value, "fn"):
                todo.append(value)
            elif isinstance(value, (int, float, str)) or type(value).__name__ == "constexpr":
                digest.update(f"{name}={value!r};".encode())
    return digest.hexdigest()


def _globals(function: Any) -> Iterator[tuple[str, Any]]:
    """Returns the globals that a function names, those of the modules that it names too."""
    names = sorted(_names(function.__code__))
    found = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    closure = zip(function.__code__.co_freevars, function.__closure__ or ())
    found += [(name, cell.cell_contents) for name, cell in closure]
    for name, value in list(found):
        # Libraries count by their version; only functions of the user's modules are followed.
        if isinstance(value, ModuleType) and not value.__name__.startswith("triton"):
            found += [(f"{name}.{inner}", getattr(value, inner)) for inner in names if hasattr(value, inner)]
    return iter(found)


def _names(code: CodeType) -> set[str]:
    return {*code.co_names, *(n for c in code.co_consts if isinstance(c, CodeType) for n in _names(c))}
