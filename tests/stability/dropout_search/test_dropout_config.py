"""The configuration that a search writes, read by the commands that run a detector."""

import pytest

from autoeval.errors import InputError
from autoeval.runtime.files import read_config, shipped_config
from autoeval.stability.commands.meta_set_options import (
    pass_settings,
)
from autoeval.stability.network.forward.dropout_spec import (
    DropoutSpec,
    load_dropout,
    of_search,
    write_dropout_config,
)
from autoeval.stability.passes.presets import PRESETS

SPEC = DropoutSpec("before", (0, 3), 0.35)
FOUND = {"detector": "yolox_nano", "r2": 0.5, "n_images": 88}


def settings_of(**options):
    return pass_settings(options)


def test_round_trip(tmp_path):
    write_dropout_config(tmp_path / "found.py", SPEC, FOUND)
    assert load_dropout(tmp_path / "found.py") == SPEC
    assert '"""Dropout for yolox_nano' in (tmp_path / "found.py").read_text()


@pytest.mark.parametrize("name", ['the "north" cameras', "D:\\new_site", 'ends in "'])
def test_names_may_have_quotes_and_backslashes(tmp_path, name):
    """A search takes hours, and what it has found must be readable afterwards."""
    found = {**FOUND, "detector": name, "task": name, "sources": [name]}
    write_dropout_config(tmp_path / "found.py", SPEC, found)
    assert load_dropout(tmp_path / "found.py") == SPEC
    assert read_config(tmp_path / "found.py")["found"]["task"] == name
    assert of_search(tmp_path / "found.py", "sources") == (name,)


def test_commands_take_it_in_place_of_the_presets_dropout(tmp_path):
    write_dropout_config(tmp_path / "found.py", SPEC, FOUND)
    settings = settings_of(preset="released", dropout=str(tmp_path / "found.py"))
    assert settings.dropout == SPEC
    assert settings.stability == PRESETS["released"][1]
    assert settings_of(preset="released").dropout == PRESETS["released"][0]


@pytest.mark.parametrize(
    "text",
    [
        "rate = 0.1",
        "dropout = 0.1",
        "dropout = dict(position='after', stages=[1])",
        "dropout = dict(position='after', stages=[1], rate=0.1, seed=3)",
        "dropout = dict(position='after', stages=[7], rate=0.1)",
        "dropout = dict(position='after', stages=[1], rate=1.1)",
        "dropout = dict(position='after', stages=[1], rate='0.1')",
        "dropout = dict(position='after', stages=1, rate=0.1)",
        "dropout = dict(position='amid', stages=[1], rate=0.1)",
        "dropout = dict(position='after', stages=[1], rate=0.1); fond = dict(sources=['a'])",
    ],
)
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "other.py").write_text(text)
    with pytest.raises(InputError, match="Expected"):
        load_dropout(tmp_path / "other.py")


def test_shipped_dropouts_say_which_sources_they_were_chosen_on():
    """On these errors are too small, which is said where a dropout is used."""
    paths = sorted(shipped_config("dropout").glob("*.py"))
    assert len(paths) == 2
    for path in paths:
        found, sources = read_config(path)["found"], of_search(path, "sources")
        assert sources and found["n_sample_sets"] % len(set(sources)) == 0


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="No configuration file"):
        load_dropout(tmp_path / "none.py")
