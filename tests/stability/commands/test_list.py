import pytest

from autoeval.cli import main
from autoeval.stability.scores.base import scores


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("scores", "fd Fréchet distance of backbone features to those of the training domain"),
        ("methods", "constant mean of the training sources, whatever the scores"),
        ("detectors", "rtmdet_tiny RTMDet-tiny."),
        ("transforms", "gaussian_noise severity, 1 to 5"),
        ("studies", "repeats error by the number of dropout repeats"),
        ("counters", "autoeval.counting.counters.build.detector Make a counter of a closed-set"),
    ],
)
def test_each_name_stands_with_its_meaning(what, line, capsys):
    assert main(["list", what]) == 0
    shown = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    name, meaning = line.split(maxsplit=1)
    assert dict(shown)[name].startswith(meaning)


def test_without_a_name_all_lists_are_shown(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert main(["list", "studies"]) == 0
    assert f"\n\nstudies:\n{capsys.readouterr().out}" in shown


def test_every_score_is_listed(capsys):
    main(["list", "scores"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(scores())
