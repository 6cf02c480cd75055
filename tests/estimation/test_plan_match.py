"""Labels beside a plan correct what the plan was made of; anything else is refused."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands.predicted_world import write_world
from comparison.two_detectors import site_labels, site_predictions, write_detectors

from autoeval import AccuracyEstimator, Predictions, estimate_with_labels, fit, plan_labels
from autoeval.errors import InputError
from autoeval.estimation.label_planning import PlanRequest, check_plan, plan_in_folder
from autoeval.labels.plan import BY_TIME
from autoeval.labels.plan_folder import load_plan


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two detectors with a labelled site, and a plan of the strong one with all of its labels."""
    folder = write_detectors(tmp_path_factory.mktemp("plans"))
    (path,) = site_predictions(folder, "strong")
    plan_labels(folder / "strong", path, images=site_labels(folder), n=80, work_dir=folder / "plan")
    shutil.copy(site_labels(folder), folder / "plan/labels.json")
    return folder


def predicted(world, name="strong", files="strong", fitted=None, **options):
    fitted = fitted or AccuracyEstimator.load(world / name / "estimator.parquet")
    (path,) = site_predictions(world, files)
    estimate = fitted.predict(path, images=site_labels(world), **options)
    plan = load_plan(world / "plan")
    check_plan(plan, estimate, world / "plan")
    return estimate_with_labels(plan, world / "plan/labels.json")


def test_the_same_detector_and_site_take_the_plan(world):
    assert predicted(world).n_labelled == 80


@pytest.mark.parametrize(
    "other, why",
    [
        (
            {"name": "weak", "files": "weak"},
            "another site with images of the same names",
        ),
        ({"files": "weak"}, "another site with images of the same names"),
        (
            {"categories": {"a": ["thing 1"]}},
            "every category that is detected, not the categories a",
        ),
        ({"site": "set"}, "a site that the fit does not hold, not the site 'set'"),
    ],
)
def test_another_detector_site_or_category_is_refused(world, other, why):
    with pytest.raises(InputError, match=why):
        predicted(world, **other)


def test_another_fit_of_the_detector_is_refused(world, tmp_path):
    """The plan kept the estimate of the first fit as its prior, and nothing said so."""
    (path,) = site_predictions(world, "strong")
    site = {"images": site_labels(world), "work_dir": tmp_path}
    plan = plan_labels(world / "strong", path, n=10, **site)
    labelled = world / "set.json", world / "set_strong_predictions.json"
    again, lower = fit(*labelled), fit(*labelled, trained_here=True)
    with pytest.raises(InputError, match="holds a plan for another fit"):
        plan_labels(lower, path, n=12, **site)
    assert plan_labels(again, path, n=12, **site).printed["mAP"] == plan.printed["mAP"]


def test_boxes_with_other_words_are_other_boxes(world, tmp_path):
    (path,) = site_predictions(world, "strong")
    boxes = json.loads(Path(path).read_text())
    first, second = sorted({box["category_id"] for box in boxes})[:2]
    exchanged = {first: second, second: first}
    for box in boxes:
        box["category_id"] = exchanged.get(box["category_id"], box["category_id"])
    renumbered = tmp_path / "renumbered.json"
    renumbered.write_text(json.dumps(boxes))
    strong = AccuracyEstimator.load(world / "strong/estimator.parquet")
    estimate = strong.predict(renumbered, images=site_labels(world))
    with pytest.raises(InputError, match="a plan for other boxes"):
        check_plan(load_plan(world / "plan"), estimate, world / "plan")


def test_a_named_category_without_a_box_is_labelled_and_planned_again(world, tmp_path):
    """It was in neither file, and the plan was one of other categories than those named."""
    (path,) = site_predictions(world, "strong")
    boxes = json.loads(Path(path).read_text())
    first, second, *_ = sorted({box["category_id"] for box in boxes})
    words = {
        row["id"]: row["name"] for row in json.loads(site_labels(world).read_text())["categories"]
    }
    named = {"b": [words[second]], "a": [words[first]]}
    rest = [box for box in boxes if box["category_id"] != first]
    site = {"images": site_labels(world), "work_dir": tmp_path, "categories": named}
    drawn = plan_labels(world / "strong", rest, n=10, **site)
    assert drawn.found.categories == ("b",)
    listed = json.loads((tmp_path / "annotations.json").read_text())["categories"]
    assert {row["name"] for row in listed} == {"a", "b"}
    assert 'value="a"' in (tmp_path / "label_config.xml").read_text()
    larger = plan_labels(world / "strong", rest, n=12, **site)
    assert larger.drawn[:10].tolist() == drawn.drawn.tolist()
    with pytest.raises(InputError, match="the categories a, b, not the categories b"):
        plan_labels(world / "strong", rest, n=12, **site | {"categories": {"b": [words[second]]}})


def test_the_same_boxes_in_another_order_take_the_plan(world, tmp_path):
    (path,) = site_predictions(world, "strong")
    boxes = json.loads(Path(path).read_text())
    content = json.loads(Path(site_labels(world)).read_text())
    chance = random.Random(0)
    for rows in (boxes, content["images"], content["categories"]):
        chance.shuffle(rows)
    site = {"images": site_labels(world), "work_dir": tmp_path, "frames": 5}
    drawn = plan_labels(world / "strong", path, n=10, **site)
    larger = plan_labels(world / "strong", boxes, n=12, **site | {"images": content})
    assert larger.drawn[:10].tolist() == drawn.drawn.tolist()
    moved = [{**boxes[0], "score": 0.99 * boxes[0]["score"]}, *boxes[1:]]
    with pytest.raises(InputError, match="a plan for other boxes"):
        plan_labels(world / "strong", moved, n=12, **site)
    with pytest.raises(InputError, match="other blocks of frames than --frames 4 makes"):
        plan_labels(world / "strong", boxes, n=12, **site | {"images": content, "frames": 4})


@pytest.mark.parametrize("turned", [True, False])  # the same ids of other images, or other ids
def test_images_with_new_ids_and_their_names_take_the_plan(world, tmp_path, turned):
    """Programs number an export anew: it was another site, though names were the same."""
    (path,) = site_predictions(world, "strong")
    boxes = json.loads(Path(path).read_text())
    content = json.loads(Path(site_labels(world)).read_text())
    ids = [image["id"] for image in content["images"]]
    new = dict(zip(ids, ids[::-1] if turned else [1000 + k for k in ids], strict=True))
    numbered = {
        "images": [{**image, "id": new[image["id"]]} for image in content["images"]],
        "categories": content["categories"],
        "annotations": [{**b, "image_id": new[b["image_id"]]} for b in content["annotations"]],
    }
    again = [{**box, "image_id": new[box["image_id"]]} for box in boxes]

    def larger(boxes, images, folder):
        with_folder = {"work_dir": tmp_path / folder}
        plan_labels(world / "strong", path, n=10, seed=3, images=site_labels(world), **with_folder)
        plan = plan_labels(world / "strong", boxes, n=12, images=images, **with_folder)
        named = json.loads((tmp_path / folder / "annotations.json").read_text())["images"]
        assert len({image["id"] for image in named}) == len(named) == 12
        assert {image["file_name"] for image in named} == {
            plan.found.images[k].file_name for k in plan.drawn
        }
        assert [image.image_id for image in plan.found.images] == [
            str({image["file_name"]: image["id"] for image in images["images"]}[of.file_name])
            for of in plan.found.images
        ]
        return plan

    usual, renumbered = larger(boxes, content, "usual"), larger(again, numbered, "new")
    assert renumbered.drawn.tolist() == usual.drawn.tolist()
    estimates = [estimate_with_labels(plan, numbered) for plan in (usual, renumbered)]
    assert estimates[0].n_labelled == 12
    # boxes of equal scores rank by the ids of their images, as by pycocotools
    assert estimates[0].value == pytest.approx(estimates[1].value, abs=5e-4)


@pytest.mark.parametrize("first", [True, False])
def test_a_plan_made_with_a_list_of_images_is_taken_without_one_and_the_reverse(
    world, tmp_path, first
):
    """Without one images are named by their ids, in the order of which names may not be."""
    (path,) = site_predictions(world, "strong")
    images = json.loads(Path(site_labels(world)).read_text())["images"]
    new = {image["id"]: len(images) - k for k, image in enumerate(images)}
    boxes = [{**b, "image_id": new[b["image_id"]]} for b in json.loads(Path(path).read_text())]
    named = {"images": [{**image, "id": new[image["id"]]} for image in images]}
    drawn = []
    for n, given in ((10, named if first else None), (12, None if first else named)):
        plan = plan_labels(world / "strong", boxes, n=n, images=given, work_dir=tmp_path)
        drawn.append(plan.drawn.tolist())
    assert drawn[1][:10] == drawn[0]
    other = [{**boxes[0], "image_id": boxes[-1]["image_id"]}, *boxes[1:]]
    with pytest.raises(InputError, match="a plan for other boxes"):
        plan_labels(world / "strong", other, n=14, images=named, work_dir=tmp_path)


def test_blocks_of_time_of_the_boxes_are_those_of_the_plan(world, tmp_path):
    """As a file of `autoeval detect` has them, which knows of frames but not what they are of."""
    strong = AccuracyEstimator.load(world / "strong/estimator.parquet")
    (path,) = site_predictions(world, "strong")
    estimate = strong.predict(path, images=site_labels(world))
    n = len(estimate.site)
    in_time = replace(estimate, site=replace(estimate.site, blocks=np.arange(n) // 8))
    plan = strong.plan_labels(in_time, n=20)
    assert plan.order == BY_TIME
    assert plan.blocks.tolist() == (np.arange(n) // 8).tolist()
    plan = plan_in_folder(strong, in_time, tmp_path, PlanRequest(10, frames=4))
    backwards = in_time.site.on_images(np.arange(n)[::-1])
    again = replace(in_time, site=backwards)
    assert plan_in_folder(strong, again, tmp_path, PlanRequest(12, frames=4)).n == 12
    labels = json.loads(Path(site_labels(world)).read_text())
    labels["images"] = labels["images"][:40]
    kept = {image["id"] for image in labels["images"]}
    labels["annotations"] = [row for row in labels["annotations"] if row["image_id"] in kept]
    of_blocks, of_images = (
        strong.estimate_with_labels(of, labels).whole["mAP"].difference
        for of in (in_time, estimate)
    )
    # slopes are fitted without the other frames of a block: the value is nearly the same
    assert of_blocks.value == pytest.approx(of_images.value, abs=0.005)
    assert of_blocks.dof < of_images.dof


def test_another_target_or_level_is_refused(world):
    strong = AccuracyEstimator.load(world / "strong/estimator.parquet")
    with pytest.raises(InputError, match="holds a plan for mAP, not mAP50"):
        predicted(world, fitted=strong.for_target("mAP50"))
    wide = replace(strong, level=0.5)
    with pytest.raises(InputError, match=r"intervals of 90%, not 50%"):
        predicted(world, fitted=wide)


def test_another_score_threshold_or_iou_is_refused(world, tmp_path):
    """A plan is enlarged for what it was made for: the old threshold was kept in silence."""
    (path,) = site_predictions(world, "strong")
    site = {"images": site_labels(world), "work_dir": tmp_path / "plan"}
    plan_labels(world / "strong", path, n=10, score_thr=0.3, **site)
    with pytest.raises(InputError, match=r"threshold of 0\.3 at an IoU of 0\.5, not 0\.5 at 0\.5"):
        plan_labels(world / "strong", path, n=20, score_thr=0.5, **site)
    with pytest.raises(InputError, match=r"IoU of 0\.5, not 0\.3 at 0\.75"):
        plan_labels(world / "strong", path, n=20, score_thr=0.3, iou=0.75, **site)
    assert plan_labels(world / "strong", path, n=20, score_thr=0.3, **site).n == 20
    assert plan_labels(world / "strong", path, n=30, **site).score_thr == 0.3
    with pytest.raises(InputError, match=r"no score threshold, not 0\.3"):
        predicted(world, score_thr=0.3)


def test_a_plan_that_was_not_drawn_by_a_difference_is_not_enlarged_by_one(world, tmp_path):
    (path,), (weak,) = site_predictions(world, "strong"), site_predictions(world, "weak")
    things = {"thing 0": ["thing 0"], "thing 1": ["thing 1"]}
    site = {"images": site_labels(world), "work_dir": tmp_path / "plan", "categories": things}
    plan_labels(world / "strong", path, n=10, **site)
    other = {"compare": world / "weak", "compare_predictions": weak}
    with pytest.raises(InputError, match="not by the difference to another detector"):
        plan_labels(world / "strong", path, n=20, **other, **site)
    site["work_dir"] = tmp_path / "difference"
    first = plan_labels(world / "strong", path, n=10, **other, **site)
    more = plan_labels(world / "strong", path, n=20, **other, **site)
    assert set(first.drawn) < set(more.drawn) and more.order == first.order


def test_a_plan_of_images_with_a_box_is_not_enlarged_by_a_difference(world, tmp_path):
    """One over time was, and `compare` refused its labels: another detector is right elsewhere."""
    (path,), (weak,) = site_predictions(world, "strong"), site_predictions(world, "weak")
    things = {"thing 0": ["thing 0"], "thing 1": ["thing 1"]}
    site = {"images": site_labels(world), "work_dir": tmp_path / "plan", "categories": things}
    site |= {"target": "precision", "score_thr": 0.6}
    plan = plan_labels(world / "strong", path, n=4, frames=2, **site)
    assert plan.order == BY_TIME and plan.n_pool < 80
    assert plan.cut and load_plan(tmp_path / "plan").cut
    other = {"compare": world / "weak", "compare_predictions": weak}
    with pytest.raises(InputError, match="not by the difference to another detector"):
        plan_labels(world / "strong", path, n=6, **other, **site)


def test_a_plan_stays_as_it_is_where_its_annotations_cannot_be_kept(world, tmp_path):
    (path,) = site_predictions(world, "strong")
    folder = tmp_path / "plan"
    plan_labels(world / "strong", path, n=10, images=site_labels(world), work_dir=folder)
    (folder / "annotations.json").write_text("[1, 2]")
    before = (folder / "plan.json").read_bytes()
    with pytest.raises(InputError, match="to be a COCO annotation file"):
        plan_labels(world / "strong", path, n=20, images=site_labels(world), work_dir=folder)
    assert (folder / "plan.json").read_bytes() == before


def test_other_images_are_refused(world, tmp_path):
    labels, predictions = write_world(tmp_path, "other", seed=5, n_images=12)
    content = json.loads(labels.read_text())
    for image in content["images"]:
        image["file_name"] = "other_" + image["file_name"]
    labels.write_text(json.dumps(content))
    strong = AccuracyEstimator.load(world / "strong/estimator.parquet")
    with pytest.raises(InputError, match="other images than these"):
        check_plan(
            load_plan(world / "plan"), strong.predict(predictions, images=labels), world / "plan"
        )


@pytest.mark.parametrize("target", ["mAP", "precision"])
def test_images_that_came_after_the_draw_are_refused(world, tmp_path, target):
    """The plan drew from none of them, and its estimate was that of the images before."""
    (path,) = site_predictions(world, "strong")
    boxes = Predictions(path, complete=False)
    content = json.loads(Path(site_labels(world)).read_text())
    options = {"work_dir": tmp_path, "target": target, "images": content}
    if target == "precision":  # which depends on images with a box over it alone
        options["score_thr"] = 0.5
    plan = plan_labels(world / "strong", boxes, n=5, **options)
    assert plan_labels(world / "strong", boxes, n=6, **options).n == 6
    content["images"] += [
        {**content["images"][0], "id": 1000 + k, "file_name": f"new_{k}.jpg"} for k in range(9)
    ]
    if target == "precision":
        assert plan.n_pool < 80
        assert plan_labels(world / "strong", boxes, n=7, **options).n == 7
    else:
        with pytest.raises(InputError, match="a plan for 80 images, not 89"):
            plan_labels(world / "strong", boxes, n=7, **options)


def test_later_images_of_a_detector_that_is_run_are_refused_for_precision(world, tmp_path):
    """The plan has no image without a box over .5, but later ones with such a box count, too."""
    strong = AccuracyEstimator.load(world / "strong").for_target("precision@0.5")
    (path,) = site_predictions(world, "strong")
    estimate = strong.predict(path, images=site_labels(world))
    after = replace(estimate, site=replace(estimate.site, detector="as in the fit"))
    before = replace(after, site=after.site.on_images(np.arange(60)))
    plan = strong.plan_labels(before, n=5)
    check_plan(plan, before, tmp_path)
    assert plan.n_pool < 60
    with pytest.raises(InputError, match=f"a plan for {plan.n_pool} images, not"):
        check_plan(plan, after, tmp_path)


def test_a_plan_keeps_its_draw(world, tmp_path):
    (path,) = site_predictions(world, "strong")
    options = {"images": site_labels(world), "work_dir": tmp_path / "plan"}
    first = plan_labels(world / "strong", path, n=10, seed=3, **options)
    more = plan_labels(world / "strong", path, n=20, **options)
    assert more.seed == 3 and set(first.drawn) < set(more.drawn)
    with pytest.raises(InputError, match="drawn with --seed 3, not 0"):
        plan_labels(world / "strong", path, n=25, seed=0, **options)
    with pytest.raises(InputError, match="other blocks of frames than --frames 5"):
        plan_labels(world / "strong", path, n=25, frames=5, **options)
    with pytest.raises(InputError, match=r"1 frame a block or more .* got -3"):
        plan_labels(world / "strong", path, images=site_labels(world), n=5, frames=-3)


def test_a_plan_of_the_few_images_with_a_box_is_made_again_by_the_same_call(world, tmp_path):
    """Fewer images than `n` have a box over the threshold: all of them are drawn, both times."""
    (path,) = site_predictions(world, "strong")
    site = {"images": site_labels(world), "work_dir": tmp_path / "plan"}
    wanted = {"target": "precision", "score_thr": 0.9, "n": 80}
    plan = plan_labels(world / "strong", path, **wanted, **site)
    assert plan.cut and plan.n == plan.n_pool < 80
    again = plan_labels(world / "strong", path, **wanted, **site)
    assert again.drawn.tolist() == plan.drawn.tolist()


def test_blocks_of_frames_are_of_all_images_where_few_are_drawn_from(world, tmp_path):
    """For precision: of frames that lie apart none is in one block, as in a plan for mAP."""
    (path,) = site_predictions(world, "strong")
    site = {"images": site_labels(world), "n": 10, "frames": 4}
    of_all = plan_labels(world / "strong", path, **site)
    block_of = dict(zip([i.image_id for i in of_all.found.images], of_all.blocks, strict=True))
    wanted = {**site, "target": "precision", "score_thr": 0.9, "work_dir": tmp_path / "plan"}
    plan = plan_labels(world / "strong", path, **wanted)
    assert plan.cut
    expected = [block_of[image.image_id] for image in plan.found.images]
    assert plan.blocks.tolist() == np.unique(expected, return_inverse=True)[1].tolist()
    assert plan_labels(world / "strong", path, **wanted).n == plan.n
    with pytest.raises(InputError, match="other blocks of frames than --frames 3"):
        plan_labels(world / "strong", path, **{**wanted, "frames": 3})


@pytest.mark.parametrize("first_listed", [False, True])
def test_a_plan_for_precision_is_enlarged_with_a_list_of_images_and_without(
    world, tmp_path, first_listed
):
    """Images outside its pool had other names, by which boxes are compared: ids and file names."""
    (path,) = site_predictions(world, "strong")
    wanted = {"target": "precision", "score_thr": 0.5, "work_dir": tmp_path}
    ways = [{}, {"images": site_labels(world)}]
    first, second = reversed(ways) if first_listed else ways
    plan = plan_labels(world / "strong", path, n=10, **wanted, **first)
    assert plan.cut and plan.n_pool < 80
    more = plan_labels(world / "strong", path, n=12, **wanted, **second)
    assert more.drawn[:10].tolist() == plan.drawn.tolist()
