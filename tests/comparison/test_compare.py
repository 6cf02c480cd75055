"""Comparisons from files to a result: with labels of all images it is the true difference."""

import json
from functools import cache
from html import escape
from itertools import permutations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from comparison.two_detectors import site_labels, site_predictions, some_labels, write_detectors
from scipy import stats

from autoeval import compare, fit, plan_labels
from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.accuracy.measures import image_counts
from autoeval.boxes import Boxes, LabelledImage
from autoeval.comparison.compare_sites import joint_covariance, probability_of_best
from autoeval.comparison.paired_labels import (
    difference_with_labels,
    one_found_by_either,
    relative_disagreement,
)
from autoeval.comparison.unlabelled_difference import ERROR_FACTOR
from autoeval.errors import InputError
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.labels.category_estimates import InformativeImages, LabelledSample, SampleAccuracy
from autoeval.labels.values import NOTHING, VariancePrior
from autoeval.report.comparison import (
    comparison_page,
    comparison_text,
    comparison_values,
    differences_table,
)
from autoeval.runtime.files import plain


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_detectors(tmp_path_factory.mktemp("compare"))


def fits(world):
    return [world / "weak", world / "strong"]


def compared(world, **options):
    files = site_predictions(world, "weak", "strong")
    return compare(fits(world), files, images=site_labels(world), **options)


@pytest.fixture(scope="module")
def unlabelled(world):
    """The comparison without anything else said, which tests only read."""
    return compared(world)


def rankings(world, name):
    content = read_coco(site_labels(world))
    numbers = dict(zip(content.numbers, content.categories, strict=True))
    (path,) = site_predictions(world, name)
    found = read_predictions(path, images=content.images, where="", numbers=numbers)
    names = content.categories
    found = found.as_categories(names, {word: word for word in names})
    return rank_categories(found, labelled_boxes(content))


def true_precision(world, name):
    """AP of each category, by the metric alone."""
    return np.array([of.average_precision().mean() for of in rankings(world, name)])


def counted(world, name, score_thr):
    """True positives, boxes and objects over a threshold, (categories, 3)."""
    return np.array([image_counts(of, score_thr).sum(axis=1) for of in rankings(world, name)])


def test_the_better_detector_is_ranked_first(world, unlabelled):
    result = unlabelled
    assert result.detectors == ("strong", "weak") and "strong" in repr(result)
    (row,) = result.overall.to_dict("records")
    truth = float(np.mean(true_precision(world, "strong") - true_precision(world, "weak")))
    assert truth > 0.1 and row["lower"] < truth < row["upper"]
    assert row["p_better"] > 0.9 and row["carried_over"] > 0
    assert result.ranking["p_best"][0] == pytest.approx(row["p_better"], abs=1e-9)
    assert result.ranking["behind"].tolist() == [0, pytest.approx(-row["difference"])]
    assert "strong - weak: +" in comparison_text(result)
    assert result.value == row["difference"] and "strong" in str(result).splitlines()[0]
    assert str(result).splitlines()[0].endswith(", on 80 images")


def test_the_order_in_which_they_are_named_changes_nothing(world, unlabelled):
    files = site_predictions(world, "strong", "weak")
    turned = compare(fits(world)[::-1], files, images=site_labels(world))
    for column in ("difference", "lower", "upper", "p_better"):
        np.testing.assert_allclose(turned.pairs[column], unlabelled.pairs[column], atol=1e-9)
    np.testing.assert_allclose(turned.ranking["p_best"], unlabelled.ranking["p_best"], atol=1e-9)


def test_the_order_of_three_detectors_changes_no_probability(world, tmp_path):
    (file,) = site_predictions(world, "strong")
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps(json.loads(Path(file).read_text())[::2]))
    boxes = {"strong": file, "weak": site_predictions(world, "weak")[0], "fewer": fewer}
    fits = {"strong": world / "strong", "weak": world / "weak", "fewer": world / "strong"}
    rankings = [
        compare({n: fits[n] for n in names}, [boxes[n] for n in names], images=site_labels(world))
        for names in permutations(boxes)
    ]
    first, *others = [result.ranking for result in rankings]
    for other in others:
        pd.testing.assert_frame_equal(first, other, rtol=0, atol=1e-12)


def renamed(world, names, folder):
    """Labels of the fits and the list of images, with other names of the first two categories."""
    folder.mkdir()
    for path in (world / "set.json", site_labels(world)):
        content = json.loads(path.read_text())
        for category, name in zip(content["categories"], names, strict=False):
            category["name"] = name
        (folder / path.name).write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def called(world, tmp_path_factory):
    """Return the comparison where the first two categories have these names."""

    @cache
    def of(names):
        folder = renamed(world, names, tmp_path_factory.mktemp("called") / "files")
        fits = {
            name: fit(folder / "set.json", world / f"set_{name}_predictions.json")
            for name in ("weak", "strong")
        }
        files = site_predictions(world, *fits)
        return compare(fits, files, images=folder / site_labels(world).name)

    return of


@pytest.mark.parametrize(
    ("names", "usual"),
    [
        (("mean", "value"), ("one", "two")),
        (("a,b", "a_b"), ("one", "two")),
        # of these the panel knows many sites, however they are written
        (("Pedestrian", "Car"), ("person", "car")),
    ],
)
def test_what_categories_are_called_changes_no_number(called, names, usual):
    """Names that tables use for other things, and two that loggers of metrics write alike."""

    expected, result = called(usual), called(names)
    assert result.pairs["category"].tolist() == [*names, "all"]
    columns = ["difference", "lower", "upper", "p_better"]
    pd.testing.assert_frame_equal(result.pairs[columns], expected.pairs[columns])
    assert list(result.per_category.values()) == list(expected.per_category.values())
    assert len(result.overall) == 1 and result.value == expected.value
    assert list(result.to_dict().values()) == list(expected.to_dict().values())
    page = comparison_page(result).render()
    assert all(escape(name) in page for name in names)


def test_a_category_called_as_the_mean_is_refused_until_it_is_named_otherwise(world, tmp_path):
    folder = renamed(world, ("all", "two"), tmp_path / "all")
    fits = {
        name: fit(folder / "set.json", world / f"set_{name}_predictions.json")
        for name in ("weak", "strong")
    }
    site = {"images": folder / site_labels(world).name}
    with pytest.raises(InputError, match="NAME=all"):
        compare(fits, site_predictions(world, *fits), **site)
    named = {"everything": ["all"], "two": ["two"]}
    result = compare(fits, site_predictions(world, *fits), categories=named, **site)
    assert result.pairs["category"].tolist() == ["everything", "two", "all"]


@pytest.mark.parametrize("name", ["better", "self", "all"])
def test_a_detector_may_have_any_name(world, tmp_path, name):
    (file,) = site_predictions(world, "strong")
    fewer = tmp_path / "fewer.json"
    fewer.write_text(json.dumps(json.loads(Path(file).read_text())[::2]))
    named = {name: world / "strong", "weak": world / "weak", "fewer": world / "strong"}
    files = [file, *site_predictions(world, "weak"), fewer]
    result = compare(named, files, images=site_labels(world))
    assert name in comparison_page(result).render() and result.matrix().loc["weak", name] < 0.5


def test_with_labels_of_all_images_it_is_the_true_difference(world):
    result = compared(world, labels=site_labels(world))
    truth = true_precision(world, "strong") - true_precision(world, "weak")
    rows = result.pairs.set_index("category")
    for name, value in zip(("thing 0", "thing 1"), truth, strict=True):
        assert rows.loc[name, "difference"] == pytest.approx(value, abs=1e-6)
        assert rows.loc[name, "upper"] - rows.loc[name, "lower"] < 1e-6
    assert rows.loc["all", "difference"] == pytest.approx(truth.mean(), abs=1e-6)
    assert result.n_labelled == 80


@pytest.mark.parametrize("labels", [None, {1, 2, 3, 4}])
def test_a_detector_differs_from_itself_by_nothing(world, tmp_path, labels):
    """As where a release changes no weights: its boxes may be written in another order."""
    (file,) = site_predictions(world, "strong")
    turned = tmp_path / "turned.json"
    turned.write_text(json.dumps(json.loads(Path(file).read_text())[::-1]))
    twice = {"new": world / "strong", "old": world / "strong"}
    given = {"labels": some_labels(world, tmp_path / "some.json", labels)} if labels else {}
    result = compare(twice, [file, turned], images=site_labels(world), **given)
    columns = ["difference", "lower", "upper", "label_free"]
    assert not np.signbit(result.ranking.select_dtypes("number").to_numpy()).any()
    assert (result.pairs[columns] == 0).all().all() and (result.pairs["p_better"] == 0.5).all()
    assert "same-boxes" in [warning.code for warning in result.warnings]
    gate = result.gate(0.0)
    assert gate.outcome == "passed" and not np.signbit(gate.losses[0].value)
    assert comparison_values(result, gate)["gate"]["losses"][0]["same_boxes"]
    with pytest.raises(InputError, match="of two detectors"):
        compare(twice, [file, Path(file)], images=site_labels(world))
    with pytest.raises(InputError, match="same boxes"):
        plan_labels(
            world / "strong",
            file,
            images=site_labels(world),
            compare=world / "strong",
            compare_predictions=turned,
        )


def test_the_result_of_a_category_names_the_detector_that_is_better_there(world):
    """Here each is better in one of two; the rows have the one that is ranked higher first."""
    weak, strong = (
        json.loads(Path(path).read_text()) for path in site_predictions(world, "weak", "strong")
    )
    first = min(box["category_id"] for box in strong)
    mixed = [
        [box for boxes, here in parts for box in boxes if (box["category_id"] == first) == here]
        for parts in ([(strong, True), (weak, False)], [(weak, True), (strong, False)])
    ]
    labels = site_labels(world)
    result = compare(fits(world), mixed, images=labels, labels=labels)
    shown = differences_table(result).shown.set_index("category")["result"]
    assert shown.tolist()[:2] == ["weak is better", "strong is better"]
    assert shown["all"] == f"{result.detectors[0]} is better"
    assert sorted(result.pairs["difference"][:2] > 0) == [False, True]


def test_predictions_in_memory_are_those_of_files(world):
    fits = [world / name for name in ("strong", "weak")]
    files = site_predictions(world)
    frames = [pd.DataFrame(json.loads(Path(file).read_text())) for file in files]
    of_files, of_frames = (compare(fits, of, images=site_labels(world)) for of in (files, frames))
    pd.testing.assert_frame_equal(of_frames.pairs, of_files.pairs)


def test_the_same_boxes_of_other_categories_are_others(world, tmp_path):
    (file,) = site_predictions(world, "strong")
    entries = json.loads(Path(file).read_text())
    numbers = sorted({entry["category_id"] for entry in entries})
    exchanged = dict(zip(numbers, numbers[::-1], strict=True))
    for entry in entries:
        entry["category_id"] = exchanged[entry["category_id"]]
    other = tmp_path / "exchanged.json"
    other.write_text(json.dumps(entries))
    twice = {"right": world / "strong", "wrong": world / "strong"}
    labels = site_labels(world)
    result = compare(twice, [file, other], images=labels, labels=labels)
    assert result.detectors == ("right", "wrong") and result.value > 0.1


def test_labels_that_show_no_difference_of_counts_leave_one(world, tmp_path):
    """Both have found equally many objects in each labelled image; in others they have not."""
    hits = [
        np.sum([image_counts(of, 0.05)[0] for of in rankings(world, name)], axis=0)
        for name in ("weak", "strong")
    ]
    equal = np.flatnonzero(hits[0] == hits[1])[:8]
    assert len(equal) == 8
    ids = [image["id"] for image in json.loads(site_labels(world).read_text())["images"]]
    labels = some_labels(world, tmp_path / "some.json", {ids[k] for k in equal})
    result = compared(world, target="recall", score_thr=0.05, labels=labels)
    assert result.value == pytest.approx(0, abs=0.02) and result.lower < -0.05 < 0.05 < result.upper
    assert result.gate(0.0, "weak").outcome == "undecided"


def test_the_variance_of_a_difference_of_counts_knows_one_image_more():
    """Four of 16 images with 2 objects each, in which both find the same: 1/4 counts as one."""
    nothing = SampleAccuracy(0.0, np.zeros(4), 8, 4, (8.0, 4))
    sample = LabelledSample(np.arange(4), 16)
    (one,) = one_found_by_either(np.array([0.5]), np.array([0.5]), [1.0])
    difference = difference_with_labels(nothing, sample, NOTHING, np.zeros(16), one)
    variance = 1 / 4 * (1 + 3 * 0) / (1 + 3)
    assert difference.labels.error == pytest.approx(
        ERROR_FACTOR * np.sqrt((1 - 4 / 16) * variance / 4)
    )
    assert difference.labels.dof == 4


def test_images_on_which_two_detectors_are_equal_show_no_variance():
    """Of 40 images 8 differ, 2 of ten are expected to, and one labelled does: it stands for two."""
    influence, sizes = np.array([0.2, *np.zeros(9)]), np.array([1.0, *np.zeros(32), *np.ones(7)])
    measured = SampleAccuracy(0.02, influence, 20, 10, (20.0, 10))
    sample, prior = LabelledSample(np.arange(10), 40), VariancePrior(0.01, 1.5)
    informative = InformativeImages.of(sizes, sample, np.full(40, 10 / 40))
    assert (informative.n, informative.expected, informative.factor) == pytest.approx((1, 2, 1))
    found = difference_with_labels(
        measured, sample, NOTHING, np.zeros(40), prior, informative
    ).labels
    of_mean = 10 / 9 * (0.018**2 + 9 * 0.002**2)  # the sample variance over ten
    variance = (1.5 * 0.01 / 10 + 0.9 * 2 * of_mean) / (1.5 + 0.9)  # one of ten degrees is the mean
    assert found.error == pytest.approx(ERROR_FACTOR * np.sqrt((1 - 10 / 40) * variance))
    assert found.dof == pytest.approx(2.4)


def test_what_is_shown_knows_how_images_were_drawn():
    """Two of four images may vary, each drawn with probability 3/4, and one of them is labelled."""
    drawn, sample = np.array([0.75, 0.75, 0.25, 0.25]), LabelledSample(np.array([0, 2]), 4)
    informative = InformativeImages.of(np.array([1.0, 1, 0, 0]), sample, drawn)
    of_one = 0.25 / (4 * 0.75) ** 2  # (1 - 3/4) of the square of its weight in the mean
    simple = (1 - 2 / 4) * 0.5 / 2
    assert informative.n == pytest.approx(1) and informative.expected == pytest.approx(1.5)
    assert informative.factor == pytest.approx(1.5 * of_one / simple)
    everything = InformativeImages.of(
        np.array([1.0, 0, 0, 0]), sample, np.array([1.0, 1 / 3, 1 / 3, 1 / 3])
    )
    assert everything.factor == 0  # the image that may vary is certain to be labelled


def test_moved_boxes_vary_a_difference_too():
    """One of four images is lost, boxes of the others have an IoU of .82, over seven of ten.

    By the disagreement at .5 alone the three would vary nothing: intervals by labels of a plan were
    half as wide as they should be where the rest of the boxes moved by 4 % of their sides.
    """
    images = tuple(LabelledImage(str(k), f"{k}.jpg", (99, 99)) for k in range(4))

    def version(n, side):
        boxes = np.tile([0.0, 0.0, 10.0, side], (n, 1))
        found = Boxes(images, ("car",), np.arange(n), np.zeros(n, int), boxes, np.full(n, 0.9))
        return SimpleNamespace(boxes=found, right_at_half=np.full(n, 0.8))

    old, new = version(4, 10.0), version(3, 8.2)
    of_each = np.array([[0.3 * 2, 0.3 * 2, 0.3 * 2, 1]])  # in boxes of .8, by either as labels
    expected = of_each / of_each.mean()
    np.testing.assert_allclose(relative_disagreement(old, new), expected)
    np.testing.assert_allclose(relative_disagreement(new, old), expected)
    assert (relative_disagreement(old, old) == 1).all()


@pytest.mark.parametrize("moved", [0.0, 0.01])
def test_labels_that_miss_the_images_of_a_loss_leave_it_possible(world, tmp_path, moved):
    """A version without the boxes of 8 of 80 images, all others equal or moved by rounding."""
    (old,) = site_predictions(world, "strong")
    boxes = json.loads(Path(old).read_text())
    ids = [image["id"] for image in json.loads(site_labels(world).read_text())["images"]]
    kept = [box for box in boxes if box["image_id"] not in ids[:8]]
    kept = [{**box, "bbox": [box["bbox"][0] + moved, *box["bbox"][1:]]} for box in kept]
    new = tmp_path / "new.json"
    new.write_text(json.dumps(kept))

    def lost(labels):
        versions = {"new": world / "strong", "old": world / "strong"}
        given = {"images": site_labels(world), "incomplete": True}
        result = compare(versions, [new, old], labels=labels, **given)
        codes = [warning.code for warning in result.warnings]
        return result.gate(0.0, "new").losses[0], "few-labels-of-differences" in codes

    true = lost(site_labels(world))[0].value
    found, warned = lost(some_labels(world, tmp_path / "some.json", set(ids[20:30])))
    assert warned and not lost(some_labels(world, tmp_path / "more.json", set(ids[:10])))[1]
    assert true > 0.05 and found.lower < true < found.upper
    assert found.outcome == "undecided"


@pytest.mark.parametrize("target", ["mAP", "recall"])
def test_labels_of_images_without_a_difference_do_not_rule_one_out(world, tmp_path, target):
    """A new version loses the objects of every twentieth image, and none of these is labelled."""
    (file,) = site_predictions(world, "strong")
    entries = json.loads(Path(file).read_text())
    ids = [image["id"] for image in json.loads(site_labels(world).read_text())["images"]]
    without = tmp_path / "without.json"
    without.write_text(json.dumps([e for e in entries if e["image_id"] not in ids[::20]]))
    versions = {"new": world / "strong", "old": world / "strong"}
    at: dict[str, Any] = {"images": site_labels(world), "target": target, "incomplete": True}
    if target == "recall":
        at["score_thr"] = 0.3
    true = compare(versions, [without, file], labels=site_labels(world), **at).gate(0.0, "new")
    labels = some_labels(
        world, tmp_path / "some.json", {n for k, n in enumerate(ids) if k % 10 in (3, 5, 7)}
    )
    seen = compare(versions, [without, file], labels=labels, **at).gate(0.02, "new")
    assert true.decisive.value > 0.04 and seen.outcome == "undecided"
    assert -0.1 < seen.decisive.lower < 0 < 0.02 < seen.decisive.upper < 0.1


@pytest.mark.parametrize(("target", "below"), [("recall@0.3", 2), ("precision@0.3", 1)])
def test_by_recall_and_precision_the_counts_of_categories_are_summed(world, target, below):
    strong, weak = (counted(world, name, 0.3) for name in ("strong", "weak"))
    each = strong[:, 0] / strong[:, below] - weak[:, 0] / weak[:, below]
    whole, other = (of[:, 0].sum() / of[:, below].sum() for of in (strong, weak))
    result = compared(world, target=target, labels=site_labels(world))
    sign = 1 if result.detectors[0] == "strong" else -1
    found = sign * result.pairs.set_index("category")["difference"]
    expected = [*each, whole - other]
    assert found[["thing 0", "thing 1", "all"]].tolist() == pytest.approx(expected, abs=1e-6)
    values = result.ranking.set_index("detector")["value"]
    assert values[["strong", "weak"]].tolist() == pytest.approx([whole, other], abs=1e-6)
    free = compared(world, target=target)
    (row,) = free.overall.to_dict("records")
    sign = 1 if row["a"] == "strong" else -1
    assert row["lower"] < sign * (whole - other) < row["upper"]
    assert "taken to be independent" in " ".join(free.warnings)


def test_over_a_threshold_that_no_box_reaches_both_recalls_are_known_to_be_0(world):
    result = compared(world, target="recall@0.999")
    row = result.overall.iloc[0]
    assert row[["difference", "lower", "upper", "p_better"]].tolist() == [0, 0, 0, 0.5]
    assert result.ranking["p_best"].tolist() == [0.5, 0.5]
    assert result.ranking["value"].tolist() == [0, 0]


def test_a_few_labels_narrow_the_interval(world, unlabelled, tmp_path):
    labels = some_labels(world, tmp_path / "labels.json", set(range(0, 80, 2)))
    free, few = (of.overall.iloc[0] for of in (unlabelled, compared(world, labels=labels)))
    assert few["upper"] - few["lower"] < 0.7 * (free["upper"] - free["lower"])
    assert few["label_free"] == pytest.approx(free["difference"])


def test_another_scale_of_scores_is_not_another_detector(world, tmp_path):
    """Scores to the power of 1/2: ranks, and so average precisions, stay as they are."""
    paths = {}
    for kind in ("set", "site"):
        entries = json.loads((world / f"{kind}_strong_predictions.json").read_text())
        moved = [{**e, "score": e["score"] ** 0.5} for e in entries]
        paths[kind] = tmp_path / f"{kind}.json"
        paths[kind].write_text(json.dumps(moved))
    same = fit(world / "set.json", paths["set"])
    result = compare(
        {"plain": world / "strong", "root": same},
        [*site_predictions(world, "strong"), paths["site"]],
        images=site_labels(world),
    )
    (row,) = result.overall.to_dict("records")
    assert abs(row["difference"]) < 0.01 and row["upper"] - row["lower"] < 0.04


def test_common_images_alone_are_compared(world, tmp_path):
    entries = json.loads((world / "site_weak_predictions.json").read_text())
    part = tmp_path / "part.json"
    part.write_text(json.dumps([e for e in entries if e["image_id"] < 30]))
    result = compare(fits(world), [part, *site_predictions(world, "strong")])
    assert result.n_images <= 30
    assert any("strong has" in of and "are common" in of for of in result.warnings)


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_images_are_found_by_the_names_of_any_detector(world, tmp_path, order):
    """One file has no folders, and the other one has an image of training more, of a name there."""
    (weak, strong), boxes = site_predictions(world, "weak", "strong"), []
    for file, folder in ((weak, ""), (strong, "val/")):
        rows = json.loads(Path(file).read_text())
        boxes.append([row | {"file_name": f"{folder}{row['image_id']}.jpg"} for row in rows])
    expected = compare(fits(world), boxes)
    first = boxes[1][0]
    boxes[1].append(first | {"image_id": 1000, "file_name": f"train/{first['image_id']}.jpg"})
    result = compare([fits(world)[k] for k in order], [boxes[k] for k in order])
    assert result.n_images == expected.n_images > 70
    assert result.value == pytest.approx(expected.value, abs=1e-9)


@pytest.mark.parametrize("folders", [("", "cam1/"), ("cam1/", "")])
@pytest.mark.parametrize("offsets", [(1000, 2000), (1000, 0)])  # numbers of cam2 are those of boxes
def test_labels_are_found_by_the_names_of_any_detector(world, tmp_path, folders, offsets):
    """One file has no folders, and the labels are of two cameras, of which one was run."""
    content = json.loads(site_labels(world).read_text())
    cam1, cam2 = (
        [
            image | {"id": image["id"] + offset, "file_name": f"{camera}/{image['id']}.jpg"}
            for image in content["images"]
        ]
        for camera, offset in zip(("cam1", "cam2"), offsets, strict=True)
    )
    of_image = dict(zip([image["id"] for image in content["images"]], cam1, strict=True))
    of_other = dict(zip(of_image, cam2[::-1], strict=True))  # what is seen there is another thing
    content["images"] = [*cam1, *cam2]
    content["annotations"] = [
        one | {"id": k, "image_id": images[one["image_id"]]["id"]}
        for k, (images, one) in enumerate(product((of_image, of_other), content["annotations"]))
    ]
    (labels := tmp_path / "labels.json").write_text(json.dumps(content))
    files = []
    for name, folder in zip(("weak", "strong"), folders, strict=True):
        boxes = json.loads((world / f"site_{name}_predictions.json").read_text())
        named = [box | {"file_name": f"{folder}{box['image_id']}.jpg"} for box in boxes]
        (path := tmp_path / f"{name}.json").write_text(json.dumps(named))
        files.append(path)
    result = compare(fits(world), files, labels=labels)
    assert result.gate(0.01).candidate == "weak"  # the first that was given
    truth = np.mean(true_precision(world, "strong") - true_precision(world, "weak"))
    assert result.n_labelled == result.n_images
    assert result.value == pytest.approx(truth, abs=1e-9)


def test_result_as_table_dict_and_picture(unlabelled):
    result = unlabelled
    table = result.to_pandas()
    assert table["distinguishable"].tolist() == [
        bool(low > 0 or high < 0) for low, high in zip(table["lower"], table["upper"], strict=True)
    ]
    values = plain(comparison_values(result))["comparison"]
    assert json.loads(json.dumps(values))["ranking"][0]["detector"] == "strong"
    matrix = result.matrix()
    assert matrix.loc["strong", "weak"] + matrix.loc["weak", "strong"] == pytest.approx(1)
    ax = result.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["strong", "weak"]


def test_the_page_shows_how_far_each_is_behind_the_first(unlabelled):
    result = unlabelled
    (plot,) = [block for block in comparison_page(result).blocks if block.kind == "intervals"]
    assert [row.name for row in plot.rows] == ["strong", "weak"]
    assert [row.value for row in plot.rows] == result.ranking["behind"].tolist()
    ends = result.ranking[["lower", "upper"]].to_numpy()
    assert plot.low <= ends.min() and max(ends.max(), 0) <= plot.high
    assert plot.high - plot.low < 5 * (ends.max() - ends.min())  # they fill the scale


@pytest.mark.parametrize("given", [{"words": {"auto": "thing 0"}}, {"img_dir": "photos"}])
def test_what_is_about_labels_is_refused_without_them(world, given):
    with pytest.raises(InputError, match=f"--{next(iter(given)).replace('_', '-')} .*labels"):
        compared(world, **given)


def test_bad_input(world, tmp_path):
    files = site_predictions(world)
    with pytest.raises(InputError, match="two detectors or more"):
        compare([world / "strong"], files[:1])
    with pytest.raises(InputError, match="strong is given twice"):
        compare([world / "strong", world / "strong" / "estimator.parquet"], files)
    with pytest.raises(InputError, match="predictions of each of 2 detectors"):
        compare(fits(world), files[:1])
    other = fit(world / "set.json", world / "set_weak_predictions.json", target="mAP50")
    with pytest.raises(InputError, match="one target"):
        compare({"strong": world / "strong", "other": other}, files)
    entries = json.loads((world / "site_weak_predictions.json").read_text())
    moved = tmp_path / "moved.json"
    moved.write_text(json.dumps([{**e, "image_id": e["image_id"] + 5000} for e in entries]))
    with pytest.raises(InputError, match="no image in common"):
        compare(fits(world), [moved, files[0]])
    labels = some_labels(world, tmp_path / "labels.json", {1, 2, 3})
    content = json.loads(labels.read_text())
    for entry in content["images"]:
        entry.update(id=entry["id"] + 900, file_name=f"x{entry['id']}.jpg")
    for entry in content["annotations"]:
        entry["image_id"] += 900
    labels.write_text(json.dumps(content))
    with pytest.raises(InputError, match="in the pool"):
        compared(world, labels=labels)


def variances_of(covariance):
    own = np.diag(covariance)
    return own[:, None] + own - 2 * covariance


def test_of_two_the_probability_is_that_of_the_difference():
    variances = np.array([[0.0, 0.04], [0.04, 0.0]])
    best = probability_of_best(np.array([0.05, -0.05]), joint_covariance(variances), 8.0)
    assert best[0] == pytest.approx(stats.t.cdf(0.1 / 0.2, 8), abs=0.01)
    assert best.sum() == pytest.approx(1)


def test_equals_are_equally_likely():
    variances = 0.01 * (1 - np.eye(3))
    best = probability_of_best(np.zeros(3), joint_covariance(variances), np.inf)
    np.testing.assert_allclose(best, 1 / 3, atol=0.01)


def test_the_covariance_has_the_variances_of_differences():
    root = np.random.default_rng(0).normal(size=(4, 4))
    variances = variances_of(root @ root.T)
    np.testing.assert_allclose(variances_of(joint_covariance(variances)), variances)


def test_variances_that_no_distribution_has_give_a_proper_covariance():
    variances = np.array([[0, 1, 1], [1, 0, 9], [1, 9, 0.0]])  # 3 > 1 + 1
    assert np.linalg.eigvalsh(joint_covariance(variances)).min() > -1e-9


def test_a_detector_trained_at_the_labelled_site(world, unlabelled):
    """Its difference there is not used and its estimate lowered; a warning says so."""
    trained = compared(world, trained_here=["strong"])
    assert any("strong: trained on images like the labelled ones" in of for of in trained.warnings)
    assert not any("trained on images" in of for of in unlabelled.warnings)
    strong = [
        of.pairs["difference"] * of.pairs["a"].map({"strong": 1, "weak": -1})
        for of in (unlabelled, trained)
    ]
    assert (strong[0] > strong[1]).all()
    with pytest.raises(InputError, match="names nobody, which is not compared"):
        compared(world, trained_here=["nobody"])
    with pytest.raises(InputError, match="acts on differences of average precision"):
        compared(world, target="recall@0.3", trained_here=["strong"])


def test_a_fit_that_knows_where_its_detector_was_trained_counts_as_told(
    world, unlabelled, tmp_path
):
    """Values and differences are those of `trained_here`, which left its level as it was."""
    boxes = world / "set_strong_predictions.json"
    fit(world / "set.json", boxes, trained_here=True, work_dir=tmp_path / "strong")
    files = site_predictions(world, "weak", "strong")
    told = compared(world, trained_here=["strong"])
    known = compare([world / "weak", tmp_path / "strong"], files, images=site_labels(world))
    pd.testing.assert_frame_equal(known.pairs, told.pairs)
    pd.testing.assert_frame_equal(known.ranking, told.ranking)
    assert told.ranking["value"].mean() < unlabelled.ranking["value"].mean() - 0.01
    assert any("strong: trained on images like the labelled ones" in of for of in known.warnings)


def test_a_known_accuracy_brings_the_other_one_to_the_truth(world):
    """With labels of all images the difference is exact, and so is the other detector."""
    weak, strong = (true_precision(world, name).mean() for name in ("weak", "strong"))
    found = compared(world, labels=site_labels(world), known={"strong": strong})
    row = found.ranking.set_index("detector").loc["weak"]
    bounds = row[["value", "value_lower", "value_upper"]].to_numpy(float)
    np.testing.assert_allclose(bounds, weak, atol=1e-6)
    with pytest.raises(InputError, match="`known` has nobody"):
        compared(world, known={"nobody": 0.3})
    with pytest.raises(InputError, match=r"in \[0, 1\] but got 31.2"):
        compared(world, known={"weak": 31.2})


def test_a_name_goes_before_the_folder_of_another_detector(world, monkeypatch):
    monkeypatch.chdir(world)
    turned, files = {"weak": "strong", "strong": "weak"}, site_predictions(world, "strong", "weak")
    result = compare(turned, files, images=site_labels(world), known={"weak": 0.5})
    assert result.known == "weak"
    result = compare(turned, files, images=site_labels(world), trained_here=["weak"])
    (warning,) = [w for w in result.warnings if w.code == "trained-on-these-images"]
    assert warning.startswith("weak: ")


def test_a_known_accuracy_among_three_detectors(world, tmp_path):
    """Their differences stay as they are; the third finds three quarters of what the first does."""
    files = site_predictions(world, "weak", "strong", "weak")
    boxes = json.loads(Path(files[2]).read_text())
    files[2] = tmp_path / "fewer.json"
    files[2].write_text(json.dumps([of for k, of in enumerate(boxes) if k % 4]))
    named = dict(zip("abc", [*fits(world), world / "weak"], strict=True))
    plain, known = (
        compare(named, files, images=site_labels(world), known=of).ranking
        for of in (None, {"a": 0.2})
    )
    np.testing.assert_allclose(np.diff(plain["value"]), np.diff(known["value"]), atol=1e-12)
    # by least squares: each value is ahead of the mean by its mean difference to all, itself too
    pairs = compare(named, files, images=site_labels(world)).overall
    ahead = dict.fromkeys(named, 0.0)
    for row in pairs.to_dict("records"):
        ahead[row["a"]] += row["difference"] / 3
        ahead[row["b"]] -= row["difference"] / 3
    values = plain.set_index("detector")["value"]
    for name, value in ahead.items():
        assert values[name] - values.mean() == pytest.approx(value)
    assert known.set_index("detector")["value"]["a"] == 0.2
    assert known["value_lower"].le(known["value"]).all()
