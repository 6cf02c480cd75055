"""The options of all commands are few, and the whole help has all of them."""

import argparse

import pytest

from autoeval.cli import COMMANDS, main, parser_of

MOST_OPTIONS = 360
MOST_OF = {"estimate-map": 25}


def options_of(command):
    """The options and arguments of a command, without those that print help."""
    return [a for a in parser_of(command)._actions if a.dest != argparse.SUPPRESS]


def test_all_commands_together_have_few_options():
    assert sum(len(options_of(command)) for command in COMMANDS) <= MOST_OPTIONS
    for command, most in MOST_OF.items():
        assert len(options_of(command)) <= most


def shown(command, option, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), option])
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_whole_help_has_every_option_and_what_may_stand_behind_it(command, capsys, monkeypatch):
    text = shown(command, "--help-all", capsys, monkeypatch)
    for action in options_of(command):
        words = [*action.option_strings, *(f"{name}=" for name in getattr(action, "details", ()))]
        assert [word for word in words if word not in text] == []


def test_what_is_rare_stands_in_the_whole_help_alone(capsys, monkeypatch):
    short = shown("fit", "--help", capsys, monkeypatch)
    assert "--batch-size" not in short and "img_dir= group=" in short
    whole = " ".join(shown("fit", "--help-all", capsys, monkeypatch).split())
    assert "--batch-size" in whole and "its images, where its format needs them" in whole
