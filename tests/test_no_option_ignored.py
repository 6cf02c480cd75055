"""Every option of the commands that count, of published methods and of the demo acts, or is
refused: none is ignored.
"""

import contextlib
import shutil
from pathlib import Path

import pytest
from counting_option_cases import ASK, BUILD, COUNTING_CASES, COUNTING_REFUSED
from counting_option_world import write_counting, write_counts
from option_outcomes import ignored, passing, refused
from published_option_cases import PUBLISHED_CASES, PUBLISHED_REFUSED
from published_option_world import make_short, write_published

from autoeval.command_table import COMMANDS, GROUPS
from autoeval.commands.command_line import options_of

ANNOTATIONS = "counting/fsc/annotation_FSC147_384.json"
CASES = COUNTING_CASES | PUBLISHED_CASES


def marked(counting, published):
    """Parameters of tests, each with the world that it needs."""
    yield from (pytest.param("counted", case) for case in counting)
    yield from (pytest.param("published", case, marks=pytest.mark.rare) for case in published)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted")
    with contextlib.chdir(folder):
        write_counts(folder)
        for name, error in (("evaluated", "0.1"), ("evaluated_too", "0.3")):
            of = f"roadworld_nano@{error}/predictions.csv --truth overpass.csv --bins bins.json"
            passing(f"count evaluate {of} --work-dir {name}")
        write_counting(folder / "counting")
        passing(f"{BUILD} --annotations {ANNOTATIONS}".replace("/built", "/split"))
        passing(f"{ASK}/dots.py --work-dir counting/asked")
        shutil.copy("counting/asked/dots/total-original.jsonl", "counting/answers.jsonl")
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as monkeypatch:
        make_short(monkeypatch)
        write_published(folder)
        for name, file in (("run", "mine.py"), ("run2", "second.py")):
            labels = "fit --labels w0/annotations.json"
            passing(f"{labels} --detector {file}:detector --work-dir {name}")
    return folder


@pytest.fixture
def world(request, monkeypatch):
    """Go into the folder of a world; runs of published methods are short there."""
    monkeypatch.chdir(request.getfixturevalue(request.param))
    if request.param == "published":
        make_short(monkeypatch)


@pytest.mark.parametrize("command", CASES)
def test_every_option_has_a_case(command):
    cases = {name.partition(" ")[0] for name in CASES[command]}
    assert cases == set(options_of(COMMANDS[command]))


def test_every_command_that_counts_has_cases():
    assert set(GROUPS["counting"]) <= set(COUNTING_CASES)


@pytest.mark.parametrize(
    ("world", "command"), marked(COUNTING_CASES, PUBLISHED_CASES), indirect=["world"]
)
def test_each_option_acts_or_is_refused(world, command):
    assert ignored(CASES[command], Path("acts") / command.replace(" ", "_")) == []


@pytest.mark.parametrize(
    ("world", "call"), marked(COUNTING_REFUSED, PUBLISHED_REFUSED), indirect=["world"]
)
def test_what_would_do_nothing_is_refused(world, call):
    refused(*call, Path("refused"))
    assert not Path("refused").exists()
