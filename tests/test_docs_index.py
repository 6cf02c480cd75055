"""The index of the docs names every page, and no page that is not there."""

import re
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


def test_the_reference_of_python_has_every_public_name():
    """By the name of its object; `load_predictions` is another name of `read_predictions`."""
    page = (DOCS / "reference" / "api.md").read_text()
    listed = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)}
    public = set(autoeval.__all__) - {"__version__", "load_predictions"}
    assert sorted(public - listed) == [] and "`autoeval.load_predictions`" in page
