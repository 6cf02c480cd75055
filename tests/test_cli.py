"""The program itself: its commands, and how it answers what is none of them."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from autoeval import __version__
from autoeval.cli import main
from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import options_of
from autoeval.stability.metasets.recipe import MetaSetConfig

ROOT = Path(__file__).parents[1]


def ask(words):
    """The status of a call, whether it returns or exits."""
    try:
        return main(words)
    except SystemExit as stopped:
        return stopped.code


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    assert ask([*name.split(), "--help"]) == 0
    assert f"usage: autoeval {name}" in capsys.readouterr().out


def all_options():
    return {
        name: {option.typed[0] for option in options_of(command).values()}
        for name, command in COMMANDS.items()
    }


def test_a_folder_of_results_is_named_by_one_option_everywhere():
    found = all_options()
    assert {name for name, options in found.items() if "--out" in options} == set()
    for name in ("study", "label plan", "count run", "reproduce praco"):
        assert "--work-dir" in found[name], name


# Of pip, ray, lmms-eval, MMDetection and YOLOX; and the program's own
FOREIGN = {"--head", "--no-deps", "--include_path", "--tasks", "--out", "--decode_in_inference"}
FOREIGN |= {"--version", "--help", "--help-all"}
# Of scripts beside the program, and of the hub of transformers
FOREIGN |= {"--tables", "--local-dir"}


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


@pytest.mark.parametrize("command", ["estimate-map", "search-dropout", "build-metaset", "check"])
def test_help_gives_the_sizes_of_the_default_meta_set(command, capsys):
    assert main([command, "--help-all"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    sizes = MetaSetConfig()
    for what, number in (("--n-sets N", sizes.n_sets), ("--n-images N", sizes.n_images)):
        assert re.search(rf"{what} [^)]*else {number}\)", shown)


@pytest.mark.parametrize("name", ["compare", "monitor"])
def test_the_short_help_has_a_line_an_option(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([name, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    options = all_options()[name]
    assert all(any(option in line for line in lines) for option in options)
    assert len(lines) <= len(options) + 16 and max(map(len, lines)) <= 100


@pytest.mark.parametrize("name", ["fit", "estimate", "label estimate", "compare", "threshold"])
def test_everything_or_json_is_printed_and_not_both(name, capsys):
    needed = {"label estimate": ["--plan", "a", "--labels", "b"], "compare": ["a", "b"]}.get(
        name, []
    )
    assert ask([*name.split(), *needed, "--json", "--verbose"]) == 2
    assert "--json" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help", "label", "plan"], ["-h", "label", "plan"]])
def test_help_may_stand_in_front_of_the_command(words, capsys):
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("usage: autoeval label plan [options]")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("monitor --estimator e --predictions p --webhook hooks.example/secret", "--webhook"),
        ("estimate-map --target count_mae --count-thr 30", "--count-thr"),
        ("estimate-map --target count_mae --count-thr -.1", "--count-thr"),
        ("estimate-map --count-thr .3", "--target is mAP"),
        ("train-demo-detector --config gone.py", "gone.py"),
        ("label plan --estimator e --n 15.7", "--n"),
        ("fit --labels a --predictions b --iou .75", "--iou"),
        ("monitor --estimator e --predictions p --iou .75", "--iou"),
        (f"fit --labels a --predictions b --work-dir {__file__}", "--work-dir"),
        ("fit --labels a --predictions b --work-dir=", "--work-dir"),
        ("fit --labels a --detector b.onnx --network-precision other", "single"),
        ("estimate --images a --detector b.pt --network-precision other", "single"),
    ],
)
def test_wrong_values_are_refused_before_anything_is_read(words, named, capsys):
    assert ask(words.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ") and named in err and "secret" not in err


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
        (["estimat"], "'estimat': did you mean 'estimate'?"),
        (["label", "plna"], "'label plna': did you mean 'label plan'?"),
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
    assert (ended.returncode, ended.stderr) == (141, "")


def test_what_is_missing_is_installed_as_the_package_was(tmp_path, monkeypatch):
    from autoeval import cli, errors

    assert errors.install_command() == "pip install -e ."
    assert errors.install_command(cli.EXTRA_OF["torch"]) == "pip install -e '.[mmdet,mmcv-lite]'"
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "autoeval" / "errors.py"))
    assert errors.install_command("ray") == "pip install 'autoeval[ray]'"


def test_closed_output_is_no_traceback():
    """As `>&-` of a shell leaves it."""
    command = [sys.executable, "-m", "autoeval", "list", "scores"]
    shell = " ".join(map(shlex.quote, command)) + " >&-"
    done = subprocess.run(["bash", "-c", shell], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
