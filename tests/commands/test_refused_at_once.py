"""What no run could use is refused with status 2 before anything is read or run."""

import builtins
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import autoeval
from autoeval.api.options import detector_of_fit
from autoeval.cli import main
from autoeval.command_table import COMMANDS
from autoeval.commands import command_line
from autoeval.commands.command_line import options_of

FOLDERS = ("work_dir", "export", "out")
FILES = ("output", "markdown", "prometheus", "report")
WRITTEN = [
    (name, option)
    for name, command in COMMANDS.items()
    for option in options_of(command)
    if option in FOLDERS + FILES
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("reproduce binned --data-root gone", "gone"),
        ("reproduce capture --data-root gone", "gone"),
        ("reproduce praco --data-root gone", "gone"),
        ("count evaluate a.csv --match-distance 4 -4", "--match-distance"),
        ("count evaluate a.csv --match-distance nan", "--match-distance"),
        ("count evaluate a.csv --match-distance inf", "--match-distance"),
        ("search-dropout --rates .1 0", "--rates"),
        ("search-dropout --rates 1", "--rates"),
        ("reproduce bos --search 0", "--search"),
        ("search-dropout --detector x --stages a,b,c,d,e", "--stages"),
        ("estimate --detector x --fit-labels gone.json --images gone_site", "gone_site"),
        ("estimate-map --every 2", "--every"),
        ("estimate-map --img-dir folder", "--img-dir"),
    ],
)
def test_numbers_and_folders_that_no_run_can_use(words, named, capsys):
    assert main(words.split()) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: ") and named in shown and "road world" not in shown


@pytest.mark.parametrize(("name", "option"), WRITTEN)
def test_every_path_that_is_written_is_looked_at_first(name, option, monkeypatch):
    command = COMMANDS[name]
    kept = {"function": command.function, "show": command.show}
    monkeypatch.setattr(
        command_line, "resolve_name", lambda path: pytest.fail(f"{path} of {kept} was run")
    )
    for wrong in ("", "file/below", os.devnull, "folder" if option in FILES else "file"):
        with pytest.raises(command_line.InputError, match="Expected") as refused:
            command_line.check_outputs({option: wrong}, command)
        assert f"'{wrong}'" in str(refused.value)
    for right in ("new/one", "file" if option in FILES else "folder", None):
        command_line.check_outputs({option: right}, command)


def test_a_command_looks_at_them_before_it_reads(capsys):
    assert main(["estimate", "--predictions", "gone.json", "--export", "file"]) == 2
    assert "--export as a folder" in capsys.readouterr().err
    assert main(["count", "capture", "generate", "file"]) == 2
    assert "OUT as a folder" in capsys.readouterr().err
    assert main(["convert-labels", "gone.json", "folder"]) == 2
    assert "OUTPUT as a file" in capsys.readouterr().err


def test_an_interrupt_while_modules_are_imported_is_no_traceback(monkeypatch, capsys):
    original = builtins.__import__

    def interrupted(name, *rest):
        if name == "autoeval.command_table":
            raise KeyboardInterrupt
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert main(["--version"]) == 130
    assert capsys.readouterr().err.startswith("\nInterrupted.")


def test_the_entry_point_imports_next_to_nothing_before_it_catches_interrupts():
    seen = (
        "import sys; before = {*sys.modules}; import autoeval.cli; print(*{*sys.modules} - before)"
    )
    words = [sys.executable, "-S", "-c", seen]  # without the site, which imports of its own
    root = Path(autoeval.__file__).parents[1]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=root)
    imported = done.stdout.split()
    assert {name for name in imported if name.startswith("autoeval")} == {
        "autoeval",
        "autoeval.cli",
        "autoeval.version",
    }
    assert not {"typing", "re", "inspect", "dataclasses"} & {*imported}


def test_a_detector_of_a_fit_runs_where_it_is_told():
    loading = {"detector": {"name": "yolox_nano", "device": "cpu"}}
    fitted = SimpleNamespace(loading_=loading, detector_=None)
    assert detector_of_fit(fitted, {}).spec.device == "cpu"
    assert detector_of_fit(fitted, {"device": "cuda:1", "batch_size": 3}).spec.device == "cuda:1"
