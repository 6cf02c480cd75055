"""The same boxes by prediction files and by a callable give the same estimator and estimates."""

import json
from dataclasses import replace

import numpy as np
import pytest

import autoeval
from autoeval import AccuracyEstimator
from autoeval.cli import main
from autoeval.detectors import BlackBoxDetector
from autoeval.detectors.detector_spec import load_black_box
from autoeval.errors import InputError
from autoeval.estimation.given import Predictions
from autoeval.io.find_images import find_images
from autoeval.model.pair_table import FEATURES, REFERENCE_FEATURES
from tests.labelled_colours import write_detector, write_distinct, write_predictions

LABELS = "annotations.json"
IMAGES = "images"
SCORES = [*FEATURES]


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """A labelled set and a new site, the detector, and its predictions on both."""
    root = tmp_path_factory.mktemp("routes")
    known = write_distinct(root / "known", 0, n_images=60)
    new = write_distinct(root / "new", 1, n_images=20)
    name = write_detector(root, threshold=60)
    code = (root / "mine.py").read_text()  # with low scores, too, as files hold them
    assert "level / 256" in code
    (root / "mine.py").write_text(code.replace("level / 256", "(level - 60) ** 2 / 40000"))
    detector = load_black_box(name)
    files = {folder: write_predictions(detector, folder) for folder in (known, new)}
    return known, new, name, files


def fit_by_files(sites, **options):
    known, _, _, files = sites
    return autoeval.fit(known / LABELS, files[known], **options)


def fit_by_callable(sites, **options):
    known, _, name, _ = sites
    labels = known / LABELS
    return autoeval.fit(labels, load_black_box(name), img_dir=known / IMAGES, **options)


@pytest.fixture(scope="module")
def both(sites):
    return fit_by_files(sites), fit_by_callable(sites)


def predict_by_files(estimator, sites, **options):
    _, new, _, files = sites
    return estimator.predict(files[new], images=new / LABELS, **options)


def predict_by_callable(estimator, sites, *detector, **options):
    return estimator.predict(*detector, images=sites[1] / IMAGES, **options)


def numbers_of(estimate):
    plain = estimate.to_dict()
    return {name: of for name, of in plain.items() if name not in ("warnings", "width_warning")}


def test_equal_boxes_give_equal_scores_and_accuracies_to_the_last_bit(both):
    by_files, by_callable = (of.table_.set_index("category") for of in both)
    assert list(by_files.index) == list(by_callable.index) == ["car", "bus"]
    columns = [*SCORES, "n_images", "n_boxes", "mAP", "mAP50", "mAP75"]
    assert by_files[columns].notna().all(axis=None)
    np.testing.assert_array_equal(by_files[columns], by_callable[columns])
    assert by_files["mAP"].between(0.1, 0.9).all()


def with_other_ids(labels, path):
    """Write labels with ids in another order than that of the file names; return the path."""
    content = json.loads(labels.read_text())
    new_id = {image["id"]: 7 * k % 61 for k, image in enumerate(content["images"], 1)}
    images = [{**image, "id": new_id[image["id"]]} for image in content["images"]]
    rows = [{**row, "image_id": new_id[row["image_id"]]} for row in content["annotations"]]
    path.write_text(json.dumps({**content, "images": images, "annotations": rows}))
    return path


def named_boxes(predictions, labels, path):
    """Write predictions by the file names of their images; return the path."""
    names = {i["id"]: i["file_name"] for i in json.loads(labels.read_text())["images"]}
    rows = json.loads(predictions.read_text())
    path.write_text(json.dumps([{**r, "file_name": names[r.pop("image_id")]} for r in rows]))
    return path


def test_images_of_a_coco_file_have_their_file_names_by_both_routes(sites, tmp_path):
    """Where a detector was run they were called by their ids: labels and boxes that are called by
    file names were of other images, and calibrations were fitted on other parts of a set.
    """
    known, new, name, files = sites
    labels, listed = (
        with_other_ids(folder / LABELS, tmp_path / f"{folder.name}.json") for folder in (known, new)
    )
    given = [
        named_boxes(files[of], of / LABELS, tmp_path / f"{of.name}_boxes.json") for of in files
    ]
    by_files = autoeval.fit(labels, given[0])
    run = autoeval.fit(labels, load_black_box(name), img_dir=known / IMAGES)
    features = [of.table_.set_index("category")[SCORES] for of in (by_files, run)]
    np.testing.assert_array_equal(*features)
    estimates = [
        by_files.predict(given[1], images=listed),
        run.predict(images=find_images(listed, new / IMAGES).images),
    ]
    assert estimates[0].value == estimates[1].value
    named = json.loads((new / LABELS).read_text())
    images = [{**image, "id": f"n{image['id']}"} for image in named["images"][:9]]
    few = {image["id"] for image in images}
    rows = [{**row, "image_id": f"n{row['image_id']}"} for row in named["annotations"]]
    rows = [row for row in rows if row["image_id"] in few]
    few_labels = {**named, "images": images, "annotations": rows}
    labelled = [
        fitted.estimate_with_labels(estimate, few_labels)
        for fitted, estimate in zip((by_files, run), estimates, strict=True)
    ]
    assert labelled[0].value == labelled[1].value


def test_a_reference_by_file_names_where_a_detector_is_run_on_a_coco_file(sites, tmp_path):
    known, new, name, files = sites
    labels, listed = (
        with_other_ids(folder / LABELS, tmp_path / f"{folder.name}.json") for folder in (known, new)
    )
    references = []
    for folder in (known, new):
        rows = json.loads(files[folder].read_text())
        surer = [{**row, "score": row["score"] ** 0.5} for row in rows]
        path = tmp_path / f"{folder.name}_surer.json"
        path.write_text(json.dumps(surer))
        references.append(named_boxes(path, folder / LABELS, path))
    run = autoeval.Detector(load_black_box(name), reference=references[0])
    fitted = autoeval.fit(labels, run, img_dir=known / IMAGES)
    images = find_images(listed, new / IMAGES).images
    run = autoeval.Detector(load_black_box(name), reference=references[1])
    site = fitted.predict(run, images=images).site
    assert len(site) == 20 and len(site.reference) == len(site.boxes)
    np.testing.assert_allclose(site.reference.boxes, site.boxes.boxes, atol=1e-9)


def test_a_run_its_file_and_its_boxes_in_memory_are_one_table_of_boxes(sites, both, tmp_path):
    known, new, name, _ = sites
    detector, files = load_black_box(name), [tmp_path / f"{k}.parquet" for k in (0, 1)]
    found = [
        autoeval.detect(detector, folder / IMAGES, file)
        for folder, file in zip((known, new), files, strict=True)
    ]
    run = predict_by_callable(both[1], sites)
    for of_known, of_new in (files, found):
        fitted = autoeval.fit(known / LABELS, of_known)
        np.testing.assert_array_equal(fitted.table_[SCORES], both[1].table_[SCORES])
        assert fitted.looks_.detector == both[1].looks_.detector
        assert numbers_of(fitted.predict(of_new)) == numbers_of(run)
        assert numbers_of(both[1].predict(of_new)) == numbers_of(run)
        assert numbers_of(predict_by_callable(fitted, sites, detector)) == numbers_of(run)
    other = replace(found[1], run=replace(found[1].run, settings={"other": 1}))
    with pytest.raises(InputError, match="another detector or other settings"):
        both[1].predict(other)


@pytest.mark.parametrize("categories", [["Car"], {"any": ["CAR", "bus"]}])
def test_words_of_a_fit_may_be_spelt_otherwise_by_both_routes(sites, categories):
    by_files, run = (fit(sites, categories=categories) for fit in (fit_by_files, fit_by_callable))
    assert len(run.rows_["mAP"]) == 1 and run.rows_["mAP"][0] > 0
    np.testing.assert_array_equal(run.table_[SCORES], by_files.table_[SCORES])
    predicted = predict_by_files(by_files, sites), predict_by_callable(run, sites)
    assert numbers_of(predicted[0]) == numbers_of(predicted[1])


def test_a_word_that_the_detector_knows_and_never_finds_has_an_average_precision_of_0(
    sites, tmp_path
):
    """A file says nothing of it; a run does, and its file and its boxes with it."""
    known, _, name, _ = sites
    labels = json.loads((known / LABELS).read_text())
    labels["categories"].append({"id": 9, "name": "van"})
    for entry in labels["annotations"][::4]:
        entry["category_id"] = 9
    path = tmp_path / "vans.json"
    path.write_text(json.dumps(labels))

    detector = load_black_box(name)
    detector.categories = (*detector.categories, "van")
    found = autoeval.detect(detector, known / IMAGES, tmp_path / "boxes.parquet")
    by_run = autoeval.fit(path, detector, img_dir=known / IMAGES)
    for fitted in (
        by_run,
        autoeval.fit(path, found),
        autoeval.fit(path, tmp_path / "boxes.parquet"),
    ):
        accuracies = dict(zip(fitted.rows_["category"], fitted.rows_["mAP"], strict=True))
        assert accuracies["van"] == 0 < accuracies["car"]


@pytest.mark.parametrize("of_task", [False, True])
def test_labels_that_reach_beyond_their_images_count_as_they_are_by_both_routes(
    sites, tmp_path, of_task
):
    """As pycocotools counts them; where the detector was run they were clipped, and found."""
    known, _, name, files = sites
    labels = json.loads((known / LABELS).read_text())
    inside = autoeval.fit(labels, files[known]).fit_result_.value
    for entry in labels["annotations"]:
        left, top, width, height = entry["bbox"]
        if left < 32:
            entry["bbox"] = [left - 4 * width, top, 5 * width, height]
    outside = {**labels["annotations"][0], "id": 10**6, "bbox": [500, 500, 20, 20]}
    labels["annotations"].append(outside)
    path = tmp_path / "worlds/known.json"
    path.parent.mkdir()
    path.write_text(json.dumps(labels))
    if not of_task:
        by_files = autoeval.fit(path, files[known])
        run = autoeval.fit(path, load_black_box(name), img_dir=known / IMAGES)
    else:
        seed_set = f"dict(name='known', ann_file='known.json', img_dir={str(known / IMAGES)!r})"
        task = tmp_path / "task.py"
        task.write_text(
            "name, categories, data_root = 'colours', ['car', 'bus'], 'worlds'\n"
            f"seed_sets = [{seed_set}]\n"
        )
        (tmp_path / "boxes").mkdir()
        (tmp_path / "boxes/known.json").write_text(files[known].read_text())
        by_files = autoeval.fit_task(task, tmp_path / "boxes")
        run = autoeval.fit_task(task, autoeval.Detector(load_black_box(name)))
    assert by_files.fit_result_.value < inside - 0.02
    columns = ["category", "mAP", "mAP50", "mAP75"]
    by_category = [of.table_.sort_values("category")[columns] for of in (by_files, run)]
    assert by_category[0].values.tolist() == by_category[1].values.tolist()


@pytest.mark.parametrize(
    "categories",
    [None, {"bus": ["bus"]}, {"vehicle": ["car", "bus"]}, {"a": ["bus"], "b": ["car"]}],
)
def test_equal_boxes_give_equal_estimates_to_the_last_bit(both, sites, categories):
    by_files = predict_by_files(both[0], sites, categories=categories)
    by_callable = predict_by_callable(both[1], sites, categories=categories)
    assert numbers_of(by_files) == numbers_of(by_callable)
    assert by_files.n_images == 20 and np.isfinite(by_files.value)
    assert len(by_files.per_category) == len(categories or "ab")


@pytest.mark.parametrize("site", [None, "annotations"])
def test_a_category_that_is_only_called_otherwise_has_the_number_of_its_word(both, sites, site):
    """Effects of the fit went by the name, which it does not know."""
    numbers = []
    for categories in (["bus", "car"], {"coach": ["bus"], "car": ["car"]}):
        estimate = predict_by_files(both[0], sites, categories=categories, site=site)
        numbers.append([estimate.value, estimate.lower, estimate.upper])
        numbers[-1] += estimate.per_category[next(iter(categories))].values()
    assert numbers[0] == numbers[1] and len(estimate.per_category) == 2


def test_a_name_that_the_prior_knows_counts_where_the_fit_knows_neither_it_nor_the_word(sites):
    """Persons are found less surely than cars, whatever a detector calls them."""
    known, _, name, _ = sites
    made = autoeval.fit(
        known / LABELS, load_black_box(name), img_dir=known / IMAGES, categories={"car": []}
    )
    values = [
        predict_by_files(made, sites, categories=categories).value
        for categories in ({"person": ["bus"]}, ["bus"])
    ]
    effect = made.regression_.prior_.of_category("person")
    assert effect < 0 and values[0] == pytest.approx(values[1] + effect, abs=1e-9)


def test_a_named_category_is_that_of_the_fit_in_either_spelling(sites):
    """Of a fit of Bus where the detector says bus, bus was another category."""
    known, _, name, _ = sites
    values = []
    for word in ("bus", "Bus"):
        made = autoeval.fit(
            known / LABELS, load_black_box(name), img_dir=known / IMAGES, categories={word: []}
        )
        values += [predict_by_files(made, sites, categories=[of]).value for of in ("bus", "Bus")]
    assert values == values[:1] * 4


def test_the_fit_of_one_category(sites, tmp_path):
    """Labels of one of the two words of the detector, by both routes."""
    name = sites[2]
    one = write_distinct(tmp_path / "one", 0, n_images=30, names=("car",))
    labels = one / LABELS
    fitted = autoeval.fit(labels, load_black_box(name), img_dir=one / IMAGES)
    assert fitted.table_["category"].tolist() == ["car"] and fitted.regression_.categories_ == [
        "car"
    ]
    assert fitted.fit_result_.cross_validation == ()
    estimate = fitted.predict(images=sites[1] / IMAGES, categories={"car": ["car"]})
    assert 0 <= estimate.lower < estimate.value < estimate.upper <= 1
    assert estimate.upper - estimate.lower > 0.3 and estimate.width_warning  # one pair says little
    by_files = autoeval.fit(labels, write_predictions(load_black_box(name), one))
    np.testing.assert_array_equal(by_files.table_[SCORES], fitted.table_[SCORES])


@pytest.mark.parametrize("route", [0, 1])
def test_saved_and_loaded_it_estimates_the_same(both, sites, tmp_path, route):
    estimator, predict = both[route], (predict_by_files, predict_by_callable)[route]
    estimator.save(tmp_path / "e.parquet")
    loaded = AccuracyEstimator.load(tmp_path / "e.parquet")
    assert loaded.get_params() == estimator.get_params()
    assert loaded.context_ == estimator.context_ and loaded.loading_ == estimator.loading_
    before, after = (of.label_assistance_ for of in (estimator, loaded))
    assert (before and before.to_dict()) == (after and after.to_dict())
    assert loaded.fit_result_ is None and loaded.detector_ is None
    detector = [load_black_box(sites[2])] if route else []
    assert predict(loaded, sites, *detector) == predict(estimator, sites)


def test_by_name_the_detector_is_loaded_again(sites, tmp_path):
    known, new, name, _ = sites
    fitted = autoeval.fit(
        known / LABELS, autoeval.Detector(name), img_dir=known / IMAGES, work_dir=tmp_path / "work"
    )
    assert (tmp_path / "work" / "scores.parquet") in fitted.fit_result_.files
    loaded = AccuracyEstimator.load(tmp_path / "work" / "estimator.parquet")
    assert loaded.loading_["detector"]["name"] == name
    assert loaded.predict(images=new / IMAGES) == fitted.predict(images=new / IMAGES)


def test_params_and_representation(both):
    for fitted in both:
        params = {"target": "mAP", "level": 0.9}
        assert fitted.get_params() == fitted.get_params(deep=False) == params
        assert repr(fitted) == "<AccuracyEstimator of mAP, level 0.9, fitted on 1 site>"
        assert repr(fitted.fit_result_).startswith("<fitted mAP: ")


def perfect(folder, file, category=None):
    """Write what a reference finds that knows all labels; or those of one category alone."""
    content = json.loads((folder / LABELS).read_text())
    words = {of["id"]: of["name"] for of in content["categories"]}
    names = {of["id"]: of["file_name"] for of in content["images"]}
    rows = [
        {
            "image_id": of["image_id"],
            "file_name": names[of["image_id"]],
            "category": words[of["category_id"]],
            "bbox": of["bbox"],
            "score": 0.9,
        }
        for of in content["annotations"]
        if category in (None, words[of["category_id"]])
    ]
    file.write_text(json.dumps(rows))
    return file


def test_a_reference_detector_that_knows_no_bus_is_read_for_cars(sites, tmp_path):
    known = sites[3][sites[0]]
    cars = perfect(sites[0], tmp_path / "cars.json", "car")
    fitted = autoeval.fit(sites[0] / LABELS, Predictions(known, reference=cars))
    assert "reference_ap" in fitted.regression_.features_
    warnings = [w for w in fitted.fit_result_.warnings if "reference detector" in w]
    assert warnings == [
        "the reference detector has no box of 1 of 2 categories, which are estimated without it: "
        "bus of annotations"
    ]
    new = perfect(sites[1], tmp_path / "new.json", "car")
    clean = sites[3][sites[1]]
    given = Predictions(clean, reference=new)
    estimate = fitted.predict(given, images=sites[1] / LABELS)
    assert any("which are estimated without it: bus" in w for w in estimate.warnings)
    fitted.save(tmp_path / "fit.parquet")
    again = autoeval.AccuracyEstimator.load(tmp_path / "fit.parquet")
    assert numbers_of(again.predict(given, images=sites[1] / LABELS)) == numbers_of(estimate)


def test_a_comparison_reads_the_reference_detector_of_its_fits(sites, tmp_path):
    known, clean = sites[3][sites[0]], sites[3][sites[1]]
    better, new = (perfect(sites[k], tmp_path / f"perfect{k}.json") for k in (0, 1))
    one = autoeval.fit(sites[0] / LABELS, Predictions(known, reference=better))
    plain = autoeval.fit(sites[0] / LABELS, known)
    moved = tmp_path / "moved.json"
    rows = json.loads(clean.read_text())
    moved.write_text(json.dumps([{**row, "score": row["score"] / 2} for row in rows]))

    def compared(a, b, reference):
        boxes = [Predictions(of, reference=reference) for of in (clean, moved)]
        return autoeval.compare({"a": a, "b": b}, boxes, images=sites[1] / LABELS)

    with_it, without = compared(one, one, new), compared(plain, plain, None)
    values = [dict(of.ranking.set_index("detector")["value"]) for of in (with_it, without)]
    assert values[0] != pytest.approx(values[1])
    with pytest.raises(InputError, match="fitted without a reference detector"):
        compared(plain, plain, new)


def test_a_reference_detector_is_not_read_where_it_cannot_help(sites, tmp_path):
    known = sites[3][sites[0]]
    itself = autoeval.fit(sites[0] / LABELS, Predictions(known, reference=known))
    plain = autoeval.fit(sites[0] / LABELS, known)
    assert itself.regression_.features_ == plain.regression_.features_ == FEATURES
    assert any("it is no stronger" in w for w in itself.fit_result_.warnings)
    clean, images = sites[3][sites[1]], sites[1] / LABELS
    found = itself.predict(Predictions(clean, reference=clean), images=images)
    assert numbers_of(found) == numbers_of(plain.predict(clean, images=images))
    better = perfect(sites[0], tmp_path / "better.json")
    at = autoeval.fit(sites[0] / LABELS, Predictions(known, reference=better), target="recall@0.3")
    assert any("is evidence of average precision" in w for w in at.fit_result_.warnings)


def test_numbers_of_a_reference_have_words_of_their_own(sites, tmp_path):
    """Its numbers are 7 and 9, of words that no file of the detector has."""
    known, words = sites[3][sites[0]], {"car": 7, "bus": 9}
    file = perfect(sites[0], tmp_path / "reference.json")
    rows = json.loads(file.read_text())
    rows = [{"category_id": words[row.pop("category")], **row} for row in rows]
    file.write_text(json.dumps(rows))
    names = {"7": "car", "9": "bus"}
    given = Predictions(known, reference=file, reference_names=names)
    assert "reference_ap" in autoeval.fit(sites[0] / LABELS, given).regression_.features_
    swapped = Predictions(known, reference=file, reference_names={"7": "bus", "9": "car"})
    assert autoeval.fit(sites[0] / LABELS, swapped).regression_.features_ == FEATURES
    with pytest.raises(InputError, match="`reference_names` belongs to the boxes of a reference"):
        autoeval.fit(sites[0] / LABELS, Predictions(known, reference_names=names))


def test_routes_do_not_mix(both, sites, tmp_path):
    by_files, by_callable = both
    with pytest.raises(InputError, match="fitted on prediction files"):
        by_files.predict(images=sites[1] / IMAGES)
    with pytest.raises(InputError, match="fitted on prediction files"):
        by_files.predict(load_black_box(sites[2]), images=sites[1] / IMAGES)
    clean, known = sites[3][sites[1]], sites[3][sites[0]]
    better = perfect(sites[0], tmp_path / "better.json")
    taught = autoeval.fit(sites[0] / LABELS, Predictions(known, reference=better))
    with pytest.raises(InputError, match=r"with a reference detector: give .*\(--reference\)"):
        taught.predict(clean, images=sites[1] / LABELS)
    new = perfect(sites[1], tmp_path / "new.json")
    found = taught.predict(Predictions(clean, reference=new), images=sites[1] / LABELS)
    assert numbers_of(found) and np.isfinite(found.value)
    with pytest.raises(InputError, match="predictions, or images"):
        by_callable.predict()
    # predictions of the same detector are welcome where a callable was fitted with
    found = predict_by_files(by_callable, sites)
    assert numbers_of(found) == numbers_of(predict_by_callable(by_callable, sites))


def test_boxes_that_cannot_be_used_are_named_by_every_result(both, sites, tmp_path, capsys):
    """As warnings of the estimate, the plan and the comparison, and once by the command."""
    _, new, _, files = sites
    rows = json.loads(files[new].read_text())
    odd = ([1, 1, -5, 5], [float("nan"), 1, 5, 5], [1, 1, 5, None])
    rows += [{**rows[0], "bbox": bbox} for bbox in odd]
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(rows))
    site = Predictions(file)
    named = [
        "whose bbox is not four finite numbers, left out: 2",
        "has a negative width or height, left out: 1",
    ]
    estimator, images = both[0], new / LABELS
    estimate = estimator.predict(site, images=images)
    plan = autoeval.plan_labels(estimator, site, images=images, n=4)
    fits = {"a": estimator, "b": estimator}
    moved = [{**row, "score": row["score"] / 2} for row in json.loads(files[new].read_text())]
    (tmp_path / "other.json").write_text(json.dumps(moved))
    both_files = [site, Predictions(tmp_path / "other.json")]
    compared = autoeval.compare(fits, both_files, images=images)
    for result in (estimate, plan, compared):
        said = "\n".join(result.warnings)
        assert all(text in said for text in named), said
    fitted = tmp_path / "estimator.parquet"
    estimator.save(fitted)
    inputs = ["--predictions", str(file), "--images", images]
    words = ["estimate", *inputs, "--estimator", fitted, "--work-dir", tmp_path / "w", "--verbose"]
    assert not main([*map(str, words)])
    assert capsys.readouterr().out.count(named[0]) == 1
    page = (tmp_path / "w" / "report.html").read_text()
    assert page.count(named[0]) == 1


def test_an_image_that_labels_list_twice_counts_once_where_a_detector_is_run(sites, tmp_path):
    """By its file name alone it could be either of two, and both were left out."""
    known, _, name, _ = sites
    labels = json.loads((known / LABELS).read_text())
    fitted = []
    for n_again in (0, 40):  # of these many its ids say which is meant
        again = [{**image, "id": 1000 + image["id"]} for image in labels["images"][:n_again]]
        ids = {image["id"] for image in again}
        rows = [
            {**row, "id": 1000 + row["id"], "image_id": 1000 + row["image_id"]}
            for row in labels["annotations"]
            if 1000 + row["image_id"] in ids
        ]
        path = tmp_path / f"again{n_again}.json"
        images, boxes = labels["images"] + again, labels["annotations"] + rows
        path.write_text(json.dumps({**labels, "images": images, "annotations": boxes}))
        fitted.append(autoeval.fit(path, load_black_box(name), img_dir=known / IMAGES))
    columns = ["n_boxes", "mAP"]
    np.testing.assert_array_equal(*(of.table_[columns] for of in fitted))


def test_a_detector_that_is_run_may_find_objects_twice(sites):
    """In a file they may be of two detectors; a run is of one, whose precision falls with them."""
    known, new, name, _ = sites
    once = load_black_box(name)

    def twice(images):
        found = [seen.clean for seen in once.observe(images, [str(k) for k in range(len(images))])]
        return (
            [np.concatenate([of.boxes, of.boxes]) for of in found],
            [np.concatenate([of.scores, 0.9 * of.scores]) for of in found],
            [np.concatenate([of.labels, of.labels]) for of in found],
        )

    detector = BlackBoxDetector(twice, once.categories, settings={"twice": True})
    fitted = autoeval.fit(known / LABELS, detector, img_dir=known / IMAGES)
    assert (fitted.table_["mAP"] > 0.1).all()
    assert len(fitted.predict(detector, images=new / IMAGES).site.boxes) > 0


@pytest.mark.parametrize("text", [False, True])
def test_a_reference_of_a_detector_that_is_run_is_in_a_file_of_the_site_or_in_text_files(
    sites, tmp_path, text
):
    known, _, name, files = sites
    folder = tmp_path / "reference"
    folder.mkdir()
    rows = [{**row, "score": row["score"] ** 0.5} for row in json.loads(files[known].read_text())]
    (folder / "annotations.json").write_text(json.dumps(rows))
    labels = json.loads((known / LABELS).read_text())
    one_file = autoeval.Detector(load_black_box(name), reference=folder / "annotations.json")
    expected = autoeval.fit(known / LABELS, one_file, img_dir=known / IMAGES)
    if text:
        (folder / "annotations.json").unlink()
        for image in labels["images"]:
            lines = [
                [row["category"], row["score"], x, y, x + w, y + h]
                for row in rows
                if row["image_id"] == image["id"]
                for x, y, w, h in [row["bbox"]]
            ]
            path = folder / image["file_name"].replace(".png", ".txt")
            path.write_text("\n".join(" ".join(map(str, line)) for line in lines))
    else:
        (folder / "readme.txt").write_text("Boxes of a stronger detector.")
    run = autoeval.Detector(load_black_box(name), reference=folder)
    fitted = autoeval.fit(known / LABELS, run, img_dir=known / IMAGES)
    columns = ["n_images", *REFERENCE_FEATURES]
    assert expected.table_[columns].notna().all(axis=None)
    np.testing.assert_allclose(fitted.table_[columns], expected.table_[columns], rtol=1e-6)


def test_few_labels_of_a_word_that_a_detector_lacks_change_nothing_where_it_is_run(
    sites, both, tmp_path
):
    """And labels without area are counted once."""
    known, _, name, _ = sites
    labels = json.loads((known / LABELS).read_text())
    labels["categories"].append({"id": 9, "name": "van"})
    rows = labels["annotations"]
    vans = [{**row, "id": 1000 + row["id"], "category_id": 9} for row in rows[:12:2]]
    flat = {**rows[0], "id": 2000, "bbox": [5, 5, 0, 9]}
    path = tmp_path / "vans.json"
    path.write_text(json.dumps({**labels, "annotations": [*rows, *vans, flat]}))
    fitted = autoeval.fit(path, load_black_box(name), img_dir=known / IMAGES)
    assert fitted.sites_.sets[0].boxes.categories == ("car", "bus")
    assert predict_by_callable(fitted, sites).value == predict_by_callable(both[1], sites).value
    codes = [warning.code for warning in fitted.fit_result_.warnings]
    assert codes.count("label-boxes-unusable") == 1
