"""What a page lists is what the program has: studies, transforms, label formats, commands."""

import re

import pytest

from autoeval.cli import COMMANDS
from autoeval.commands.study import STUDIES
from autoeval.data.labels.any_format import FORMATS
from autoeval.metasets.transforms import CORRUPTIONS, MILD
from tests.doc_pages import PAGES, ROOT


@pytest.mark.parametrize(
    ("page", "known"),
    [
        ("docs/how-to/studies.md", STUDIES),
        ("docs/how-to/data.md", FORMATS),
        ("meta_sets/README.md", [*MILD, *CORRUPTIONS]),
    ],
)
def test_the_rows_of_a_page_name_all_there_are(page, known):
    text = (ROOT / page).read_text("utf-8")
    rows = set(re.findall(r"^\| `?([\w-]+)`? \|", text, re.MULTILINE))
    assert sorted(set(known) - rows) == []


def test_every_command_is_named_on_some_page():
    pages = " ".join(" ".join(page.read_text("utf-8").split()) for page in PAGES)
    missing = [name for name in COMMANDS if not re.search(rf"autoeval {name}(?![\w-])", pages)]
    assert [name for name in missing if name.split()[-1] not in scripts_in(pages)] == []


def scripts_in(text):
    """Commands that pages run as scripts of `tools/`."""
    return {name.replace("_", "-") for name in re.findall(r"tools/(\w+)\.py", text)}
