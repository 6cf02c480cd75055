"""The program itself: its commands, and how it answers what is none of them."""

import os
import subprocess
import sys
from importlib import import_module

import pytest

from autoeval import __version__
from autoeval.cli import COMMANDS, _module, main
from autoeval.metasets.config import MetaSetConfig


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_found_and_explains_itself(name, capsys):
    module = import_module(_module(name))
    assert callable(module.run)
    with pytest.raises(SystemExit) as stopped:
        main([*name.split(), "--help"])
    assert stopped.value.code == 0
    assert f"usage: autoeval {name}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["estimate-map", "search-dropout", "build-metaset"])
def test_help_gives_the_sizes_of_the_default_meta_set(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    sizes = MetaSetConfig()
    for what, number in (("sample sets", sizes.n_sets), ("images", sizes.n_images)):
        assert f"{what} for each" in shown and f"--metaset, {number} unless" in shown


def test_the_package_is_the_program():
    words = [sys.executable, "-m", "autoeval", "--version"]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ended.stdout == f"autoeval {__version__}\n"


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"autoeval {__version__}\n"


@pytest.mark.parametrize(
    ("words", "shown", "hidden"),
    [
        ([], "estimate-map", None),
        (["--help"], "estimate-map", None),
        (["count"], "count praco", "estimate-map"),
        (["count", "--help"], "count praco", "estimate-map"),
        (["count", "capture"], "count capture run", "count praco"),
    ],
)
def test_a_group_alone_prints_its_commands(words, shown, hidden, capsys):
    assert main(words) == 0
    out = capsys.readouterr().out
    assert shown in out and (hidden is None or hidden not in out)


def test_the_help_groups_the_commands_with_the_most_used_first(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["use:", "research:", "counting:", "other:"]
    shown = [line[2:].split("  ")[0] for line in lines if line.startswith("  ")]
    assert shown[:6] == ["fit", "estimate", "label plan", "label estimate", "compare", "monitor"]
    assert sorted(shown) == sorted(COMMANDS)
    of_research = lines[lines.index("research:") : lines.index("counting:")]
    expected = ("study", "bench", "search-dropout", "build-metaset", "reproduce bos")
    assert all(any(line.startswith(f"  {name} ") for line in of_research) for name in expected)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["astrology"], "'astrology'"),
        (["astrology", "--task", "a.py"], "'astrology'"),
        (["count", "stars"], "'count stars'"),
        (["count", "capture", "stars"], "'count capture stars'"),
    ],
)
def test_an_unknown_command_is_answered_with_those_there_are(words, named, capsys):
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: no command {named}\n") and "usage: autoeval" in err


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["list", "scores"]])
@pytest.mark.parametrize("buffering", [[], ["-u"]])
def test_output_that_nobody_reads_ends_the_program_quietly(words, buffering):
    nobody, end = os.pipe()
    os.close(nobody)
    command = [sys.executable, *buffering, "-m", "autoeval.cli", *words]
    ended = subprocess.run(command, stdout=end, stderr=subprocess.PIPE, text=True)
    os.close(end)
    assert (ended.returncode, ended.stderr) == (1, "")
