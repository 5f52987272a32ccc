"""A module uses only modules below it: no circle of imports, those for type checking included."""

import ast
import graphlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "autoheuristic"


def imports(folder):
    """Returns, for each module of a package, the modules of the same package that it names in an import."""
    files = {path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.py")}
    return {name: set(_named(name, path, set(files))) for name, path in files.items()}


def _named(name, path, known):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        parts = [*name.split("/")[: -node.level], *(node.module or "").split(".")]
        base = "/".join(part for part in parts if part)
        for alias in node.names:
            # The name is a module, or lies in one, or in the front page of a package.
            places = (f"{base}/{alias.name}".lstrip("/"), base, f"{base}/__init__".lstrip("/"))
            yield next(place for place in places if place in known)


def test_no_circle():
    graph = imports(PACKAGE)
    assert {"compile_ahead", "prepared"} <= graph["worker"], "the reader of imports works"
    graphlib.TopologicalSorter(graph).prepare()


def test_a_circle_is_found(tmp_path):
    (tmp_path / "a.py").write_text("from .b import f\n")
    (tmp_path / "b.py").write_text("def f():\n    from . import a\n")
    try:
        graphlib.TopologicalSorter(imports(tmp_path)).prepare()
    except graphlib.CycleError as error:
        assert set(error.args[1]) == {"a", "b"}
    else:
        raise AssertionError("not found")
