"""Every parameter of what users call acts, or is refused with a message: none is ignored.

Each case is a call, and the same call with one parameter changed. They must differ in what they
return or write, or one of them must be refused.
"""

import json
from dataclasses import is_dataclass

import numpy as np
import pytest
from listed_codes import codes_in
from parameter_worlds import (
    BlackBoxes,
    fit_strong,
    load_trained,
    observed,
    write_worlds,
)

import autoeval
from autoeval.boxes import LabelledImage
from autoeval.commands.command_line import function_parameters as parameters
from autoeval.errors import InputError
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.run_detector import Loading
from autoeval.io.image_lists import read_image_list
from autoeval.labels.plan import LabelPlan
from autoeval.runtime.jobs import LocalExecutor
from tests.result_values import VALUES

pytestmark = pytest.mark.rare  # calls every public function once a parameter

NOWHERE = "no_such_folder"
WORDS = {f"object {k}": f"thing {k}" for k in range(3)}
PASS = ("batch_size", "num_workers", "ray", "ray_workers", "ray_gpus", "ray_cpus")
ONE_CATEGORY = {"thing 0": ["thing 0"]}
NAMES = {"1": "thing 0", "2": "thing 1", "3": "other"}
Estimator = autoeval.AccuracyEstimator


def of_fit(w):
    base = {"labels": w / "one.json", "predictions": w / "strong/one.json"}
    at = {"target": "recall", "score_thr": 0.3}
    return (
        autoeval.fit,
        base,
        {
            **of_boxes(w, w / "weak/one.json"),
            "labels": {"labels": w / "two.json", "predictions": w / "strong/two.json"},
            "predictions": {"predictions": w / "weak/one.json"},
            "task": {"task": w / "here.py"},
            "data_root": {"data_root": w / "there"},
            "join": {"join": [w / "fit_strong", w / "fit_two"]},
            "score_thr": ({"target": "recall", "score_thr": 0.5}, {"score_thr": 0.3}),
            "score_thr of an average precision": {"score_thr": 0.3},
            "iou": (at, {"iou": 0.75}),
            "img_dir": {"img_dir": w / NOWHERE},
            "group": {"group": "north"},
            "categories": {"categories": {"any": ["car"]}},
            "target": {"target": "mAP50"},
            "level": {"level": 0.8},
            "trained_here": {"trained_here": True},
            "work_dir": {"work_dir": w / "kept_fit"},
        },
    )


def of_estimate(w):
    base = {"estimator": w / "fit_strong", "predictions": w / "strong/new.json"}
    fit_here = {"estimator": None, "fit_labels": w / "one.json"}
    fit_here |= {"fit_predictions": w / "strong/one.json"}
    return (
        autoeval.estimate,
        base,
        {
            **of_boxes(w, w / "moved.json"),
            **of_site(w),
            "predictions": {"predictions": w / "moved.json"},
            "estimator": {"estimator": w / "fit_weak"},
            "fit_labels": (fit_here, {"fit_labels": w / "two.json"}),
            "fit_labels beside an estimator": {"fit_labels": w / "one.json"},
            "fit_predictions": (fit_here, {"fit_predictions": w / "weak/one.json"}),
            "fit_predictions without labels": {"fit_predictions": w / "weak/one.json"},
            "trained_here": (fit_here, {"trained_here": True}),
            "trained_here without labels": {"trained_here": True},
            "img_dir of a folder": (run_here(w), {"img_dir": w / NOWHERE}),
            "target": {"target": "mAP50"},
            "score_thr": {"score_thr": 0.5},
            "iou": ({"score_thr": 0.5}, {"iou": 0.75}),
            "iou without a threshold": {"iou": 0.75},
            "work_dir": (fit_here, {"work_dir": w / "kept_estimate"}),
        },
    )


def run_here(w):
    """A detector that is run, whose observations a folder keeps."""
    images = w / "colours/images"
    return {"estimator": observed(w), "predictions": None, "images": images}


def of_boxes(w, others):
    """Options of predictions, and of a detector, which is none beside them."""
    return {
        **of_run(),
        "detector": {"detector": "mine.py:detector"},
        "reference_checkpoint": {"reference_checkpoint": "a.pth"},
        "names": {"names": NAMES},
        "numbering": {"numbering": "coco"},
        "columns": {"columns": "class,x,y,w,h,score"},
        "incomplete": ({"predictions": w / "cut.json"}, {"incomplete": True}),
        "reference": {"reference": [others]},
        "reference_names": {"reference_names": NAMES},
    }


def of_site(w):
    """Options of a site whose boxes are given."""
    return {
        "images": {"images": w / "longer.json"},
        "img_dir": {"img_dir": w / NOWHERE},
        "img_dir of a list": ({"images": w / "list.json"}, {"img_dir": w / NOWHERE}),
        "every": {"every": "2"},
        "categories": {"categories": ONE_CATEGORY},
        "present": {"present": ["nowhere"]},
        "site": {"site": "one"},
        "group": {"group": "nowhere"},
    }


def of_fit_task(w):
    base = {"task": w / "here.py", "predictions": w / "strong"}
    return (
        autoeval.fit_task,
        base,
        {
            "task": {"task": w / "there.py"},
            "predictions": {"predictions": w / "weak"},
            "data_root": {"data_root": w / "there"},
            "target": {"target": "mAP50"},
            "level": {"level": 0.8},
            "work_dir": {"work_dir": w / "kept_fit_task"},
        },
    )


def of_detect(w):
    def call(detector, output, **options):
        sizes = [] if isinstance(detector, str) else detector.take_sizes
        given = detector if isinstance(detector, str) else detector.detector
        found = autoeval.detect(given, output=output, **options)
        return [found, output.stat().st_size, sizes and sizes()]

    base = {"detector": BlackBoxes(w), "images": w / "colours/images"}
    base["output"] = w / "detected.parquet"
    listed = {"images": w / "colours/annotations.json", "img_dir": w / "colours/images"}
    named = {"detector": f"{w / 'mine.py'}:detector"}
    return (
        autoeval.detect,
        base,
        {
            **of_run(),
            "detector": {"detector": BlackBoxes(w, "other")},
            "detector by name": (named, {"checkpoint": "a.pth"}),
            "images": {"images": w / "others/images"},
            "img_dir": (listed, {"img_dir": w / "others/images"}),
            "every": {"every": "2"},
            "output": {"output": w / "detected.json"},
            "work_dir": {"work_dir": w / "kept_detect"},
        },
        call,
    )


def of_run():
    """Options of a detector that is run: those of a model are refused by one that is loaded."""
    run = dict.fromkeys(("checkpoint", "device", "classes"), "nowhere")
    run |= {"cfg_options": ["a=1"], "network_precision": "single", "trust_checkpoint": True}
    run |= {"batch_size": 3, "num_workers": -1, "ray": "127.0.0.1:1"}
    run |= {"ray_workers": 2, "ray_gpus": 1.0, "ray_cpus": 1}
    return {name: {name: value} for name, value in run.items()}


def of_join(w):
    base = {"fits": [w / "fit_strong", w / "fit_two"]}
    return (
        autoeval.join,
        base,
        {
            "fits": {"fits": [w / "fit_strong", w / "fit_strong"]},
            "target": {"target": "mAP50"},
            "level": {"level": 0.8},
            "work_dir": {"work_dir": w / "kept_join"},
        },
    )


def of_plan_labels(w):
    base = {"estimator": w / "fit_strong", "predictions": w / "strong/new.json", "n": 6}
    base["images"] = w / "list.json"
    return (
        autoeval.plan_labels,
        base,
        {
            **of_boxes(w, w / "moved.json"),
            **of_site(w),
            "img_dir of a folder": (run_here(w), {"img_dir": w / NOWHERE}),
            "estimator": {"estimator": w / "fit_weak"},
            "predictions": {"predictions": w / "moved.json"},
            "images": {"images": [f"{k:06}.jpg" for k in range(25)]},
            "target": {"target": "mAP50"},
            "score_thr": {"score_thr": 0.5},
            "iou": ({"score_thr": 0.5}, {"iou": 0.75}),
            "iou without a threshold": {"iou": 0.75},
            "n": {"n": 7},
            "seed": {"seed": 1},
            "frames": {"frames": 5},
            "prelabel": ({"work_dir": w / "kept_prelabels"}, {"prelabel": True}),
            "prelabel without a folder": {"prelabel": True},
            "compare": {"compare": w / "fit_weak", "compare_predictions": w / "weak/new.json"},
            "compare_predictions": (
                {"compare": w / "fit_weak", "compare_predictions": w / "weak/new.json"},
                {"compare_predictions": w / "moved.json"},
            ),
            "compare_predictions alone": {"compare_predictions": w / "moved.json"},
            "work_dir": {"work_dir": w / "kept_plan"},
        },
    )


def of_a_plan_that_is_there(w):
    """It keeps what it drew, so what would draw otherwise is refused."""
    base = {"estimator": w / "fit_strong", "predictions": w / "strong/new.json", "n": 8}
    base |= {"images": w / "list.json", "work_dir": w / "plan"}
    return (
        autoeval.plan_labels,
        base,
        {
            "seed": {"seed": 1},
            "frames": {"frames": 5},
        },
    )


def of_estimators_plan_labels(w):
    fitted = fit_strong(w).for_target("precision@0.3")
    whole, other = (fitted.predict(w / name) for name in ("strong/new.json", "moved.json"))
    base = {"self": fitted, "estimate": whole, "n": 6}
    return (
        Estimator.plan_labels,
        base,
        {
            "estimate": {"estimate": other},
            "n": {"n": 7},
            "seed": {"seed": 1},
            "frames": {"frames": 5},
            "everywhere": (
                {"estimate": fit_strong(w).for_target("precision@0.8").predict(w / "moved.json")}
                | {"self": fit_strong(w).for_target("precision@0.8")},
                {"everywhere": True},
            ),
        },
    )


def of_estimate_with_labels(w):
    base = {"plan": w / "plan", "labels": w / "plan_labels.json"}
    return (
        autoeval.estimate_with_labels,
        base,
        {
            "plan": {"plan": w / "plan_weak"},
            "labels": {"labels": w / "few.json"},
            "img_dir": {"img_dir": w / NOWHERE},
            "words": {"words": {"thing 0": "thing 0"}},
            "planned": {"planned": False},
            "score_thr": {"score_thr": 0.5},
        },
    )


def of_threshold(w):
    # loaded once: it keeps its regressions at all thresholds
    base = {"estimator": fit_strong(w), "predictions": w / "strong/new.json"}
    labelled = {"labels": w / "few.json"}
    return (
        autoeval.threshold,
        base,
        {
            **of_boxes(w, w / "moved.json"),
            **of_site(w),
            "estimator": {"estimator": w / "fit_weak"},
            "predictions": {"predictions": w / "moved.json"},
            "plan": {"plan": w / "plan"},
            "work_dir": (run_here(w), {"work_dir": w / "kept_threshold"}),
            "precision": {"precision": 0.95},
            "recall": {"recall": 0.5},
            "iou": {"iou": 0.75},
            "labels": labelled,
            "words": (labelled, {"words": {"thing 0": "thing 0"}}),
            "words without labels": {"words": WORDS},
            "img_dir of a folder": (run_here(w), {"img_dir": w / NOWHERE}),
        },
    )


def of_compare(w):
    base = {"estimators": [w / "fit_strong", w / "fit_weak"], "images": w / "list.json"}
    base["predictions"] = [w / "strong/new.json", w / "weak/new.json"]
    labelled = {"labels": w / "few.json"}
    at_threshold = {"target": "recall", "score_thr": 0.3}
    run_here = {"estimators": {"a": observed(w), "b": observed(w, "other")}, "predictions": None}
    run_here["images"] = w / "colours/images"
    three = {"estimators": {"a": w / "fit_strong", "b": w / "fit_weak", "c": w / "fit_strong"}}
    three["predictions"] = [*base["predictions"], w / "moved.json"]
    return (
        autoeval.compare,
        base,
        {
            **{name: change for name, change in of_run().items() if name in (*PASS, "device")},
            "device of a run": (run_here, {"device": "nowhere"}),
            "estimators": {"estimators": {"a": w / "fit_strong", "b": w / "fit_weak"}},
            "predictions": {"predictions": [w / "moved.json", w / "weak/new.json"]},
            "images": {"images": w / "longer.json"},
            "every": {"every": "2"},
            "every of none": ({"images": None}, {"every": "2"}),
            "names": {"names": [NAMES]},
            "names of each": {"names": [NAMES] * 3},
            "names of none": (run_here, {"names": [NAMES]}),
            "names of runs alone": (run_here, {"predictions": ["-", "-"], "names": [NAMES]}),
            "numbering": {"numbering": ["coco"]},
            "columns": {"columns": ["class,x,y,w,h,score"]},
            "incomplete": (
                {"predictions": [w / "cut.json", w / "weak/new.json"]},
                {"incomplete": True},
            ),
            "incomplete of none": (run_here, {"incomplete": True}),
            "reference": {"reference": [w / "moved.json"]},
            "reference_names": {"reference_names": NAMES},
            "reference_checkpoint": {"reference_checkpoint": "a.pth"},
            "labels": labelled,
            "img_dir": (labelled, {"img_dir": w / NOWHERE}),
            "img_dir of files": {"img_dir": w / NOWHERE},
            "words": (labelled, {"words": {"thing 0": "thing 0"}}),
            "words without labels": {"words": WORDS},
            "categories": {"categories": ONE_CATEGORY},
            "present": {"present": ["nowhere"]},
            "target": {"target": "mAP50"},
            "score_thr": (at_threshold, {"score_thr": 0.5}),
            "score_thr of an average precision": {"score_thr": 0.5},
            "iou": (at_threshold, {"iou": 0.75}),
            "iou without a threshold": {"iou": 0.75},
            "level": {"level": 0.8},
            "seed": (three, {"seed": 1}),
            "work_dir": (run_here, {"work_dir": w / "kept_compare"}),
            "trained_here": {"trained_here": ["fit_weak"]},
            "known": {"known": {"fit_weak": 0.4}},
        },
    )


def of_predict(w):
    base = {"self": fit_strong(w), "predictions": w / "strong/new.json"}
    return (
        Estimator.predict,
        base,
        {
            "predictions": {"predictions": w / "moved.json"},
            "images": {"images": w / "longer.json"},
            "images: a sequence": {"images": [f"{k:06}.jpg" for k in range(25)]},
            "site": {"site": "one"},
            "group": {"group": "nowhere"},
            "categories": {"categories": ONE_CATEGORY},
            "present": {"present": ["nowhere"]},
            "score_thr": {"score_thr": 0.5},
            "iou": ({"score_thr": 0.5}, {"iou": 0.75}),
            "iou without a threshold": {"iou": 0.75},
            "keep": {"keep": Keeping(w / "kept")},
        },
    )


def of_running(w):
    """What `AccuracyEstimator.predict` and `read_site` take of how a detector is run."""
    base = {"estimator": observed(w), "predictions": BlackBoxes(w), "images": w / "colours/images"}

    def call(estimator, predictions, keep=None, **options):
        options |= {"keep": keep} if keep else {}
        estimate = estimator.predict(predictions and predictions.detector, **options)
        files = sorted(path.name for path in keep.folder.rglob("*")) if keep else []
        return estimate, files

    return (
        Estimator.read_site,
        base,
        {
            "predictions": {"predictions": BlackBoxes(w, "other")},
            "images": {"images": w / "others/images"},
            "categories": {"categories": {"vehicle": ["car", "bus"]}},
            "present": {"present": ["nowhere"]},
            "keep": {"keep": Keeping(w / "kept_running")},
        },
        call,
    )


def of_predictions(w):
    """Read for an estimate; what a fit of the same has is given for a fit."""
    base = {"path": w / "strong/one.json"}

    def call(**of):
        return autoeval.fit(w / "one.json", autoeval.Predictions(**of))

    return (
        autoeval.Predictions,
        base,
        {
            "path": {"path": w / "weak/one.json"},
            "reference": {"reference": w / "weak/one.json"},
            "names": {"names": NAMES},
            "reference_names": {"reference_names": NAMES},
            "complete": ({"path": w / "cut.json"}, {"complete": False}),
            "columns": {"columns": ["class", "x", "y", "w", "h", "score"]},
            "numbering": {"numbering": "coco"},
        },
        call,
    )


def of_predictions_of_an_estimate(w):
    base = {"path": w / "strong/new.json"}

    def call(**of):
        return fit_strong(w).predict(autoeval.Predictions(**of))

    return (
        autoeval.Predictions,
        base,
        {
            "reference": {"reference": w / "moved.json"},
            "names": {"names": NAMES},
            "reference_names": {"reference_names": NAMES},
        },
        call,
    )


def of_detector(w):
    """In a fit: what it finds, and how many images it is shown together."""

    def call(detector, **options):
        named = isinstance(detector, str)
        run = autoeval.Detector(detector if named else detector.detector, **options)
        labels = w / "colours/annotations.json"
        fitted = autoeval.fit(labels, run, img_dir=w / "colours/images")
        return fitted, [] if named else detector.take_sizes()

    named = {"detector": f"{w / 'mine.py'}:detector"}
    return (
        autoeval.Detector,
        {"detector": BlackBoxes(w)},
        {
            "detector": {"detector": BlackBoxes(w, "other")},
            "reference": {"reference": w / "colours_found.json"},
            "batch_size": {"batch_size": 3},
            "num_workers": {"num_workers": -1},
            "executor": {"executor": LocalExecutor()},
            "loading": {"checkpoint": "weights.pth"},
            "loading of a file": (named, {"device": "cpu"}),
            "loading of the same": (named, {"classes": "words.txt"}),
        },
        call,
    )


def of_monitor(w):
    def call(**options):
        options = {"work_dir": w / f"watched_{next(COUNT)}", **options}
        watched = autoeval.monitor(**options)
        table, not_compared = watched.candidate or (watched.to_pandas(), ())
        shown = [table.to_csv(), watched.windows().to_csv()]
        return watched, shown, not_compared, watched.settings.alarm_on_changed

    of_boxes_here = {name: of for name, of in of_boxes(w, w / "weak").items() if name != "columns"}
    against = {"against": w / "fit_weak", "against_predictions": w / "sites"}
    kept = {"by": "every:8", "baseline": "8"}
    return (
        autoeval.monitor,
        {"estimator": w / "fit_strong", "predictions": w / "sites"},
        {
            **of_boxes_here,
            "incomplete": ({"predictions": w / "cut_sites"}, {"incomplete": True}),
            "estimator": {"estimator": w / "fit_weak"},
            "predictions": {"predictions": w / "weak"},
            "images": {"images": w / "longer.json"},
            "img_dir": {"img_dir": w / NOWHERE},
            "depth": {"depth": 0},
            "work_dir": {"work_dir": w / NOWHERE / "watched"},
            "by": {"by": "every:7"},
            "baseline": (kept, {"baseline": "16"}),
            "labelled": (kept, {"labelled": {"gate": 0.9}}),
            "false_alarms": {"false_alarms": 2.0},
            "alarm_below": (kept, {"alarm_below": 0.9}),
            "alarm_on": {"alarm_on": "changed"},
            "worst": {"worst": 1},
            "target": {"target": "mAP50"},
            "score_thr": {"score_thr": 0.5},
            "iou": ({"score_thr": 0.5}, {"iou": 0.75}),
            "iou without a threshold": {"iou": 0.75},
            "known_sites": {"known_sites": {"gate": "one"}},
            "seed": ({"worst": 1, "predictions": w / "alike_sites"}, {"seed": 1}),
            "keep": {"keep": "some"},
            "against": against,
            "against without its boxes": {"against": w / "fit_weak"},
            "against_predictions": (against, {"against_predictions": w / NOWHERE}),
            "against_predictions alone": {"against_predictions": w / "sites"},
            "against_known": (against, {"against_known": {"gate": 0.4}}),
            "against_known alone": {"against_known": {"gate": 0.4}},
            "categories": {"categories": ONE_CATEGORY},
            "present": {"present": ["nowhere"]},
            "site_categories": {"site_categories": {"gate": ONE_CATEGORY}},
            "time": {"time": "now"},
        },
        call,
    )


COUNT = iter(range(1000))


def of_load_labels(w):
    return (
        autoeval.load_labels,
        {"path": w / "colours/annotations.json"},
        {
            "path": {"path": w / "others/annotations.json"},
            "img_dir": {"img_dir": w / "others/images"},
            "layout": {"layout": "yolo"},
            "options": {"split": "val"},
        },
    )


def of_load_predictions(w):
    images, others = (read_image_list(w / name) for name in ("list.json", "longer.json"))
    foreign = {"images": [LabelledImage("camera", "camera.jpg", None)] * 40}
    return (
        autoeval.load_predictions,
        {"given": w / "strong/new.json", "numbers": NAMES, "images": images},
        {
            "given": {"given": w / "weak/new.json"},
            "images": {"images": others},
            "where": (foreign, {"where": "the camera's list"}),
            "numbers": {"numbers": {**NAMES, "1": "car"}},
            "words": ({"given": w / "empty.json"}, {"words": ["car"]}),
            "columns": {"columns": ["class", "x", "y", "w", "h", "score"]},
            "numbering": {"numbering": "coco"},
        },
    )


def of_load_task(w):
    base = {"config_path": w / "here.py"}
    changes = {"config_path": {"config_path": w / "there.py"}}
    return autoeval.load_task, base, {**changes, "data_root": {"data_root": w / "there"}}


def of_load_detector(w):
    base = {"name_or_config": w / "net/config.py", "checkpoint": w / "net/a.pth"}
    odd = {"checkpoint": w / "net/odd.pth"}
    return (
        autoeval.load_detector,
        base,
        {
            "name_or_config": {"name_or_config": w / "net/other.py"},
            "checkpoint": {"checkpoint": w / "net/b.pth"},
            "device": {"device": "nowhere"},
            "cfg_options": {"cfg_options": {"model.test_cfg.score_thr": 0.2}},
            "trust_checkpoint": (odd, {"trust_checkpoint": True}),
            "classes": {"classes": ["lorry", "tram"]},
            "precision": {"precision": "double"},
        },
        load_trained,
    )


TABLES = [
    value
    for name, value in list(globals().items())
    if name.startswith("of_") and name not in ("of_boxes", "of_run", "of_site")
]
# For whoever decides between numberings; tests/io/predictions/ and tests/sites/ try them.
NOT_READ_HERE = {"read_predictions: usual", "read_predictions: undecided"}
NOT_READ_HERE |= {
    "AccuracyEstimator.read_site: labelled"
}  # copies among files are known byte by byte
NOT_READ_HERE |= {f"Detector: {name}" for name in Loading.__annotations__}  # see the test below
MADE_OTHERWISE = {"AccuracyEstimator", "BlackBoxDetector", "DetectorSpec", "Estimate", "InputError"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_worlds(tmp_path_factory.mktemp("parameters"))


def plain(value):
    """Turn results into text that shows all that they are."""
    if type(value) in VALUES:
        return json.dumps(VALUES[type(value)](value), default=str)
    if isinstance(value, Estimator):
        result = value.fit_result_
        files = [path.name for path in result.files]
        known = [repr(value), value.table_.to_csv(), value.context_, result.warnings, files]
        return plain([*known, value.calibration_, value.label_assistance_])
    if hasattr(value, "to_dict") and not isinstance(value, LabelPlan):  # the rest is not numbers
        return json.dumps(value.to_dict(), default=str)
    if isinstance(value, dict):
        return repr({name: plain(of) for name, of in value.items()})
    if isinstance(value, list | tuple):
        return repr([plain(of) for of in value])
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if is_dataclass(value):
        return plain({name: getattr(value, name) for name in value.__dataclass_fields__})
    return repr(value)


def outcome(call, arguments):
    """Say what a call returns and writes, or how it is refused."""
    try:
        result = call(**arguments)
    except InputError as error:
        return f"refused: {error}"
    for part in result if isinstance(result, list | tuple) else [result]:
        codes_in(part)
    folder = arguments.get("work_dir")
    return plain([result, sorted(path.name for path in folder.iterdir()) if folder else []])


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_each_parameter_acts_or_is_refused(table, world):
    function, base, changes, *otherwise = table(world)
    call = (otherwise or [function])[0]
    alike, before = [], {"{}": outcome(call, base)}
    assert not before["{}"].startswith("refused"), before["{}"]
    for name, change in changes.items():
        more, change = change if isinstance(change, tuple) else ({}, change)
        if repr(more) not in before:
            before[repr(more)] = outcome(call, {**base, **more})
        if outcome(call, {**base, **more, **change}) == before[repr(more)]:
            alike.append(name)
    assert alike == []


def test_warnings_of_odd_sites_have_codes(world):
    """Those of all other results are looked at with the calls above."""
    fitted, boxes = fit_strong(world), world / "strong/new.json"
    sure = fitted.for_target("precision@0.9")
    seen = [
        codes_in(result)
        for result in (
            fitted.predict(world / "outside.json", images=world / "longer.json", score_thr=0.5),
            fitted.predict(world / "empty.json", images=world / "list.json"),
            fitted.predict(boxes, categories={"thing 0": ["thing 0", "nothing"]}),
            sure.predict(world / "weak/new.json"),
            autoeval.plan_labels(sure, boxes, n=2),
        )
    ]
    assert len(set.union(*seen)) > 5


def test_each_parameter_has_a_case(world):
    known = {}
    for table in TABLES:
        function, _, changes, *_ = table(world)
        known.setdefault(function, set()).update(changes)
    public = [getattr(autoeval, name) for name in autoeval.__all__ if name not in MADE_OTHERWISE]
    functions = [of for of in public if callable(of)]
    functions += [Estimator.predict, Estimator.plan_labels, Estimator.read_site]
    missing = [
        f"{function.__qualname__}: {name}"
        for function in functions
        for name in parameters(function.__init__ if isinstance(function, type) else function)
        if name != "self" and name not in known.get(function, ())
    ]
    assert set(missing) <= NOT_READ_HERE


def test_how_a_detector_is_loaded_is_what_its_spec_says():
    given = {
        "checkpoint": "a.pth",
        "device": "cpu",
        "cfg_options": {"model.test_cfg.max_per_img": 7},
        "trust_checkpoint": True,
        "classes": "classes.txt",
        "precision": "single",
    }
    assert given.keys() == Loading.__annotations__.keys()
    made, spec = autoeval.Detector("yolox_nano", **given).spec, autoeval.DetectorSpec("yolox_nano")
    assert {name: getattr(made, name) for name in given} == given
    assert all(getattr(spec, name) != value for name, value in given.items())
