"""Results of the Python interface share their names: value, interval, warnings, tables, plots."""

import json
import re
import shutil
from html import escape
from pathlib import Path

import numpy as np
import pytest
from comparison.two_detectors import site_labels, site_predictions, some_labels, write_detectors
from labelled_site import estimate_labelled

import autoeval
from autoeval.errors import InputError
from autoeval.estimation.observation.kept_observer import Keeping
from autoeval.report.estimate import estimate_fields
from autoeval.result_base import Result
from autoeval.words import Notice

SAMPLE = Path(__file__).resolve().parents[1] / "docs/getting-started/sample"
FIGURES = ("value", "lower", "upper", "level", "target", "warnings", "per_category")
ENDS = {"value", "lower", "upper"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_detectors(tmp_path_factory.mktemp("family"))


@pytest.fixture(scope="module")
def site(world):
    (path,) = site_predictions(world, "strong")
    return {"boxes": path, "images": site_labels(world)}


@pytest.fixture(scope="module")
def few(world):
    ids = {image["id"] for image in _content(world)["images"][::4]}
    return some_labels(world, world / "few.json", ids)


def given(site):
    """The site as functions of the package take it."""
    return {"predictions": site["boxes"], "images": site["images"]}


def _content(world):
    return json.loads(site_labels(world).read_text())


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def in_family(result):
    """Whether a result has all names, and the same numbers as attributes, rows and flat keys."""
    assert all(hasattr(result, name) for name in FIGURES)
    assert all(set(of) == ENDS for of in result.per_category.values())
    assert not np.isfinite(result.value) or result.lower <= result.value <= result.upper
    assert len(str(result)) and len(repr(result).splitlines()) == 1 and len(result.to_pandas())
    if isinstance(result, Result):
        numbers = result.to_dict()
        name = f"{result.kind}/{result.target}".replace("@", "_")
        assert numbers.get(name, np.nan) == pytest.approx(result.value, nan_ok=True)
        assert all(type(value) is float and np.isfinite(value) for value in numbers.values())
        assert all(re.fullmatch(r"[\w./ :-]+", name) for name in numbers)  # MLflow's names
        html = result._repr_html_()
        assert all(escape(name) in html for name in result.per_category)
        assert html.count("<li>") == len(set(result.all_warnings()))
    return result.plot() is not None


def test_the_most_severe_warning_comes_first_once():
    note, warning = Notice("few-blocks", "a", "note"), Notice("few-images", "b")
    result = Result()
    result.warnings = (note, warning, note)
    assert [notice.code for notice in result.all_warnings()] == ["few-images", "few-blocks"]


def test_all_results_are_of_one_family(world, site, few, tmp_path):
    strong, weak = (autoeval.AccuracyEstimator.load(world / name) for name in ("strong", "weak"))
    images = site["images"]
    files = site_predictions(world)
    both = {"strong": strong, "weak": weak}
    (tmp_path / "sites").mkdir()
    shutil.copy(site["boxes"], tmp_path / "sites/gate.json")
    (tmp_path / "sites/yard.json").write_text("[]")
    watched = autoeval.monitor(
        strong, tmp_path / "sites", images=_lists(tmp_path, images), work_dir=tmp_path / "out"
    )
    compared = autoeval.compare(both, files, images=images)
    at_threshold = strong.predict(**given(site), score_thr=0.3)
    for result in (
        strong.predict(**given(site)),
        estimate_labelled(strong, labels=few, **site),
        at_threshold,
        autoeval.threshold(strong, recall=0.4, **given(site)),
        autoeval.threshold(strong, labels=few, **given(site)),
        compared,
        autoeval.compare(both, files, images=images, labels=few),
        watched["gate"],
        watched["yard"],
        autoeval.plan_labels(strong, n=5, **given(site)),
    ):
        assert in_family(result), type(result)
    recall = at_threshold.other_targets["recall@0.3"]["value"]
    assert at_threshold.to_dict()["estimate/recall_0.3"] == recall
    first = compared.overall.iloc[0]
    assert (compared.value, compared.lower) == (first["difference"], first["lower"])
    assert [warning.code for warning in watched["yard"].warnings] == ["nothing-found"]


def _lists(folder, images):
    (folder / "lists").mkdir()
    for name in ("gate", "yard"):
        shutil.copy(images, folder / f"lists/{name}.json")
    return folder / "lists"


def test_labels_that_do_not_fit_are_warned_of_by_a_threshold(world, site, tmp_path):
    moved = _content(world)
    for box in moved["annotations"]:
        box["bbox"][0] += 20
    path = tmp_path / "moved.json"
    path.write_text(json.dumps(moved))
    chosen = autoeval.threshold(world / "strong", recall=0.4, labels=path, **given(site))
    assert "labels-displaced" in {warning.code for warning in chosen.warnings}
    assert "warning: labelled boxes lie" in str(chosen)


def test_an_estimate_s_plot_names_no_repeats_that_there_are_not(world, site):
    estimate = autoeval.AccuracyEstimator.load(world / "strong/estimator.parquet").predict(
        **given(site)
    )
    values = estimate_fields(estimate)
    assert "std" not in values and values["method"] == "bayes"
    ends = {f"estimate/{end}": getattr(estimate, end) for end in ("lower", "upper")}
    assert estimate.to_dict().items() >= {"estimate/mAP": estimate.value, **ends}.items()
    rows = estimate.to_pandas().set_index("category")
    assert list(rows.index) == ["", *estimate.per_category]
    assert rows.loc["", "upper"] == estimate.upper
    assert legend(estimate.plot()) == ["90% interval", f"{100 * estimate.value:.1f}"]


def test_an_estimate_with_labels(world, site, few):
    strong = autoeval.AccuracyEstimator.load(world / "strong/estimator.parquet")
    labelled = estimate_labelled(strong, labels=few, **site)
    assert (labelled.lower, labelled.upper) == labelled.interval
    rows = labelled.to_pandas().set_index("category")
    assert list(rows.index) == ["", *labelled.per_category]
    assert rows.loc["", "value"] == labelled.value and rows["measured"].all()
    mean = rows["value"].iloc[1:].mean()
    assert rows.loc["", "value"] == pytest.approx(mean, abs=0.05)
    ax = labelled.plot()
    assert ax.get_yticklabels()[0].get_text() == "all categories"
    drawn = ax.lines[0].get_xdata()
    assert drawn[0] == pytest.approx(100 * labelled.value) and (np.diff(drawn[1:]) <= 0).all()
    assert len(repr(labelled).splitlines()) == 1


def test_a_plan_is_printed_as_the_images_to_label(world, site):
    plan = autoeval.plan_labels(world / "strong", n=3, **given(site))
    lines = str(plan).splitlines()
    assert lines[0].startswith("3 of 80 images to label, for mAP of ")
    assert [line.strip() for line in lines[1:4]] == [
        plan.found.images[k].file_name for k in plan.drawn
    ]
    assert repr(plan).startswith(f"<{lines[0]}")
    assert plan.value == autoeval.estimate(estimator=world / "strong", **given(site)).value
    widths = plan.half_widths().set_index("labels")["half_width"]
    assert plan.to_dict()["plan/half_width"] == widths[3] and widths.is_monotonic_decreasing


def test_a_fit_shows_the_labelled_accuracy_and_the_error_on_what_was_left_out():
    fitted = autoeval.fit(SAMPLE / "val.json", SAMPLE / "val_predictions.json").fit_result_
    assert in_family(fitted)
    fitted_on = fitted.cross_validation[0].per_source.set_index("source")["true"]
    assert fitted.value == pytest.approx(fitted_on.mean())
    assert {k: ends["value"] for k, ends in fitted.per_category.items()} == dict(fitted_on)
    errors = fitted.cross_validation[0].per_source["error"]
    assert fitted.to_dict()["fit/mean_absolute_error"] == pytest.approx(errors.mean())


def test_a_threshold_without_and_with_labels(world, site, few):
    free = autoeval.threshold(world / "strong", recall=0.4, **given(site))
    assert free.lower <= free.value <= free.upper
    assert len(free.to_pandas()) == len(free.curve) and "value" in free.to_pandas()
    assert legend(free.plot())[-1] == f"{free.value:.2f}"
    assert len(repr(free).splitlines()) == 1
    measured = autoeval.threshold(world / "strong", recall=0.4, labels=few, **given(site))
    whole = autoeval.threshold(
        world / "strong", recall=0.4, labels=site_labels(world), **given(site)
    )
    assert whole.lower == pytest.approx(whole.upper) and whole.at["recall"]["value"] >= 0.4 - 1e-9
    assert measured.upper - measured.lower > 0
    strict = autoeval.threshold(world / "strong", recall=0.4, iou=0.75, labels=few, **given(site))
    assert strict.value <= measured.value and strict.at != measured.at
    with pytest.raises(InputError, match="got both"):
        autoeval.threshold(world / "strong", recall=0.4, precision=0.4, **given(site))
    with pytest.raises(InputError, match="--words goes with --labels"):
        autoeval.threshold(world / "strong", words={"a": "b"}, **given(site))


def test_boxes_of_every_kind_are_told_apart(world, site, tmp_path):
    path = site["boxes"]
    strong = autoeval.AccuracyEstimator.load(world / "strong/estimator.parquet")
    by_path = strong.predict(path, images=site["images"])
    given = autoeval.Predictions(path, complete=False)
    assert strong.predict(given, images=site["images"]) == by_path
    with pytest.raises(InputError, match=r"No predictions retinanet_r50.*--detector retinanet"):
        strong.predict("retinanet_r50", images=site["images"])
    with pytest.raises(InputError, match="keep: for a detector that is run"):
        strong.predict(path, images=site["images"], keep=Keeping(tmp_path))
    with pytest.raises(InputError, match="--batch-size of 1 or more but got 0"):
        autoeval.Detector("retinanet_r50", batch_size=0)
    with pytest.raises(InputError, match="device: for a detector that is named"):
        autoeval.Detector(autoeval.Detector("x").spec, device="cpu")
    with pytest.raises(InputError, match=r"IoU of 0\.75 is that of precision"):
        strong.predict(path, images=site["images"], iou=0.75)
    of_recall = strong.for_target("recall@0.3")
    with pytest.raises(InputError, match=r"is of recall@0\.3"):
        of_recall.predict(path, images=site["images"], score_thr=0.5)
