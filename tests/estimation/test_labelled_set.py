"""From boxes to estimates: sampling error, other targets, and what files are compared with."""

import json
from dataclasses import replace

import numpy as np
import pytest

from autoeval.accuracy.measures import bootstrap_std, resampled_counts
from autoeval.boxes import LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.category_scores import labelled_rows, site_scores
from autoeval.estimation.checks import few_blocks
from autoeval.estimation.estimate import sampling_std
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fitting import fit_sets
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.io.predictions.category_words import ReadAs, find_words
from autoeval.model.pair_table import REFERENCE_FEATURES, REFERENCE_TRUE
from autoeval.model.priors import ReferencePrior, calibration_prior
from autoeval.model.regression import Regression
from autoeval.sites.file_looks import Looks, check_floor, check_limit, joined_statistics
from autoeval.sites.site import Site
from autoeval.words import Notice
from tests.made_sites import N_IMAGES, WORDS, random_found, truth_from

USUAL = calibration_prior().calibration


@pytest.fixture(scope="module")
def table():
    found = random_found(0)
    return labelled_rows(labelled_site(Site(found, truth=truth_from(found), name="val")), USUAL)


def site(seed, **options):
    return Site(random_found(seed), named=True, **options)


def fitted(table, statistics=None, **options):
    return AccuracyEstimator(
        table, looks_=statistics or Looks(WORDS), calibration_=USUAL, **options
    )


def images_drawn(found, times):
    """Return the boxes of images of which each is there so many times, by different names."""
    places = np.repeat(np.arange(len(found.images)), times)
    images = [replace(found.images[k], image_id=str(n)) for n, k in enumerate(places)]
    row, image = np.nonzero(found.image[:, None] == places)
    taken = found.where(row)
    return replace(taken, images=tuple(images), image=image)


def sampled(regression, site, blocks=None):
    """Return the sampling error, and that of estimates from images drawn again."""
    site = replace(site, calibration=USUAL, reference_calibration=USUAL, present=WORDS)
    scores, rows = site_scores(site, regression.features_)
    units = np.arange(N_IMAGES) if blocks is None else blocks
    ours = sampling_std(regression, scores, rows, units)
    again = []
    for times in resampled_counts(N_IMAGES, resamples=150, seed=0, blocks=blocks):
        drawn = replace(site, boxes=images_drawn(site.boxes, times), reference=None)
        if site.reference is not None:
            drawn = replace(drawn, reference=images_drawn(site.reference, times))
        again.append(regression.predict_mean(site_scores(drawn, regression.features_)[1]).raw)
    return ours, bootstrap_std(np.array(again), int(units.max()) + 1)


def test_sampling_error_is_that_of_estimates_from_images_drawn_again(table):
    regression = Regression().fit(table)
    ours, std = sampled(regression, Site(random_found(4)))
    assert ours == pytest.approx(std, rel=0.25)


def test_it_is_that_of_the_boxes_where_a_reference_that_is_read_has_none(table):
    """The reference then stands at what the boxes say, which varies over images as they do."""
    known = dict.fromkeys(REFERENCE_FEATURES, table["mAP"])
    with_reference = table.assign(**known, **{REFERENCE_TRUE: table["mAP"] + 0.1})
    regression = Regression(reference_prior=ReferencePrior(-0.1, 0.1, 0.02, 0.25))
    found = random_found(4)
    nowhere = found.where(np.zeros(len(found), bool))
    ours, std = sampled(regression.fit(with_reference), Site(found, reference=nowhere))
    assert regression.reference_weight_ == pytest.approx(1)
    assert ours == pytest.approx(std, rel=0.25)


def test_images_of_one_block_of_time_are_drawn_together(table):
    regression = Regression().fit(table)
    blocks = np.arange(N_IMAGES) // 4
    ours, std = sampled(regression, Site(random_found(4)), blocks)
    assert ours == pytest.approx(std, rel=0.3)
    assert [notice.code for notice in few_blocks(N_IMAGES, 6)] == ["few-blocks"]
    assert [notice.code for notice in few_blocks(N_IMAGES, 1)] == ["few-blocks"]


def test_the_interval_of_a_single_image_holds_its_sampling_error(table):
    """So nothing says that it was left out, as it is by published methods."""
    estimator, boxes = fitted(table), Site(random_found(4), named=True)
    one = estimator.predict_site(boxes.on_images([0]), brief=True)
    assert "sampling-error-left-out" not in [notice.code for notice in one.warnings]
    rows = {**one.site.row["rows"]}
    reach = [
        estimator.regression_.predict_mean({**rows, "n_images": np.full(len(rows["category"]), n)})
        for n in (1, 10_000)
    ]
    assert reach[0].reach > reach[1].reach + 0.1


def test_fewer_independent_images_give_a_wider_interval(table):
    estimator, boxes = fitted(table), Site(random_found(4))
    one, blocked = (
        estimator.predict_site(replace(boxes, blocks=blocks, named=True))
        for blocks in (np.arange(N_IMAGES), np.arange(N_IMAGES) // 12)
    )
    assert blocked.upper - blocked.lower > one.upper - one.lower
    for few, many in (
        (blocked.other_targets[name], one.other_targets[name]) for name in ("mAP50", "mAP75")
    ):
        assert few["upper"] - few["lower"] > many["upper"] - many["lower"]
    assert blocked.n_images == one.n_images == N_IMAGES


def test_a_category_counts_the_blocks_in_which_it_is_found(table):
    """Cars in three blocks of four images are three images, where other categories have six."""
    found = random_found(4)
    early = found.where((found.image < 12) | (found.label != WORDS.index("car")))
    site = Site(early, blocks=np.arange(N_IMAGES) // 4, named=True)
    estimate = fitted(table).predict_site(site, brief=True)
    rows = estimate.site.row["rows"]
    n_images = dict(zip(rows["category"], rows["n_images"], strict=True))
    assert n_images == {name: 3 if name == "car" else 6 for name in WORDS}
    (car,) = fitted(table).regression_.predict({name: rows[name][:1] for name in rows})
    assert estimate.per_category["car"]["upper"] == pytest.approx(car.upper)


def test_save_and_load(table, tmp_path):
    statistics = Looks(
        WORDS, {"1": "car"}, 0.01, 40, 0.98, 0.1, (Notice("labels-displaced", "odd labels"),)
    )
    estimator = fitted(table, statistics, target="mAP50", level=0.8)
    estimator.save(tmp_path / "e.parquet")
    loaded = AccuracyEstimator.load(tmp_path / "e.parquet")
    assert loaded.looks_ == statistics
    assert loaded.calibration_.to_dict() == USUAL.to_dict()
    assert loaded.get_params() == {"target": "mAP50", "level": 0.8}
    assert loaded.predict_site(site(6)) == estimator.predict_site(site(6))
    assert str(loaded.predict_site(site(6))) == str(estimator.predict_site(site(6)))


def test_other_targets_are_listed_and_a_wide_interval_comes_with_a_warning(table):
    estimate = fitted(table).predict_site(site(6))
    for name in ("mAP50", "mAP75"):
        alone = fitted(table, target=name).predict_site(site(6))
        for end in ("value", "lower", "upper"):
            assert estimate.other_targets[name][end] == pytest.approx(
                getattr(alone, end), abs=1e-12
            )
    wide = fitted(table, level=0.999).predict_site(site(6))
    for one in (estimate, wide):
        assert bool(one.width_warning) == ((one.upper - one.lower) / 2 > 0.15)
    assert wide.width_warning


@pytest.mark.parametrize("named", [False, True])
def test_images_on_which_nothing_is_found_leave_the_estimate_equal(table, named):
    """Absence of a category says nothing, nor do boxes that are hardly ever right."""
    found, estimator = random_found(6), fitted(table)
    more = tuple(LabelledImage(f"new{k}", f"new{k}.jpg", (200, 200)) for k in range(30))
    empty = replace(found, images=(*found.images, *more))
    faint = np.argsort(found.scores)[:90]
    doubted = replace(
        empty,
        image=np.concatenate([found.image, len(found.images) + np.arange(90) // 3]),
        label=np.concatenate([found.label, found.label[faint]]),
        boxes=np.concatenate([found.boxes, found.boxes[faint]]),
        scores=np.concatenate([found.scores, found.scores[faint]]),
        crowd=np.concatenate([found.crowd, found.crowd[faint]]),
    )
    assert USUAL.at_half(found.scores[faint]).max() < 0.05
    before = estimator.predict_site(Site(found, named=named))
    for other in (empty, doubted):
        after = estimator.predict_site(Site(other, named=named))
        assert (after.value, after.lower, after.upper) == pytest.approx(
            (before.value, before.lower, before.upper), abs=1e-12
        )
        assert after.per_category == before.per_category


def test_a_category_that_is_found_elsewhere_too_changes_no_estimate_of_others(table):
    """Cars in more images: the estimates of the other categories stay as they were."""
    found, estimator = random_found(6), fitted(table)
    cars = random_found(7).where(random_found(7).label == 0)
    both = replace(
        found,
        images=(*found.images, *(replace(i, image_id=f"n{i.image_id}") for i in cars.images)),
        image=np.concatenate([found.image, N_IMAGES + cars.image]),
        label=np.concatenate([found.label, cars.label]),
        boxes=np.concatenate([found.boxes, cars.boxes]),
        scores=np.concatenate([found.scores, cars.scores]),
        crowd=np.concatenate([found.crowd, cars.crowd]),
    )
    before, after = (estimator.predict_site(Site(of)).per_category for of in (found, both))
    assert before.pop("car") != after.pop("car")
    assert before == after and len(before) == 4


def test_floors():
    found = random_found(0)
    assert check_floor(found, "p.json") == ()
    (warning,) = check_floor(found.where(found.scores > 0.1), "p.json")
    assert warning.startswith("the lowest score in p.json is 0.1")
    high = found.where(found.scores > 0.36)
    with pytest.raises(InputError, match="--incomplete"):
        check_floor(high, "p.json")
    assert len(check_floor(high, "p.json", complete=False)) == 1


def test_lists_cut_to_the_best_few_boxes():
    found = random_found(0)  # 600 boxes on 22 of 24 images, about 27 each
    assert check_limit(found, "p.json") == ()
    rank = np.arange(len(found)) - np.searchsorted(np.sort(found.image), np.sort(found.image))
    first = found.where(np.argsort(found.image, kind="stable"))
    (warning,) = check_limit(first.where(rank < 10), "p.json")
    assert warning.startswith("22 of 24 images in p.json have exactly 10 boxes")
    assert check_limit(first.where(rank < 0), "p.json") == ()
    for n, warned in ((3, 1), (2, 0)):  # of 24
        cut = first.where((rank < 9) | ((rank < 10) & (np.sort(found.image) < n)))
        assert len(check_limit(cut, "p.json")) == warned


def test_predictions_that_look_like_another_detector():
    found = random_found(0)
    statistics = Looks.of(found)
    assert statistics.compare(found)[1] == ()
    (floor,) = statistics.compare(found.where(found.scores > 0.055))[1]
    assert "in the fit it was 0.01" in floor
    with pytest.raises(InputError, match="the scores do not compare"):
        statistics.compare(found.where(found.scores > 0.2))[1]
    crowd = found.where(np.repeat(np.arange(len(found)), 3))
    (many,) = statistics.compare(crowd)[1]
    assert f"up to {3 * np.bincount(found.image).max()} boxes an image" in many
    (unknown,) = Looks(WORDS[:4], floor=0.01, most_boxes=99).compare(found)[1]
    assert "did not know: cow" in unknown
    with pytest.raises(InputError, match="of another detector: it knows car"):
        Looks(("plane",), floor=0.01, most_boxes=99).compare(found)[1]


def test_reference_statistics_of_several_sets():
    one = Looks(("car", "bus"), {"1": "car"}, 0.01, 40, 0.9, 0.0)
    two = Looks(("bus", "cow"), {"2": "bus"}, 0.05, 20, 0.97, 0.2)
    both = Looks(("car", "bus", "cow"), {"1": "car", "2": "bus"}, 0.01, 40, 0.97, 0.1)
    assert joined_statistics([one, two]) == both


@pytest.mark.parametrize(
    ("first", "second", "in_order"),
    [
        ("12", "23", "123"),  # a file that counts from 0 has the second for 1
        ("2 10", "9 10", "2 9 10"),
        ("21", "1", "21"),  # one list has all: its order is that of the files
        ("21", "12", "12"),  # two have all, in two orders
    ],
)
def test_the_list_of_numbers_is_one_in_whatever_order_sets_are_joined(first, second, in_order):
    def numbers(text):
        return text.split() if " " in text else [*text]

    parts = [Looks((), {k: f"word {k}" for k in numbers(text)}) for text in (first, second)]
    for joined in (parts, parts[::-1]):
        assert [*joined_statistics(joined).numbers] == numbers(in_order)


@pytest.mark.parametrize(
    ("second", "known"),
    [
        ({"0": "car", "1": "bus", "2": "cow"}, {"0": "car"}),  # the second of its list was the cow
        ({"1": "bus", "2": "car", "3": "cow"}, {}),
        ({"1": "car", "2": "bus", "3": "dog"}, {"1": "car", "2": "bus"}),
        ({"2": "bus"}, {"1": "car", "2": "bus", "3": "cow"}),
    ],
)
def test_numbers_that_mean_two_words_leave_others_no_place(second, known):
    """As of labels in COCO and in YOLO: a class 1 of a text file was the last word that is left."""
    first = {"1": "car", "2": "bus", "3": "cow"}
    parts = [Looks((), numbers) for numbers in (first, second)]
    for joined in (parts, parts[::-1]):
        assert joined_statistics(joined).numbers == known


def test_a_labelled_set_names_itself_in_its_warnings():
    """Labels of the first half of the images alone: confident boxes on the others are wrong."""
    found = random_found(0)
    sure = found.where(found.scores > 0.5)
    half = truth_from(sure)
    made = labelled_site(Site(sure, truth=half.where(half.image < 11), name="val", left_out=("a",)))
    assert made.group == "val"
    enough = [word for word, of in zip(WORDS, made.evaluation.enough, strict=True) if of]
    assert enough == ["car", "bus", "dog"]
    first, rare = made.left_out
    assert first == "a" and rare.endswith("left out: 2 (cat, cow)")
    warning, unlabelled = made.looks.warnings
    assert unlabelled.startswith("val: ") and "are on no labelled object" in unlabelled
    assert warning.startswith("val: ") and "are true positives" in warning


def test_a_labelled_set_warns_of_shifted_labels():
    sure = random_found(0)
    sure = sure.where(sure.scores > 0.5)
    truth = truth_from(sure)
    assert labelled_site(Site(sure, truth=truth, name="val")).looks.warnings == ()
    beside = replace(truth, boxes=truth.boxes + np.array([6, 0, 6, 0]))
    (warning,) = labelled_site(Site(sure, truth=beside, name="val")).looks.warnings
    assert warning.startswith("val: labelled boxes lie +") and "px (to the right)" in warning


def test_positions_of_categories_are_the_same_after_loading(tmp_path):
    """Numbers 1 to 12 in the labels, 0 to 11 in a file: 10 and 11 do not come before 2."""
    words = {str(number): f"thing {number}" for number in range(1, 13)}
    statistics = Looks(tuple(words.values()), words)
    stored = json.loads(json.dumps(statistics.to_dict(), sort_keys=True))
    again = Looks.from_dict(stored)
    assert list(again.numbers.items()) == list(words.items())
    used = [(number, None) for number in range(12)]
    found = [
        find_words(tmp_path / "x.json", used, ReadAs(known.numbers))
        for known in (statistics, again)
    ]
    assert [of.categories[k] for of in found for k in of.label] == [*words.values()] * 2


def test_sets_on_which_no_box_is_right_are_refused_in_plain_words():
    """Labels that no box touches leave nothing that is right with any probability."""
    found = random_found(0, n=4000)
    truth = truth_from(found)
    truth = replace(truth, boxes=truth.boxes % 9 + [0, 150, 1, 160])
    with pytest.raises(InputError, match="s0: Labels and boxes do not belong together"):
        labelled_site(Site(found, truth=truth, name="s0", everywhere=True))
    sets = []
    for k in range(3):  # few confident boxes: each set alone is no reason to refuse
        found = random_found(k, n=4000)
        found = found.where((found.scores <= 0.3) | (np.arange(len(found)) < 9))
        sets.append(labelled_site(Site(found, truth=truth, name=f"s{k}", everywhere=True)))
    with pytest.raises(InputError, match="Hardly a box of those on s0, s1, s2 is right"):
        fit_sets(sets, context={})


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_category_with_too_few_labels_is_left_out_however_it_was_named(everywhere):
    """With `--category` and in a task, too: an AP from one labelled box says nothing."""
    found = random_found(0)
    truth = truth_from(found)
    first = np.flatnonzero(truth.label == 0)
    rare = truth.where(np.setdiff1d(np.arange(len(truth)), first[1:]))
    made = labelled_site(Site(found, truth=rare, name="val", everywhere=everywhere))
    assert made.evaluation.enough == [False, *[True] * (len(WORDS) - 1)]
    assert WORDS[0] not in set(labelled_rows(made, USUAL)["category"])
    assert any(note.code == "categories-rarely-labelled" for note in made.left_out)
