"""mmdet's own test loop, on random weights and a few images, against the pass of autoeval."""

import json
import shlex
import subprocess
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import cv2
import mmdet
import numpy as np
import pandas as pd
import pytest
import torch
from mmengine.config import Config
from mmengine.logging import HistoryBuffer
from mmengine.runner import Runner

from autoeval import cli
from autoeval.accuracy.measures import points_at
from autoeval.counting.label_free import CountingErrorSettings
from autoeval.detectors import load_detector
from autoeval.detectors.loading import build_model, read_config
from autoeval.errors import InputError
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.estimation.observation.observing import Observer
from autoeval.io.image_lists import load_image_folder, read_image_list
from autoeval.io.predictions import read_predictions
from autoeval.io.tasks.task import Task
from autoeval.mmdet_metric import LabelFreeMAP
from autoeval.sites.site import Site
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.passes.presets import ScoredSettings, light
from autoeval.stability.scores.box_stability import BoxStabilitySettings
from tests.doc_pages import ROOT, shell_of
from tests.made_sites import random_found, truth_from

pytestmark = [pytest.mark.rare, pytest.mark.usefixtures("short_logs")]

DETECTOR = """
_base_ = "mmdet::yolox/yolox_nano_8xb8-300e_coco.py"
model = dict(bbox_head=dict(num_classes=2), test_cfg=dict(score_thr=0.0, max_per_img=20))
test_dataloader = dict(dataset=dict(pipeline=[
    dict(type="LoadImageFromFile"),
    dict(type="Resize", scale=(96, 64), keep_ratio=True),
    dict(type="Pad", size=(96, 96), pad_val=dict(img=(114.0, 114.0, 114.0))),
    dict(type="LoadAnnotations", with_bbox=True),
    dict(type="PackDetInputs", meta_keys=("img_id", "img_path", "ori_shape", "img_shape",
                                          "scale_factor")),
]))
"""
TEST = """
_base_ = "detector.py"
custom_imports = dict(imports=["autoeval.mmdet_metric"], allow_failed_imports=False)
test_dataloader = dict(num_workers=0, persistent_workers=False, batch_size=2, dataset=dict(
    data_root="", ann_file="{folder}/images.json", data_prefix=dict(img="{folder}/images/")))
test_evaluator = dict(_delete_=True, type="LabelFreeMAP", estimator="{folder}/estimator.parquet")
default_hooks = dict(label_free=dict(type="LabelFreeMAPHook"))
work_dir = "{folder}/work"
"""
SCRIPT = Path(mmdet.__file__).parent / ".mim" / "tools" / "test.py"
# random heads are never sure of anything: every box counts
SETTINGS = ScoredSettings(stability=BoxStabilitySettings(score_thr=0.0), repeats=2, seed=3)
RUNS = count()  # mmengine keeps a visualizer by its name
TASK = Task("vehicle", ("vehicle",), (), {"van": "vehicle"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Images without labels, a detector's config and checkpoint, an estimator, a test config."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "images").mkdir()
    rng = np.random.default_rng(0)
    listed = []
    for k in range(3):
        coarse = rng.integers(0, 255, (8, 12, 3), np.uint8)
        cv2.imwrite(str(folder / "images" / f"{k}.png"), coarse.repeat(8, 0).repeat(8, 1))
        listed.append({"id": 10 + k, "file_name": f"{k}.png", "width": 96, "height": 64})
    content = {"images": listed, "annotations": [], "categories": []}
    (folder / "images.json").write_text(json.dumps(content))
    (folder / "detector.py").write_text(DETECTOR)
    (folder / "test.py").write_text(TEST.format(folder=folder.as_posix()))
    torch.manual_seed(0)
    model = build_model(read_config(folder / "detector.py"))
    model.init_weights()
    meta = {"dataset_meta": {"CLASSES": ("bus", "van")}}
    # what mmengine writes beside the weights, and torch refuses unless it is vouched for
    log = {"log_scalars": {"loss": HistoryBuffer([0.5], [1])}}
    content = {"state_dict": model.state_dict(), "meta": meta, "message_hub": log}
    torch.save(content, folder / "a.pth")
    return folder


@pytest.fixture(scope="module")
def detector(folder):
    return load_detector(folder / "detector.py", checkpoint=folder / "a.pth")


@pytest.fixture(scope="module")
def estimator(folder, detector):
    fitted = PublishedEstimator("bos").fit(
        score_table(), context=Observer(detector, TASK, SETTINGS).context()
    )
    fitted.save(folder / "estimator.parquet")
    return fitted


@pytest.fixture(scope="module")
def expected(folder, detector, estimator):
    """What the estimator says of the images without mmdet's loops."""
    return estimator.predict(detector, images=load_image_folder(folder / "images.json"))


def metrics_of(estimate):
    ends = {"": "value", "_std": "std", "_lower": "lower", "_upper": "upper"}
    return {f"label_free/mAP{end}": getattr(estimate, name) for end, name in ends.items()}


def score_table():
    """Three sources with three sample sets each; the repeats tell the same score differently."""
    columns = ["source", "sample_set", "kind", "repeat", "n_images", "bos", "mAP"]
    rows = [
        (name, f"{name}{k}", "sample" if k else "seed", r, 50, best - k / 10 + r / 50, best - k / 9)
        for name, best in {"a": 0.5, "b": 0.8, "c": 0.9}.items()
        for k in range(4)
        for r in range(2)
    ]
    return pd.DataFrame(rows, columns=columns)


def run_test(folder, **changes):
    return Runner.from_cfg(config_of(folder, **changes)).test()


def config_of(folder, **changes):
    config = Config.fromfile(folder / "test.py")
    settings = {"load_from": str(folder / "a.pth"), "visualizer.name": f"run {next(RUNS)}"}
    config.merge_from_dict({**settings, **changes})
    return config


@pytest.fixture(autouse=True)
def no_vouching():
    """As in a fresh process: no other test has vouched for what checkpoints hold."""
    torch.serialization.clear_safe_globals()


def test_the_test_loop_gives_the_estimate_of_the_same_images(folder, expected, tmp_path):
    assert expected.n_images == 3 and 0 < expected.features["bos"] < 1
    assert run_test(folder, work_dir=str(tmp_path)) == metrics_of(expected)
    (log,) = (path.read_text() for path in tmp_path.glob("*/*.log"))
    assert str(expected).splitlines()[0] in log and f"warning: {expected.warnings[0]}" in log


def test_the_validation_loop_gives_it_too(folder, expected, tmp_path):
    config = config_of(folder, work_dir=str(tmp_path))
    config.val_dataloader, config.val_evaluator = config.test_dataloader, config.test_evaluator
    assert Runner.from_cfg(config).val()["label_free/mAP"] == expected.value


def test_a_preprocessor_beside_the_model_makes_no_other_detector(folder, expected, tmp_path):
    config = config_of(folder, work_dir=str(tmp_path))
    config.data_preprocessor = config.model.pop("data_preprocessor")
    assert Runner.from_cfg(config).test() == metrics_of(expected)


def test_a_counting_estimator_serves_the_metric_too(folder, detector):
    table = score_table()
    table = table.assign(count_mae=4 * (1 - table["mAP"]))
    counting = replace(SETTINGS, measures=(CountingErrorSettings(),))
    made = Observer(detector, TASK, counting).context()
    path = folder / "counting.parquet"
    PublishedEstimator("bos", target="count_mae").fit(table, context=made).save(path)
    metric = LabelFreeMAP(path)
    metric.borrow(detector)
    metrics = metric.compute_metrics(list(load_image_folder(folder / "images.json")))
    assert list(metrics) == ["count_mae", "count_mae_std", "count_mae_lower", "count_mae_upper"]


def test_precision_recall_and_f1_at_a_threshold(folder, detector, tmp_path):
    """An estimator of the default method, made as if this detector had found random boxes."""
    sites = {f"s{k}": random_found(k) for k in range(3)}
    sets = [
        labelled_site(Site(boxes, truth=truth_from(boxes), name=name, everywhere=True))
        for name, boxes in sites.items()
    ]
    fitted = fit_sets(sets, context={})
    task = Task("any", detector.categories, (), {})
    fitted.context_["detector"] = Observer(detector, task, light()).context()["detector"]
    words = {word: [word] for word in detector.categories}  # expected though nothing is likely
    fitted.context_["task"] = {"name": "any", "words": words}
    fitted.save(tmp_path / "bayes.parquet")
    files = load_image_folder(folder / "images.json")
    (seen,) = detector.observe([files[0].read()], ["0"])
    score_thr = float(np.median(seen.clean.scores))
    path = str(tmp_path / "bayes.parquet")
    changes = {"test_evaluator.estimator": path, "test_evaluator.score_thr": score_thr}
    metrics = run_test(folder, work_dir=str(tmp_path), **changes)
    beside = fitted.predict(detector, images=files, score_thr=score_thr).other_targets
    for name in points_at(score_thr):
        ends = {"": "value", "_lower": "lower", "_upper": "upper"}
        shown = {end: metrics[f"label_free/{name}{end}"] for end in ends}
        np.testing.assert_equal(shown, {end: beside[name][column] for end, column in ends.items()})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.test_cfg.score_thr": 0.3}, r"score_thr: fitted with 0\.0, now 0\.3"),
        ({"load_from": None}, "detector.weights: fitted with"),
        ({"default_hooks.label_free.type": "EmptyCacheHook"}, "needs its hook"),
        ({"test_evaluator.estimator": "nowhere.parquet"}, r"No estimator nowhere\.parquet"),
        ({"test_evaluator.repeats": 3}, "1 to 2 `repeats`"),
    ],
)
def test_what_would_mean_nothing_is_refused(folder, estimator, changes, message):
    if changes.get("load_from", "") is None:  # other weights, but the same categories
        classes = {"test_dataloader.dataset.metainfo": {"classes": ("bus", "van")}}
        changes = {**changes, **classes}
    with pytest.raises(InputError, match=message):
        run_test(folder, **changes)


def test_samples_that_do_not_name_their_file(folder, estimator, detector):
    metric = LabelFreeMAP(folder / "estimator.parquet")
    metric.borrow(detector)
    with pytest.raises(InputError, match=r"img_path.*meta_keys"):
        metric.process(None, [{"img_id": 1}])


def write_plain(folder, checkpoint, images):
    """Write the weights without mmengine's records, and the list of images with categories."""
    weights = torch.load(folder / "a.pth", weights_only=False)
    torch.save({key: weights[key] for key in ("state_dict", "meta")}, checkpoint)
    content = json.loads((folder / "images.json").read_text())
    content["categories"] = [{"id": 4, "name": "bus"}, {"id": 7, "name": "van"}]
    images.write_text(json.dumps(content))
    return content


def test_the_metric_of_mmdet_writes_what_is_read_here(folder, detector, tmp_path):
    """Options of docs/how-to/predictions.md: a new site without labels, the words of the fit."""
    write_plain(folder, tmp_path / "plain.pth", tmp_path / "new.json")
    name, prefix = str(tmp_path / "new.json"), str(tmp_path / "new")
    evaluator = {"_delete_": True, "type": "CocoMetric", "metric": "bbox", "ann_file": name}
    evaluator |= {"format_only": True, "outfile_prefix": prefix}
    changes = {"test_evaluator": evaluator, "test_dataloader.dataset.ann_file": name}
    changes["test_dataloader.dataset.metainfo"] = {"classes": ("bus", "van")}
    run_test(folder, work_dir=str(tmp_path), load_from=str(tmp_path / "plain.pth"), **changes)
    images = read_image_list(tmp_path / "new.json")
    numbers = {"4": "bus", "7": "van"}
    boxes = read_predictions(tmp_path / "new.bbox.json", images=images, numbers=numbers)
    for k, file in enumerate(load_image_folder(folder / "images.json")):
        (seen,) = detector.observe([file.read()], [file.image_id])
        rows = boxes.image == k
        scores = np.sort(boxes.scores[rows])
        np.testing.assert_allclose(scores, np.sort(seen.clean.scores), atol=1e-4)
        words = [boxes.categories[label] for label in boxes.label[rows]]
        assert sorted(words) == sorted(detector.categories[label] for label in seen.clean.labels)


@pytest.mark.slow
def test_the_script_of_mmdet_prints_the_estimate(folder, expected):
    command = [sys.executable, "-m", "autoeval.detectors.ops", SCRIPT, "test.py", "a.pth"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    told = done.stdout + done.stderr
    assert str(expected).splitlines()[0] in told
    assert f"label_free/mAP: {expected.value:.4f} " in told


EVALUATED = """
_base_ = "detector.py"
test_dataloader = dict(num_workers=0, persistent_workers=False, dataset=dict(
    metainfo=dict(classes=("bus", "van")),
    data_root="", ann_file="val.json", data_prefix=dict(img="{folder}/images/")))
test_evaluator = dict(_delete_=True, type="CocoMetric", metric="bbox", ann_file="val.json")
"""


@pytest.fixture(scope="module")
def at_hand(folder, tmp_path_factory):
    """What docs/how-to/predictions.md names: a config, its weights and two COCO files."""
    here = tmp_path_factory.mktemp("mmdet")
    (here / "detector.py").write_text(DETECTOR)
    (here / "my_detector.py").write_text(EVALUATED.format(folder=folder.as_posix()))
    content = write_plain(folder, here / "my_detector.pth", here / "new.json")
    box = {"bbox": [1, 2, 30, 40], "area": 1200, "iscrowd": 0}
    boxes = [{**box, "id": k, "image_id": 10 + k, "category_id": 4 + 3 * (k % 2)} for k in range(3)]
    (here / "val.json").write_text(json.dumps({**content, "annotations": boxes}))
    return here


def run_script(folder, words):
    """Run mmdet's own test script, as the package ships it."""
    command = [sys.executable, "-m", "autoeval.detectors.ops", SCRIPT, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
def test_the_commands_of_the_page_run_with_the_script_of_mmdet(at_hand, monkeypatch):
    page = (ROOT / "docs" / "how-to" / "predictions.md").read_text("utf-8")
    (block,) = [code for code in shell_of(page) if "tools/test.py" in code]
    commands = [shlex.split(line) for line in block.replace("\\\n", " ").strip().splitlines()]
    assert [words[:2] for words in commands] == [["python", "tools/test.py"]] * 2
    for words in commands:
        run_script(at_hand, words[2:])
    for name in ("val", "new"):
        images, numbers = read_image_list(at_hand / f"{name}.json"), {"4": "bus", "7": "van"}
        boxes = read_predictions(at_hand / f"{name}.bbox.json", images=images, numbers=numbers)
        assert len(boxes.images) == 3 and len(boxes.label) > 0
        assert set(boxes.categories) == {"bus", "van"}
    monkeypatch.chdir(at_hand)
    assert cli.main(["fit", "--labels", "val.json", "--predictions", "val.bbox.json"]) in (0, 2)


@pytest.mark.slow
def test_the_dump_of_the_script_is_refused_with_a_hint(at_hand, monkeypatch, capsys):
    run_script(at_hand, ["my_detector.py", "my_detector.pth", "--out", "dump.pkl"])
    monkeypatch.chdir(at_hand)
    assert cli.main(["fit", "--labels", "val.json", "--predictions", "dump.pkl"]) == 2
    said = capsys.readouterr().err
    assert "dump.pkl is a Python dump" in said and "test_evaluator.outfile_prefix" in said
