import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rectangles import RectangleDetector, rectangle_task, write_world

import autoeval
from autoeval.detections import Detections
from autoeval.errors import InputError
from autoeval.estimation.category_scores import pair_rows
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import ImageLoading
from autoeval.estimation.protocol import LeaveOneSourceOut, worse_than_constant
from autoeval.io.image_lists import load_image_folder
from autoeval.model.pair_table import FEATURES
from autoeval.stability.fitting.fit_task import _held_out, fit_task
from autoeval.stability.metasets import MetaSetConfig
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.passes.presets import preset
from autoeval.stability.reports.method_page import method_text

SETTINGS = preset("paper", repeats=2, seed=1)
# these two keep the rectangles' brightness, which the stand-in detector is sensitive to
META_SET = MetaSetConfig(transforms=("Rotate", "Sharpness"), n_sets=2, n_images=4, n_transforms=1)
TIMINGS = ["read_s", "network_s", "scores_s", "map_s", "job_s"]


@pytest.fixture
def detector():
    return RectangleDetector()


@pytest.fixture
def task(tmp_path):
    return rectangle_task(tmp_path / "worlds", n_images=8)


@pytest.fixture
def two_worlds(task):
    """Two of its sources, for tests that read rows of score tables alone."""
    return replace(task, seed_sets=task.seed_sets[:2])


def fit(detector, task, work_dir, *, batch_size=4, **options):
    return fit_task(
        Observer(detector, task, SETTINGS, reading=ImageLoading(batch_size)),
        task.load_seed_sets(),
        Keeping(work_dir),
        meta_set=META_SET,
        **options,
    )


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A fit by a published method, evaluated beside the default, and its work dir and task."""
    root = tmp_path_factory.mktemp("known")
    task = rectangle_task(root / "worlds", n_images=8)
    return fit(RectangleDetector(), task, root / "work", methods=["bos", "bayes"]), root, task


def test_every_sample_set_and_repeat_has_its_row(known):
    table = known[0].table_
    assert len(table) == 4 * (1 + 2) * 2
    assert table.groupby("source")["sample_set"].nunique().tolist() == [3] * 4
    own = table[table["kind"] == "seed"]
    assert (own["n_images"] == 8).all() and (own["n_boxes"] == 8).all()
    assert (table[table["kind"] == "sample"]["n_images"] == 4).all()
    pd.testing.assert_frame_equal(pd.read_parquet(known[1] / "work" / "scores.parquet"), table)


def test_darker_worlds_are_less_stable_and_less_accurate(known):
    table = known[0].table_
    own = table[(table["kind"] == "seed") & (table["repeat"] == 0)]
    assert own["mAP"].is_monotonic_decreasing and own["bos"].is_monotonic_decreasing
    evaluated = known[0].fit_result_.cross_validation
    assert [r.method for r in evaluated] == ["bos", "bayes", "constant"]
    bos, _, constant = (r.summary()["mean_absolute_error"] for r in evaluated)
    assert bos < constant


def test_nothing_depends_on_the_batch_size(known, detector, tmp_path):
    fitted, _, task = known  # in batches of four
    one_by_one = fit(detector, task, tmp_path, batch_size=1)
    tables = (of.table_.drop(columns=TIMINGS) for of in (fitted, one_by_one))
    pd.testing.assert_frame_equal(*tables)


def test_a_second_run_observes_only_what_is_not_there_or_has_changed(
    detector, two_worlds, tmp_path
):
    work = tmp_path / "work"
    first = fit(detector, two_worlds, work).table_
    observed = detector.observed
    pd.testing.assert_frame_equal(fit(detector, two_worlds, work).table_, first)
    assert detector.observed == observed
    gone = sorted((work / "rows").glob("w1-*.parquet"))[0]
    gone.unlink()
    again = fit(detector, two_worlds, work).table_
    assert 0 < detector.observed - observed <= 8
    pd.testing.assert_frame_equal(again.drop(columns=TIMINGS), first.drop(columns=TIMINGS))
    observed, path = detector.observed, two_worlds.seed_sets[0].labels
    content = json.loads(path.read_text())
    content["annotations"][0]["bbox"][2] += 1
    path.write_text(json.dumps(content))
    fit(detector, two_worlds, work)
    assert detector.observed - observed == 8 + 2 * 4


def test_estimates_on_a_plain_folder(known, detector, tmp_path):
    fitted, root, task = known
    folder = write_world(tmp_path / "new", 205, n_images=8, seed=9) / "images"
    (folder / "broken.png").write_bytes(b"not an image")
    shutil.copytree(root / "work", tmp_path / "work")  # with its rows: nothing is observed again
    default = fit(detector, task, tmp_path / "work", methods=["bayes"])
    own = fitted.table_[fitted.table_["kind"] == "seed"].groupby("source")["mAP"].first()
    for estimator in (fitted, default):
        estimate = estimator.predict(detector, images=folder)
        assert own["w2"] < estimate.value < own["w1"]
        row = estimate.site.row
        assert estimate.n_images == 8 and math.isnan(row.get("mAP", math.nan))
        assert estimate.sampling_std > 0 and "resampled" not in row
        assert "broken.png" in row["unreadable"]
        assert any("1 of 9 images could not be read" in warning for warning in estimate.warnings)
        (tmp_path / "bad").mkdir(exist_ok=True)
        (tmp_path / "bad" / "a.jpg").write_bytes(b"")
        with pytest.raises(InputError, match=r"None of the 1 images can be read: .*a\.jpg"):
            estimator.predict(detector, images=tmp_path / "bad")


def test_a_saved_estimator_refuses_another_detector_or_preset(known):
    _, root, task = known
    estimator = PublishedEstimator.load(root / "work" / "estimator.parquet")
    files = load_image_folder(task.seed_sets[0].img_dir)
    with pytest.raises(InputError, match=r"detector\.score_thr: fitted with 0\.05, now 0\.3"):
        estimator.predict(RectangleDetector(score_thr=0.3), images=files)
    with pytest.raises(InputError, match=r"pass\.dropout\.position"):
        other = preset("released", repeats=2, seed=1)
        estimator.pass_.check_context(Observer(RectangleDetector(), task, other).context())


def test_a_saved_estimator_states_the_errors_of_its_fit(known):
    fitted, root, _ = known
    saved = PublishedEstimator.load(root / "work" / "estimator.parquet")
    assert saved.held_out_ == fitted.held_out_
    error = fitted.fit_result_.cross_validation[0].summary()["mean_absolute_error"]
    assert saved.held_out_.mean_absolute_error == error
    assert f"MAE on 4 held-out sites: {100 * error:.1f}" in method_text(saved)


def test_a_failing_sample_set_is_named_and_the_rest_goes_on(two_worlds, tmp_path):
    class Moody(RectangleDetector):
        def observe(self, images, image_ids, **options):
            if self.observed == 8:
                self.observed += 1
                raise OSError("device is gone")
            return super().observe(images, image_ids, **options)

    result = fit(Moody(), two_worlds, tmp_path / "work")
    assert len(result.table_) == (2 * 3 - 1) * 2
    first = result.fit_result_.warnings[0]
    assert "1 sample set failed" in first and "device is gone" in first


def test_two_sources_give_an_estimator_that_is_not_evaluated(detector, task, tmp_path):
    result = fit_task(
        Observer(detector, task, SETTINGS),
        task.load_seed_sets()[:2],
        Keeping(tmp_path / "work"),
        meta_set=replace(META_SET, n_sets=3),
    )
    found = result.fit_result_
    assert found.cross_validation == ()
    assert any("2 groups of sources" in p and "was not measured" in p for p in found.warnings)
    rows = result.table_[result.table_["kind"] == "seed"].head(2)
    estimate = result.predict_rows(rows)
    assert estimate.interval_method == "predictive" and estimate.upper - estimate.lower > 0.3
    published = PublishedEstimator("bos").fit(result.table_).predict_rows(rows)
    assert published.interval_method == "none: fewer than 3 groups of sources"


def test_by_default_each_image_is_seen_as_the_default_method_needs(detector, task, tmp_path):
    result = autoeval.fit_task(task, autoeval.Detector(detector, batch_size=2), work_dir=tmp_path)
    assert result.detector_ is detector
    assert repr(result) == "<AccuracyEstimator of mAP, level 0.9, fitted on 4 sites>"
    of_fit = result.fit_result_
    assert [of.method for of in of_fit.cross_validation] == ["bayes", "constant"]
    assert of_fit.value == pytest.approx(result.table_["mAP"].mean())
    assert set(result.table_["kind"]) == {"seed"}
    assert result.table_[list(FEATURES)].notna().all(axis=None)
    assert not [name for name in result.table_ if name.startswith("bos")]
    with pytest.raises(InputError, match="`data_root` is for a task file"):
        autoeval.fit_task(task, detector, data_root=tmp_path, work_dir=tmp_path)


def test_a_fit_of_recall(detector, task, tmp_path):
    """Boxes of the darkest world are off by (255 - 160) / 40 pixels: all have an IoU over .5."""
    fitted = fit(detector, task, tmp_path / "work", target="recall@0.3")
    assert fitted.regression_.pairs_["recall@0.3"].tolist() == [1.0] * 4
    ours, constant = fitted.fit_result_.cross_validation
    assert ours.target == constant.target == "recall@0.3" and len(ours.per_source) == 4
    loaded = AccuracyEstimator.load(tmp_path / "work/estimator.parquet")
    images = [path for of in task.seed_sets for path in sorted(Path(of.img_dir).iterdir())]
    estimate = loaded.predict(detector, images=images)
    assert estimate.n_images == len(images) and estimate.target == "recall@0.3"
    assert 0.5 < estimate.value <= 1
    with pytest.raises(InputError, match="by 'bayes' alone, not by bos"):
        fit(detector, task, tmp_path / "other", target="recall@0.3", methods=["bayes", "bos"])


class SureOfWideOnes(RectangleDetector):
    """Its confidence rises with the width of a box."""

    @staticmethod
    def _detections(boxes):
        scores = 0.4 + (boxes[:, 2] - boxes[:, 0]) / 100
        return Detections(boxes, scores.clip(0, 1), np.zeros(len(boxes)))


class InSinglePrecision(SureOfWideOnes):
    """The same as a network gives it."""

    @staticmethod
    def _detections(boxes):
        found = SureOfWideOnes._detections(boxes + 0.1)
        columns = found.boxes.astype(np.float32), found.scores.astype(np.float32)
        return Detections(*columns, found.labels)


def test_files_and_sample_sets_go_one_route(task, tmp_path):
    """Whether sample sets are scored beside it or not, the default is the same fit."""
    detector = InSinglePrecision()
    first, *others = task.seed_sets
    task = replace(task, seed_sets=(replace(first, group=first.name), *others))
    with_sets = fit(detector, task, tmp_path / "work")
    alone = autoeval.fit_task(task, detector)
    given = [(one.group, one.grouped) for one in with_sets.sites_.read()]
    assert given == [(one.group, one.grouped) for one in alone.sites_.read()]
    assert given == [("w0", True), ("w1", False), ("w2", False), ("w3", False)]
    new = pair_rows(alone.table_).head(1)
    assert with_sets.predict_rows(new).value == alone.predict_rows(new).value
    ours, theirs = (pair_rows(one.table_)[list(FEATURES)] for one in (with_sets, alone))
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert with_sets.floors_.keys() == alone.floors_.keys()
    assert with_sets.looks_.floors == alone.looks_.floors
    assert with_sets.looks_.categories == alone.looks_.categories
    loaded = AccuracyEstimator.load(tmp_path / "work" / "estimator.parquet")
    assert loaded.held_out_ == with_sets.held_out_ == with_sets.fit_result_.held_out
    repeated = {*alone.looks_.warnings}
    assert repeated == {*loaded.looks_.warnings} == {*with_sets.looks_.warnings}
    assert repeated


def test_labels_boxes_and_left_out_groups_are_checked_as_with_files(tmp_path):
    """The widest rectangles of one world have no label, and the detector has no low scores."""
    task = rectangle_task(tmp_path / "worlds", n_images=40)
    path = task.seed_sets[0].labels
    content = json.loads(path.read_text())
    boxes = sorted(content["annotations"], key=lambda box: box["bbox"][2])
    path.write_text(json.dumps({**content, "annotations": boxes[:-8]}))
    fitted = autoeval.fit_task(task, SureOfWideOnes(), work_dir=tmp_path / "work")
    said = "\n".join(fitted.fit_result_.warnings)
    assert "w1: the lowest score in what the detector found on w1 is 0.5" in said
    assert re.search("w0: .* most confident boxes are on no labelled object", said)
    assert "40 of 40 images in what the detector found on w2 have exactly 1 box," in said
    repeated = AccuracyEstimator.load(tmp_path / "work" / "estimator.parquet").looks_.warnings
    assert any("on no labelled object" in warning for warning in repeated)
    results = fitted.fit_result_.cross_validation
    errors = [result.summary()["mean_absolute_error"] for result in results]
    useless = [warning for warning in repeated if "of each gives" in warning]
    assert len(useless) == (errors[0] >= errors[1]) == 1


def test_few_labels_leave_box_stability_and_no_default(detector, tmp_path):
    task = rectangle_task(tmp_path / "worlds", n_images=6)  # six boxes each, of eight
    fitted = fit(detector, task, tmp_path / "work", methods=["bos", "bayes"])
    assert fitted.method == "bos" and not fitted.fit_result_.compared
    codes = [warning.code for warning in fitted.fit_result_.warnings]
    assert "not-evaluated" in codes
    methods = [result.method for result in fitted.fit_result_.cross_validation]
    assert methods == ["bos", "constant"]
    with pytest.raises(InputError, match="label more images"):
        fit(detector, task, tmp_path / "work", methods=["bayes"])


def test_sources_with_hardly_a_right_box_are_refused_as_with_files(tmp_path):
    task = rectangle_task(tmp_path / "worlds", n_images=40)
    for source in task.seed_sets:
        content = json.loads(source.labels.read_text())
        for box in content["annotations"]:
            box["bbox"] = [1, 1, 3, 3]  # where nothing lies
        source.labels.write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"w0: Labels and boxes do not belong together"):
        autoeval.fit_task(task, SureOfWideOnes())


def test_a_set_of_a_single_labelled_set_is_checked_too(detector, tmp_path):
    world = write_world(tmp_path / "one", 220, n_images=30)
    fitted = autoeval.fit(world / "annotations.json", detector, img_dir=world / "images")
    said = "\n".join(fitted.fit_result_.warnings)
    assert "the lowest score in what the detector found on annotations is 0.9" in said


def test_own_images_that_cannot_be_read_are_one_warning_of_their_source(detector, task, tmp_path):
    folder = tmp_path / "worlds" / "w1" / "images"
    for path in sorted(folder.iterdir())[:3]:
        path.write_bytes(b"no image")
    fitted = fit(detector, task, tmp_path / "work", methods=["bos"])
    lost = [
        warning
        for warning in fitted.fit_result_.warnings
        if getattr(warning, "code", "") == "images-unreadable"
    ]
    assert len(lost) == 1
    assert lost[0].startswith("w1: 3 of 8 images ") and lost[0].endswith(" and 1 more")


def test_images_are_counted_whatever_the_reason_for_losing_them(task, tmp_path):
    class Choosy(RectangleDetector):
        def _one(self, image, image_id, repeats, seed):
            if image_id in ("5", "6"):
                raise ValueError("bad shape; bad type")
            return super()._one(image, image_id, repeats, seed)

    fitted = fit(Choosy(), task, tmp_path / "work", methods=["bos"])
    lost = [w for w in fitted.fit_result_.warnings if w.code == "images-unreadable"]
    assert lost and all("2 of 8 images" in warning for warning in lost)


@pytest.mark.parametrize("target", ["mAP", "count_mae"])
def test_a_method_is_compared_with_a_constant_whatever_its_target(target):
    rows = pd.DataFrame({"source": list("abc"), "true": [1.0, 2.0, 3.0], "error": 1.0})
    rows = rows.assign(estimate=rows["true"] + 1, lower=np.nan, upper=np.nan, missing=False)
    bos, constant = (
        LeaveOneSourceOut(method, target, rows, np.ones(1), {}) for method in ("bos", "constant")
    )
    (warning,) = worse_than_constant(_held_out((bos, constant), "bos"))
    assert warning.code == "no-better-than-constant"
    better = replace(bos, per_source=rows.assign(error=0.5))
    assert worse_than_constant(_held_out((better, constant), "bos")) == ()
    assert _held_out((better, constant), "ac") is None


def test_the_pass_has_the_dropout_that_another_method_reads(detector, task, tmp_path):
    """The first reads nothing; the other was refused after the run, for want of a repeat."""
    fitted = fit(detector, task, tmp_path / "work", methods=["constant", "bos"])
    images = load_image_folder(tmp_path / "worlds" / "w1" / "images")
    estimate = fitted.predict(images=images)
    alone = fit(detector, task, tmp_path / "work", methods=["bos"]).predict(images=images)
    other = fitted.predict_others(estimate.site)["bos"]
    assert (other.value, other.std) == (alone.value, alone.std)
    assert estimate.value == pytest.approx(fitted.table_.groupby("source")["mAP"].first().mean())


def test_a_second_method_whose_score_there_is_not_is_a_note(detector, task, tmp_path):
    """Also where the labels are enough for the default, whose checks of boxes it repeats."""
    fitted = fit(detector, task, tmp_path / "work", methods=["bos", "fd"])
    assert fitted.looks_ is not None
    assert fitted.method == "bos" and not fitted.fit_result_.compared
    lost = [w for w in fitted.fit_result_.warnings if w.code == "not-evaluated"]
    assert [warning.split()[0] for warning in lost] == ["fd", "fd"]  # evaluated, and fitted
