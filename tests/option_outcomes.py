"""Whether an option acts: what a command leaves with it and without it.

A case is a base call and what is added to it. The added words make the outcome another one, or the
call is refused with a message that names them. What counts of an outcome are the status, what is
printed, which files are written, and the numbers in those that hold neither date nor command.
"""

import contextlib
import hashlib
import io
import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from autoeval.cli import main
from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import options_of

BAD_INPUT = 2
WITHOUT_DATE = (".csv", ".prom", ".yaml")
SECONDS = ["seconds", "read_s", "network_s", "scores_s", "map_s", "job_s"]
KEPT = ("rows", "observed")  # what a run goes on with: their names tell settings apart
DIGESTED = ("metadata.json", "points.json", "measures.json", "trained.md")
ABOUT = "about"  # key of result.json that holds the date and the command


@dataclass(frozen=True)
class Outcome:
    """What a call left: its status, what it printed, and the files that it wrote."""

    status: int
    printed: str
    errors: str
    files: tuple

    @property
    def shown(self):
        return self.status, self.printed, self.files


def outcome_of(words, folder):
    """Run a command; what it writes goes to a folder of its own, which is removed again."""
    given = shlex.split(words)
    name = next(n for n in (" ".join(given[:k]) for k in (3, 2, 1)) if n in COMMANDS)
    apart = {"--work-dir", "--report-only", "--sample"}.isdisjoint(given)
    if apart and "work_dir" in options_of(COMMANDS[name]):
        given += ["--work-dir", str(folder)]
    before = files_here().items()
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        try:
            status = main(given)
        except SystemExit as stopped:
            status = stopped.code
    text = printed.getvalue().replace(str(folder), "WORK_DIR")
    paths = [path for path, _ in files_here().items() - before]
    written = {path.replace(str(folder), "WORK_DIR"): contents(Path(path)) for path in paths}
    shutil.rmtree(folder, ignore_errors=True)
    return Outcome(status, without_about(text), errors.getvalue(), tuple(sorted(written.items())))


def files_here(folder="."):
    """Return the files of the current folder, each with the time at which it was written."""
    times = {}
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            times |= files_here(entry.path)
        elif entry.is_file():
            times[entry.path] = entry.stat().st_mtime_ns
    return times


def contents(path):
    """Return the values of a result, or a digest of the files that hold no date; else nothing."""
    if path.name == "times.csv" or path.parent.name in KEPT:
        return ""
    if path.name == "result.json":
        return without_about(path.read_text("utf-8"))
    if path.suffix in (".jsonl", ".parquet"):
        jsonl = path.suffix == ".jsonl"
        table = pd.read_json(path, lines=True) if jsonl else pd.read_parquet(path)
        return table.drop(columns=SECONDS, errors="ignore").to_csv()
    recipes = path.parent.name == "recipes"
    if recipes or path.name in DIGESTED or path.suffix in WITHOUT_DATE:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return ""


def without_about(text):
    """Return a result without what is about its run, any other text as it is."""
    with contextlib.suppress(json.JSONDecodeError):
        found = json.loads(text)
        if isinstance(found, dict):
            return json.dumps({name: value for name, value in found.items() if name != ABOUT})
    return text


def passing(words):
    """Run a command that the world of the cases needs, keeping what it writes."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main(shlex.split(words)) == 0, words


def names_in(words):
    """Return the options in some words as a message may name them, and their values."""
    parts = shlex.split(words)
    options = [part for part in parts if part.startswith("--")]
    parameters = [option.removeprefix("--").replace("-", "_") for option in options]
    values = [part.rpartition("=")[2].partition(":")[0] for part in parts if part[:2] != "--"]
    return [*options, *parameters, *(value for value in values if len(value) > 3)]


def added(base, more):
    """Add words to those of a call; an option that it has already has their values instead."""
    words, given, dropped = [], shlex.split(more), False
    for word in shlex.split(base):
        dropped = word in given if word.startswith("--") else dropped
        if not dropped:
            words.append(word)
    return shlex.join([*words, *given])


def ignored(cases, folder):
    """Return the options that change nothing, or are refused by a message that names them not."""
    before, without_effect = {}, []
    for option, (base, more) in cases.items():
        found = outcome_of(added(base, more), folder / option)
        if found.status == BAD_INPUT:
            if not any(name in found.errors for name in [option, *names_in(more)]):
                without_effect.append(f"{option} is refused without its name: {found.errors}")
            continue
        if base not in before:
            before[base] = outcome_of(base, folder / option)
        if found.shown == before[base].shown:
            without_effect.append(option)
    return without_effect


def refused(base, more, folder):
    """Run a call that must be refused for an option that it names, and write nothing."""
    found = outcome_of(added(base, more), folder)
    assert found.status == BAD_INPUT, found.printed
    assert any(name in found.errors for name in names_in(more)), found.errors
