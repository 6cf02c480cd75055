"""The benchmarks start: a changed interface is met here, not on the day that one measures."""

import json
import re
import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.rare

FOLDER = Path(__file__).parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
SOURCES = {name: (FOLDER / f"{name}.py").read_text() for name in NAMES}
WITH_OPTIONS = [(name,) for name, text in SOURCES.items() if "__main__" in text]
PARTS = [
    (name, part)
    for name, text in SOURCES.items()
    for part in re.findall(r'prog="\w+ ([\w-]+)"', text)
]


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))


def start(name, *words, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
    monkeypatch.delitem(sys.modules, f"benchmarks.{name}", raising=False)  # run as a program is
    runpy.run_module(f"benchmarks.{name}", run_name="__main__")


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_a_benchmark_imports_is_there(name):
    import_module(f"benchmarks.{name}")


@pytest.mark.parametrize("words", WITH_OPTIONS + PARTS)
def test_a_benchmark_explains_itself(words, monkeypatch, capsys):
    with pytest.raises(SystemExit) as stopped:
        start(*words, "--help", monkeypatch=monkeypatch)
    assert stopped.value.code == 0
    assert re.match(r"usage: [\w. -]+ \[-h\]\s", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "part", "options"),
    [
        ("passes", "ratio", ["--only", "one"]),
        ("passes", "speed", ["--batch", 1, "--workers", 1, "--repeats", 1]),
        ("detect", "loops", []),
    ],
)
def test_the_cost_of_the_network_is_measured(name, part, options, tmp_path, monkeypatch, capsys):
    small = ["--detector", "roadworld_nano", "--n-images", 1, "--rounds", 1, *options]
    start(name, part, *small, "--json", tmp_path / "found.json", monkeypatch=monkeypatch)
    assert capsys.readouterr().out
    assert json.loads((tmp_path / "found.json").read_text())


@pytest.mark.slow  # the quickest of those that measure on real predictions
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("checks", ["labels", "DATA", "PREDICTIONS"]),
        ("checks", ["boxes", "DATA", "PREDICTIONS"]),
    ],
)
def test_it_measures_on_real_predictions(name, words, shared, monkeypatch, capsys):
    places = {"DATA": "real", "PREDICTIONS": "real_predictions/yolo26n"}
    for word, place in places.items():
        words = [each.replace(word, str(shared / place)) for each in words]
    start(name, *words, monkeypatch=monkeypatch)
    assert "|---" in capsys.readouterr().out
