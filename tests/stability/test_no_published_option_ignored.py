"""Every option of the commands of published methods and of the demo acts, or is refused."""

import contextlib
from pathlib import Path

import pytest
from option_outcomes import ignored, passing, refused
from published_option_cases import PUBLISHED_CASES, PUBLISHED_REFUSED
from published_option_world import make_short, write_published

from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import options_of

pytestmark = pytest.mark.rare


@pytest.fixture(autouse=True)
def short_runs_without_a_clock(monkeypatch):
    make_short(monkeypatch)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    with contextlib.chdir(folder):
        write_published(folder)
        for name, file in (("run", "mine.py"), ("run2", "second.py")):
            labels = "fit --labels w0/annotations.json"
            passing(f"{labels} --detector {file}:detector --work-dir {name}")
    return folder


@pytest.mark.parametrize("command", PUBLISHED_CASES)
def test_every_option_has_a_case(command):
    cases = {name.partition(" ")[0] for name in PUBLISHED_CASES[command]}
    assert cases == set(options_of(COMMANDS[command]))


@pytest.mark.parametrize("command", PUBLISHED_CASES)
def test_each_option_acts_or_is_refused(command, world, monkeypatch):
    monkeypatch.chdir(world)
    assert ignored(PUBLISHED_CASES[command], Path("acts") / command.replace(" ", "_")) == []


@pytest.mark.parametrize(("base", "more"), PUBLISHED_REFUSED)
def test_what_would_do_nothing_is_refused(base, more, world, monkeypatch):
    monkeypatch.chdir(world)
    refused(base, more, Path("refused"))
    assert not Path("refused").exists()
