"""From labels and predictions to precision, recall and F1 at a threshold, in the shell."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

import autoeval
from autoeval.cli import main
from autoeval.errors import InputError

SAMPLE = Path(__file__).parents[2] / "docs/getting-started/sample"
SITE_OF_FIT = SAMPLE / "val_predictions.json"
SITE = ("--predictions", SAMPLE / "new_predictions.json", "--images", SAMPLE / "new_site.json")


def run(*words):
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    files = ("--labels", SAMPLE / "val.json", "--predictions", SITE_OF_FIT)
    assert run("fit", *files, "--work-dir", folder) == 0
    return folder / "estimator.parquet"


def test_an_estimate_has_them_beside_map_and_the_page_has_the_curve(fitted, tmp_path, capsys):
    options = ("--estimator", fitted, *SITE, "--score-thr", ".3", "--work-dir", tmp_path)
    assert run("estimate", *options, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {"precision@0.3", "recall@0.3", "f1@0.3"} < set(found["estimate"]["beside"])
    assert any(row["threshold"] == 0.3 for row in found["curve"])
    assert (tmp_path / "report/threshold_curve.png").is_file()


def test_the_page_of_a_threshold_begins_with_it_and_ends_with_the_command(fitted, tmp_path, capsys):
    assert run("threshold", "--estimator", fitted, *SITE, "--work-dir", tmp_path, "--json") == 0
    chosen = json.loads(capsys.readouterr().out)["threshold"]["threshold"]
    html = (tmp_path / "report.html").read_text()
    main_part = html.partition("<main>")[2]
    assert main_part.lstrip().startswith('<section class="interval">')
    assert f'<p class="value">{chosen:.2f}</p>' in main_part.partition("</section>")[0]
    assert f'<div class="mark" style="left: {100 * chosen:.2f}%">' in main_part
    assert "new_site.json" in main_part.rpartition("<table")[2]


def planned(fitted, folder, *options):
    """Draw sixty images at most, label them, and return the options that name both."""
    words = ("--estimator", fitted, *SITE, *options, "--n", 60, "--work-dir", folder)
    assert run("label", "plan", *words) == 0
    shutil.copy(SAMPLE / "new_labels.json", folder / "annotations.json")
    return "--plan", folder, "--labels", folder / "annotations.json"


def values_of(labels, capsys, *options):
    """Return the combined estimate of every measure."""
    capsys.readouterr()
    assert run("label", "estimate", *labels, *options, "--json") == 0
    whole = json.loads(capsys.readouterr().out)["labelled_estimate"]["whole"]
    return {name: of["combined"]["estimate"]["value"] for name, of in whole.items()}


def exact_values(folder):
    """Return each measure at each threshold, as all labels of the site give it."""
    files = ("--labels", SAMPLE / "new_labels.json", *SITE[:2])
    assert run("threshold", *files, "--work-dir", folder) == 0
    curve = json.loads((folder / "result.json").read_text())["curve"]
    return {(row["measure"], row["threshold"]): row["value"] for row in curve}


def test_all_labels_of_a_plan_for_recall_give_what_is_counted_exactly(fitted, tmp_path, capsys):
    labels = planned(fitted, tmp_path / "plan", "--target", "recall", "--score-thr", ".3")
    values = values_of(labels, capsys, "--score-thr", ".5")
    exact = exact_values(tmp_path / "exact")
    assert values["recall@0.3"] == pytest.approx(exact["recall", 0.3])
    for measure in ("precision", "recall", "f1"):
        assert values[f"{measure}@0.5"] == pytest.approx(exact[measure, 0.5])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "recall"), "--score-thr"),
        (("--score-thr", "1.5"), "over 0 and under 1"),
        (("--score-thr", ".3", "--iou", ".6001"), "IoU of COCO"),
    ],
)
def test_bad_thresholds(fitted, tmp_path, options, message, capsys):
    assert run("estimate", "--estimator", fitted, *SITE, *options, "--work-dir", tmp_path) == 2
    assert message in capsys.readouterr().err


def test_a_plan_for_precision_measures_it_from_images_with_a_box(fitted, tmp_path, capsys):
    """All of these are labelled: what is counted on the whole site, exactly."""
    labels = planned(fitted, tmp_path / "plan", "--target", "precision", "--score-thr", ".5")
    boxes = json.loads((SAMPLE / "new_predictions.json").read_text())
    holding = {box["image_id"] for box in boxes if box["score"] > 0.5}
    plan = json.loads((tmp_path / "plan/plan.json").read_text())
    assert len(plan["drawn"]) == min(len(holding), 60) < 60
    codes = [warning["code"] for warning in plan["warning_codes"]]
    assert "images-without-box-over-threshold" in codes
    exact = exact_values(tmp_path / "exact")["precision", 0.5]
    assert values_of(labels, capsys) == {"precision@0.5": pytest.approx(exact)}
    assert run("threshold", *labels, "--recall", ".5") == 2
    assert "plan for recall or F1" in capsys.readouterr().err


def test_another_iou_than_that_of_the_estimate(fitted, tmp_path, capsys):
    words = ("threshold", "--estimator", fitted, *SITE, "--json", "--work-dir", tmp_path)
    curves = []
    for iou in (".5", ".75"):
        assert run(*words, "--iou", iou) == 0
        curves.append(json.loads(capsys.readouterr().out)["curve"])
    assert curves[0] != curves[1]


def few_images(folder, n, shift=0.0):
    """Write the predictions on the first images of the site, and their list; return options."""
    listed = json.loads((SAMPLE / "new_site.json").read_text())
    images = listed["images"][:n]
    known = {image["id"] for image in images}
    boxes = json.loads((SAMPLE / "new_predictions.json").read_text())
    boxes = [box for box in boxes if box["image_id"] in known]
    for box in boxes:
        box["bbox"] = [box["bbox"][0] + shift, *box["bbox"][1:]]
    folder.mkdir()
    (folder / "found.json").write_text(json.dumps(boxes))
    (folder / "list.json").write_text(json.dumps({**listed, "images": images, "annotations": []}))
    return "--predictions", folder / "found.json", "--images", folder / "list.json"


def test_the_next_step_draws_no_more_images_than_there_are(fitted, tmp_path, capsys):
    site = few_images(tmp_path / "few", 5)
    assert run("estimate", "--estimator", fitted, *site, "--work-dir", tmp_path / "e") == 0
    step = capsys.readouterr().out.partition("next step, images to label:\n")[2].strip()
    words = shlex.split(step)[1:]
    assert words[-2:] == ["--n", "5"]
    assert run(*words, "--work-dir", tmp_path / "plan") == 0
    shutil.copy(SAMPLE / "new_labels.json", tmp_path / "plan" / "annotations.json")
    labels = ("--plan", tmp_path / "plan", "--labels", tmp_path / "plan/annotations.json")
    capsys.readouterr()
    assert run("label", "estimate", *labels, "--until", ".0001") == 0
    said = capsys.readouterr().out
    assert "all 5 images are labelled" in said or "is reached" in said
    assert "--n" not in said


def test_a_plan_of_another_site_is_not_said_to_be_of_another_detector(fitted, tmp_path, capsys):
    words = ("label", "plan", "--estimator", fitted, "--n", 4, "--work-dir", tmp_path / "plan")
    assert run(*words, *few_images(tmp_path / "one", 9)) == 0
    assert run(*words, *few_images(tmp_path / "other", 9, shift=2.0)) == 2
    assert "for other boxes: another site with images of the same names" in capsys.readouterr().err


def test_words_for_no_category_are_named(fitted, tmp_path):
    plan = autoeval.plan_labels(fitted, SITE[1], images=SITE[3], n=20)
    message = "translated into nonsense, and the categories of the estimate are"
    with pytest.raises(InputError, match=message):
        autoeval.estimate_with_labels(
            plan, SAMPLE / "new_labels.json", words={"sedan": "nonsense"}, planned=False
        )


def test_words_are_translated_where_a_labelled_set_is_counted(tmp_path, capsys):
    """Labels of one word for all that the detector tells apart."""
    labels = json.loads((SAMPLE / "val.json").read_text())
    found = json.loads((SAMPLE / "val_predictions.json").read_text())
    rows = sorted(found, key=lambda row: row["score"])  # each box once, as what it is most likely
    boxes = list({(row["image_id"], *row["bbox"]): row for row in rows}.values())
    words = {c["id"]: c["name"] for c in labels["categories"]}
    labels["categories"] = [{"id": 1, "name": "thing"}]
    labels["annotations"] = [{**row, "category_id": 1} for row in labels["annotations"]]
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    curves = []
    for name, word in (("words", lambda k: words[k]), ("things", lambda k: "thing")):
        rows = [{"category": word(row.pop("category_id")), **row} for row in map(dict, boxes)]
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
        category = f"thing={','.join(words.values())}" if name == "words" else "thing"
        given = ("--labels", tmp_path / "labels.json", "--predictions", tmp_path / f"{name}.json")
        options = ("--category", category, "--work-dir", tmp_path / "out", "--json")
        assert run("threshold", *given, *options) == 0
        curves.append(json.loads(capsys.readouterr().out)["curve"])
    assert curves[0] == curves[1] and len(curves[0]) > 5


def test_a_labelled_set_counts_categories_that_a_fit_leaves_out(tmp_path, capsys):
    """With three labels of a bus, too few for a fit: their objects count, and nothing else is said.

    The numbers are those of COCO's own matching over all categories, by pycocotools.
    """
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    labels = json.loads((SAMPLE / "val.json").read_text())
    buses = [row for row in labels["annotations"] if row["category_id"] == 5]
    labels["annotations"] = [row for row in labels["annotations"] if row not in buses[3:]]
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    given = ("--labels", tmp_path / "labels.json", "--predictions", SITE_OF_FIT)
    assert run("threshold", *given, "--work-dir", tmp_path, "--json", "--recall", ".5") == 0
    chosen = json.loads(capsys.readouterr().out)["threshold"]
    assert "categories-rarely-labelled" not in [w["code"] for w in chosen["warning_codes"]]

    truth = COCO(str(tmp_path / "labels.json"))
    boxes = [row for row in json.loads(SITE_OF_FIT.read_text()) if row["score"] > chosen["value"]]
    evaluation = COCOeval(truth, truth.loadRes(boxes), "bbox")
    evaluation.evaluate()
    parts = [p for p in evaluation.evalImgs if p and p["aRng"] == evaluation.params.areaRng[0]]
    n_right = sum((p["dtMatches"][0] > 0).sum() for p in parts)
    n_true = sum(len(p["gtIds"]) for p in parts)
    at = {name: of["value"] for name, of in chosen["at"].items()}
    assert at["recall"] == pytest.approx(n_right / n_true)
    assert at["precision"] == pytest.approx(n_right / len(boxes))
