"""Words that a newcomer cannot know stay out of what people read."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

from autoeval.cli import main
from autoeval.command_table import COMMANDS
from tests.doc_pages import name_of

ROOT = Path(__file__).parents[1]
# Metaphors and private words, and what the field says instead.
INSTEAD = {
    "cautions?|doubts?|guards?": "warning",
    "(?:far|is|are) off(?! by one)": "error",
    "films?": "video",
    "foreign": "another, external",
    "judged?|judges|judging": "evaluate",
    "lessons?": "training site",
    "miss(?:es|ed) by|errs by|points off": "error, MAE",
    "other places|of places|new places?|each place": "site",
    "storeys?|wings?|house": "layer, package",
    "strays?": "vary",
    "strange|strangeness": "novel",
    "tells?|telling|told": "reported, estimated",
    "worth having": "useful",
}
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
# The same words in names of code, by their parts: `_tell`, `foreign_files`, `BoxLesson`.
PARTS = {"caution", "cautions", "doubts", "film", "films", "foreign", "guard", "guards", "judge"}
PARTS |= {"advice", "problem", "problems"}
PARTS |= {"judged", "lesson", "lessons", "stray", "strays", "strange", "tell", "tells", "told"}
# Packages that hold no such name; the others follow.
NAMED = ("commands", "counting", "accuracy", "demo", "stability", "report", "runtime")


def found_in(text):
    """Private words of a text, without code."""
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", " ", text, flags=re.S)
    return {
        f"{match.group()}: {standard}"
        for words, standard in INSTEAD.items()
        for match in re.finditer(rf"\b({words})\b", prose, re.I)
    }


def names_in(source):
    """Names that a module gives: of functions, classes, parameters and variables."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def private_names(source):
    """Names of a module with a private word among their parts."""
    parts = {name: re.split(r"_|(?<=[a-z])(?=[A-Z])", name) for name in names_in(source)}
    return {name for name, words in parts.items() if PARTS & {word.lower() for word in words}}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_use_the_terms_of_the_field(page):
    assert found_in(page.read_text(encoding="utf-8")) == set()


def test_help_uses_the_terms_of_the_field():
    found = {}
    for name in COMMANDS:
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
            main([*name.split(), "--help"])
        found[name] = found_in(shown.getvalue())
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("package", NAMED)
def test_names_use_the_terms_of_the_field(package):
    files = sorted((ROOT / "autoeval" / package).rglob("*.py"))
    assert files
    found = {path.stem: private_names(path.read_text(encoding="utf-8")) for path in files}
    assert {stem: names for stem, names in found.items() if names} == {}


def test_the_reader_of_names_finds_them():
    source = "class TheLesson:\n    def judge_all(self, foreign, sites):\n        told = sites\n"
    assert private_names(source) == {"TheLesson", "judge_all", "foreign", "told"}


def test_the_reader_finds_words_and_passes_over_code():
    assert found_in("How far off it is is told in `film.py`.") == {
        "far off: error",
        "told: reported, estimated",
    }
