"""Two prediction files and one label file in, an estimate with an interval out."""

import json
import re

import cv2
import numpy as np
import pandas as pd
import pytest
from predicted_world import write_world

from autoeval.accuracy.coco_evaluation import rank_categories
from autoeval.cli import main
from autoeval.estimation.category_scores import labelled_rows
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.io.coco import read_coco
from autoeval.io.labels.content import labelled_boxes
from autoeval.io.predictions import read_predictions
from autoeval.model.priors import calibration_prior


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    labels, predictions = write_world(folder, "val", seed=0)
    assert fit(folder / "fit", labels, predictions) == 0
    return folder


def words(work_dir, **options):
    pairs = [(f"--{name.replace('_', '-')}", str(value)) for name, value in options.items()]
    return ["--work-dir", str(work_dir), *(word for pair in pairs for word in pair)]


def fit(folder, labels, predictions, *more):
    return main(["fit", *words(folder, labels=labels, predictions=predictions), *more])


def estimate(world, folder, predictions, *more, **options):
    """Estimate by the fit of a world."""
    files = {"estimator": world / "fit", "predictions": predictions}
    return main(["estimate", *words(folder, **files, **options), *more])


def result_of(folder):
    return json.loads((folder / "result.json").read_text())


def refit(world, folder, change, *more):
    """Fit on changed predictions of the world."""
    return fit(folder, world / "val_labels.json", changed(world, folder, change), *more)


def truth_of(labels, predictions):
    content = read_coco(labels)
    truth = labelled_boxes(content)
    numbers = dict(zip(content.numbers, content.categories, strict=True))
    found = read_predictions(predictions, images=content.images, numbers=numbers)
    return {
        name: ranked.average_precision().mean()
        for name, ranked in zip(truth.categories, rank_categories(found, truth), strict=True)
    }


def test_fit_leaves_out_each_category_and_beats_a_constant(world):
    result = result_of(world / "fit")
    ours, constant = result["held_out"]
    assert len(result["per_source"]["bayes"]) == 12
    assert ours["mean_absolute_error"] < constant["mean_absolute_error"]
    truth = truth_of(world / "val_labels.json", world / "val_predictions.json")
    for row in result["per_source"]["bayes"]:
        assert row["lower"] < row["upper"]
        assert row["true"] == pytest.approx(truth[row["source"]], abs=0.05)  # on fewer images


def test_the_estimator_knows_the_group_of_its_labels(world, tmp_path):
    files = world / "val_labels.json", world / "val_predictions.json"
    assert fit(tmp_path, *files, "--group", "town") == 0
    saved = AccuracyEstimator.load(tmp_path / "estimator.parquet").regression_.pairs_
    assert set(saved["group"]) == {"town"} and set(saved["source"]) == {"val_labels"}
    pd.testing.assert_frame_equal(pd.DataFrame(saved), pd.read_parquet(tmp_path / "scores.parquet"))


@pytest.mark.parametrize("skill", [0.5, 0.8])
def test_the_truth_is_in_the_interval_of_another_place(world, tmp_path, capsys, skill):
    labels, predictions = write_world(tmp_path, "new", seed=1, skill=skill)
    assert estimate(world, tmp_path, predictions, images=labels) == 0
    found = result_of(tmp_path)["estimate"]
    true = np.mean(list(truth_of(labels, predictions).values()))
    assert found["lower"] < true < found["upper"]
    assert found["n_images"] == 60
    assert len(found["per_category"]) == 12
    assert "estimated mAP" in capsys.readouterr().out
    assert (tmp_path / "report.html").read_text().count("thing 3") >= 1


def test_one_command_fits_and_estimates(world, tmp_path):
    """The number is that of `fit` and `estimate` apart; the fit stays in the folder."""
    labels, predictions = write_world(tmp_path, "new", seed=1)
    assert estimate(world, tmp_path / "apart", predictions, images=labels) == 0
    once = {"fit_labels": world / "val_labels.json", "predictions": predictions, "images": labels}
    once["fit_predictions"] = world / "val_predictions.json"
    assert main(["estimate", *words(tmp_path / "once", **once)]) == 0
    apart, together = (result_of(tmp_path / of)["estimate"] for of in ("apart", "once"))
    ends = ("value", "lower", "upper", "per_category")
    assert {end: together[end] for end in ends} == {end: apart[end] for end in ends}
    assert (tmp_path / "once" / "fit" / "estimator.parquet").is_file()


def test_one_category_of_several_words(world, tmp_path):
    labels, predictions = write_world(tmp_path, "new", seed=2)
    options = {"images": labels, "category": "any=thing 1,thing 2"}
    assert estimate(world, tmp_path, predictions, **options) == 0
    found = result_of(tmp_path)["estimate"]
    assert found["per_category"]["any"]["value"] == found["value"] and 0 < found["value"] < 1


def test_ultralytics_numbers_and_stems(world, tmp_path):
    """Classes from 0 and stems as ids give the same fit to the last bit."""
    entries = json.loads((world / "val_predictions.json").read_text())
    for entry in entries:
        entry["category_id"] -= 1
    (tmp_path / "predictions.json").write_text(json.dumps(entries))
    document = json.loads((world / "val_labels.json").read_text())
    for entry in (*document["images"], *document["annotations"]):
        entry["id" if "file_name" in entry else "image_id"] += 1000
    (tmp_path / "val_labels.json").write_text(json.dumps(document))
    assert fit(tmp_path, tmp_path / "val_labels.json", tmp_path / "predictions.json") == 0
    assert result_of(tmp_path)["per_source"] == result_of(world / "fit")["per_source"]


def changed(world, tmp_path, change):
    entries = [change(entry) for entry in json.loads((world / "val_predictions.json").read_text())]
    path = tmp_path / "changed.json"
    path.write_text(json.dumps([entry for entry in entries if entry]))
    return path


def only_over(least):
    return lambda entry: entry if entry["score"] > least else None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (only_over(0.35), "he lowest score in .* is 0.35.*--incomplete"),
        (lambda entry: {**entry, "category_id": entry["category_id"] + 40}, "have no word: 41"),
        (lambda entry: {**entry, "image_id": f"x{entry['image_id']}"}, "are of other images than"),
        # shifted images, although their ids fit
        (
            lambda entry: {**entry, "image_id": (entry["image_id"] + 1) % 60},
            "do not belong together",
        ),
        (
            lambda entry: {**entry, "category": "thing"},
            "thing .*same things by other words.*--category vehicle=",
        ),
        (lambda entry: {**entry, "score": 1 - entry["score"]}, "do not predict which of its boxes"),
    ],
)
def test_what_a_fit_refuses(world, tmp_path, capsys, change, told):
    assert refit(world, tmp_path, change) == 2
    assert re.search(told, capsys.readouterr().err)


def test_other_words_are_told_where_a_category_is_rarely_labelled(world, tmp_path, capsys):
    """The rare one, which may be found or not, was all that was left, and labels were too few."""
    document = json.loads((world / "val_labels.json").read_text())
    document["categories"].append({"id": 99, "name": "rare"})
    document["annotations"] += [
        {**document["annotations"][0], "id": 10_000 + k, "category_id": 99} for k in range(2)
    ]
    (tmp_path / "labels.json").write_text(json.dumps(document))
    predictions = changed(
        world, tmp_path, lambda entry: {**entry, "category": f"word {entry['category_id']}"}
    )
    assert fit(tmp_path, tmp_path / "labels.json", predictions) == 2
    assert "same things by other words" in capsys.readouterr().err


def test_low_scores_cut_off_are_told(world, tmp_path, capsys):
    assert refit(world, tmp_path, only_over(0.1)) == 0
    assert "boxes below it are missing" in capsys.readouterr().out
    assert refit(world, tmp_path, only_over(0.4), "--incomplete") == 0


def test_an_estimate_doubts_another_detector(world, tmp_path, capsys):
    assert estimate(world, tmp_path, changed(world, tmp_path, only_over(0.055))) == 0
    codes = [warning["code"] for warning in result_of(tmp_path)["estimate"]["warning_codes"]]
    assert {"another-threshold", "images-without-box-unknown"} <= set(codes)
    words_of_another = changed(
        world, tmp_path, lambda entry: {**entry, "category": f"word {entry['category_id']}"}
    )
    assert estimate(world, tmp_path, words_of_another) == 2
    assert "are of another detector" in capsys.readouterr().err


def test_a_threshold_of_fit_and_site_changes_the_target_and_hardly_the_width(
    world, tmp_path, capsys
):
    cut = changed(world, tmp_path, only_over(0.25))
    labels = world / "val_labels.json"
    assert fit(tmp_path / "fit", labels, cut) == 0
    found = []
    for of, predictions in ((world, world / "val_predictions.json"), (tmp_path, cut)):
        assert estimate(of, tmp_path, predictions, images=labels) == 0
        found.append(result_of(tmp_path)["estimate"])
    output = capsys.readouterr().out
    assert "accuracy is that of the boxes in the file" in output
    assert "of the confidence that scores read" not in output
    widths = [of["upper"] - of["lower"] for of in found]
    assert widths[1] < 1.4 * widths[0]


@pytest.mark.parametrize(("least", "said"), [(0.1, "under 0.1"), (0.25, "under 0.25")])
def test_a_list_cut_at_a_threshold_is_read_by_the_fit_there(world, tmp_path, capsys, least, said):
    predictions = changed(world, tmp_path, only_over(least))
    assert estimate(world, tmp_path, predictions) == 0
    assert f"boxes {said} are taken to have been left out" in capsys.readouterr().out


@pytest.mark.parametrize(("least", "compares"), [(0.055, True), (0.125, False), (0.23, False)])
def test_a_list_that_begins_above_that_of_the_fit_is_refused(
    world, tmp_path, capsys, least, compares
):
    """At no threshold that a fit knows: its scores may be on another scale."""
    predictions = changed(world, tmp_path, only_over(least))
    assert estimate(world, tmp_path, predictions) == (0 if compares else 2)
    assert ("conf=0.01" in capsys.readouterr().err) != compares


def test_a_list_of_sure_boxes_does_not_compare_with_a_full_one(world, tmp_path, capsys):
    predictions = changed(world, tmp_path, only_over(0.6))
    assert estimate(world, tmp_path, predictions, "--incomplete") == 2
    assert "the scores do not compare" in capsys.readouterr().err


def test_copies_of_an_image_count_once(world, tmp_path, capsys):
    entries = json.loads((world / "val_predictions.json").read_text())
    names = sorted({entry["image_id"] for entry in entries})
    copied = [{**e, "image_id": f"{e['image_id']} {k}"} for k in range(3) for e in entries]
    (tmp_path / "copied.json").write_text(json.dumps(copied))
    for path, n in ((tmp_path / "copied.json", 2), (world / "val_predictions.json", 0)):
        assert estimate(world, tmp_path, path) == 0
        found = result_of(tmp_path)["estimate"]
        assert found["n_images"] == len(names)
        told = [t for t in found["warnings"] if "the boxes of another, left out" in t]
        assert told == [f"images with exactly the boxes of another, left out: {n * len(names)}"] * (
            n > 0
        )


def test_doubts_of_the_fit_come_with_every_estimate(world, tmp_path, capsys):
    """Labels of every other object only: half of the confident boxes look wrong."""
    document = json.loads((world / "val_labels.json").read_text())
    document["annotations"] = document["annotations"][::3]
    (tmp_path / "labels.json").write_text(json.dumps(document))
    predictions = world / "val_predictions.json"
    assert fit(tmp_path / "fit", tmp_path / "labels.json", predictions) == 0
    assert "warning: labels: " in capsys.readouterr().out
    assert estimate(tmp_path, tmp_path, predictions) == 0
    assert " of the fit hold" in capsys.readouterr().out
    assert estimate(tmp_path, tmp_path, predictions, "--verbose") == 0
    assert "do the labels miss objects" in capsys.readouterr().out


def test_scores_that_are_never_high_are_calibrated(world, tmp_path):
    """Quarters of the confidences: a detector that is as accurate, and less sure."""
    predictions = changed(world, tmp_path, lambda e: {**e, "score": e["score"] / 4})
    files = world / "val_labels.json", predictions
    assert fit(tmp_path, *files) == 0
    quarter, whole = (
        AccuracyEstimator.load(path / "estimator.parquet") for path in (tmp_path, world / "fit")
    )
    assert len(quarter.table_) == len(whole.table_)
    sets = quarter.sites_.read()
    by_the_mean = labelled_rows(sets[0], calibration_prior().calibration)
    off, without = (
        np.abs(rows["expected_ap"] - whole.table_["expected_ap"]).max()
        for rows in (quarter.table_, by_the_mean)
    )
    assert off < without / 2


@pytest.mark.rare
@pytest.mark.parametrize("command", [["label", "plan"], ["monitor"], ["estimate-map"]])
def test_what_runs_a_detector_refuses_an_estimator_of_predictions(world, tmp_path, command, capsys):
    cv2.imwrite(str(tmp_path / "1.png"), np.zeros((32, 32, 3), np.uint8))
    detector = ["--detector", "roadworld_nano", "--device", "cpu"]
    words = ["--estimator", str(world / "fit/estimator.parquet"), "--images", str(tmp_path)]
    words += ["--category", "vehicle"] if command == ["monitor"] else []
    assert main([*command, *words, *detector]) == 2
    assert "was fitted on prediction files" in capsys.readouterr().err.splitlines()[-1]


def test_options_that_do_not_fit(world, tmp_path, capsys):
    assert main(["fit", "--predictions", "p.json"]) == 2
    assert "either labels (--labels PATH) or a task (--task FILE)" in capsys.readouterr().err
    assert main(["fit", "--labels", "l.json"]) == 2
    assert "either predictions (--predictions PATH) or a detector" in capsys.readouterr().err
    assert main(["fit", "--labels", "l.json", "--predictions", "p.json"]) == 2
    assert "No labels l.json: check the path." in capsys.readouterr().err
    assert main(["estimate", "--estimator", "e"]) == 2
    assert "Expected --images PATH, or --predictions FILE." in capsys.readouterr().err
    assert main(["estimate", "--estimator", str(tmp_path / "none"), "--predictions", "p.json"]) == 2
    assert "make one with `autoeval fit" in capsys.readouterr().err


def test_words_that_no_box_has_are_doubted_or_refused(world, tmp_path, capsys):
    labels, predictions = write_world(tmp_path, "new", seed=2)
    options = {"images": labels, "category": "any=thing 1,thong"}
    assert estimate(world, tmp_path, predictions, **options) == 0
    assert "no box is called thong" in capsys.readouterr().out
    options["category"] = "any=thong"
    assert estimate(world, tmp_path, predictions, **options) == 2
    assert "No box is called thong" in capsys.readouterr().err
