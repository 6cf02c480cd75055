"""The short help leaves out what is rarely needed, the whole help has every option."""

import argparse

import pytest

from autoeval.cli import COMMANDS, main, parser_of


def options_of(command):
    """The options and arguments of a command, without those that print help."""
    return [a for a in parser_of(command)._actions if a.dest != argparse.SUPPRESS]


def shown(command, option, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), option])
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_whole_help_has_every_option(command, capsys, monkeypatch):
    text = shown(command, "--help-all", capsys, monkeypatch)
    for action in options_of(command):
        assert [option for option in action.option_strings if option not in text] == []


def test_what_is_rare_stands_in_the_whole_help_alone(capsys, monkeypatch):
    short = shown("fit", "--help", capsys, monkeypatch)
    assert "--batch-size" not in short and "--img-dir" not in short and "--labels" in short
    whole = " ".join(shown("fit", "--help-all", capsys, monkeypatch).split())
    assert "--batch-size" in whole and "--img-dir" in whole
