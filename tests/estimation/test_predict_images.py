"""An estimator on images: it sets up the pass as it remembers it."""

from dataclasses import replace

import cv2
import pandas as pd
import pytest
from rectangles import RectangleDetector, rectangle_task, write_world
from test_protocol import WORLDS, make_table

from autoeval.counting.label_free import CountingErrorSettings
from autoeval.errors import InputError
from autoeval.estimation.checks import unreadable_warning
from autoeval.estimation.estimate import RESAMPLES
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.samples import UnlabelledSamples
from autoeval.io.image_lists import load_image_folder
from autoeval.io.tasks.task import Task
from autoeval.stability.methods.published_estimator import PublishedEstimator
from autoeval.stability.passes.presets import BY_PRODUCTS, SourceDomain, preset
from autoeval.stability.passes.tally import scored_rows
from autoeval.stability.scores.box_stability import BoxStabilitySettings

# nothing as it is by default
SETTINGS = replace(
    preset("released", repeats=2, seed=5),
    stability=BoxStabilitySettings(cost="iou", empty="zero", normalise="max", score_thr=0.2),
)


class Crates(RectangleDetector):
    """The stand-in detector with other words: its boxes are of label 0, a crate."""

    categories = ("crate", "sky")


TASK = Task("boxes", ("box",), (), {"crate": "box"})


@pytest.fixture
def estimator(tmp_path):
    fitted = PublishedEstimator("bos").fit(
        make_table(WORLDS, repeats=2, noise=0.01),
        context=Observer(Crates(), TASK, SETTINGS).context(),
    )
    fitted.save(tmp_path / "estimator.parquet")
    return PublishedEstimator.load(tmp_path / "estimator.parquet")


@pytest.fixture
def world(tmp_path):
    return write_world(tmp_path / "new", 205, n_images=3)


def test_the_estimate_is_that_of_a_pass_with_the_same_settings_and_task(estimator, world):
    files = load_image_folder(world / "images")
    samples = UnlabelledSamples(files)
    rows = scored_rows(Observer(Crates(), TASK, SETTINGS), samples, resamples=RESAMPLES)
    expected = estimator.predict_rows(pd.DataFrame(rows))
    new = {"predictions": Crates(), "images": world / "images"}
    estimate = estimator.predict(**new)
    assert estimate.to_dict() == expected.to_dict()
    assert estimate.value != estimator.predict(**new, repeats=1).value


def test_images_may_come_in_any_form(estimator, world):
    """The stand-in's boxes do not depend on the names of images."""
    paths = sorted((world / "images").glob("*.png"))
    forms = [world / "images", world / "annotations.json", paths, map(str, paths)]
    forms.append([cv2.imread(str(path)) for path in paths])
    estimates = [estimator.predict(Crates(), images=images).to_dict() for images in forms]
    assert all(estimate == estimates[0] for estimate in estimates)


def test_what_is_remembered_comes_back(estimator):
    observer = estimator.pass_.observer(Crates())
    assert observer.settings == replace(SETTINGS, wants=BY_PRODUCTS)
    assert observer.task.categories == TASK.categories
    assert observer.lookup.tolist() == [0, -1]


def test_no_more_passes_than_an_estimate_needs():
    table = make_table(WORLDS)
    table = table.assign(view_consistency=table["bos"])
    made = Observer(Crates(), TASK, SETTINGS).context()
    for method, more in (
        ("view_consistency", ["views"]),
        ("constant", []),
    ):
        fitted = PublishedEstimator(method).fit(table, context=made)
        settings = fitted.pass_.observer(Crates()).settings
        assert list(settings.wants) == [*BY_PRODUCTS, *more] and settings.repeats == 0


def test_another_detector_is_refused_and_what_differs_is_named(estimator, world):
    other = Crates(score_thr=0.3)
    with pytest.raises(InputError, match=r"detector\.score_thr: fitted with 0\.05, now 0\.3"):
        estimator.predict(other, images=world / "images")
    assert other.observed == 0


def test_an_estimator_that_does_not_know_its_pass_says_so(world):
    new = {"predictions": Crates(), "images": world / "images"}
    with pytest.raises(InputError, match="not fitted"):
        PublishedEstimator("bos").predict(**new)
    fitted = PublishedEstimator("bos").fit(make_table(WORLDS))
    with pytest.raises(InputError, match="does not know how its scores were made"):
        fitted.predict(**new)


@pytest.mark.parametrize("repeats", [0, 3])
def test_repeats_that_were_not_fitted_are_refused_before_the_pass(estimator, world, repeats):
    detector = Crates()
    with pytest.raises(InputError, match=f"1 to 2 `repeats`.*got {repeats}"):
        estimator.predict(detector, images=world / "images", repeats=repeats)
    assert detector.observed == 0


def test_scores_of_the_training_domain_need_it():
    domain = SourceDomain("there", None, 0.4)
    table = make_table(WORLDS).rename(columns={"bos": "fd"})
    made = Observer(Crates(), TASK, replace(SETTINGS, domain=domain)).context()
    estimator = PublishedEstimator("fd").fit(table, context=made)
    with pytest.raises(InputError, match=r"uses fd.*--domain-source"):
        estimator.pass_.observer(Crates())
    assert estimator.pass_.observer(Crates(), domain=domain).settings.domain is domain


def test_words_that_task_and_detector_share_need_no_mapping(tmp_path):
    made = Observer(RectangleDetector(), rectangle_task(tmp_path), SETTINGS).context()
    fitted = PublishedEstimator("bos").fit(make_table(WORLDS), context=made)
    assert fitted.pass_.observer(RectangleDetector()).task.lookup(("box",)).tolist() == [0]


@pytest.mark.parametrize("part", ["dropout", "stability", "seed"])
def test_a_damaged_memory_of_the_pass_is_told(part):
    made = Observer(Crates(), TASK, SETTINGS).context()
    del made["pass"][part]
    with pytest.raises(InputError, match=f"damaged.*{part}.*fit it again"):
        PublishedEstimator("bos").fit(make_table(WORLDS), context=made).pass_.observer(Crates())


def test_a_counting_estimator_predicts_from_images(world):
    """What is measured against labels has no part in a pass over unlabelled images."""
    table = make_table(WORLDS)
    table = table.assign(count_mae=10 * (1 - table["mAP"]))
    measured = replace(SETTINGS, measures=(CountingErrorSettings(),))
    made = Observer(Crates(), TASK, measured).context()
    fitted = PublishedEstimator("bos", target="count_mae").fit(table, context=made)
    estimate = fitted.predict(Crates(), images=world / "images")
    assert estimate.target == "count_mae" and estimate.value >= 0
    other = replace(SETTINGS, measures=(CountingErrorSettings(score_thr=0.7),))
    with pytest.raises(InputError, match=r"pass\.measures"):
        fitted.pass_.check_context(Observer(Crates(), TASK, other).context())


def test_two_unreadable_images_are_named_and_the_others_counted():
    lost = [f"{name}.jpg: no image" for name in "abcde"]
    (warning,) = unreadable_warning(lost, 9)
    assert warning.code == "images-unreadable"
    assert warning.startswith("5 of 9 images ")
    assert warning.endswith(": a.jpg: no image, b.jpg: no image and 3 more")
    assert unreadable_warning([], 9) == ()
