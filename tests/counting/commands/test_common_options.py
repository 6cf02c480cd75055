"""Options that several commands of counting have mean the same in all of them."""

import argparse
import subprocess
import sys

import pytest

from autoeval.counting.commands import (
    evaluate,
    praco,
    reproduce_binned,
    reproduce_capture,
    reproduce_praco,
)

REPRODUCE = (reproduce_binned, reproduce_capture, reproduce_praco)


def options(module):
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    return {action.dest: action for action in parser._actions}


@pytest.mark.parametrize("module", [evaluate, praco, *REPRODUCE])
def test_the_mode_is_paper_by_default(module):
    mode = options(module)["mode"]
    assert mode.default == "paper" and tuple(mode.choices) == ("paper", "released")


def test_the_commands_of_papers_have_one_set_of_options():
    common = {"help", "table", "figure", "data_root", "predictions", "mode", "work_dir", "json"}
    found = [set(options(module)) for module in REPRODUCE]
    assert found == [common, common, common | {"exclude"}]


@pytest.mark.parametrize("name", ["predictions", "exclude"])
def test_folders_and_lists_may_be_given_together_or_one_by_one(name):
    parser = argparse.ArgumentParser()
    reproduce_praco.add_arguments(parser)
    args = parser.parse_args([f"--{name}", "a", "b", f"--{name}", "c"])
    assert [str(path) for path in getattr(args, name)] == ["a", "b", "c"]


def test_help_of_the_commands_of_papers_loads_no_tables_and_no_plots():
    modules = ", ".join(module.__name__ for module in REPRODUCE)
    code = f"import sys, {modules}; print({{'pandas', 'matplotlib', 'scipy'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
