"""What boxes say about labels."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from labelled_site import estimate_labelled

import autoeval
from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.boxes import Boxes, LabelledImage
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.report.labels import labelled_heads
from autoeval.sites.label_warnings import (
    check_labels,
    contradicted,
    exchanged_words,
    label_warnings,
    labels_elsewhere,
    never_predicted,
    odd_labels,
    of_other_images,
    of_other_size,
    overconfident,
    reference_elsewhere,
    resized_labels,
    shifted_labels,
    unlabelled_objects,
    unseen_by_labels,
)
from tests.commands.predicted_world import write_world

N_IMAGES = 12
SIZE = 480, 640
N = 100
IMAGES = tuple(LabelledImage(str(k), f"{k}.jpg", None) for k in range(N))
BOX = np.array([10.0, 10, 50, 50])


def images(size=SIZE, n=N_IMAGES):
    return tuple(LabelledImage(str(k), f"{k}.jpg", size) for k in range(n))


def checked_world(*, scores=0.9, places=None):
    """One object an image, on a diagonal, and a box on each."""
    corner = 50.0 * (np.arange(N_IMAGES) if places is None else np.full(N_IMAGES, places))[:, None]
    boxes = np.concatenate([np.tile(corner, 2), np.tile(corner, 2) + 20], axis=1)
    columns = np.arange(N_IMAGES), np.zeros(N_IMAGES, int), boxes
    truth = Boxes(images(), ("car",), *columns, crowd=np.zeros(N_IMAGES, bool))
    return truth, Boxes(images(), ("car",), *columns, np.full(N_IMAGES, scores))


def exchanged(truth, turn=1):
    return replace(truth, image=(truth.image + turn) % N_IMAGES)


def test_boxes_on_labels_of_their_image():
    truth, boxes = checked_world()
    assert of_other_images(boxes, truth) == () and check_labels(truth, [boxes]) == ()


def test_labels_of_other_images_are_refused():
    """No box of 12 is right, and all are at the one turn of eleven that puts the labels back."""
    truth, boxes = checked_world()
    (notice,) = of_other_images(boxes, exchanged(truth))
    assert (notice.code, notice.severity) == ("labels-of-other-images", "refused")
    assert "of the 12 most confident boxes on 12 labelled images 0 lie" in notice
    assert "and up to 12 do" in notice
    with pytest.raises(InputError, match="do not belong together"):
        check_labels(exchanged(truth), [boxes])


def test_a_few_boxes_more_than_by_chance_are_a_weak_detector():
    """Less than a third is right, and hardly more than by chance; or more than a third."""
    truth, boxes = checked_world()
    some = exchanged(truth)
    for n_right, refused in ((2, True), (4, False)):
        image = np.where(np.arange(N_IMAGES) < n_right, truth.image, some.image)
        mixed = replace(truth, image=image)
        assert bool(of_other_images(boxes, mixed)) is refused


def test_too_little_to_say():
    for score in (0.3, float(np.float32(0.3))):  # not a confident box
        truth, boxes = checked_world(scores=score)
        assert of_other_images(boxes, exchanged(truth)) == ()
    truth, boxes = checked_world()
    nine = boxes.on_images(np.arange(9)), exchanged(truth).on_images(np.arange(9))
    assert of_other_images(*nine) == ()


def test_a_still_camera_whose_objects_stay():
    truth, boxes = checked_world(places=2)
    assert of_other_images(boxes, exchanged(truth)) == ()


def test_one_detector_of_two_that_lies_on_the_labels_is_enough():
    truth, boxes = checked_world()
    other = replace(boxes, boxes=boxes.boxes[::-1] + 25)
    assert of_other_images(other, truth)
    assert check_labels(truth, [other, boxes]) == ()


def test_labels_of_other_images_are_refused_where_they_say_what_was_looked_for():
    """As those of LVIS: an area over the whole image, of another category, held every box."""
    truth, boxes = checked_world()
    place, label = np.arange(N_IMAGES), np.ones(N_IMAGES, int)
    everywhere = np.tile([-1e6, -1e6, 1e6, 1e6], (N_IMAGES, 1))
    areas = Boxes(images(), ("car", "dog"), place, label, everywhere, crowd=label > 0)
    dogs = Boxes(images(), ("car", "dog"), place, label, boxes.boxes + 300, np.full(N_IMAGES, 0.99))

    def both(cars, others):
        columns = ("image", "label", "boxes", "scores", "crowd")
        return replace(
            others, **{c: np.concatenate([getattr(cars, c), getattr(others, c)]) for c in columns}
        )

    sound, found = both(truth, areas), both(boxes, dogs)
    assert check_labels(sound, [found]) == ()
    with pytest.raises(InputError, match="do not belong together"):
        check_labels(both(exchanged(truth), areas), [found])
    larger = images((2 * SIZE[0], 2 * SIZE[1]))
    (warning,) = check_labels(replace(sound, images=larger), [found])
    assert warning.code == "labels-of-other-size"  # but its boxes are where the objects are
    with pytest.raises(InputError, match="state another size"):
        resized = replace(truth, boxes=2 * truth.boxes)
        check_labels(replace(both(resized, areas), images=larger), [found])


@pytest.mark.parametrize("factor", [2, 0.5])
def test_labels_of_resized_images(factor):
    truth, boxes = checked_world()
    size = int(factor * SIZE[0]), int(factor * SIZE[1])
    resized = replace(truth, images=images(size), boxes=factor * truth.boxes)
    (notice,) = of_other_size(boxes, resized)
    assert (notice.code, notice.severity) == ("labels-of-other-size", "refused")
    assert "In 12 of 12 labelled images" in notice and f", {factor:g} times as wide" in notice
    with pytest.raises(InputError, match="state another size"):
        check_labels(resized, [boxes])


def test_sizes_alone_are_a_warning_where_the_boxes_lie_on_the_labels():
    truth, boxes = checked_world()
    (warning,) = check_labels(replace(truth, images=images((960, 1280))), [boxes])
    assert (warning.code, warning.severity) == ("labels-of-other-size", "warning")
    assert contradicted([warning])
    for size in (None, (480, 644)):  # not known, and by rounding
        assert check_labels(replace(truth, images=images(size)), [boxes]) == ()


def test_few_images_of_another_size_are_named():
    truth, boxes = checked_world()
    turned = (LabelledImage("0", "0.jpg", SIZE[::-1]), *images()[1:])
    (warning,) = check_labels(replace(truth, images=turned), [boxes])
    assert "0.jpg: 480 x 640, not 640 x 480" in warning and warning.severity == "warning"


# ---- doors


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A fit, and a site with sound labels and others."""
    folder = tmp_path_factory.mktemp("doors")
    of_fit = write_world(folder, "fit", seed=0, n_categories=2)
    labels, boxes = write_world(folder, "site", seed=1, n_categories=2)
    autoeval.fit(*of_fit).save(folder / "estimator.parquet")
    content = json.loads(labels.read_text())
    ids = [image["id"] for image in content["images"]]
    turned = dict(zip(ids, np.roll(ids, 1).tolist(), strict=True))

    def changed(change):
        return {**content, "annotations": [row | change(row) for row in content["annotations"]]}

    wrong = {
        "mixed": changed(lambda row: {"image_id": turned[row["image_id"]]}),
        "twice": changed(lambda row: {"bbox": [2 * v for v in row["bbox"]]}),
    }
    wrong["twice"]["images"] = [
        {**image, "width": 1280, "height": 960} for image in content["images"]
    ]
    other = write_world(folder, "elsewhere", seed=2, n_categories=2)[0]  # the same file names
    paths = {"other site": other}
    for name, document in wrong.items():
        paths[name] = folder / f"{name}.json"
        paths[name].write_text(json.dumps(document))
    return folder, labels, boxes, paths


@pytest.mark.parametrize("kind", ["mixed", "twice", "other site"])
def test_every_door_refuses_them(files, kind):
    folder, labels, boxes, paths = files
    wrong, fit = paths[kind], folder / "estimator.parquet"
    refusal = "another size" if kind == "twice" else "do not belong together"
    site = {"images": labels}
    with pytest.raises(InputError, match="do not belong together"):
        autoeval.fit(wrong, boxes)  # the labels are all that it knows of the sizes
    estimator = autoeval.AccuracyEstimator.load(fit)
    with pytest.raises(InputError, match=refusal):
        estimate_labelled(estimator, boxes, wrong, **site)
    plan = autoeval.plan_labels(estimator, boxes, n=20, **site)
    with pytest.raises(InputError, match=refusal):
        autoeval.estimate_with_labels(plan, wrong)
    moved = folder / "moved.json"
    rows = json.loads(boxes.read_text())
    moved.write_text(json.dumps([{**row, "score": row["score"] * 0.9} for row in rows]))
    with pytest.raises(InputError, match=refusal):
        autoeval.compare({"a": fit, "b": fit}, [boxes, moved], labels=wrong, **site)
    with pytest.raises(InputError, match="do not belong together"):
        autoeval.threshold(labels=wrong, predictions=boxes)


def test_no_half_width_is_reached_with_labels_that_the_boxes_contradict(files, tmp_path):
    """A third of the images have labels of another one: too few to refuse, enough to warn."""
    folder, labels, boxes, _ = files
    content = json.loads(labels.read_text())
    turned = {k: (k + 3) % 20 for k in range(20)}
    for row in content["annotations"]:
        row["image_id"] = turned.get(row["image_id"], row["image_id"])
    (tmp_path / "third.json").write_text(json.dumps(content))
    estimator = autoeval.AccuracyEstimator.load(folder / "estimator.parquet")
    sound, third = (
        estimate_labelled(estimator, boxes, path, images=labels)
        for path in (labels, tmp_path / "third.json")
    )
    assert not contradicted(sound.warnings) and "exact" in labelled_heads(sound)[0]
    assert contradicted(third.warnings) and "±" not in labelled_heads(third)[0]


def test_a_category_that_the_predictions_do_not_know_is_left_out_of_a_fit(files, tmp_path):
    _, labels, boxes, _ = files
    known = [row for row in json.loads(boxes.read_text()) if row["category_id"] == 1]
    (tmp_path / "known.json").write_text(json.dumps(known))
    fitted = autoeval.fit(labels, tmp_path / "known.json")
    assert set(fitted.table_["category"]) == {"thing 0"}
    codes = [notice.code for notice in fitted.looks_.warnings]
    assert "category-never-predicted" in codes
    both = {"thing 0": ["thing 0"], "thing 1": ["thing 1"]}
    named = autoeval.fit(labels, tmp_path / "known.json", categories=both)
    assert "category-never-predicted" in [notice.code for notice in named.looks_.warnings]


def test_labelled_words_that_are_neither_named_nor_the_detectors_are_noted(files, tmp_path):
    """Vans beside cars and buses counted nowhere, and what was found there as wrong."""
    _, labels, boxes, _ = files
    content = json.loads(labels.read_text())
    content["categories"].append({"id": 3, "name": "van"})
    for row in content["annotations"][::3]:
        row["category_id"] = 3
    (tmp_path / "vans.json").write_text(json.dumps(content))
    codes = {
        words: [
            notice.code
            for notice in autoeval.fit(
                tmp_path / "vans.json", boxes, categories={"thing": words}
            ).looks_.warnings
        ]
        for words in [("thing 0",), ("thing 0", "thing 1"), ("thing 0", "thing 1", "van")]
    }
    assert [of.count("categories-not-named") for of in codes.values()] == [1, 1, 0]


def truth(image, words=("car", "bus"), label=0, boxes=BOX):
    n = len(image)
    labels, boxes = np.full(n, label), np.tile(boxes, (n, 1))
    return Boxes(IMAGES, words, np.array(image, int), labels, boxes)


def found(scores, words=("car", "bus"), label=0):
    """One box an image."""
    boxes = np.tile(np.float32(BOX), (N, 1))
    labels = np.full(N, label)
    return Boxes(IMAGES, words, np.arange(N), labels, boxes, np.float32(scores))


@pytest.mark.parametrize(
    # the standard error of 60 % of a hundred is 4.9 points
    ("labelled", "said"),
    [(100, ""), (60, ""), (51, ""), (49, "49% of the 100 boxes over 0.3 are true positives")],
)
def test_overconfident(labelled, said):
    mine, true = found(np.full(N, 0.6)), truth(range(labelled))
    warnings = overconfident(rank_categories(mine, true))
    assert "".join(warnings).startswith(said) and len(warnings) == bool(said)


def test_boxes_that_nobody_is_sure_of_do_not_count():
    scores = np.where(np.arange(N) < 70, 0.7, 0.2)
    mine = found(scores)
    assert overconfident(rank_categories(mine, truth(range(70)))) == ()
    (warning,) = overconfident(rank_categories(mine, truth(range(70, 100))))
    assert warning.startswith("0% of the 70 boxes") and "mean score is 0.70" in warning
    few = mine.where(np.arange(N) < 19)
    assert overconfident(rank_categories(few, truth([]))) == ()


def test_boxes_in_a_crowd_are_neither_right_nor_wrong():
    mine, true = found(np.full(N, 0.9)), truth(range(100))
    crowd = replace(true, crowd=np.arange(N) >= 60)
    assert overconfident(rank_categories(mine, crowd)) == ()


def test_boxes_beyond_the_hundredth_of_an_image_move_no_other_box():
    """100 of 150 at .95 count, all right, and 50 at .5 of another image, all wrong."""
    image = np.repeat([0, 1], [150, 50])
    corners = np.tile(BOX, (200, 1)) + 100.0 * np.arange(200)[:, None]
    columns = image, np.zeros(200, int), corners
    mine = Boxes(images(), ("car",), *columns, np.repeat([0.95, 0.5], [150, 50]))
    true = mine.where(np.arange(200) < 100)
    (warning,) = overconfident(rank_categories(mine, replace(true, scores=np.ones(100))))
    assert warning.startswith("67% of the 150 boxes") and "mean score is 0.80" in warning


def test_one_thing_by_two_words():
    mine = found(np.full(N, 0.6), words=("automobile", "bus"))
    lost, (warning,) = never_predicted(mine, truth(range(30)))
    assert lost == ["car"] and warning.code == "other-words"
    assert "car (30 boxes)" in warning and "automobile (100 boxes)" in warning
    assert never_predicted(found(np.full(N, 0.6)), truth(range(30))) == ([], ())
    # the labels name fewer things than the detector knows, and miss none of its words
    other = found(np.full(N, 0.6), ("car", "dog"), 1)
    assert never_predicted(other, truth([], ("car",))) == ([], ())
    # named as a word of the category: no box has one
    ignored = replace(truth(range(30)), crowd=np.ones(30, bool))
    assert never_predicted(mine, ignored) == ([], ())  # nothing that could be missed
    lost, (warning,) = never_predicted(mine, truth(range(30)), {"auto": "car"})
    assert lost == ["car"] and warning.code == "category-never-predicted"
    assert never_predicted(mine, truth(range(30)), {"automobile": "car"}) == ([], ())


def test_labelled_twice():
    assert odd_labels(truth(range(100))) == ()
    (warning,) = odd_labels(truth([*range(100), *range(2)]))
    assert warning.startswith("4 of 102 labelled boxes")
    assert odd_labels(truth([*range(100), 0])) == ()  # 2 of 101
    aside = truth([*range(100), *range(5)])
    aside.boxes[100:] += 20
    assert odd_labels(aside) == ()


def test_labels_that_end_beyond_their_images():
    """Corners in the place of widths and heights, of 10 and of 11 of 100 labels."""
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (100, 100)) for k in range(100))
    of_image, inside = np.arange(100), np.tile([60.0, 10, 70, 30], (100, 1))
    for n, codes in ((10, []), (11, ["boxes-beyond-images"])):
        corners = inside.copy()
        corners[:n, 2:] += corners[:n, :2]
        labels = Boxes(images, ("car",), of_image, np.zeros(100, np.int64), corners)
        assert [warning.code for warning in odd_labels(labels)] == codes
    unsized = tuple(replace(image, size=None) for image in images)
    assert odd_labels(replace(labels, images=unsized)) == ()
    left = replace(labels, boxes=inside - [70, 0, 0, 0])
    assert [warning.code for warning in odd_labels(left)] == ["boxes-beyond-images"]


N_BUSY = 40  # images of four objects each


CORNERS = np.array([[0.0, 0], [100, 0], [0, 100], [100, 100]])


OBJECTS = np.tile(np.concatenate([CORNERS, CORNERS + 40], axis=1), (N_BUSY, 1))  # four an image


SHIFT = 1000.0


def world(score=0.9):
    """40 images with four objects of 40 pixels each; the first of each is found with `score`."""
    image, label = np.repeat(np.arange(N_BUSY), 4), np.zeros(4 * N_BUSY, int)
    truth = Boxes(
        IMAGES[:N_BUSY], ("car",), image, label, OBJECTS.copy(), crowd=np.zeros(4 * N_BUSY, bool)
    )
    boxes, scores = np.float32(OBJECTS), np.full(4 * N_BUSY, 0.2, np.float32)
    scores[::4] = score
    return Boxes(IMAGES[:N_BUSY], ("car",), image, label, boxes, scores), truth


def without_labels(truth, images):
    """Without the label of the first object of some images."""
    return truth.where(~np.isin(np.arange(len(truth)), 4 * np.array(images, int)))


@pytest.mark.parametrize(
    # of 160 - n labels a quarter, rounded down, is looked at: 38 of the 40 confident boxes
    ("n", "said"),
    [(0, ""), (4, ""), (5, "5 of the 38 most confident boxes"), (8, "8 of the 38 ")],
)
def test_confident_boxes_without_a_label(n, said):
    found, truth = world()
    warnings = unlabelled_objects(found, without_labels(truth, range(n)))
    assert "".join(warnings).startswith(said) and len(warnings) == bool(said)


def test_an_eighth_of_many_confident_boxes_is_not_yet_odd():
    found, truth = world()
    many, labels = found.where(np.tile(np.arange(160), 4)), truth.where(np.tile(np.arange(160), 4))
    first = np.tile(np.arange(160), 4) % 4 == 0
    # Of 640 - 20 labels a quarter is looked at, 155 boxes, 20 of them without a label: 12.9 %.
    assert unlabelled_objects(many, labels.where(~(first & (labels.image < 5)))) != ()
    # Of 640 - 16 labels 156 boxes, 16 of them without a label: 10.3 %.
    assert unlabelled_objects(many, labels.where(~(first & (labels.image < 4)))) == ()


def test_boxes_that_are_not_sure_or_lie_in_a_crowd_do_not_count():
    found, truth = world(score=0.5)
    assert unlabelled_objects(found, without_labels(truth, range(20))) == ()
    found, truth = world()
    crowd = replace(truth, crowd=np.isin(np.arange(160), 4 * np.arange(20)))
    assert unlabelled_objects(found, crowd) == ()


@pytest.mark.parametrize(("n", "said"), [(0, ""), (4, ""), (5, "in 5 of 40 images")])
def test_labels_of_other_images(n, said):
    found, truth = world()
    truth.boxes[truth.image < n] += SHIFT
    warnings = labels_elsewhere(found, truth)
    assert "".join(warnings).startswith(said) and len(warnings) == bool(said)


def test_labels_of_other_images_count_in_each_category():
    found, truth = world()
    two = replace(truth, categories=("car", "bus"), label=np.arange(160) // 4 % 2)
    mine = replace(found, categories=("car", "bus"), label=np.arange(160) // 4 % 2)
    assert labels_elsewhere(mine, two) == ()
    # the labels of five images are of the other category: there is nothing to compare with
    confused = replace(two, label=np.where(two.image < 5, 1 - two.label, two.label))
    assert labels_elsewhere(mine, confused) == ()


def test_a_box_on_a_label_of_another_category_is_no_label_elsewhere():
    """Every image holds a car and, beside it, a bus; the detector takes one for the other."""
    found, truth = world()
    label = np.arange(len(truth)) % 2
    truth = replace(truth, categories=("car", "bus"), label=label)
    mine = replace(found, categories=("car", "bus"), label=1 - label)
    assert {*truth.label[truth.image == 0]} == {*mine.label[mine.image == 0]} == {0, 1}
    assert labels_elsewhere(mine, truth) == ()
    (notice,) = labels_elsewhere(mine, replace(truth, boxes=truth.boxes + SHIFT))
    assert notice.code == "labels-elsewhere"


@pytest.mark.parametrize(
    ("right", "down", "said"),
    [(2.0, 0, False), (2.1, 0, True), (-4, 1, True), (0, 10, True)],
)
def test_shifted_labels(right, down, said):
    found, truth = world()
    truth.boxes[:] += [right, down, right, down]
    warnings = shifted_labels(found, truth)
    expected = f"lie {right:+.1f} px (to the right) and {down:+.1f} px (down)"
    assert len(warnings) == said and all(expected in warning for warning in warnings)


def scaled_labels(truth, wide, high):
    """Draw labels wider and higher around their centres."""
    centre = (truth.boxes[:, :2] + truth.boxes[:, 2:]) / 2
    half = (truth.boxes[:, 2:] - truth.boxes[:, :2]) / 2 * [wide, high]
    return replace(truth, boxes=np.concatenate([centre - half, centre + half], axis=1))


@pytest.mark.parametrize(
    ("wide", "high", "said"),
    [
        (0.8, 0.8, "0.80 times as wide and 0.80 times as high .* tighter"),
        (1.3, 1.2, "1.30 times as wide and 1.20 times as high .* looser"),
        (0.88, 0.8, None),  # exp(-.15) is .861
        (0.8, 1.2, None),
        (1, 1, None),
    ],
)
def test_labels_that_are_drawn_tighter_or_looser(wide, high, said):
    found, truth = world()
    warnings = resized_labels(found, scaled_labels(truth, wide, high))
    assert [notice.code for notice in warnings] == (["labels-resized"] if said else [])
    assert all(re.search(said, warning) for warning in warnings)
    few = found.where(found.image < 9)
    assert resized_labels(few, scaled_labels(truth, 0.8, 0.8)) == ()


def test_a_shift_that_scatter_explains_is_none():
    found, truth = world()
    # Offsets .25, .5, ... 10: median 5.1, median absolute deviation 2.5, so that the standard error
    # is 1.2533 * 1.4826 * 2.5 / sqrt(40) = .73, of which five are 3.7.
    truth.boxes[::4, ::2] += 0.25 * np.arange(1, N_BUSY + 1)[:, None]
    assert "+5.1 px" in shifted_labels(found, truth)[0]
    truth.boxes[::4, ::2] -= 1.5  # median 3.6
    assert shifted_labels(found, truth) == ()


def test_few_pairs_say_nothing_of_a_shift():
    found, truth = world()
    truth.boxes[:] += 5
    assert shifted_labels(found.where(found.image < 9), truth) == ()
    assert shifted_labels(found.where(found.image < 10), truth) != ()


def test_all_of_them_are_among_the_warnings_of_labels():
    found, truth = world()
    truth.boxes[:] += 5
    truth.boxes[truth.image < 10] += SHIFT
    said = " ".join(label_warnings(found, truth, rank_categories(found, truth)))
    assert "most confident boxes" in said and "in 10 of 40 images" in said and "+5.0 px" in said


def test_damaged_labels_of_real_photographs(shared):
    """Sound labels give no warning, damaged ones do (docs/results/label_warnings.md)."""
    labels = read_coco(shared / "real/all/coco_mini/annotations.json")
    truth, rng = labelled_boxes(labels), np.random.default_rng(0)
    for detector in ("yolo26n", "nanodet_plus", "fastestdet"):
        path = shared / "real_predictions" / detector / "all/coco_mini.json"
        words = {word: word for word in labels.categories}
        read = read_predictions(path, images=labels.images)
        found = read.as_categories(labels.categories, words)
        assert shifted_labels(found, truth) == unlabelled_objects(found, truth) == ()
        assert resized_labels(found, truth) == ()
        assert "tighter" in resized_labels(found, scaled_labels(truth, 0.8, 0.8))[0]
        assert labels_elsewhere(found, truth) == ()
        left = replace(truth, boxes=truth.boxes - [4, 0, 4, 0])
        assert "lie -" in shifted_labels(found, left)[0]
        assert unlabelled_objects(found, truth.where(rng.random(len(truth)) > 1 / 3))
        other = replace(truth, image=(truth.image + 1) % len(truth.images))
        assert labels_elsewhere(found, other) and unlabelled_objects(found, other)


def test_words_that_count_from_another_number_are_named():
    """Half of the images hold a car, half a bus; the detector calls each by the next word."""
    words = ("car", "bus", "van")
    half = np.arange(N) < N // 2
    labelled = replace(truth(range(N), words), label=np.where(half, 0, 1))
    shifted = replace(found(np.full(N, 0.9), words), label=np.where(half, 1, 2))
    (warning,) = exchanged_words(shifted, labelled)
    assert warning.code == "words-exchanged"
    assert "of 100 confident boxes on labelled objects 0 have the word" in warning
    assert "bus on car, van on bus" in warning
    # right words; a single word that is always wrong; wrong at random; too few boxes
    assert exchanged_words(replace(shifted, label=labelled.label), labelled) == ()
    assert exchanged_words(replace(shifted, label=np.full(N, 2)), labelled) == ()
    mixed = np.where(np.arange(N) % 4 < 2, 2, np.where(half, 1, 0))
    assert exchanged_words(replace(shifted, label=mixed), labelled) == ()
    assert exchanged_words(shifted.where(np.arange(N) < 19), labelled) == ()
    # numbers off by one, and a fifth of all boxes with a wrong word: 20 cars are called vans
    some = np.where(half & (np.arange(N) < 20), 2, shifted.label)
    (warning,) = exchanged_words(replace(shifted, label=some), labelled)
    assert "van on bus, bus on car" in warning


def test_two_words_exchanged_beside_a_frequent_one_are_named():
    """Of 100 images 60 hold a person, 20 a car and 20 a van; cars are called vans and vans cars."""
    words = ("person", "car", "van")
    label = np.repeat([0, 1, 2], [60, 20, 20])
    labelled = replace(truth(range(N), words), label=label)
    boxes = replace(found(np.full(N, 0.9), words), label=np.array([0, 2, 1])[label])
    (warning,) = exchanged_words(boxes, labelled)
    assert warning.code == "words-exchanged"
    assert "of 40 confident boxes on labelled objects 0 have the word" in warning
    # every car is called a van, and vans are right: a mistake of the detector
    assert exchanged_words(replace(boxes, label=np.array([0, 2, 2])[label]), labelled) == ()
    # exchanged with each other by a quarter of the boxes only
    some = np.where(np.arange(N) % 4, label, boxes.label)
    assert exchanged_words(replace(boxes, label=some), labelled) == ()


@pytest.mark.parametrize(
    ("n_none", "n_few", "floor", "warned"),
    [
        (8, 0, 0.25, True),
        (8, 2, 0.25, True),  # 8 - 3 * 2 are more than a twentieth of 20
        (8, 3, 0.25, False),  # 8 - 3 * 3 are not: a detector that misses much
        (4, 0, 0.25, False),  # four may be empty
        (16, 0, 0.25, False),  # of four images nothing is known
        (8, 0, 0.05, False),  # found without labels
        (8, 0, float(np.float32(0.05)), False),
    ],
)
def test_images_with_objects_and_without_a_box(n_none, n_few, floor, warned):
    """Four objects in each of 20 images; a box on all of them, on one, or on none."""
    pictures = tuple(LabelledImage(str(k), f"{k}.jpg", SIZE) for k in range(20))
    n_boxes = np.repeat([0, 1, 4], [n_none, n_few, 20 - n_none - n_few])

    def on_images(n, **scores):
        corner = 50.0 * np.concatenate([np.arange(k) for k in n])[:, None]
        boxes = np.concatenate([np.tile(corner, 2), np.tile(corner, 2) + 20], axis=1)
        image = np.repeat(np.arange(20), n)
        return Boxes(pictures, ("car",), image, np.zeros(len(image), int), boxes, **scores)

    truth = on_images(np.full(20, 4))
    boxes = on_images(n_boxes, scores=np.full(n_boxes.sum(), floor))
    warnings = unseen_by_labels(boxes, truth)
    assert [(one.code, one.severity) for one in warnings] == [
        ("images-not-covered", "warning")
    ] * warned
    assert unseen_by_labels(replace(boxes, lists_images=True), truth) == ()


def test_a_reference_on_other_images_is_warned_of():
    truth, boxes = checked_world()
    reference = replace(truth, scores=np.full(len(truth), 0.9))
    assert reference_elsewhere(boxes, reference) == ()
    (warning,) = reference_elsewhere(boxes, exchanged(reference))
    assert (warning.code, warning.severity) == ("reference-elsewhere", "warning")
