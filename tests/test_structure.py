"""The structure of the package, read from the syntax tree: imports point down, without cycles."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import autoeval
from autoeval.command_table import GROUPS

ROOT = Path(__file__).parents[1]
ARCHITECTURE = ROOT / "docs/explanation/architecture.md"
APART = ("stability", "counting", "demo", "roadworld")  # beside the core

# Layers from the bottom; a package may import what is in a lower layer, and its own modules.
LAYERS = [
    {"errors", "version"},
    {"words"},
    {"detections", "runtime"},
    {"boxes"},
    {"accuracy", "io"},
    {"model", "result_base"},
    {"detectors", "roadworld", "sites"}
    | {"stability.layouts", "stability.metasets", "stability.scores"},
    {"labels", "stability.network"},
    {"estimation"},
    {"comparison", "stability.passes"},
    {"monitoring"},
    {"api", "stability.methods"},
    {"report"},  # above all numbers: no numeric module knows how it is shown
    {"counting"},
    {"stability.fitting"},
    {"stability.studies", "stability.dropout_search", "demo"},
    {"stability", "stability.reports"},
    {"stability.reproduce"},
    {"commands", "mmdet_metric"},
    {"counting.commands", "demo.commands", "stability.commands"},
    {"command_table"},
    {"cli"},
    {"__main__"},
]
LAYER_OF = {package: layer for layer, packages in enumerate(LAYERS) for package in packages}

# The same within `estimation`: its sub-packages, and those of its modules that one of them needs.
# All other modules of its own lie above these.
ESTIMATION = [
    {"observation"},
    {"checks", "category_scores", "estimate", "given", "read_site", "run_detector"},
    {"modules"},
]
LAYER = {part: layer for layer, parts in enumerate(ESTIMATION) for part in parts}


@cache
def modules():
    """Every module of the package by its dotted name, without ``autoeval.``."""
    found = {}
    for path in sorted((ROOT / "autoeval").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[1:-1] if parts[-1] == "__init__" else parts[1:])] = path
    return found


@cache
def nodes_of(path):
    """The syntax of a file, every node of it."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@pytest.fixture(scope="module", autouse=True)
def syntax_is_forgotten():
    """It is a million objects, which the tests of other files would drag along."""
    yield
    nodes_of.cache_clear()


def imports_of(path, *, typing=True):
    """What a file imports, wherever it does; also for type checkers alone, or not."""
    return [name for name, for_typing in all_imports(path) if typing or not for_typing]


@cache
def all_imports(path):
    """What a file imports, each with whether it is for type checkers alone."""
    return tuple(_read_imports(nodes_of(path), path))


def _read_imports(nodes, path):
    unchecked = [n for n in nodes if isinstance(n, ast.If) and _is_for_typing(n)]
    hidden = {id(inner) for block in unchecked for inner in ast.walk(block)}
    for node in nodes:
        for_typing = id(node) in hidden
        if isinstance(node, ast.Import):
            yield from ((name.name, for_typing) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert not node.level, f"{path} imports relatively"
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                inside = whole.removeprefix("autoeval.") in modules()
                yield whole if inside else node.module, for_typing


def _is_for_typing(block):
    return isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"


@cache
def arrows():
    """All (module, module it imports) within the package."""
    return {
        (name, target)
        for name, path in modules().items()
        for whole in imports_of(path)
        if (target := whole.removeprefix("autoeval.")) in modules() and whole != target
        if target != name
    }


def package_of(name):
    """The package of a module: the longest name of `LAYER_OF` that it begins with."""
    parts = name.split(".")
    names = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((package for package in names if package in LAYER_OF), "")


def test_the_page_has_these_layers():
    rows = re.findall(r"^\| (\d+) \| `([\w.]+)` \|", ARCHITECTURE.read_text(), re.M)
    written = {package: int(layer) for layer, package in rows}
    assert written == LAYER_OF, "the layers of docs/explanation/architecture.md and LAYERS differ"


def test_the_page_has_what_each_program_imports():
    rows = re.findall(r"^\| `(\w+)` \| (`.*`) \|$", ARCHITECTURE.read_text(), re.M)
    written = {program: set(re.findall(r"`([\w.]+)`", used)) for program, used in rows}
    assert {program: written.get(program) for program in APART} == {
        program: {
            package_of(b)
            for a, b in arrows()
            if a.split(".")[0] == program and b and b.split(".")[0] != program
        }
        for program in APART
    }


def test_the_page_names_what_exists():
    """The nouns for boxes on images, each a class of the module that the page says."""
    rows = re.findall(r"^\| (`[A-Z].*?) \| `([\w.]+)` \|", ARCHITECTURE.read_text(), re.M)
    assert len(rows) > 10
    for names, where in rows:
        files = [path for name, path in modules().items() if f"{name}.".startswith(f"{where}.")]
        classes = {
            node.name for path in files for node in nodes_of(path) if isinstance(node, ast.ClassDef)
        }
        assert set(re.findall(r"`(\w+)`", names)) <= classes, where


def test_the_operators_import_nothing_of_the_project():
    inside = ("detectors.ops", "errors")
    outside = {
        (a, b)
        for a, b in arrows()
        if f"{a}.".startswith("detectors.ops.") and a != "detectors.ops.__main__"
        if b and not f"{b}.".startswith(tuple(f"{name}." for name in inside))
    }
    assert outside == set()


def test_every_module_has_a_package():
    without = [name for name in modules() if name and not package_of(name)]
    assert without == [], "name a new package in LAYERS and in docs/explanation/architecture.md"


def test_imports_point_down():
    up = [
        f"{a} -> {b}"
        for a, b in sorted(arrows())
        if b
        and package_of(a) != package_of(b)
        and LAYER_OF[package_of(b)] >= LAYER_OF.get(package_of(a), 99)
    ]
    assert up == [], "import from lower layers only: see docs/explanation/architecture.md"


def part_of_estimation(name):
    """A sub-package of `estimation`, a module that `ESTIMATION` names, or ``modules``."""
    part = name.split(".")[1]
    return part if part in LAYER else "modules"


def test_imports_point_down_between_the_sub_packages_of_estimation():
    inside = sorted(arrow for arrow in arrows() if all(end[:11] == "estimation." for end in arrow))
    assert len(inside) > 50
    up = [
        f"{a} -> {b}"
        for a, b in inside
        if (parts := (part_of_estimation(a), part_of_estimation(b)))[0] != parts[1]
        and LAYER[parts[1]] > LAYER[parts[0]]
    ]
    assert up == []


def test_no_sub_package_of_estimation_is_beside_the_order():
    """A folder counted among the modules could import whatever it likes."""
    folders = {path.parent.name for path in (ROOT / "autoeval/estimation").glob("*/__init__.py")}
    named = {name.split(".")[1] for name in modules() if name.startswith("estimation.")}
    assert folders <= set(LAYER), "name its layer in ESTIMATION"
    assert set(LAYER) - {"modules"} <= named


CORE = {f"commands.{name}" for name in ("estimate", "labels", "compare", "monitor", "data")}
CORE |= {"api", "mmdet_metric"}


@cache
def core_modules():
    """All that the commands of the core import, directly or not."""
    below = {}
    for name, path in modules().items():
        used = {whole.removeprefix("autoeval.") for whole in imports_of(path, typing=False)}
        below[name] = used & modules().keys()
    core, open_ends = set(), set(CORE)
    while open_ends:
        name = open_ends.pop()
        core.add(name)
        open_ends |= below[name] - core
    return core


def test_the_core_imports_none_of_the_programs_beside_it():
    """Commands, scores and estimators of these register by name, as in `command_table`."""
    core = core_modules()
    assert len(core) > 100
    assert sorted(name for name in core if name.partition(".")[0] in APART) == []


def test_the_core_does_not_ask_which_regression_an_estimator_holds():
    """There is one: published methods have an estimator of their own."""
    asking = r"isinstance\([^()]*(Bayesian|Source|Pair)Regression"
    assert [name for name in core_modules() if re.search(asking, modules()[name].read_text())] == []


def test_nothing_runs_in_circles():
    below, seen, circles = {}, {}, []
    for a, b in arrows():
        below.setdefault(a, set()).add(b)

    def visit(name, path):
        seen[name] = "open"
        for other in sorted(below.get(name, ())):
            if seen.get(other) == "open":
                circles.append(" -> ".join([*path[path.index(other) :], other]))
            elif other not in seen:
                visit(other, [*path, other])
        seen[name] = "done"

    for name in modules():
        if name not in seen:
            visit(name, [name])
    assert circles == []


def test_only_two_packages_import_mmdet():
    """The detectors, and what published scores need of their networks."""
    guests = {
        name
        for name, path in modules().items()
        for whole in imports_of(path, typing=False)
        if whole.split(".")[0] == "mmdet"
        if package_of(name) not in ("detectors", "stability.network")
    }
    assert guests == set()


@pytest.mark.parametrize("source", ["a = 1\n", "import autoeval.cli\n"])
def test_the_reader_of_imports_sees_what_is_there(source, tmp_path):
    late = "def f():\n    from autoeval.accuracy import measures, ac\n"
    (tmp_path / "x.py").write_text(source + late)
    expected = ["autoeval.cli"] if "cli" in source else []
    assert imports_of(tmp_path / "x.py") == [
        *expected,
        "autoeval.accuracy.measures",
        "autoeval.accuracy",
    ]


def test_no_two_classes_have_the_same_name():
    """What is public; a reader who meets a name knows which thing it is."""
    found = {}
    for name, path in modules().items():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, set()).add(name)
    twins = {name: places for name, places in found.items() if len(places) > 1}
    assert twins == {}


# `base` is what a thing of its package is, `registry` finds it by name; a command, and what shows a
# study, are called as what they run or show.
SAME_NAMES_IN = ("commands", "counting.commands", "demo.commands", "stability.commands")
SAME_NAMES_IN += ("report", "stability.reports")
SAME_MEANING = {"__main__", "base", "registry"}


def test_no_two_files_have_the_same_name():
    found = {}
    for name, path in modules().items():
        if package_of(name) not in SAME_NAMES_IN and path.name != "__init__.py":
            found.setdefault(path.stem, []).append(name)
    twins = {name: places for name, places in found.items() if len(places) > 1}
    assert twins.keys() - SAME_MEANING == set(), f"rename one of each: {twins}"


def test_no_two_files_of_tests_have_the_same_name():
    """Folders of tests are no packages: pytest collects one module of a name in a process."""
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert sorted(names) == sorted(set(names))


# These mirror mmcv's compiled operators, whose parameters are not ours.
OPERATORS_OF_MMCV = {"softnms", "deform_conv", "pool_moved"}
MOST_PARAMETERS, MOST_UNTYPED_OPTIONS = 7, 5


def called_by_users():
    """Functions (module, name) whose parameters are a user's options.

    What a command runs and shows, what a counter's config names, what is in `autoeval`.
    """
    commands = [command for group in GROUPS.values() for command in group.values()]
    named = {text for each in commands for text in (each.function, each.show) if text}
    named |= {":".join(home.rpartition(".")[::2]) for home in types_of_configs()}
    named |= set(autoeval._HOMES.values())
    return {tuple(name.removeprefix("autoeval.").split(":")) for name in named}


def types_of_configs():
    for path in (ROOT / "configs/counting").rglob("*.py"):
        yield from re.findall(r'type="(autoeval\.[\w.]+)"', path.read_text())


def functions():
    """Every function of the package: module, class or nothing, and its syntax."""
    for module, path in modules().items():
        inside = {
            id(child): node.name
            for node in nodes_of(path)
            if isinstance(node, ast.ClassDef)
            for child in node.body
        }
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef):
                yield module, inside.get(id(node), ""), node


def test_below_the_interface_a_function_has_at_most_seven_parameters():
    """More of them are one thing with fields."""
    public, many = called_by_users(), {}
    for module, owner, node in functions():
        arguments = node.args
        names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        n = len(names) - (bool(owner) and names[:1] in (["self"], ["cls"]))
        is_public = package_of(module) == "api" or (module, owner or node.name) in public
        if n > MOST_PARAMETERS and not is_public:
            many[node.name] = (module, n)
    assert many.keys() == OPERATORS_OF_MMCV, many


def test_few_functions_take_options_of_any_kind():
    untyped = [
        (module, node.name)
        for module, _, node in functions()
        if node.args.kwarg is not None
        and node.args.kwarg.annotation is not None
        and ast.unparse(node.args.kwarg.annotation) == "Any"
    ]
    assert len(untyped) <= MOST_UNTYPED_OPTIONS, untyped


def test_rare_tests_are_marked_in_their_own_files():
    """`make test-rare` collects the files that have the mark."""
    files = (path for path in (ROOT / "tests").rglob("*.py") if path.name[:5] != "test_")
    assert [path.name for path in files if "mark.rare" in path.read_text()] == []


def test_what_is_imported_from_the_package_is_there():
    known = {f"autoeval.{name}" for name in modules()} | {"autoeval"}
    for name, path in modules().items():
        inside = {whole for whole in imports_of(path) if whole.split(".")[0] == "autoeval"}
        assert inside <= known, name


def late_constants(source):
    """Yield the names assigned after the first definition of a module that could stand before it.

    What is made of a function or a class of the module cannot, nor what such a constant goes into.
    """
    defined: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            defined.add(node.name)
        elif defined and isinstance(node, ast.Assign | ast.AnnAssign):
            names = {
                inner.id: type(inner.ctx) for inner in ast.walk(node) if isinstance(inner, ast.Name)
            }
            assigned = {name for name, context in names.items() if context is ast.Store}
            if defined.isdisjoint(names):
                yield from sorted(assigned)
            else:
                defined |= assigned


def test_constants_stand_before_the_first_definition():
    late = {name: list(late_constants(path.read_text())) for name, path in modules().items()}
    assert {name: names for name, names in late.items() if names} == {}


def test_the_reader_of_constants_sees_what_could_stand_above():
    source = (
        "TOP = 1\ndef area(): ...\nLATE = TOP\nTABLE = {1: area}\nBOTH: list = [*TABLE, LATE]\n"
    )
    assert list(late_constants(source)) == ["LATE"]


if __name__ == "__main__":
    LINES = sum(len(modules()[name].read_text().splitlines()) for name in core_modules())
    print(f"the core: {LINES} lines in {len(core_modules())} modules")
