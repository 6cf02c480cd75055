"""Printed next steps repeat every option that was typed and that the next command has, too."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from comparison.two_detectors import write_detectors

from autoeval import Predictions, fit
from autoeval.boxes import Boxes, LabelledImage
from autoeval.command_table import COMMANDS
from autoeval.commands.command_line import Invocation, options_of
from autoeval.commands.compare import after_compare
from autoeval.commands.estimate import after_estimate, after_fit, show_detect
from autoeval.commands.monitor import label_commands
from autoeval.comparison.comparison import Gate, Loss
from autoeval.errors import InputError
from autoeval.labels import PLAN
from autoeval.monitoring.monitor_store import MonitorStore

OTHERWISE = {"estimator", "work_dir", "seed", "verbose"}  # of the next command, not of these boxes


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two fits, and two more of the weaker detector, without a reference and with one."""
    folder = write_detectors(tmp_path_factory.mktemp("world"))
    boxes = Predictions(folder / "set_weak_predictions.json")
    fit(folder / "set.json", boxes, work_dir=folder / "current")
    boxes = replace(boxes, reference=folder / "set_strong_predictions.json")
    fit(folder / "set.json", boxes, work_dir=folder / "with reference")
    return folder


def typed(command, **values):
    """Every option of a command that `label plan` has, too, typed with a word of its own."""
    options, plan = options_of(COMMANDS[command]), options_of(COMMANDS["label plan"])
    words = {name: [options[name].typed[0], f"{name}!"] for name in options if name in plan}
    given = dict.fromkeys(options) | {"work_dir": "nowhere"} | values
    words |= {name: [options[name].typed[0], str(value)] for name, value in values.items()}
    return Invocation(given, words, "")


def expect_repeated(step, words, but):
    printed = shlex.split(step)
    assert printed[:3] == ["autoeval", "label", "plan"]
    for name, (option, word) in words.items():
        if name not in but:
            assert printed[printed.index(option) + 1] == word, name
    allowed = {option.typed[0] for option in options_of(COMMANDS["label plan"]).values()}
    assert {word for word in printed if word.startswith("--")} <= allowed


def test_after_an_estimate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invocation = typed("estimate")
    estimator = SimpleNamespace(target="mAP", assistance_=True)
    estimate = SimpleNamespace(width_warning="wide", n_images=50)
    step = after_estimate(invocation, "e.parquet", estimator, estimate)
    expect_repeated(step, invocation.words, OTHERWISE)


def test_after_a_comparison(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = {name: str(world / name) for name in ("strong", "weak")}
    invocation = typed("compare", estimators=named, predictions=["a.json", "b.json"], images="i")
    best = {"a": "strong", "b": "weak", "distinguishable": False}
    result = SimpleNamespace(
        overall=pd.DataFrame([best]), n_labelled=0, n_images=50, sites=dict.fromkeys(named)
    )
    step = after_compare(invocation, result, None)
    but = {"predictions", "estimators", "target"}
    expect_repeated(step, invocation.words, OTHERWISE | but)


@pytest.mark.parametrize("by_files", [True, False])
def test_after_an_alarm(tmp_path, by_files):
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate.json").write_text("[]")
    values = {"predictions": str(tmp_path)} if by_files else {"images": str(tmp_path)}
    invocation = typed("monitor", estimator="e.parquet", **values)
    monitored = monitored_with("gate")
    step = label_commands(invocation, monitored)["gate"]
    but = {"predictions", "images", "img_dir", *(["reference"] if by_files else [])}
    expect_repeated(step, invocation.words, OTHERWISE | but)


@pytest.mark.parametrize("by_files", [True, False])
@pytest.mark.parametrize("of_both", [True, False])
def test_after_an_alarm_a_reference_of_the_other_detector_alone_is_left_out(
    world, tmp_path, by_files, of_both
):
    """The plan of a site is of the current one, whose fit refuses a reference that it lacked."""
    (tmp_path / "sites/gate").mkdir(parents=True)
    (tmp_path / "sites/gate.json").write_text("[]")
    values = {"predictions" if by_files else "images": str(tmp_path / "sites")}
    current = str(world / ("with reference" if of_both else "current"))
    values |= {"estimator": current, "against": "other", "reference": ["stronger"]}
    invocation = typed("monitor", **values)
    printed = shlex.split(label_commands(invocation, monitored_with("gate"))["gate"])
    for option in ("--reference", "--reference-names", "--reference-checkpoint"):
        assert (option in printed) == of_both


def test_there_is_no_step_where_the_images_of_all_sites_are_in_one_list(tmp_path):
    """Without a list a plan would draw of the images with a box alone."""
    (tmp_path / "gate.json").write_text("[]")
    (tmp_path / "all.txt").write_text("gate/1.jpg\n")
    images = str(tmp_path / "all.txt")
    invocation = typed("monitor", estimator="e", predictions=str(tmp_path), images=images)
    assert not label_commands(invocation, monitored_with("gate"))


@pytest.mark.parametrize("name", ["boxes.json", "boxes.parquet", "boxes.jsonl.gz", "folder"])
def test_after_a_fit_with_the_boxes_of_a_reference_those_of_the_new_images_are_named(
    tmp_path, name
):
    """With a detector that is run, too: other files than .json were named again."""
    (tmp_path / "folder").mkdir()
    words = {"reference": ["--reference", str(tmp_path / name)]}
    step = after_fit(Invocation({}, words, ""), Path("fit"), from_files=False)
    assert shlex.split(step)[-2:] == ["--reference", "REFERENCE.json"]
    words = {"reference": ["--reference", "retinanet_r50"]}
    step = after_fit(Invocation({}, words, ""), Path("fit"), from_files=False)
    assert shlex.split(step)[-2:] == ["--reference", "retinanet_r50"]


def test_boxes_of_a_detector_are_fitted_on_or_estimated_from(tmp_path, capsys):
    """Those of labelled images, too, were to be estimated, before there was a fit."""
    images = (LabelledImage("1", "1.jpg", (9, 9)),)
    none = np.zeros(0, int)
    boxes = Boxes(images, ("car",), none, none, np.zeros((0, 4)), np.zeros(0))
    show_detect(boxes, Invocation({"output": tmp_path / "my boxes.parquet"}, {}, ""))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    fitted, estimated = map(shlex.split, lines)
    of_boxes = ["--predictions", str(tmp_path / "my boxes.parquet")]
    assert fitted == ["autoeval", "fit", "--labels", "LABELS", *of_boxes]
    assert estimated == ["autoeval", "estimate", *of_boxes]


@pytest.mark.parametrize(
    "of_files", [["--columns", "class,x,y,w,h,score"], ["--incomplete"]], ids=lambda words: words[0]
)
def test_after_a_fit_it_is_said_again_how_files_are_read(of_files):
    """Without --incomplete new files that begin at the score of those of the fit were refused."""
    words = {of_files[0].removeprefix("--"): of_files}
    step = after_fit(Invocation({}, words, ""), Path("fit"), from_files=True)
    assert shlex.split(step)[2 : 4 + len(of_files)] == ["--predictions", "NEW.json", *of_files]


@pytest.mark.parametrize(
    ("n_labelled", "n_drawn", "n"),
    [(10, 10, "30"), (45, 45, "50"), (50, 50, None), (10, 29, "30"), (10, 30, None)],
)
def test_a_plan_is_enlarged_to_more_images_than_it_has_and_no_more_than_there_are(
    tmp_path, n_labelled, n_drawn, n
):
    """Of 50, where it is not known how many labels would decide: 20 more were asked for."""
    (tmp_path / PLAN).touch()
    about = {"about": {"command": "autoeval label plan --n 10 --estimator e"}}
    drawn = {"drawn": [f"{k}.jpg" for k in range(n_drawn)]}
    (tmp_path / "result.json").write_text(json.dumps(about | drawn))
    loss = Loss("weak", 0.0, -0.1, 0.1, "undecided", None)
    gate = Gate("strong", 0.01, 0.9, (loss,))
    pairs = pd.DataFrame([{"a": "strong", "b": "weak", "distinguishable": False}])
    result = SimpleNamespace(overall=pairs, n_labelled=n_labelled, n_images=50)
    labels = str(tmp_path / "labels.json")
    step = after_compare(typed("compare", predictions=["a", "b"], labels=labels), result, gate)
    assert shlex.split(step)[-2:] == (["--n", n] if n else [])
    (tmp_path / "result.json").write_text('{"about"')
    if n:
        with pytest.raises(InputError, match=r"result\.json is not a JSON file"):
            after_compare(typed("compare", predictions=["a", "b"], labels=labels), result, gate)


def monitored_with(*names, n_images=(30, 30), pictures=()):
    """A run with an alarm at each of these sites."""
    history = pd.DataFrame({"n_images": n_images})
    alarms = [SimpleNamespace(name=name, history=history) for name in names]
    return SimpleNamespace(alarms=alarms, pictures=dict.fromkeys(pictures))


def test_each_site_has_a_folder_of_labels_of_its_own(tmp_path):
    names = ["yard/north", "yard_north", "roof"]
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    invocation = typed("monitor", estimator="e.parquet", images=str(tmp_path))
    monitored = monitored_with(*names)
    steps = label_commands(invocation, monitored)
    assert len({shlex.split(step)[-1] for step in steps.values()}) == len(names)
    assert not any("--n" in shlex.split(step) for step in steps.values())


def test_the_plan_of_a_site_is_no_earlier_one_and_of_no_more_images_than_there_are(
    tmp_path, monkeypatch
):
    """A site grows, so that its earlier plan is of other images: the command was refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites/roof").mkdir(parents=True)
    (tmp_path / "work_dirs/labels_roof").mkdir(parents=True)
    invocation = typed("monitor", estimator="e.parquet", images="sites")
    monitored = monitored_with("roof", n_images=(8, 4))
    command = shlex.split(label_commands(invocation, monitored)["roof"])
    assert command[-4:] == ["--n", "12", "--work-dir", "work_dirs/labels_roof_2"]


def test_the_plan_of_a_site_draws_no_more_images_than_are_still_there(tmp_path, monkeypatch):
    """Of sixty that were observed: a file that is written anew, a folder that was emptied."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sites/roof").mkdir(parents=True)
    (tmp_path / "sites/roof.json").write_text("[]")
    pictures = [f"roof/{k}.jpg" for k in range(7)] + [f"gate/{k}.jpg" for k in range(30)]
    for values, n in (({"images": "sites"}, 7), ({"predictions": "sites"}, 11)):
        invocation = typed("monitor", estimator="e.parquet", work_dir="kept", **values)
        if "predictions" in values:
            note = {"warnings": [], "sites": ["roof"], "n_images": n, "unseen": 0.0, "floor": 0.0}
            MonitorStore("kept").add([], file=("roof", "stamp", note))
        monitored = monitored_with("roof", pictures=pictures if "images" in values else ())
        command = shlex.split(label_commands(invocation, monitored)["roof"])
        assert command[command.index("--n") + 1] == str(n)
