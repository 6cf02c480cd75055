"""Every option of the commands that count acts, or is refused: none is ignored."""

import contextlib
import shutil
from pathlib import Path

import pytest
from counting_option_cases import ASK, BUILD, COUNTING_CASES, COUNTING_REFUSED
from counting_option_world import write_counting, write_counts
from matplotlib.figure import Figure
from option_outcomes import ignored, outcome_of, passing, refused

from autoeval.command_table import COMMANDS, GROUPS
from autoeval.commands.command_line import options_of
from autoeval.counting.capture import run_page
from autoeval.counting.evaluation import evaluation_report
from autoeval.counting.praco import evaluation_page

CHARTS = {
    evaluation_report: ("plot_bins", "plot_tper", "plot_scatter"),
    evaluation_page: ("_class_chart", "confusion_chart", "drift_chart"),
    run_page: ("factor_chart", "confusion_chart", "reliability_chart"),
}
ANNOTATIONS = "counting/fsc/annotation_FSC147_384.json"


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


@pytest.fixture
def world(counted, monkeypatch):
    """The folder, and charts without axes: what an option does is in tables and files."""
    monkeypatch.chdir(counted)
    for module, names in CHARTS.items():
        for name in names:
            monkeypatch.setattr(module, name, lambda *given, **options: Figure())


@pytest.mark.parametrize("command", COUNTING_CASES)
def test_every_counting_option_has_a_case(command):
    cases = {name.partition(" ")[0] for name in COUNTING_CASES[command]}
    assert cases == set(options_of(COMMANDS[command]))


def test_every_command_that_counts_has_cases():
    assert set(GROUPS["counting"]) <= set(COUNTING_CASES)


@pytest.mark.parametrize("command", COUNTING_CASES)
def test_each_counting_option_acts_or_is_refused(world, command):
    assert ignored(COUNTING_CASES[command], Path("acts") / command.replace(" ", "_")) == []


def test_a_counting_call_leaves_the_same_again(world):
    """Or each option would seem to act."""
    call = f"{ASK}/dots.py"
    assert outcome_of(call, Path("again")) == outcome_of(call, Path("again"))


@pytest.mark.parametrize("call", COUNTING_REFUSED)
def test_what_would_do_nothing_when_counting_is_refused(world, call):
    refused(*call, Path("refused"))
    assert not Path("refused").exists()
