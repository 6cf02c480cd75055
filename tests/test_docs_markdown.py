"""Every page is sound Markdown: its tables are whole, and its links lead somewhere."""

import re

import pytest

from tests.doc_pages import PAGES, name_of, prose_of

RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+")


def flaws_of(text):
    """Say what is wrong with the tables and fences of a page, line by line."""
    flaws = ["a code block is not closed"] if text.count("```") % 2 else []
    lines = ["", *prose_of(text).splitlines(), ""]
    for k in range(1, len(lines) - 1):
        before, line, after = (part.strip() for part in lines[k - 1 : k + 2])
        if not line.startswith("|"):
            continue
        if not before.startswith("|"):
            cells = cells_of(line)
            flaws += [f"{k}: a table begins within a paragraph"] if before else []
            flaws += [] if RULE.fullmatch(after) else [f"{k}: a table without a rule"]
        if cells_of(line) != cells:
            flaws.append(f"{k}: {cells_of(line)} cells, and {cells} in the head")
        if after and not after.startswith("|"):
            flaws.append(f"{k}: a paragraph clings to a table")
    return flaws


def cells_of(row):
    """The number of cells of a row; bars in code and escaped ones divide nothing."""
    return re.sub(r"`[^`]*`|\\\|", "", row).strip().strip("|").count("|") + 1


def anchors_of(text):
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tables_and_code_blocks_are_whole(page):
    assert flaws_of(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:\s]*)(?:#([^)]+))?\)", prose_of(page.read_text("utf-8")))
    found = {(page.parent / file if file else page, anchor) for file, anchor in links}
    assert [name for name, _ in found if not name.exists()] == []
    assert [a for to, a in found if a and a not in anchors_of(to.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What remains\n| a | b |\n|---|---|\n| 1 | 2 |\n", "within a paragraph"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\nis told.\n", "clings"),
        ("| a | b |\n|---|---|\n| 1 |\n", "1 cells, and 2"),
        ("| a | b |\n| 1 | 2 |\n", "without a rule"),
        ("```sh\nautoeval list\n", "not closed"),
    ],
)
def test_what_is_broken_is_named(text, named):
    (flaw,) = flaws_of(text)
    assert named in flaw


def test_bars_in_code_and_escaped_bars_divide_nothing():
    assert flaws_of("| a | b |\n|:---|---:|\n| `x|y` | \\|e\\| |\n\n```\n| no table\n```\n") == []
