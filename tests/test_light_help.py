"""``--help`` loads nothing heavy, and what commands repeat for that is what the package says."""

import json
import subprocess
import sys
from inspect import signature
from typing import get_args, get_type_hints

from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import help_of
from autoeval.commands.data import convert_labels
from autoeval.counting import prompting
from autoeval.counting.binning import BINNINGS, PUBLISHED, PUBLISHED_GAMMA
from autoeval.counting.capture import making, task_run
from autoeval.counting.commands.capture import ask_counters, generate
from autoeval.counting.commands.counts import evaluate
from autoeval.counting.commands.praco import praco
from autoeval.counting.evaluation.localisation import DISTANCES
from autoeval.counting.praco import mosaic_run
from autoeval.io.labels.any_format import NAMES
from autoeval.stability.commands import search_dropout
from autoeval.stability.scores.box_stability import image_stabilities

HEAVY = ("matplotlib", "mmengine", "pandas", "scipy", "torch")
REPRODUCE: tuple[str, ...] = ()
LOADED = """
import contextlib, io, json, sys
from autoeval.cli import main
found = {}
for name in json.loads(sys.argv[1]):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
        main([*name.split(), "--help"])
    assert "usage: autoeval " + name in shown.getvalue()
    found[name] = [module for module in json.loads(sys.argv[2]) if module in sys.modules]
print(json.dumps(found))
"""


def test_help_loads_nothing_heavy():
    """In one process, so that the first command of several that are named is to blame."""
    names = json.dumps([name for name in COMMANDS if name not in REPRODUCE])
    argv = [sys.executable, "-c", LOADED, names, json.dumps(HEAVY)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout)
    assert len(found) > 20
    assert {name: modules for name, modules in found.items() if modules} == {}


def test_what_docstrings_name_is_what_there_is():
    def said(function):
        return " ".join(function.__doc__.split())

    assert f"One of {', '.join(NAMES)} (" in said(convert_labels)
    binnings = "|".join(BINNINGS)
    assert f"--binning {binnings}" in help_of("count evaluate", COMMANDS["count evaluate"])
    assert f"published ones: {', '.join(PUBLISHED)}." in said(evaluate)
    near, far = (f"{distance:g}" for distance in DISTANCES)
    assert f"cross-validation (default: {PUBLISHED_GAMMA})." in said(evaluate)
    assert f"in pixels (default: {near} and {far})." in said(evaluate)
    assert f"(default: {mosaic_run.RELEASED_SEED})" in said(praco)
    assert f"(default: {mosaic_run.LAYOUTS[0]})" in said(praco)
    assert f"One or more of {', '.join(task_run.TASKS)}." in said(ask_counters)
    assert signature(generate).parameters["patterns"].default == making.RELEASED
    assert f"(default: {prompting.BATCH_SIZE})" in said(praco)
    scores = get_type_hints(search_dropout.SearchOptions)["score"]
    assert tuple(image_stabilities()) == get_args(scores)
