"""The program itself: its commands, and how it answers what is none of them."""

import ast
import os
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from importlib import import_module
from pathlib import Path

import pytest

from autoeval import __version__
from autoeval.cli import COMMANDS, _module, main
from autoeval.stability.metasets.recipe import MetaSetConfig

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_found_and_explains_itself(name, capsys):
    module = import_module(_module(name))
    assert callable(module.run)
    with pytest.raises(SystemExit) as stopped:
        main([*name.split(), "--help"])
    assert stopped.value.code == 0
    assert f"usage: autoeval {name}" in capsys.readouterr().out


def options_of(parser):
    """The options of a parser and of its subcommands, by the name of each."""
    found = {parser.prog: set(parser._option_string_actions)}
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for one in action.choices.values():
                found |= options_of(one)
    return found


def all_options():
    found = {}
    for name in COMMANDS:
        parser = ArgumentParser(prog=name)
        import_module(_module(name)).add_arguments(parser)
        found |= options_of(parser)
    return found


def test_a_folder_of_results_is_named_by_one_option_everywhere():
    found = all_options()
    assert {name for name, options in found.items() if "--out" in options} == set()
    for name in ("study", "label plan", "count run", "reproduce praco"):
        assert "--work-dir" in found[name], name


# Of pip, ray, lmms-eval and MMDetection; and the program's own
FOREIGN = {"--head", "--no-deps", "--include_path", "--tasks", "--out"}
FOREIGN |= {"--version", "--help-all"}


def options_named(text):
    """Return the options in the strings of a program."""
    strings = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    found = (re.findall(r"(?<![\w-])--[a-z][\w-]*", of) for of in strings if isinstance(of, str))
    return {option for options in found for option in options}


def test_messages_name_options_that_there_are():
    known = set().union(*all_options().values()) | FOREIGN
    wrong = {}
    for path in (ROOT / "autoeval").rglob("*.py"):
        lost = options_named(path.read_text("utf-8")) - known
        wrong |= {path.name: lost} if lost else {}
    assert wrong == {}
    assert options_named('f"{name}: --gone FILE (--k, a--b)"') == {"--gone", "--k"}


@pytest.mark.parametrize("command", ["estimate-map", "search-dropout", "build-metaset"])
def test_help_gives_the_sizes_of_the_default_meta_set(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help-all"])
    shown = " ".join(capsys.readouterr().out.split())
    sizes = MetaSetConfig()
    for what, number in (("--n-sets N", sizes.n_sets), ("--n-images N", sizes.n_images)):
        assert re.search(rf"{what} [^)]*else {number}\)", shown)


USED = ("fit", "estimate", "label plan", "label estimate", "compare", "threshold", "monitor")
SCREEN = 42


@pytest.mark.parametrize("name", USED)
def test_the_help_of_what_is_used_fits_on_a_screen(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*name.split(), "--help"])
    assert len(capsys.readouterr().out.splitlines()) <= SCREEN
    with pytest.raises(SystemExit):
        main([*name.split(), "--help-all"])
    whole = capsys.readouterr().out
    hidden = getattr(import_module(_module(name)), "RARE", ())
    assert all(f"--{option.replace('_', '-')}" in whole for option in hidden)


@pytest.mark.parametrize("name", [of for of in USED if of not in ("label plan", "monitor")])
def test_everything_or_json_is_printed_and_not_both(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*name.split(), "--json", "--verbose"])
    assert stopped.value.code == 2
    assert "not allowed with argument --json" in capsys.readouterr().err


def test_the_package_is_the_program():
    words = [sys.executable, "-m", "autoeval", "--version"]
    ended = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ended.stdout == f"autoeval {__version__}\n"


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
    assert titles == ["use:", "published methods:", "counting:", "other:"]
    shown = [line[2:].split("  ")[0] for line in lines if line.startswith("  ")]
    first = ["fit", "estimate", "label plan", "label estimate", "compare", "threshold", "monitor"]
    assert shown[:7] == first
    assert sorted(shown) == sorted(COMMANDS)
    of_published = lines[lines.index("published methods:") : lines.index("counting:")]
    expected = ("study", "bench", "search-dropout", "build-metaset", "reproduce bos")
    assert all(any(line.startswith(f"  {name} ") for line in of_published) for name in expected)


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


def test_what_is_missing_is_installed_as_the_package_was(tmp_path, monkeypatch):
    from autoeval import cli

    assert cli._install("scipy") == "pip install -e ."
    assert cli._install("torch") == "pip install -e '.[mmdet,mmcv-lite]'"
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "autoeval" / "cli.py"))
    assert cli._install("ray") == "pip install 'autoeval[ray]'"


def test_closed_output_is_no_traceback():
    """As `>&-` of a shell leaves it."""
    command = [sys.executable, "-m", "autoeval", "list", "scores"]
    shell = " ".join(map(shlex.quote, command)) + " >&-"
    done = subprocess.run(["bash", "-c", shell], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
