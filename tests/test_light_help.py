"""``--help`` loads nothing heavy, and what commands repeat for that is what the package says."""

import json
import subprocess
import sys

from autoeval.cli import COMMANDS
from autoeval.commands.convert_labels import convert_labels
from autoeval.counting import prompting
from autoeval.counting.binning import BINNINGS, PUBLISHED, PUBLISHED_GAMMA
from autoeval.counting.capture import synthetic, tasks
from autoeval.counting.commands import (
    capture_generate,
    capture_run,
    common_options,
    evaluate,
    praco,
)
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


def test_what_the_options_name_is_what_there_is():
    assert tuple(PUBLISHED) == evaluate.PUBLISHED
    assert tuple(BINNINGS) == evaluate.BINNINGS
    assert (evaluate.GAMMA, evaluate.DISTANCES) == (PUBLISHED_GAMMA, DISTANCES)
    assert praco.LAYOUTS == mosaic_run.LAYOUTS
    assert praco.RELEASED_SEED == mosaic_run.RELEASED_SEED
    assert tuple(tasks.TASKS) == capture_run.TASKS
    assert tuple(synthetic.LAYOUTS) == capture_generate.LAYOUTS
    assert capture_generate.RELEASED == synthetic.RELEASED
    assert common_options.BATCH_SIZE == prompting.BATCH_SIZE
    assert f"One of {', '.join(NAMES)} (" in " ".join(convert_labels.__doc__.split())
    assert tuple(image_stabilities()) == search_dropout.SCORE_NAMES
