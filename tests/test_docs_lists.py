"""What a page lists is what there is: studies, transforms, formats, commands, pages, names."""

import re
from configparser import ConfigParser
from importlib import import_module

import pytest

import autoeval
from autoeval.command_table import COMMANDS
from autoeval.detectors.adapters import adapters
from autoeval.io.labels.any_format import NAMES
from autoeval.io.predictions.formats import SUFFIXES
from autoeval.stability.commands.study import STUDIES
from autoeval.stability.metasets.transforms import CORRUPTIONS, MILD
from tests.doc_pages import PAGES, ROOT


@pytest.mark.parametrize(
    ("page", "known"),
    [
        ("docs/how-to/studies.md", STUDIES),
        ("docs/how-to/data.md", NAMES),
        ("meta_sets/README.md", [*MILD, *CORRUPTIONS]),
    ],
)
def test_the_rows_of_a_page_name_all_there_are(page, known):
    text = (ROOT / page).read_text("utf-8")
    rows = set(re.findall(r"^\| `?([\w-]+)`? \|", text, re.MULTILINE))
    assert sorted(set(known) - rows) == [], f"add a row for each to {page}"


def first_cells(page):
    """What stands in code in the first cells of the tables of a page."""
    cells = re.findall(r"^\| ([^|]+) \|", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    return set(re.findall(r"`([^`]+)`", " ".join(cells)))


def test_each_kind_of_predictions_and_each_framework_has_a_row():
    kinds = {suffix.removesuffix(".gz") for suffix in SUFFIXES}
    assert sorted(kinds - first_cells("docs/how-to/predictions.md")) == []
    forms = {adapter.FORM for adapter in adapters()}
    assert sorted(forms - first_cells("docs/how-to/network.md")) == []
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = {adapter.EXTRA for adapter in adapters()} - {""}
    assert sorted(extras - {*setup["options.extras_require"]}) == []


def test_every_command_is_named_on_some_page():
    pages = " ".join(" ".join(page.read_text("utf-8").split()) for page in PAGES)
    missing = [name for name in COMMANDS if not re.search(rf"autoeval {name}(?![\w-])", pages)]
    assert [name for name in missing if name.split()[-1] not in scripts_in(pages)] == []


def scripts_in(text):
    """Commands that pages run as scripts of `tools/`."""
    return {name.replace("_", "-") for name in re.findall(r"tools/(\w+)\.py", text)}


DOCS = ROOT / "docs"


def links_of(page):
    """The files that a page links to."""
    found = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    return {(page.parent / link).resolve() for link in found}


def test_the_index_names_every_page_and_no_other():
    """A folder may have an index of its own."""
    linked = links_of(DOCS / "README.md")
    for index in [page for page in linked if page.name == "README.md" and DOCS in page.parents]:
        linked |= links_of(index)
    assert sorted(link for link in linked if not link.exists()) == []
    pages = {p for p in DOCS.resolve().rglob("*.md") if p.parent.name != "studies"}
    assert sorted(pages - linked - {(DOCS / "README.md").resolve()}) == []


@pytest.mark.rare
def test_the_reference_of_python_has_every_public_name_and_no_other():
    page = (DOCS / "reference" / "api.md").read_text()
    listed = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert {f"autoeval.{name}" for name in autoeval.__all__ if name[0] != "_"} <= set(listed)
    for name in listed:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name
