"""The index of the docs names every page, and no page that is not there."""

import re
from importlib import import_module
from pathlib import Path

import autoeval

DOCS = Path(__file__).parents[1] / "docs"


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


def test_the_reference_of_python_has_every_public_name_and_no_other():
    page = (DOCS / "reference" / "api.md").read_text()
    listed = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert {f"autoeval.{name}" for name in autoeval.__all__ if name[0] != "_"} <= set(listed)
    for name in listed:
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name
