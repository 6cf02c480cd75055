"""Words that a newcomer cannot know stay out of what people read."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from autoeval.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
# Metaphors and private words, and what the field says instead.
INSTEAD = {
    "cautions?|doubts?|guards?": "warning",
    "films?": "video",
    "foreign": "another, external",
    "how far off": "mean absolute error",
    "judged?|judges": "evaluate",
    "lessons?": "training site",
    "storeys?|wings?|house": "layer, package",
    "strays?": "vary",
    "strange|strangeness": "novel",
    "told": "reported, estimated",
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs/README.md"]
PAGES += [
    p for of in ("how-to", "explanation", "reference") for p in (ROOT / "docs" / of).glob("*.md")
]


def found_in(text):
    """Private words of a text, without code."""
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.S)
    return {
        f"{match.group()}: {standard}"
        for words, standard in INSTEAD.items()
        for match in re.finditer(rf"\b({words})\b", prose, re.I)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_terms_of_the_field(page):
    assert found_in(page.read_text(encoding="utf-8")) == set()


def test_help_uses_the_terms_of_the_field():
    found = {}
    for name in COMMANDS:
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
            main([*name.split(), "--help"])
        found[name] = found_in(shown.getvalue())
    assert {name: words for name, words in found.items() if words} == {}


def test_the_reader_finds_words_and_passes_over_code():
    assert found_in("How far off it is is told in `film.py`.") == {
        "How far off: mean absolute error",
        "told: reported, estimated",
    }
