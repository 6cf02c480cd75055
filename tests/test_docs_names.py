"""The files, modules and names of the house that a page mentions are there."""

import re
from importlib import import_module
from importlib.util import find_spec

import pytest

from tests.doc_pages import PAGES, ROOT, name_of, shell_of, spans_of

FILE = r"(?:autoeval|benchmarks|configs|docs|meta_sets|tests)/[\w./@*-]*\w"
MODULE = r"(?:autoeval|benchmarks)(?:\.\w+)+"


def missing_files(text):
    """Files of the house, named within lines or run in code blocks, that are not there."""
    named = {span for span in spans_of(text) if re.fullmatch(FILE, span)}
    for block in shell_of(text):
        named |= set(re.findall(rf"(?:^|[\s=])({FILE}\.py)\b", block))
    return sorted(name for name in named if not any(ROOT.glob(name.rstrip("/"))))


def missing_names(text):
    """Modules and names in them, likewise."""
    named = {span.split("(")[0] for span in spans_of(text)}
    for block in shell_of(text):
        named |= set(re.findall(rf"python -m ({MODULE})", block))
    return sorted(name for name in named if re.fullmatch(MODULE, name) and not _found(name))


def _found(name):
    """Whether a dotted name is a module, or leads from one by attributes."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            there = find_spec(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        if there and k == len(parts):
            return True
        if there:
            thing = import_module(".".join(parts[:k]))
            return all((thing := getattr(thing, part, None)) is not None for part in parts[k:])
    return False


@pytest.mark.parametrize(
    "page",
    [  # one names modules of mmdet, which take a while to import
        pytest.param(page, marks=pytest.mark.rare) if "mmdet" in page.name else page
        for page in PAGES
    ],
    ids=name_of,
)
def test_what_is_mentioned_is_there(page):
    text = page.read_text("utf-8")
    assert (missing_files(text), missing_names(text)) == ([], [])


def test_what_is_not_there_is_named():
    text = "`autoeval.boxes.iou_of_the_moon` and `tests/test_moon.py`, `autoeval.boxes`\n\n"
    text += "```sh\npython -m benchmarks.moon\npython benchmarks/moon.py configs/moon.py\n```\n"
    assert missing_names(text) == ["autoeval.boxes.iou_of_the_moon", "benchmarks.moon"]
    assert missing_files(text) == ["benchmarks/moon.py", "configs/moon.py", "tests/test_moon.py"]
