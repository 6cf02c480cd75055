"""The pages of the project, taken apart: code blocks, code within a line, and all else."""

import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("meta_sets/*.md"), *ROOT.glob("docs/**/*.md")],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)
SHELL = ("", "sh", "bash")

_FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")


def name_of(page):
    """A page by its path from the root, for the names of tests."""
    return page.relative_to(ROOT).as_posix()


def prose_of(text):
    """What is no fenced code block, line for line."""
    return _FENCED.sub(lambda block: "\n" * block.group().count("\n"), text)


def spans_of(text):
    """Code within lines, each on one line."""
    return [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", prose_of(text))]


def shell_of(text):
    """Blocks of commands: fenced ones of a shell or of no language, and indented ones."""
    fenced = [code for language, code in _FENCED.findall(text) if language in SHELL]
    return [*fenced, *_INDENTED.findall(prose_of(text))]


def python_of(text):
    """Blocks of Python, without the indentation of a list that they stand in."""
    return [dedent(code) for language, code in _FENCED.findall(text) if language == "python"]


def snippet(page, holding):
    """The one block of Python of a page, named by its path from the root, that holds a text."""
    (block,) = [code for code in python_of((ROOT / page).read_text("utf-8")) if holding in code]
    return block
