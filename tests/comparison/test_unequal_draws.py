"""Detectors compared on images that a plan drew with unequal probabilities."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from comparison.two_detectors import site_labels, site_predictions, some_labels, write_detectors
from scipy import stats

from autoeval import AccuracyEstimator, Predictions, compare, fit, plan_labels, threshold
from autoeval.comparison.compare_sites import SiteLabels, compare_sites
from autoeval.comparison.paired_labels import (
    BY_DIFFERENCE,
    difference_with_labels,
    pair_labels,
    plan_difference,
)
from autoeval.errors import InputError
from autoeval.estimation.label_planning import PlanRequest
from autoeval.io.coco import read_coco
from autoeval.labels.assistance import DISAGREEING
from autoeval.labels.category_estimates import LabelledSample, SampleAccuracy
from autoeval.labels.plan import inclusion_probabilities, inverse_probabilities
from autoeval.labels.values import ValueWithError, VariancePrior, combine

DETECTORS = ("strong", "weak")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return write_detectors(tmp_path_factory.mktemp("unequal"))


@pytest.fixture(scope="module")
def plan(world):
    """Drawn for the weak detector with the strong one as its reference."""
    strong, weak = (world / f"set_{name}_predictions.json" for name in DETECTORS)
    helped = fit(world / "set.json", Predictions(weak, reference=strong), work_dir=world / "helped")
    reference, own = site_predictions(world, *DETECTORS)
    boxes = Predictions(own, reference=reference)
    return plan_labels(helped, boxes, images=site_labels(world), n=20, work_dir=world / "plan")


@pytest.fixture(scope="module")
def labels(world, plan):
    drawn = {int(plan.found.images[k].image_id) for k in plan.drawn}
    return some_labels(world, world / "plan/labels.json", drawn)


@pytest.fixture(scope="module")
def sites(world):
    return {
        name: AccuracyEstimator.load(world / name).predict(file, images=site_labels(world)).site
        for name, file in zip(DETECTORS, site_predictions(world, *DETECTORS), strict=True)
    }


@pytest.mark.parametrize("without", DETECTORS)
def test_no_difference_of_precisions_is_planned_where_one_is_not_defined(world, tmp_path, without):
    """The folder was written, and from its labels a number of more labels was given."""
    files = dict(zip(DETECTORS, site_predictions(world, *DETECTORS), strict=True))
    low = [row for row in json.loads(Path(files[without]).read_text()) if row["score"] <= 0.5]
    (tmp_path / "low.json").write_text(json.dumps(low))
    files[without] = tmp_path / "low.json"
    with pytest.raises(InputError, match=r"precision@0\.5 of .* is not defined"):
        plan_labels(
            world / "strong",
            files["strong"],
            images=site_labels(world),
            target="precision",
            score_thr=0.5,
            compare=world / "weak",
            compare_predictions=str(files["weak"]),
            work_dir=tmp_path / "plan",
        )
    assert not (tmp_path / "plan").exists()


def test_without_a_plan_blocks_of_time_are_those_that_come_with_the_boxes(sites, labels):
    blocks = np.arange(len(sites["weak"])) // 5
    of_videos = {name: replace(site, blocks=blocks) for name, site in sites.items()}
    sample = pair_labels(of_videos, read_coco(labels), target="mAP", plan=None).sample
    np.testing.assert_array_equal(sample.clusters, blocks[sample.images])
    assert sample.n_clusters < len(sample.images) == 20


def test_images_of_a_plan_may_be_called_by_other_ids(world, sites, labels, tmp_path):
    """As by their file names alone, where the plan has numbers: they were taken for others."""
    content, files = json.loads(site_labels(world).read_text()), []
    name_of = {str(image["id"]): image["file_name"] for image in content["images"]}
    for name, path in zip(DETECTORS, site_predictions(world, *DETECTORS), strict=True):
        boxes = json.loads(Path(path).read_text())
        boxes = [{"file_name": name_of[str(box.pop("image_id"))], **box} for box in boxes]
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(boxes))
    others = {**content, "images": [{**i, "id": i["id"] + 1000} for i in content["images"][::-1]]}
    fits = {name: world / name for name in DETECTORS}
    expected = compare(fits, site_predictions(world, *DETECTORS), labels=labels)
    result = compare(fits, files, images=others, labels=labels)
    assert result.n_labelled == expected.n_labelled == 20
    for column in ("difference", "lower", "upper"):
        np.testing.assert_allclose(result.pairs[column], expected.pairs[column], atol=1e-6)


def test_forecasts_of_a_difference_count_a_block_of_time_once(world, sites, labels):
    """By hand: 80 images in 16 blocks, of which further labels show those without any first."""
    fits = {name: AccuracyEstimator.load(world / name) for name in DETECTORS}
    blocks = np.arange(80) // 5
    in_time = {name: replace(site, blocks=blocks) for name, site in sites.items()}
    given = SiteLabels(read_coco(labels))
    n = pair_labels(in_time, given.content, target="mAP", plan=None).sample.n_clusters
    of_sites = [compare_sites(fits, of, None).forecasts[DETECTORS] for of in (sites, in_time)]
    alone, free = (forecast.outlook for forecast in of_sites)
    assert free.prior.error > alone.prior.error  # is of fewer images, too
    alone = replace(alone, prior=free.prior)
    assert [free.half_width(k) for k in (5, 16)] == [alone.half_width(k) for k in (5, 16)]
    labelled = compare_sites(fits, in_time, given).forecasts[DETECTORS].outlook
    assert [*labelled.n_blocks[[20, 22, 60]]] == [n, min(n + 2, 16), 16]
    for outlook, k in ((free, 40), (free, 60), (labelled, 60)):
        error = np.sqrt((1 - k / 80) * outlook.per_image.variance / 16)
        by_labels = ValueWithError(outlook.prior.value, error, outlook.per_image.dof + 15)
        expected = combine(by_labels, outlook.prior).estimate.half_width()
        assert outlook.half_width(k) == pytest.approx(expected)
    plan = plan_difference(fits, in_time, None, PlanRequest(20, everywhere=True), prelabel=False)
    assert plan.difference.n_blocks[20] == len(np.unique(blocks[plan.drawn]))


@pytest.mark.parametrize("target", ["mAP", "recall@0.5"])
def test_frames_of_a_single_block_measure_no_difference(sites, labels, target):
    """They show no variance, which is not none; labels of one image are too few, too."""
    content = read_coco(labels)
    for blocks, measured in ((np.arange(80), True), (np.where(np.arange(80) > 9, 9, 0), False)):
        in_time = {name: replace(site, blocks=blocks) for name, site in sites.items()}
        paired = pair_labels(in_time, content, target=target, plan=None)
        of_all = [accuracy for accuracy in paired.accuracies["weak"] if accuracy.n_true > 2]
        of_all += paired.pooled.values()
        assert {accuracy.measured for accuracy in of_all} == {measured}


@pytest.mark.parametrize(("target", "little"), [("mAP", 0.005), ("recall@0.5", 0.001)])
@pytest.mark.parametrize("known_to", [DETECTORS, DETECTORS[1:]])
def test_without_labels_frames_that_show_the_same_are_as_certain_as_one_of_them(
    world, sites, target, little, known_to
):
    """Each image nearly three times, in one block of which one of the files may not know."""
    fits = {name: AccuracyEstimator.load(world / name).for_target(target) for name in DETECTORS}
    content = json.loads(site_labels(world).read_text())
    frames = [
        {**image, "id": image["id"] + 1000 * k, "file_name": f"{k}_{image['file_name']}"}
        for k in range(3)
        for image in content["images"]
    ]
    of_video = {}
    for name, path in zip(DETECTORS, site_predictions(world, *DETECTORS), strict=True):
        boxes = [{**b, "image_id": int(b["image_id"])} for b in json.loads(Path(path).read_text())]
        boxes = [
            {**b, "image_id": b["image_id"] + 1000 * k, "score": b["score"] - 1e-6 * k}
            for k in range(3)  # copies would be left out
            for b in boxes
        ]
        site = fits[name].predict(boxes, images={**content, "images": frames}).site
        blocks = np.tile(np.arange(80), 3) if name in known_to else None
        of_video[name] = replace(site, blocks=blocks)
    alone = {name: replace(site, blocks=None) for name, site in of_video.items()}
    once, thrice, taken_as_independent = (
        compare_sites(fits, seen) for seen in (sites, of_video, alone)
    )
    widths = [result.upper - result.lower for result in (once, thrice, taken_as_independent)]
    assert thrice.value == pytest.approx(once.value, abs=0.005)
    assert widths[1] == pytest.approx(widths[0], rel=little)
    assert widths[2] < (1 - 2 * little) * widths[0]


def test_at_a_threshold_what_is_unseen_of_both_widens_as_it_does_of_each(world, sites):
    """Errors are independent, so that the squares of what is added are those of both estimates."""
    fits = {name: AccuracyEstimator.load(world / name).for_target("recall@0.3") for name in sites}
    halves, squares = [], []
    for unseen in (0.0, 0.2, 0.4):
        seen = {name: replace(site, unseen=unseen) for name, site in sites.items()}
        result = compare_sites(fits, seen, level=0.5)
        halves.append((result.upper - result.lower) / 2)
        stds = [unseen * fit.regression_.accuracy_std_ for fit in fits.values()]
        squares.append(np.square(stds).sum() * stats.norm.ppf(0.75) ** 2)
    added = np.square(halves) - halves[0] ** 2
    np.testing.assert_allclose(added[1:], squares[1:], rtol=0.05)


def test_confidences_of_a_fit_that_say_little_widen_as_they_do_an_estimate(world, sites):
    """They did in an estimate alone."""
    fits = {name: AccuracyEstimator.load(world / name).for_target("recall@0.3") for name in sites}
    wide = {
        name: replace(fit, looks_=replace(fit.looks_, widening=0.4)) for name, fit in fits.items()
    }
    unseen = {name: replace(site, unseen=0.4) for name, site in sites.items()}
    usual, expected, result = (
        compare_sites(*of) for of in ((fits, sites), (fits, unseen), (wide, sites))
    )
    assert (result.lower, result.upper) == pytest.approx((expected.lower, expected.upper))
    assert result.upper - result.lower > 1.05 * (usual.upper - usual.lower)


@pytest.mark.parametrize(("target", "widens"), [("recall@0.3", True), ("mAP", False)])
def test_what_is_said_of_an_unseen_share_is_what_it_does_to_the_interval(
    world, sites, target, widens
):
    """Differences of mAP were said to be wider by it, and widen with the disagreement alone."""
    fits = {name: AccuracyEstimator.load(world / name).for_target(target) for name in sites}
    widths, said = [], []
    for unseen in (0.0, 0.4):
        seen = {name: replace(site, unseen=unseen) for name, site in sites.items()}
        result = compare_sites(fits, seen)
        widths.append(result.upper - result.lower)
        notices = [n for n in result.warnings if n.code == "low-scores-missing"]
        said.append([notice for notice in notices if "wider by that share" in notice])
    assert widths[1] == pytest.approx(widths[0]) or widens
    assert (widths[1] > 1.05 * widths[0]) == widens == bool(said[1]) and not said[0]


def test_frames_of_one_block_count_once_beside_what_is_expected_of_an_image():
    influence, free = np.array([0.3, -0.1, 0.1, -0.3]), ValueWithError(0.0, 0.1, 8.0)
    differences = []
    for frames in (1, 5):
        blocks = np.repeat(np.arange(4), frames)
        sample = LabelledSample(np.arange(4 * frames), 40 * frames, clusters=blocks)
        measured = SampleAccuracy(0.1, influence[blocks], 4 * frames, 4 * frames, (4.0, 4))
        none = np.zeros(40 * frames)
        prior = VariancePrior(0.04, 6.0)
        differences.append(difference_with_labels(measured, sample, free, none, prior).labels)
    one, five = differences
    assert (five.error, five.dof) == pytest.approx((one.error, one.dof))


def test_labels_count_by_the_inverse_of_their_probability(sites, plan, labels):
    assert plan.sizes is not None and plan.sizes.std() > 0.1
    content = read_coco(labels)
    weighted = pair_labels(sites, content, target="mAP", plan=plan)
    weights = inverse_probabilities(plan.sizes, weighted.sample.images)
    np.testing.assert_allclose(weighted.sample.weights, weights)
    for name in DETECTORS:
        values = [of.value for of in weighted.accuracies[name]]
        expected = [of.average_precision(weights).mean() for of in weighted.rankings[name]]
        np.testing.assert_allclose(values, expected)
    equal = pair_labels(sites, content, target="mAP", plan=replace(plan, sizes=None))
    assert equal.sample.weights is None
    one, other = ([of.value for of in pair.accuracies["weak"]] for pair in (weighted, equal))
    assert np.nanmax(np.abs(np.subtract(one, other))) > 1e-3


def test_what_nobody_looked_for_is_ignored_of_each_detector(sites, labels):
    """As of LVIS: boxes of the second detector were wrong where the first one had none."""
    content = read_coco(labels)
    nothing = {image.image_id: frozenset[str]() for image in content.images}
    content = replace(content, checked=nothing)
    few = {name: site.above(0.6 if name == "strong" else 0) for name, site in sites.items()}
    orders = [
        pair_labels({name: few[name] for name in names}, content, target="mAP", plan=None)
        for names in (DETECTORS, DETECTORS[::-1])
    ]
    for name in DETECTORS:
        values = [[of.value for of in paired.accuracies[name]] for paired in orders]
        np.testing.assert_array_equal(*values)


def test_compare_reads_them_from_the_folder_of_the_plan(world, plan, labels):
    given = {"images": site_labels(world), "labels": labels}
    fits = {name: world / name for name in DETECTORS}
    found = compare(fits, site_predictions(world, *DETECTORS), **given)
    assert not any("no plan drew" in warning for warning in found.warnings)


def test_labels_named_by_the_folder_of_their_plan_are_those_that_it_drew(
    world, plan, labels, tmp_path
):
    folder = shutil.copytree(world / "plan", tmp_path / "plan")
    file = Path(shutil.move(folder / "labels.json", folder / "annotations.json"))
    fits = {name: world / name for name in DETECTORS}
    files, images = site_predictions(world, *DETECTORS), site_labels(world)
    by_file, by_folder = (
        compare(fits, files, images=images, labels=path).value for path in (file, folder)
    )
    assert by_folder == by_file != compare(fits, files, images=images, labels=labels_in(file)).value
    # where images are taken as a simple random sample these are refused, in Python, too
    fitted = AccuracyEstimator.load(world / "weak")
    estimate = fitted.predict(files[1], images=images)
    for path in (file, folder):
        with pytest.raises(InputError, match=f"label estimate --plan {folder}"):
            fitted.estimate_with_labels(estimate, path)
        with pytest.raises(InputError, match=f"threshold --plan {folder}"):
            threshold(world / "weak", files[1], images=images, labels=path)


def test_a_plan_of_the_images_with_a_box_over_a_threshold_is_of_no_comparison(world, tmp_path):
    """Recall, and the precision of the other detector, were those on these images."""
    files, images = site_predictions(world, *DETECTORS), site_labels(world)
    options = {"target": "precision", "score_thr": 0.7, "work_dir": tmp_path}
    plan = plan_labels(world / "strong", files[0], images=images, n=20, **options)
    assert plan.n_pool < 80
    drawn = {int(plan.found.images[k].image_id) for k in plan.drawn}
    labels = some_labels(world, tmp_path / "annotations.json", drawn)
    fits = {name: world / name for name in DETECTORS}
    for given in ({}, {"target": "recall", "score_thr": 0.7}, {"images": images}):
        with pytest.raises(InputError, match="label plan --compare"):
            compare(fits, files, labels=labels, **given)


def labels_in(file):
    """In memory, where no plan is known."""
    return json.loads(file.read_text())


def test_a_plan_gives_the_reference_to_the_fit_that_had_one_as_a_comparison_does(world, plan):
    """Whichever of both is the first; where no fit had one it would not be read."""
    strong, weak = site_predictions(world, *DETECTORS)
    site = {"images": site_labels(world), "reference": [strong]}
    fits = {"strong": world / "strong", "helped": world / "helped"}
    (row,) = compare(fits, [strong, weak], **site).overall.to_dict("records")
    sign = 1 if row["a"] == "strong" else -1
    for first, second, boxes, turned in (
        ("strong", "helped", [strong, weak], sign),
        ("helped", "strong", [weak, strong], -sign),
    ):
        other = {"compare": world / second, "compare_predictions": boxes[1]}
        drawn = plan_labels(world / first, boxes[0], n=20, **other, **site)
        assert drawn.difference.prior.value == pytest.approx(turned * row["label_free"], abs=1e-9)
    other = {"compare": world / "weak", "compare_predictions": weak}
    with pytest.raises(InputError, match="fitted without a reference detector"):
        plan_labels(world / "strong", strong, n=20, **other, **site)


def test_a_plan_for_a_difference_names_what_is_wrong_with_the_boxes_of_either_detector(world):
    """Of the second one nothing was said, and a gap of its images was one of the difference."""
    strong, weak = site_predictions(world, *DETECTORS)
    half = [box for box in json.loads(Path(weak).read_text()) if int(box["image_id"]) < 40]
    other = {"compare": world / "weak", "compare_predictions": half, "images": site_labels(world)}
    plan = plan_labels(world / "strong", strong, n=20, **other)
    (warning,) = [notice for notice in plan.warnings if notice.code == "images-not-covered"]
    assert warning.startswith(f"{world / 'weak'}: ")


@pytest.mark.parametrize("target", ["mAP", "recall"])
def test_a_plan_for_a_difference_draws_the_images_on_which_detectors_disagree(
    world, tmp_path, target
):
    """A new version loses the objects of 4 of 80 images: most draws of 20 held none or one."""
    (file,) = site_predictions(world, "strong")
    entries = json.loads(Path(file).read_text())
    content = json.loads(site_labels(world).read_text())
    lost = {image["id"] for image in content["images"][::20]}
    new = tmp_path / "new.json"
    new.write_text(json.dumps([e for e in entries if int(e["image_id"]) not in lost]))
    at = {"images": site_labels(world), "target": target, "incomplete": True}
    at |= {"score_thr": 0.3} if target == "recall" else {}
    strong = world / "strong"
    other = {"compare": strong, "compare_predictions": file, "work_dir": tmp_path / "plan"}
    drawn = plan_labels(strong, new, n=20, **other, **at)
    names = [int(image.image_id) for image in drawn.found.images]
    differ = np.isin(names, list(lost))
    assert drawn.order == BY_DIFFERENCE and drawn.sizes.mean() == pytest.approx(1)
    np.testing.assert_allclose(drawn.sizes[~differ], 1 - DISAGREEING)
    np.testing.assert_allclose(inclusion_probabilities(drawn.sizes, 20)[differ], 1)
    chosen = {names[k] for k in drawn.drawn}
    assert lost < chosen
    labels = some_labels(world, tmp_path / "plan/labels.json", chosen)
    versions = {"new": strong, "old": strong}
    true, seen = (
        compare(versions, [new, file], labels=of, **at).gate(0.0, "new").decisive
        for of in (site_labels(world), labels)
    )
    assert true.value > 0.04 and seen.lower < true.value < seen.upper
    assert abs(seen.value - true.value) < 0.02
