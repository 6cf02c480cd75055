"""What a numpy docstring documents is what its function or class takes."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "autoeval"
SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .+)?")
Named = ast.ClassDef | ast.FunctionDef


def documented(node):
    """Lines of the section ``Parameters`` that begin at the left, each the head of an entry."""
    parts = SECTION.split(ast.get_docstring(node) or "")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    lines = sections.get("Parameters", "").splitlines()
    return [line for line in lines if line and line[0] != " "]


def parameters(function):
    """Names of the parameters of a function."""
    given = function.args
    names = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {name.arg for name in names if name is not None}


def taken(node):
    """What a function takes; of a class its fields, and what its constructor takes."""
    if isinstance(node, ast.FunctionDef):
        return parameters(node)
    fields = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
    makers = [part for part in node.body if getattr(part, "name", "") in ("__init__", "__new__")]
    return fields.union(*map(parameters, makers))


def wrong_entries(source):
    """Entries of docstrings that are no parameter, each with the name of what has the docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Named):
            for line in documented(node):
                entry = ENTRY.fullmatch(line)
                names = entry[1].replace("*", "").split(", ") if entry else [line]
                yield from (f"{node.name}: {name}" for name in names if name not in taken(node))


@pytest.mark.parametrize("package", sorted(path.name for path in PACKAGE.iterdir()))
def test_documented_parameters_are_there(package):
    root = PACKAGE / package
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root] * (root.suffix == ".py")
    wrong = {path.stem: list(wrong_entries(path.read_text(encoding="utf-8"))) for path in files}
    assert {stem: entries for stem, entries in wrong.items() if entries} == {}


def test_the_reader_finds_what_is_not_taken():
    source = '''
def f(boxes, *, scale=1.0, **more):
    """Do.

    Parameters
    ----------
    boxes, scores : ndarray of shape (N, 4)
        Those there are.
    scale : float
    **more
        The rest.

    A sentence that stands in the wrong place.

    Returns
    -------
    image : ndarray
    """
'''
    assert list(wrong_entries(source)) == [
        "f: scores",
        "f: A sentence that stands in the wrong place.",
    ]
