"""Every line of the README's blocks runs as it is printed, in order, from the folder it names.

Not run are the installation (`test_wheel.py`), the commands of `tools/`
(`stability/commands/test_road_world.py`) and those of `make`; that they name what is there is
tested.
"""

import io
import re
import shlex
import shutil
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import cv2
import pytest
from chromium import needs_chromium

from autoeval.cli import main
from docs import readme_picture
from tests.doc_pages import ROOT, SHELL

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SAMPLE = "docs/getting-started/sample"
PAGE = "work_dirs/estimate/report.html"
MOST_LINES = 130
MOST_BYTES = 150_000
COMMAND = "python docs/readme_picture.py"


@dataclass(frozen=True)
class Printed:
    """What all lines print together, and the page that `estimate` writes."""

    text: str
    page: Path


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run all lines, each where the lines before it have led."""
    outside = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as shown:
        patch.chdir(outside)
        for language, code in BLOCKS:
            if language in SHELL:
                for words in _commands(code):
                    _run(words, outside, patch)
            elif language == "python":
                exec(compile(code, "README.md", "exec"), {})
    return Printed(shown.getvalue(), outside / "autoeval" / SAMPLE / PAGE)


def _commands(code):
    """Each command of a block as its words."""
    for line in code.replace("\\\n", " ").splitlines():
        for command in line.partition("  #")[0].split("&&"):
            yield shlex.split(command)


def _run(words, outside, patch):
    clone, here = outside / "autoeval", Path.cwd()
    program, *rest = words
    if program == "git":
        assert words == ["git", "clone", "URL_OF_THIS_REPOSITORY", "autoeval"] and here == outside
        shutil.copytree(ROOT / SAMPLE, clone / SAMPLE, ignore=shutil.ignore_patterns("work_dirs"))
    elif program == "cd":
        patch.chdir(here / rest[0])
    elif program == "autoeval":
        assert main(rest) == 0, words
    elif program == "pip":
        assert here == clone and rest[0] == "install"
        assert "-e" in rest or (ROOT / rest[rest.index("-r") + 1]).is_file()
    elif program == "python":
        assert (ROOT / rest[0]).is_file() and rest[0].startswith("tools/")
    else:
        assert program == "make" and re.search(rf"^{rest[0]}:", _makefile(), re.MULTILINE)


def _makefile():
    return (ROOT / "Makefile").read_text()


def test_every_line_runs_as_printed_and_prints_what_is_quoted(printed):
    shown = printed.text.splitlines()
    quoted = [code.splitlines() for language, code in BLOCKS if language == "text"]
    quoted += [[line] for line in re.findall(r"`((?:estimated mAP|MAE on)[^`]*)`", README)]
    assert all(quoted) and len(quoted) == 3
    for lines in quoted:
        at = shown.index(lines[0])
        assert shown[at : at + len(lines)] == lines


def test_the_readme_is_short():
    assert len(README.splitlines()) <= MOST_LINES


def test_the_first_screen_has_command_output_and_picture():
    first = README.partition("\n## ")[0]
    assert "autoeval estimate" in first and "estimated mAP" in first
    (path,) = re.findall(r"^!\[[^]]{20,}\]\((.+)\)$", first, re.MULTILINE)
    assert ROOT / path == readme_picture.PICTURE and f"`{COMMAND}`" in first
    assert readme_picture.PICTURE.stat().st_size < MOST_BYTES


@pytest.mark.rare
def test_the_picture_is_the_top_of_the_page_of_the_sample(printed, tmp_path):
    needs_chromium()
    made = tmp_path / "made.png"
    readme_picture.take(printed.page, made)
    (height, width, _), now = (cv2.imread(str(of)).shape for of in (made, readme_picture.PICTURE))
    assert width == now[1] == readme_picture.WIDTH
    assert height == pytest.approx(now[0], rel=0.1)  # letters differ from machine to machine
