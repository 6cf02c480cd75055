"""No option is ignored: each makes the outcome of a command another one, or is refused."""

import argparse
import contextlib
import functools
import hashlib
import io
import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from labelled_colours import labels_of, write_colours, write_detector, write_task
from option_cases import CASES, REFUSED
from predicted_world import write_world

from autoeval.cli import COMMANDS, main, parser_of
from autoeval.commands.typed_options import names_of

BAD_INPUT = 2
VARYING = ("about",)  # keys of result.json that hold the date and the command
"""Commands whose options have no case yet, each with the reason."""
UNCOVERED = {}


@dataclass(frozen=True)
class Outcome:
    """What a call left: its status, what it printed, and the files that it wrote."""

    status: int
    printed: str
    errors: str
    files: tuple


def outcome_of(words, folder):
    """Run a command in the world of cases; its work dir by default is one of its own."""
    given = shlex.split(words)
    if "--work-dir" not in given:
        given += ["--work-dir", str(folder)]
    before = files_here()
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        try:
            status = main(given)
        except SystemExit as stopped:
            status = stopped.code
    text = printed.getvalue().replace(str(folder), "WORK_DIR")
    written = {relative(path, folder): contents(path) for path in files_here() - before}
    return Outcome(status, without_varying(text), errors.getvalue(), tuple(sorted(written.items())))


def files_here():
    return {path for path in Path().rglob("*") if path.is_file()}


def relative(path, folder):
    return str(path).replace(str(folder), "WORK_DIR")


def contents(path):
    """The values of a result, or a digest of the files that hold no date; else nothing."""
    if path.name == "result.json":
        return without_varying(path.read_text("utf-8"))
    if path.suffix in (".parquet", ".csv", ".png"):
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.name == "plan.json" else ""


def without_varying(text):
    with contextlib.suppress(json.JSONDecodeError):
        found = json.loads(text)
        return json.dumps({name: of for name, of in found.items() if name not in VARYING})
    return text


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Files of one detector and of another, a black box with images, fits of all, and a plan."""
    folder = tmp_path_factory.mktemp("options")
    with contextlib.chdir(folder):
        write_files(folder)
        quietly("fit --labels val_labels.json --predictions val_predictions.json --work-dir fit")
        quietly("fit --labels val_labels.json --predictions others_val.json --work-dir other")
        for name, file in (("run", "mine.py"), ("run2", "second.py")):
            labels = "fit --labels w0/annotations.json"
            quietly(f"{labels} --detector {file}:detector --work-dir {name}")
        new = "--predictions new_predictions.json --images-list new_labels.json"
        quietly(f"label plan --estimator fit/estimator.parquet {new} --n 12 --work-dir plan")
        drawn = json.loads(Path("plan/plan.json").read_text())["drawn"]
        pool = json.loads(Path("new_labels.json").read_text())
        write_labels_of(pool, drawn, Path("plan_labels.json"))
    return folder


def write_files(folder):
    sizes = {"n_images": 30, "n_categories": 5}
    write_world(folder, "val", seed=0, **sizes)
    write_world(folder, "new", seed=1, **sizes)
    for name, seed in (("val", 0), ("new", 1)):
        # the same labels, found by a worse detector
        (folder / "worse").mkdir(exist_ok=True)
        _, found = write_world(folder / "worse", name, seed=seed, skill=0.5, **sizes)
        found.rename(folder / ("others_val.json" if name == "val" else "others.json"))
        boxes = json.loads((folder / f"{name}_predictions.json").read_text())
        cut = [box for box in boxes if box["score"] > 0.35]
        (folder / ("cut_val.json" if name == "val" else "cut.json")).write_text(json.dumps(cut))
    (folder / "words.txt").write_text("\n".join("bcdefg"))
    write_task(folder)
    for k in (0, 1):
        write_colours(folder / f"w{k}", k, n_images=20)
    write_detector(folder)
    text = (folder / "mine.py").read_text()
    text = text.replace("def find(images):", "def find(images):\n    print(len(images))")
    (folder / "mine.py").write_text(text)
    (folder / "second.py").write_text(text.replace("THRESHOLD = 100", "THRESHOLD = 150"))
    labels_of(folder / "w1", [f"{k:02d}.png" for k in range(12)], folder / "some_labels.json")
    (folder / "yolo" / "labels").mkdir(parents=True)


def write_labels_of(content, names, path):
    images = [image for image in content["images"] if image["file_name"] in names]
    kept = {image["id"] for image in images}
    boxes = [box for box in content["annotations"] if box["image_id"] in kept]
    path.write_text(json.dumps(content | {"images": images, "annotations": boxes}))


def quietly(words):
    found = outcome_of(words, Path("unused"))
    assert found.status == 0, found.errors


@pytest.fixture(scope="module")
def base_outcome(world):
    """What a base call leaves; each is run once."""
    return functools.cache(lambda base: outcome_of(base, Path(f"base_{abs(hash(base))}")))


def names_in(words):
    """The options and facts of words, and the values that a message may name."""
    parts = shlex.split(words)
    facts = [f"{part.partition('=')[0]}=" for part in parts if "=" in part]
    values = [os.path.basename(part.rpartition("=")[2]) for part in parts if part[:2] != "--"]
    return [*(part for part in parts if part.startswith("--")), *facts, *filter(None, values)]


def options_of(command):
    names = names_of(parser_of(command))
    return set(names) - {argparse.SUPPRESS}


@pytest.mark.parametrize("command", CASES)
def test_every_option_has_a_case(command):
    assert set(CASES[command]) == options_of(command)


def test_commands_without_cases_are_declared():
    assert set(COMMANDS) == {*CASES, *UNCOVERED}


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, cases in CASES.items() for option in cases],
)
def test_an_option_acts_or_is_refused(command, option, world, base_outcome, monkeypatch, tmp_path):
    monkeypatch.chdir(world)
    base, more = CASES[command][option]
    found = outcome_of(f"{base} {more}", Path("acts") / f"{command}_{option}".replace(" ", "_"))
    if found.status == BAD_INPUT:
        assert any(name in found.errors for name in names_in(more)), found.errors
        return
    before = base_outcome(base)
    assert (found.status, found.printed, found.files) != (
        before.status,
        before.printed,
        before.files,
    )


@pytest.mark.parametrize(("base", "more"), REFUSED)
def test_what_would_do_nothing_is_refused(base, more, world, monkeypatch):
    monkeypatch.chdir(world)
    found = outcome_of(f"{base} {more}", Path("refused"))
    assert found.status == BAD_INPUT
    assert any(name in found.errors for name in names_in(more)), found.errors
    assert not Path("refused").exists()
