"""What a numpy docstring documents is what its function or class takes."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "autoeval"
SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .+)?")
Named = ast.ClassDef | ast.FunctionDef
TYPES = {"str": "str|path-like", "int": "int", "float": "float", "bool": "bool"}
TYPES["np.ndarray"] = "ndarray|array"
# Signatures of mmcv, and changes of an image that are all called alike: their files say how.
TRANSFORMS = PACKAGE / "stability" / "metasets" / "transforms"
ALIKE = {PACKAGE / "detectors" / "ops", TRANSFORMS / "corruptions.py", TRANSFORMS / "imgaug_mix.py"}


@cache
def tree_of(path):
    """Parse a module once for all tests."""
    return ast.parse(path.read_text(encoding="utf-8"))


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


def constructors(node):
    """Functions that make an object of a class; a function has none."""
    methods = node.body if isinstance(node, ast.ClassDef) else []
    names = ("__init__", "__new__", "__post_init__")
    return [part for part in methods if getattr(part, "name", "") in names]


def taken(node):
    """What a function takes; of a class its fields, and what its constructor takes."""
    if isinstance(node, ast.FunctionDef):
        return parameters(node)
    fields = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
    return fields.union(*map(parameters, constructors(node)))


def wrong_entries(tree):
    """Entries of docstrings that are no parameter, each with the name of what has the docstring."""
    for node in ast.walk(tree):
        if isinstance(node, Named):
            for line in documented(node):
                entry = ENTRY.fullmatch(line)
                names = entry[1].replace("*", "").split(", ") if entry else [line]
                yield from (f"{node.name}: {name}" for name in names if name not in taken(node))


@pytest.mark.parametrize("package", sorted(path.name for path in PACKAGE.iterdir()))
def test_documented_parameters_are_there(package):
    root = PACKAGE / package
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root] * (root.suffix == ".py")
    wrong = {path.stem: list(wrong_entries(tree_of(path))) for path in files}
    assert {stem: entries for stem, entries in wrong.items() if entries} == {}


def typed_entries(node):
    """Types that the section ``Parameters`` states, by name; an entry without one has None."""
    parts = [line.partition(" : ") for line in documented(node)]
    return {name.strip("* "): of or None for names, _, of in parts for name in names.split(",")}


def annotated(node):
    """Parameters of a function, or fields of a class: annotation and default, None without one."""
    if isinstance(node, ast.ClassDef):
        fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
        return {part.target.id: (part.annotation, part.value) for part in fields}
    args = node.args
    named = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(named) - len(args.defaults)) + args.defaults + args.kw_defaults
    pairs = zip([*named, *args.kwonlyargs], defaults, strict=True)
    return {arg.arg: (arg.annotation, default) for arg, default in pairs}


def faults(node):
    """What a docstring with parameters lacks, or says otherwise than the code."""
    text, stated, known = ast.get_docstring(node) or "", typed_entries(node), annotated(node)
    if not stated:
        return
    required = {name for name, (_, default) in known.items() if default is None}
    for function in [node] * isinstance(node, ast.FunctionDef) + constructors(node):
        known, required = known | annotated(function), required | parameters(function)
    for name, (annotation, default) in known.items():
        kind = "" if annotation is None else ast.unparse(annotation)
        hidden = name in ("self", "cls") or name.startswith("_") or "ClassVar" in kind
        if name not in stated:
            if not hidden and name in required:
                yield f"{node.name}: {name} is not documented"
        elif stated[name]:
            is_none = isinstance(default, ast.Constant) and default.value is None
            if is_none and not re.search("optional|None", stated[name]):
                yield f"{node.name}: {name} is optional"
            if "Notice" in kind and "Notice" not in stated[name]:
                yield f"{node.name}: {name} holds notices"
            one = kind.removesuffix(" | None")
            if one != kind and not re.search("optional|None", stated[name]):
                yield f"{node.name}: {name} may be None"
            if one in TYPES and not re.match(f"({TYPES[one]}|{{)", stated[name]):
                yield f"{node.name}: {name} is of type {one}"
    if "InputError" not in text:
        raising = constructors(node) if isinstance(node, ast.ClassDef) else [node]
        parts = [part for function in raising for part in ast.walk(function)]
        raised = [part.exc for part in parts if isinstance(part, ast.Raise) and part.exc]
        if any("InputError" in ast.unparse(error) for error in raised):
            yield f"{node.name}: raises InputError"


# Docstrings of commands are their help: of options alone, without what Python raises.
@pytest.mark.parametrize("package", sorted(path.name for path in PACKAGE.iterdir()))
def test_docstrings_say_what_the_code_says(package):
    root = PACKAGE / package
    files = sorted(root.rglob("*.py")) if root.is_dir() else [root] * (root.suffix == ".py")
    found = []
    for path in files:
        if "commands" not in path.parts:
            nodes = ast.walk(tree_of(path))
            found += [of for node in nodes if isinstance(node, Named) for of in faults(node)]
    assert found == []


def undocumented(body, of=""):
    """Public functions and classes that take something and have no section ``Parameters``."""
    for node in body:
        if isinstance(node, Named) and not node.name.startswith("_"):
            text = ast.get_docstring(node) or ""  # none: what it overrides says it, see ruff's D102
            said = documented(node) or (
                isinstance(node, ast.ClassDef) and "Attributes\n---" in text
            )
            if text and taken(node) - {"self", "cls", "kind"} and not said:
                yield of + node.name
            if isinstance(node, ast.ClassDef):
                yield from undocumented(node.body, f"{node.name}.")


@pytest.mark.parametrize("package", sorted(path.name for path in PACKAGE.iterdir()))
def test_all_public_parameters_are_documented(package):
    root = PACKAGE / package
    files = [root] if root.suffix == ".py" else root.rglob("*.py")
    files = [path for path in files if not {path, *path.parents}.intersection(ALIKE)]
    bodies = [tree_of(path).body for path in files]
    assert [name for body in bodies for name in undocumented(body)] == []


def test_the_reader_finds_what_has_no_parameters():
    source = '''
class Box:
    def scaled(self, by):
        """Do."""
    def area(self):
        """Do."""

def _hidden(by):
    """Do."""
'''
    assert list(undocumented(ast.parse(source).body)) == ["Box.scaled"]


def test_the_reader_finds_what_the_code_says_otherwise():
    source = '''
def f(boxes, image=None, *, site: str | None, n: int, warnings: tuple[Notice, ...] = ()):
    """Do.

    Parameters
    ----------
    image : ndarray
    site : str
    n : float
    warnings : tuple of str
    """
    raise InputError
'''
    (node,) = ast.parse(source).body
    assert list(faults(node)) == [
        "f: boxes is not documented",
        "f: image is optional",
        "f: site may be None",
        "f: n is of type int",
        "f: warnings holds notices",
        "f: raises InputError",
    ]


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
    assert list(wrong_entries(ast.parse(source))) == [
        "f: scores",
        "f: A sentence that stands in the wrong place.",
    ]
