"""No option is ignored: each makes the outcome of a command another one, or is refused.

Of commands that are a public function `tests/test_no_parameter_ignored.py` tries the parameters,
and `tests/test_command_line.py` that they get what was typed.
"""

import contextlib
import functools
import hashlib
import io
import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from labelled_colours import labels_of, write_colours, write_detector, write_task
from predicted_world import write_world
from published_option_cases import PUBLISHED_CASES, PUBLISHED_REFUSED, SCORED
from published_option_world import make_short, write_roads

from autoeval import cli
from autoeval.cli import COMMANDS, main
from autoeval.report import monitor as report_of_sites
from autoeval.report import text as report_text
from autoeval.report.page import Page

BAD_INPUT = 2
ALL_CASES = PUBLISHED_CASES
DIGESTED = ("plan.json", "scores.parquet", "metadata.json", "changes.json", "trained.md")
VARYING = ("about",)  # keys of result.json that hold the date and the command


@dataclass(frozen=True)
class Outcome:
    """What a call left: its status, what it printed, and the files that it wrote."""

    status: int
    printed: str
    errors: str
    files: tuple


def outcome_of(words, folder):
    """Run a command in the world of cases; what it writes goes to a folder of its own."""
    given = shlex.split(words)
    name = next(n for n in (" ".join(given[:k]) for k in (3, 2, 1)) if n in COMMANDS)
    has_folder = "--work-dir" in cli.options_of(name)
    if has_folder and not {"--report-only", "--sample"} & {*given} and "--work-dir" not in given:
        given += ["--work-dir", str(folder)]
    before = files_here().items()
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        try:
            status = main(given)
        except SystemExit as stopped:
            status = stopped.code
    text = printed.getvalue().replace(str(folder), "WORK_DIR")
    paths = [Path(path) for path, _ in files_here().items() - before]
    written = {relative(path, folder): contents(path) for path in paths}
    return Outcome(status, without_varying(text), errors.getvalue(), tuple(sorted(written.items())))


def files_here(folder="."):
    """The files of the world, each with the time at which it was written."""
    times = {}
    for entry in os.scandir(folder):
        # without a `Path` of each: thousands of files are listed before and after every call
        if entry.is_dir(follow_symlinks=False):
            times |= files_here(entry.path)
        elif entry.is_file():
            times[entry.path] = entry.stat().st_mtime_ns
    return times


def relative(path, folder):
    return str(path).replace(str(folder), "WORK_DIR")


def contents(path):
    """The values of a result, or a digest of the files that hold no date; else nothing."""
    if path.name == "result.json":
        return without_varying(path.read_text("utf-8"))
    digested = path.name in DIGESTED
    digested |= path.suffix in (".csv", ".prom", ".yaml") or path.with_suffix(".yaml").exists()
    digested |= path.parent.name == "recipes"
    return hashlib.sha256(path.read_bytes()).hexdigest() if digested else ""


def without_varying(text):
    with contextlib.suppress(json.JSONDecodeError):
        found = json.loads(text)
        if not isinstance(found, dict):
            return text
        return json.dumps({name: of for name, of in found.items() if name not in VARYING})
    return text


@pytest.fixture(autouse=True)
def no_warning_in_the_short_form(monkeypatch):
    """The world gives few warnings; so `--verbose` is seen to add them."""
    monkeypatch.setattr(report_text, "MOST", 0)


@pytest.fixture(autouse=True)
def short_runs_without_a_clock(monkeypatch):
    make_short(monkeypatch)


@pytest.fixture(scope="module", autouse=True)
def pages_left_empty():
    """Leave pages empty: an outcome holds of a page only that it is there."""
    with pytest.MonkeyPatch.context() as patched:
        print_result = report_text.print_result

        def without_charts(text, values, folder, draw, **options):
            print_result(text, values, folder, lambda: Page("empty"), **options)

        patched.setattr(report_text, "print_result", without_charts)
        patched.setattr(report_of_sites, "monitored_page", lambda *of, **options: Page("empty"))
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Files of one detector and of another, a black box with images, fits of all, and a plan."""
    folder = tmp_path_factory.mktemp("options")
    with contextlib.chdir(folder):
        write_files(folder)
        quietly("fit --labels val_labels.json --predictions val_predictions.json --work-dir fit")
        quietly("fit --labels val_labels.json --predictions others_val.json --work-dir other")
        cut = "--predictions cut_val.json --incomplete"
        quietly(f"fit --labels val_labels.json {cut} --work-dir cut_fit")
        for name, file in (("run", "mine.py"), ("run2", "second.py")):
            labels = "fit --labels w0/annotations.json"
            quietly(f"{labels} --detector {file}:detector --work-dir {name}")
        new = "--predictions new_predictions.json --images new_labels.json"
        quietly(f"label plan --estimator fit/estimator.parquet {new} --n 12 --work-dir plan")
        labels_of_drawn(Path("plan/plan.json"), Path("new_labels.json"), Path("plan_labels.json"))
        write_sites(folder)
        quietly(SCORED)
        write_roads(folder)
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
    things = ["none", *(f"thing {k}" for k in (1, 0, 2, 3, 4))]
    (folder / "exchanged.txt").write_text("\n".join(things))
    labels = json.loads((folder / "val_labels.json").read_text())
    fewer = labels | {"annotations": labels["annotations"][::2]}
    (folder / "some_val_labels.json").write_text(json.dumps(fewer))
    write_task(folder)
    for k, n_images in enumerate((50, 20)):
        write_colours(folder / f"w{k}", k, n_images=n_images)
    write_detector(folder)
    text = (folder / "mine.py").read_text()
    text = text.replace("def find(images):", "def find(images):\n    print(len(images))")
    (folder / "mine.py").write_text(text)
    (folder / "second.py").write_text(text.replace("THRESHOLD = 100", "THRESHOLD = 150"))
    labels_of(folder / "w1", [f"{k:02d}.png" for k in range(12)], folder / "some_labels.json")
    (folder / "yolo" / "labels").mkdir(parents=True)


def write_sites(folder):
    """Write predictions and images of two sites, labels of YOLO, and counts."""
    files = {"watched": "new_predictions", "watched_others": "others", "watched_cut": "cut"}
    for name, of in files.items():
        (folder / name).mkdir()
        for site in ("gate", "yard"):
            shutil.copy(folder / f"{of}.json", folder / name / f"{site}.json")
    (folder / "lists").mkdir()
    for site in ("gate", "yard"):
        content = json.loads((folder / "new_labels.json").read_text())
        first = content["images"][0]
        content["images"].append({**first, "id": 999, "file_name": "more.jpg"})
        (folder / f"lists/{site}.json").write_text(json.dumps(content | {"annotations": []}))
    for k, site in enumerate(("gate/north", "gate/south")):
        shutil.copytree(folder / f"w{k}/images", folder / "sites" / site)
    (folder / "yolo_labels/images").mkdir(parents=True)
    (folder / "yolo_labels/labels").mkdir()
    shutil.copy(next((folder / "w0/images").iterdir()), folder / "yolo_labels/images/a.png")
    (folder / "yolo_labels/labels/a.txt").write_text("0 0.5 0.5 0.2 0.2\n")


def labels_of_drawn(plan, labels, path):
    """Write the labels of the images that a plan drew, which it names by their ids."""
    drawn, content = json.loads(plan.read_text())["drawn"], json.loads(labels.read_text())
    images = [image for image in content["images"] if str(image["id"]) in drawn]
    boxes = [box for box in content["annotations"] if str(box["image_id"]) in drawn]
    path.write_text(json.dumps(content | {"images": images, "annotations": boxes}))


def quietly(words):
    found = outcome_of(words, Path("unused"))
    assert found.status == 0, found.errors


@pytest.fixture(scope="module")
def base_outcome(world):
    """What a base call leaves; each is run once."""
    return functools.cache(lambda base: passing_outcome(base, Path(f"base_{abs(hash(base))}")))


def passing_outcome(words, folder):
    """Run a command, and remove the folder that it wrote, so that later calls list fewer files."""
    found = outcome_of(words, folder)
    shutil.rmtree(folder, ignore_errors=True)
    return found


def names_in(words):
    """The options and facts of words as a message may name them, and their files."""
    parts = shlex.split(words)
    options = [part for part in parts if part.startswith("--")]
    parameters = [option.removeprefix("--").replace("-", "_") for option in options]
    names = [part.partition("=")[0] for part in parts if "=" in part]
    facts = [form for name in names for form in (f"{name}=", f"`{name}`")]
    values = [part.rpartition("=")[2].partition(":")[0] for part in parts if part[:2] != "--"]
    return [*options, *parameters, *facts, *(value for value in values if len(value) > 3)]


def options_of(command):
    names = {option.removeprefix("--").replace("-", "_") for option in cli.options_of(command)}
    return names - {"help", "help_all"}


@pytest.mark.parametrize("command", ALL_CASES)
def test_every_option_has_a_case(command):
    assert set(ALL_CASES[command]) == options_of(command)


def test_every_command_has_cases():
    assert set(COMMANDS) - set(cli.FUNCTIONS) == set(ALL_CASES)


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, cases in ALL_CASES.items() for option in cases],
)
def test_an_option_acts_or_is_refused(command, option, world, base_outcome, monkeypatch, tmp_path):
    monkeypatch.chdir(world)
    base, more = ALL_CASES[command][option]
    folder = Path("acts") / f"{command}_{option}".replace(" ", "_")
    found = passing_outcome(f"{base} {more}", folder)
    if found.status == BAD_INPUT:
        assert any(name in found.errors for name in names_in(more)), found.errors
        return
    before = base_outcome(base)
    assert (found.status, found.printed, found.files) != (
        before.status,
        before.printed,
        before.files,
    )


@pytest.mark.parametrize(("base", "more"), PUBLISHED_REFUSED)
def test_what_would_do_nothing_is_refused(base, more, world, monkeypatch):
    monkeypatch.chdir(world)
    found = outcome_of(f"{base} {more}", Path("refused"))
    assert found.status == BAD_INPUT
    assert any(name in found.errors for name in names_in(more)), found.errors
    assert not Path("refused").exists()
