"""The short help leaves out what is rarely needed, the whole help has every option."""

import pytest

from autoeval.cli import COMMANDS, main, options_of


def shown(command, option, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    try:
        status = main([*command.split(), option])
    except SystemExit as stopped:
        status = stopped.code
    assert status == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_whole_help_has_every_option(command, capsys, monkeypatch):
    text = shown(command, "--help-all", capsys, monkeypatch)
    options = [option for option in options_of(command) if option.startswith("--")]
    assert [option for option in options if option not in text] == []


def test_what_is_rare_stands_in_the_whole_help_alone(capsys, monkeypatch):
    short = shown("compare", "--help", capsys, monkeypatch)
    assert "--batch-size" not in short and "--img-dir" not in short and "--labels" in short
    whole = " ".join(shown("compare", "--help-all", capsys, monkeypatch).split())
    assert "--batch-size" in whole and "--img-dir" in whole
