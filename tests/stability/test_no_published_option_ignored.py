"""Every option of the commands of published methods and of the demo acts, or is refused."""

import contextlib
from pathlib import Path

import pytest
from option_outcomes import ignored, outcome_of, passing, refused
from published_option_cases import DROPPED, PUBLISHED_CASES, PUBLISHED_REFUSED, SEARCH
from published_option_world import make_short, write_published

from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import options_of


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
def world(published, monkeypatch):
    monkeypatch.chdir(published)
    make_short(monkeypatch)


@pytest.mark.parametrize("command", PUBLISHED_CASES)
def test_every_option_has_a_case(command):
    cases = {name.partition(" ")[0] for name in PUBLISHED_CASES[command]}
    assert cases == set(options_of(COMMANDS[command]))


@pytest.mark.parametrize("command", PUBLISHED_CASES)
def test_each_option_acts_or_is_refused(world, command):
    assert ignored(PUBLISHED_CASES[command], Path("acts") / command.replace(" ", "_")) == []


@pytest.mark.parametrize("call", [DROPPED, SEARCH])
def test_a_call_leaves_the_same_again(world, call):
    """Or each option would seem to act."""
    assert outcome_of(call, Path("again")).shown == outcome_of(call, Path("again")).shown


@pytest.mark.parametrize("call", PUBLISHED_REFUSED)
def test_what_would_do_nothing_is_refused(world, call):
    refused(*call, Path("refused"))
    assert not Path("refused").exists()
