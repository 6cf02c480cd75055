"""docs/README.md names every page, and no page that is not there."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_index_names_every_page_and_no_other():
    linked = {
        (DOCS / link).resolve()
        for link in re.findall(r"\]\(([^)#]+)", (DOCS / "README.md").read_text())
    }
    assert [link for link in linked if not link.is_file()] == []
    pages = {page.resolve() for folder in (DOCS, DOCS / "results") for page in folder.glob("*.md")}
    assert sorted(pages - linked - {(DOCS / "README.md").resolve()}) == []
