"""Every `autoeval` command that a page names exists and takes the options it is shown with."""

import re
import shlex

import pytest

from autoeval import cli
from autoeval.commands import command_line
from autoeval.commands.command_line import read_words, run_command
from autoeval.errors import InputError
from autoeval.stability.commands.study import STUDIES
from tests.doc_pages import PAGES, ROOT, name_of, shell_of, spans_of

BREAKS = {";", "&&", "||", "|", "&"}
CUT_SHORT = "..."


def commands_of(block):
    """The words behind each `autoeval` or `python tools/NAME.py` of a block of commands."""
    for line in filled(block.replace("\\\n", " ")).splitlines():
        yield from commands_of_line(line)


def filled(block):
    """A block with its variables: as set in it, the first of a loop, else X."""
    known = dict(re.findall(r"\bfor (\w+) in (\S+)", block))
    known |= dict(re.findall(r"(?:^|[\s;])(\w+)=\"([^\"]*)\"", block))
    for _ in range(3):  # variables hold variables
        block = re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda v: known.get(v[1] or v[2], "X"), block)
    return block


def commands_of_line(line):
    """As `commands_of`, of one line without variables."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = []
    for word in [*lexer, ";"]:
        if word not in BREAKS:
            words.append(word)
            continue
        start = next((k for k, w in enumerate(words) if w == "autoeval" or tool_of(w)), None)
        command = [] if start is None else [*tool_of(words[start]), *words[start + 1 :]]
        if command:  # a folder of the name takes no options
            yield command
        words = []


def tool_of(word):
    """The command that a script of `tools/` runs, nothing for any other word."""
    script = re.fullmatch(r"tools/(\w+)\.py", word)
    return [script[1].replace("_", "-")] if script and (ROOT / word).exists() else []


@pytest.fixture
def ask(monkeypatch, capsys):
    """Have the program read words without running them: what it refuses, and what it prints."""

    def only_read(name, command, words):
        if {"--help", "--help-all"} & {*words}:
            return run_command(name, command, words)
        given = read_words(name, command, words)
        if name == "study" and given.values["study"] not in STUDIES:
            raise InputError(f"no study {given.values['study']}")
        return 0

    def ask(words):
        status = cli.main(words)
        shown = capsys.readouterr()
        return shown.err if status else "", shown.out

    monkeypatch.setattr(command_line, "run_command", only_read)
    return ask


def refused(commands, ask):
    """Why the program does not take commands, by command."""
    return {" ".join(c): why for c in commands if (why := ask(c)[0])}


def unknown_options(commands, ask):
    """Commands in part, with why there is no such command, or the options its help lacks."""
    found = {}
    for words in commands:
        options = [word for word in words if word.startswith("--")]
        before = words[: words.index(options[0])] if options else words
        why, known = ask([*(w for w in before if re.fullmatch(r"[a-z][a-z-]*", w)), "--help-all"])
        missing = [option for option in options if not re.search(rf"{option}(?![\w-])", known)]
        found[" ".join(words)] = why or missing
    return {command: flaw for command, flaw in found.items() if flaw}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_of_code_blocks_are_taken(page, ask):
    commands = [c for block in shell_of(page.read_text("utf-8")) for c in commands_of(block)]
    assert refused([c for c in commands if CUT_SHORT not in c], ask) == {}
    assert unknown_options([c for c in commands if CUT_SHORT in c], ask) == {}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_within_lines_have_their_options(page, ask):
    spans = [span.split("|")[0] for span in spans_of(page.read_text("utf-8"))]
    named = [s for s in spans if re.match(r"(autoeval|python tools/\w+\.py) [a-z]", s)]
    assert unknown_options([c for span in named for c in commands_of_line(span)], ask) == {}


def test_what_a_page_gets_wrong_is_named(ask):
    block = 'D="--detector d"\nfor t in a b; do\n'
    block += "  autoeval fit $D \\\n    --task ${t}.py --tusk 1\n"
    (words,) = commands_of(block)
    assert words == ["fit", "--detector", "d", "--task", "a.py", "--tusk", "1"]
    assert "--tusk" in str(refused([words], ask))
    assert list(unknown_options([words], ask).values()) == [["--tusk"]]
    (words,) = commands_of("*/5 * * * * nice python tools/study.py tables --work-dir x  # daily\n")
    assert "tables" in str(refused([words], ask))
    assert refused([["status", "DIR"], ["study", "repeats", "--scores", "x"]], ask) == {}
