"""How files of a detector look beside those of a fit."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from labelled_site import estimate_labelled

import autoeval
from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.estimation.checks import width as width_warning
from autoeval.estimation.read_site import compared_with_fit
from autoeval.model import PredictionInterval
from autoeval.model.regression import Regression
from autoeval.sites.file_looks import (
    ConfidentBoxes,
    ListStart,
    Looks,
    another_scale,
    another_suppression,
    begin_apart,
    joined_statistics,
    log_chance,
    open_lists,
    overlaps_of,
    unlike_fit,
    unseen_share,
    unseen_warning,
)
from autoeval.sites.site import Site
from tests.commands.predicted_world import HEIGHT, WIDTH, write_world

SHARED = Path(__file__).parents[3] / "shared" / "real_predictions"
SHARES = ((0.1, 0.5), (0.25, 0.2), (0.5, 0.1))
FIT = Looks(("car",), floor=0.05, most_boxes=100, highest=0.99, floors=SHARES)
CODE = "confident-boxes-unlike-fit"


def boxes(*lists):
    """Lists of scores, one an image."""
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(len(lists)))
    image = np.repeat(np.arange(len(lists)), [len(of) for of in lists])
    n = len(image)
    corners = np.tile(np.float32([0, 0, 9, 9]), (n, 1))
    scores = np.float32(np.concatenate(lists))
    return Boxes(images, ("car",), image, np.zeros(n, np.int64), corners, scores)


def drawn(n_images, n_boxes, lowest, seed=0):
    """Lists whose scores are drawn alike, from a score on."""
    rng = np.random.default_rng(seed)
    return [lowest + (0.99 - lowest) * rng.beta(1, 4, n_boxes) for _ in range(n_images)]


def best(lists, n):
    return [np.sort(of)[::-1][:n] for of in lists]


def uneven(seed=0):
    """Lists of 30 to 400 boxes, as of sites where some images are crowded."""
    rng = np.random.default_rng(seed)
    return [drawn(1, int(n), 0.05, seed=k)[0] for k, n in enumerate(rng.integers(30, 400, 60))]


def test_the_scores_of_a_fit_say_what_is_by_chance():
    assert log_chance(3, 0.25, SHARES) == pytest.approx(3 * math.log(0.2))
    assert log_chance(1, 0.75, SHARES) == pytest.approx(math.log(0.05))
    assert log_chance(1, 0.9, ()) == -math.inf


def test_lists_over_one_threshold_do_not_begin_apart_and_cut_lists_do():
    for seed in range(20):
        assert not begin_apart(boxes(*drawn(60, 40, 0.2, seed)))
    assert not begin_apart(boxes(*uneven()))
    assert begin_apart(boxes(*best(uneven(), 25)))
    assert not begin_apart(boxes([0.9], [0.5], [0.7]))


def test_full_lists_are_those_with_the_most_boxes_of_several_images():
    lists = best(uneven(), 100)
    shown = open_lists(boxes(*lists))
    assert len(shown) == sum(len(of) for of in lists if len(of) < 100) > 0
    single = boxes(*([[0.5]] * 9))  # one box an image is no limit
    assert open_lists(single) is single
    one = boxes([0.4] * 12, [0.5] * 11, [0.6])
    assert open_lists(one) is one


@pytest.mark.parametrize(
    ("lists", "start"),
    [
        (drawn(50, 40, 0.055), ListStart()),
        (drawn(50, 40, 0.25), ListStart(threshold=0.25)),
        ([of[of >= 0.25] for of in uneven()], ListStart(threshold=0.25)),
        ([np.linspace(0.16 + k / 100, 0.9, 100) for k in range(20)], ListStart(cut=True)),
        (best(uneven(), 20), ListStart(cut=True)),
        ([[0.2, 0.9], [0.3]], ListStart(by_chance=True)),
        ([[0.33]] * 9, ListStart(unlikely=True)),
    ],
)
def test_why_a_file_begins_where_it_does(lists, start):
    assert FIT.start_of(boxes(*lists)) == start


def test_a_scale_of_its_own_is_refused():
    with pytest.raises(InputError, match="the scores do not compare"):
        FIT.start_of(boxes(*(of[of >= 0.13] for of in uneven())))


def test_what_is_unseen_of_cut_lists_is_counted_from_the_fit_on():
    found = boxes(*([np.linspace(low, 0.45, 40) for low in (0.1, 0.2, 0.4)] * 10))
    start = FIT.start_of(found)
    assert start == ListStart(cut=True)
    expected = (0.05 / 0.25 + 0.15 / 0.25 + 1) / 3
    cut = compared_with_fit(Site(found), FIT)
    assert cut.unseen == pytest.approx(expected, rel=1e-6)
    note, *_ = cut.warnings
    assert note.code == "boxes-limited" and "the lowest score is 0.1, in the fit" in note
    few = boxes(*([[0.3]] * 9))
    unlikely = compared_with_fit(Site(few), FIT)
    assert unlikely.unseen == pytest.approx(1, rel=1e-6)
    assert unlikely.warnings[0].code == "another-threshold"
    lucky = compared_with_fit(Site(boxes([0.2, 0.9])), FIT)
    assert lucky.unseen == 0 and lucky.warnings == ()


@pytest.mark.skipif(not SHARED.exists(), reason="the real predictions are not on this machine")
@pytest.mark.parametrize(
    ("detector", "cuts"), [("yolov8n", False), ("fastestdet", False), ("nanodet_plus", True)]
)
def test_real_lists(detector, cuts):
    apart = []
    for path in sorted((SHARED / detector / "vehicle").glob("*.json")):
        rows = [row for row in json.loads(path.read_text()) if row["score"] >= 0.05]
        lists: dict[int, list[float]] = {}
        for row in rows:
            lists.setdefault(row["image_id"], []).append(row["score"])
        apart.append(begin_apart(boxes(*lists.values())))
    assert np.mean(apart) == 0 if not cuts else np.mean(apart) > 0.9


def made(*lists):
    """Predictions of one image a list of scores, all of one category."""
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(len(lists)))
    image = np.repeat(np.arange(len(lists)), [len(scores) for scores in lists])
    scores = np.concatenate([np.float32(scores) for scores in lists])
    boxes = np.tile(np.float32([0, 0, 9, 9]), (len(scores), 1))
    return Boxes(images, ("car",), image, np.zeros(len(scores), int), boxes, scores)


@pytest.mark.parametrize(
    ("lists", "share"),
    [
        ([[0.9, 0.01], [0.5]], 0.0),  # a full list
        # the tables of the panel know files that begin at a score up to .55
        ([[0.9, 0.175], [0.5]], 0.0),
        ([[0.9, 0.3], [0.5]], 0.0),
        ([[0.9, 0.55], [0.7]], 0.0),
        ([[0.9, 0.6], [0.7]], 1.0),
        # from .1 on, two boxes at most: the first image is cut half way from there to .3
        ([[0.9, 0.2], [0.1]], 0.5 * 2 / 3),
        ([[0.9, 0.8, 0.4, 0.2, 0.04]], 0.0),
        # two boxes an image at most: the first image is cut at .175, the second ends by itself
        ([[0.9, 0.175], [0.04]], 0.5 * 2 / 3),
        ([[], []], 0.0),
    ],
)
def test_where_lists_begin(lists, share):
    assert unseen_share(made(*lists)) == pytest.approx(share, abs=1e-6)


def test_scores_that_are_all_alike_rank_nothing():
    rng = np.random.default_rng(0)
    differing = rng.uniform(0.31, 0.99, 10).tolist()
    assert unseen_share(made([1.0] * 11 + differing + [0.01])) == 1.0
    assert unseen_share(made([1.0] * 9 + differing + [0.01])) == 0.0
    assert unseen_share(made([1.0] * 19 + [0.01])) == 0.0  # too few to say


def test_the_unseen_share_of_the_standard_deviation_widens_the_interval():
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.1, 0.9, (20, 2))
    rows = pd.DataFrame(scores, columns=["expected_ap", "likely_share"]).assign(
        box_size=rng.normal(-1.8, 0.5, 20),
        mAP=scores.mean(axis=1),
        source=[str(k) for k in range(20)],
        category="car",
        n_images=500,
    )
    fitted = Regression().fit(rows)
    middle = (10 * 0.5 + rows["mAP"].sum()) / 30
    squares = (10 / 12 + ((rows["mAP"] - middle) ** 2).sum()) / 30
    assert fitted.accuracy_std_ == pytest.approx(np.sqrt(squares))
    asked = rows.iloc[[3]]
    plain, half = fitted.distribution(asked), fitted.predict(asked.assign(unseen=0.5))[0]
    expected = np.hypot(plain.std[0], 0.5 * fitted.accuracy_std_)
    assert (half.upper - half.lower) / 2 == pytest.approx(1.645 * expected, rel=0.03)
    assert half.value == fitted.predict(asked)[0].value == fitted.predict_mean(asked).value
    assert fitted.predict_mean(asked.assign(unseen=0.5)) == half


def test_a_small_share_gives_no_warning():
    assert unseen_warning(0.02) == ()
    assert "80% of the confidence" in unseen_warning(0.8)[0]


FIT_OF_RANGE = np.linspace(0.01, 0.98, 200)


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        (lambda s: s, ""),
        (lambda s: 0.9 * s, ""),
        (lambda s: s**2, "the lowest score is 0.0001, in the fit it was 0.01"),
        (lambda s: s**0.5, "the lowest score is 0.1, in the fit it was 0.01: export both"),
        (lambda s: np.minimum(s, 0.49), "the highest score is 0.49, in the fit it was 0.98"),
        (
            lambda s: 0.65 * s,
            "the lowest score is 0.0065, in the fit it was 0.01: another threshold",
        ),
        (lambda s: [0.045, 0.3], ""),  # few boxes need not reach either end
    ],
)
def test_scores_that_begin_or_end_elsewhere_than_in_the_fit(scale, said):
    warnings = list(another_scale(made(scale(FIT_OF_RANGE)), 0.01, 0.98))
    assert len(warnings) == bool(said)
    assert "".join(warnings).startswith(said)
    # an older file does not know the highest
    assert not list(another_scale(made(np.minimum(FIT_OF_RANGE, 0.49)), 0.01, 0.0))


def test_a_wide_interval_comes_with_what_helps():
    wide, narrow = (
        PredictionInterval(0.5, 0.5, 0.2, 0.8, 0.3),
        PredictionInterval(0.5, 0.5, 0.4, 0.6, 0.1),
    )
    assert width_warning(narrow) == ""
    text = width_warning(wide)
    assert text.startswith("too wide to act on: ±30 points")
    assert "±15 to 19 from one labelled set, ±15 to 17 from 37 sites" in text
    assert "(`autoeval label plan`)" in text


def test_shares_by_hand():
    """Four confident boxes: with a companion, alone, and two across each other."""
    boxes = np.array(
        [
            [0, 0, 10, 10],
            [0, 0, 10, 9],  # its companion: IoU .9
            [50, 50, 60, 60],  # alone
            [80, 80, 90, 90],
            [85, 80, 95, 90],  # across it: IoU 1/3, so the less confident one is its companion
            [50, 50, 60, 59],  # of another category
            [0, 0, 10, 10],  # in another image
        ],
        float,
    )
    scores = np.array([0.9, 0.2, 0.8, 0.9, 0.7, 0.3, 0.4])
    image, label = np.array([0, 0, 0, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 0, 1, 0])
    images = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(2))
    found = Boxes(images, ("car", "bus"), image, label, boxes, scores)
    assert ConfidentBoxes.of(found) == (4, 0.5, 0.5)
    nothing = found.where(np.zeros(7, bool))
    assert ConfidentBoxes.of(nothing) == (0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("site", "n_signs"),
    [
        (ConfidentBoxes(100, 0.5, 0.5), 0),
        (ConfidentBoxes(100, 0.7, 0.5), 1),
        (ConfidentBoxes(100, 0.5, 0.6), 1),
        (ConfidentBoxes(100, 0.7, 0.6), 2),
        (ConfidentBoxes(19, 0.9, 0.9), 0),  # too few
    ],
)
def test_more_than_in_any_set_of_the_fit(site, n_signs):
    fit = [ConfidentBoxes(50, 0.3, 0.0), ConfidentBoxes(50, 0.1, 0.1), ConfidentBoxes(5, 1.0, 1.0)]
    warnings = unlike_fit(fit, site)
    assert len(warnings) == min(n_signs, 1)
    if warnings:
        assert warnings[0].code == CODE and warnings[0].count("in the fit") == n_signs
    assert unlike_fit([], site) == ()
    (*of_cut,) = unlike_fit(fit, site, cut=True)
    assert len(of_cut) == (site.n >= 20 and site.overlapping > 0.53)


def test_statistics_keep_them():
    one = Looks(("car",), confident=(ConfidentBoxes(50, 0.3, 0.1),))
    assert Looks.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert joined_statistics([one, one]).confident == one.confident * 2


def with_companions(rows, rng):
    """Add a less confident box beside each, as detectors do around an object."""
    companions = [{**row, "score": round(row["score"] * 0.3, 4)} for row in rows]
    for row in companions:
        x, y, width, height = row["bbox"]
        row["bbox"] = [x, y, round(width * rng.uniform(0.5, 0.8), 2), height]
    return rows + companions


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Labels and boxes of a fit and of a new site, there also with boxes where nothing is."""
    folder, rng = tmp_path_factory.mktemp("confident"), np.random.default_rng(0)
    for name, seed in (("fit", 0), ("new", 1)):
        _, boxes = write_world(folder, name, seed=seed, n_categories=2)
        boxes.write_text(json.dumps(with_companions(json.loads(boxes.read_text()), rng)))
    rows = json.loads((folder / "new_predictions.json").read_text())
    for image in range(60):
        for _ in range(8):
            corner = rng.uniform(0, 1, 2) * (WIDTH - 100, HEIGHT - 100)
            rows.append(
                {
                    "image_id": image,
                    "category_id": 1 + int(rng.integers(2)),
                    "bbox": [*corner.round(2).tolist(), *rng.uniform(30, 100, 2).round(2).tolist()],
                    "score": float(rng.uniform(0.6, 0.95)),
                }
            )
    (folder / "false_predictions.json").write_text(json.dumps(rows))
    return folder


def codes(result):
    return [warning.code for warning in result.warnings]


def test_an_estimate_warns_and_labels_give_the_number(world):
    estimator = autoeval.fit(world / "fit_labels.json", world / "fit_predictions.json")
    labels, false = world / "new_labels.json", world / "false_predictions.json"
    sound = estimator.predict(world / "new_predictions.json", images=labels)
    assert CODE not in codes(sound)
    warned = estimator.predict(false, images=labels)
    (warning,) = [warning for warning in warned.warnings if warning.code == CODE]
    assert warning.severity == "warning"
    labelled = estimate_labelled(estimator, false, labels, images=labels)
    assert CODE not in codes(labelled)
    assert labelled.value < sound.value - 0.1 < warned.value


def test_a_comparison_warns_of_the_detector_whose_boxes_are_unlike(world):
    """The one that finds objects where nothing is came out ahead, without a word."""
    estimator = autoeval.fit(world / "fit_labels.json", world / "fit_predictions.json")
    files = [world / f"{name}_predictions.json" for name in ("new", "false")]
    images = world / "new_labels.json"
    result = autoeval.compare({"sound": estimator, "false": estimator}, files, images=images)
    assert result.detectors == ("false", "sound")
    (warning,) = [warning for warning in result.warnings if warning.code == CODE]
    assert warning.startswith("false: ")


def test_boxes_that_begin_higher_than_those_of_the_fit_are_no_sign(world, tmp_path):
    estimator = autoeval.fit(world / "fit_labels.json", world / "fit_predictions.json")
    rows = json.loads((world / "new_predictions.json").read_text())
    (tmp_path / "cut.json").write_text(json.dumps([row for row in rows if row["score"] > 0.3]))
    cut = estimator.predict(tmp_path / "cut.json", images=world / "new_labels.json")
    assert cut.site.floor == 0.3 and CODE not in codes(cut)


def test_a_monitor_warns(world, tmp_path):
    estimator = autoeval.fit(world / "fit_labels.json", world / "fit_predictions.json")
    (tmp_path / "sites").mkdir()
    for name, file in (("sound", "new"), ("false", "false")):
        shutil.copy(world / f"{file}_predictions.json", tmp_path / f"sites/{name}.json")
    options = {"work_dir": tmp_path / "work", "by": "folder"}
    monitored = autoeval.monitor(estimator, tmp_path / "sites", **options)
    assert codes(monitored["false"]).count(CODE) == 1 and CODE not in codes(monitored["sound"])
    assert not [warning for warning in monitored.warnings if warning.code == CODE]


def test_a_detector_that_is_run_is_warned_of(world, tmp_path):
    """A detector that finds in each image the boxes of a file; its first pixel is its number."""
    rows = {}
    for name, first in (("fit", 0), ("new", 60), ("false", 120)):
        for row in json.loads((world / f"{name}_predictions.json").read_text()):
            rows.setdefault(first + row["image_id"], []).append(row)
        (tmp_path / name).mkdir()
        for k in range(60):
            pixels = np.full((HEIGHT, WIDTH, 3), first + k, np.uint8)
            cv2.imwrite(str(tmp_path / name / f"{k:06}.png"), pixels)
    document = json.loads((world / "fit_labels.json").read_text())
    for image in document["images"]:
        image["file_name"] = image["file_name"].replace(".jpg", ".png")
    (tmp_path / "labels.json").write_text(json.dumps(document))

    def find(images):
        found = [rows.get(int(image[0, 0, 0]), []) for image in images]
        boxes = [np.array([row["bbox"] for row in of_image]).reshape(-1, 4) for of_image in found]
        for of_image in boxes:
            of_image[:, 2:] += of_image[:, :2]
        scores = [np.array([row["score"] for row in of_image]) for of_image in found]
        labels = [np.array([row["category_id"] - 1 for row in of_image]) for of_image in found]
        return boxes, scores, labels

    detector = autoeval.BlackBoxDetector(find, ("thing 0", "thing 1"), settings={"score_thr": 0.01})
    estimator = autoeval.fit(tmp_path / "labels.json", detector, img_dir=tmp_path / "fit")
    assert CODE not in codes(estimator.predict(detector, images=tmp_path / "new"))
    assert codes(estimator.predict(detector, images=tmp_path / "false")).count(CODE) == 1


def pairs_up_to(threshold, n=150, seed=0):
    """Two boxes of one category an image, whose overlaps are spread from .3 to a threshold."""
    overlaps = 0.3 + (threshold - 0.3) * np.random.default_rng(seed).random(n)
    shift = 100 * (1 - overlaps) / (1 + overlaps)  # of a square of 100 beside its copy
    corners = np.tile([0.0, 0, 100, 100], (n, 2, 1))
    corners[:, 1, [0, 2]] += shift[:, None]
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (200, 300)) for k in range(n))
    of_image, zeros = np.repeat(np.arange(n), 2), np.zeros(2 * n, int)
    return Boxes(images, ("car",), of_image, zeros, corners.reshape(-1, 4), np.full(2 * n, 0.05))


def test_overlaps_are_counted_by_hand():
    boxes = pairs_up_to(0.5, n=4)
    counts = overlaps_of(boxes)
    assert sum(counts) == 4 and sum(counts[:20]) == 4  # all from .3 to .5
    other = replace(boxes, categories=("car", "bus"), label=np.tile([0, 1], 4))
    assert sum(overlaps_of(other)) == 0


@pytest.mark.parametrize(
    ("fit", "site", "warned"),
    [(0.6, 0.6, False), (0.6, 0.7, True), (0.7, 0.6, True), (0.6, 0.62, False)],
)
def test_another_threshold_of_suppression_is_named(fit, site, warned):
    fitted, new = pairs_up_to(fit), pairs_up_to(site, seed=1)
    looks = replace(Looks.of(fitted), overlaps=overlaps_of(fitted))
    again = Looks.from_dict(json.loads(json.dumps(looks.to_dict())))
    _, notices = again.compare(new)
    assert [notice.code for notice in notices] == ["another-detector"] * warned


def test_overlaps_without_a_steep_end_or_few_say_nothing():
    def without_end(top):  # as without suppression: fewer and fewer towards the top
        falling = np.zeros(70, int)
        falling[: int((top - 0.3) * 100)] = np.linspace(60, 2, int((top - 0.3) * 100))
        return tuple(falling)

    assert another_suppression(without_end(0.7), without_end(0.95)) == ()
    few = overlaps_of(pairs_up_to(0.8, n=99))
    assert another_suppression(overlaps_of(pairs_up_to(0.6)), few) == ()


@pytest.mark.parametrize(("kept", "warned"), [(50, True), (100, False), (9, False)])
def test_lists_that_are_cut_where_those_of_the_fit_are_not_are_named(kept, warned):
    lists = best(uneven(), kept)
    lists[0][-1] = 0.05  # so that the file begins as the fit does
    _, notices = FIT.compare(boxes(*lists))
    assert ("boxes-limited" in [notice.code for notice in notices]) is warned
