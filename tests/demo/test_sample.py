"""The sample that comes with the documentation is what its command writes."""

import json
import re
import shlex

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from autoeval.cli import main
from autoeval.demo.sample import write_sample
from tests.doc_pages import ROOT

SAMPLE = ROOT / "docs" / "getting-started" / "sample"


def boxes_of(document, n_images):
    """Labels of the first images, sorted: image, category, box."""
    rows = [[e["image_id"], e["category_id"], *e["bbox"]] for e in document["annotations"]]
    rows = np.array([row for row in rows if row[0] <= n_images])
    return rows[np.lexsort(rows.T)]


def test_the_command_writes_what_is_kept(tmp_path):
    """Images and labels; boxes are those of the detector's first training, as its page says."""
    for path in write_sample(tmp_path, n_images=2, classifier_images=10):
        kept, made = (json.loads((f / path.name).read_text()) for f in (SAMPLE, tmp_path))
        if "predictions" in path.name:
            assert kept[0].keys() == made[0].keys()
            assert {entry["category_id"] for entry in kept} == {1, 2, 3, 4, 5, 6}
            continue
        if path.name == "new_site.json":
            assert kept["images"][:2] == made["images"]
            continue
        np.testing.assert_allclose(boxes_of(made, 2), boxes_of(kept, 2), atol=0.05)


def evaluated(name):
    """What pycocotools says of one of the sites, from the files as they are."""
    truth = COCO(SAMPLE / ("val.json" if name == "val" else "new_labels.json"))
    evaluation = COCOeval(truth, truth.loadRes(str(SAMPLE / f"{name}_predictions.json")), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation


@pytest.mark.parametrize("name", ["val", "new"])
def test_pycocotools_evaluates_the_files_as_they_are(name):
    evaluation = evaluated(name)
    assert 0.1 < evaluation.stats[0] < 0.9
    boxes = evaluation.cocoGt.anns.values()
    assert max(abs(a["bbox"][2] * a["bbox"][3] - a["area"]) for a in boxes) < 0.06


def test_after_an_estimate_from_files_the_next_step_is_possible_from_files(
    tmp_path, monkeypatch, capsys
):
    """A user types what is printed; nothing there are images."""
    monkeypatch.chdir(tmp_path)
    labels, found, new, site = (
        str(SAMPLE / f"{name}.json")
        for name in ("val", "val_predictions", "new_predictions", "new_site")
    )
    assert main(["fit", "--labels", labels, "--predictions", found]) == 0
    words = ["--predictions", new, "--images", site, "--category", "lorry=truck"]
    assert main(["estimate", *words]) == 0
    shown = capsys.readouterr().out
    assert "--verbose prints" in shown  # the width is the sixth warning
    (command,) = re.findall(r"autoeval label plan --.*", shown)
    assert main(shlex.split(command)[1:]) == 0
    assert (tmp_path / "work_dirs/labels/plan.json").exists()
    truth = ["--labels", str(SAMPLE / "new_labels.json"), "--words", "truck=lorry"]
    assert main(["label", "estimate", "--plan", "work_dirs/labels", *truth]) == 0


def test_the_sample_shows_the_point(tmp_path, monkeypatch, capsys):
    """The fit beats the mean of the other categories; all six are found, with the truth inside."""
    monkeypatch.chdir(tmp_path)
    labels, found, new, site = (
        str(SAMPLE / f"{name}.json")
        for name in ("val", "val_predictions", "new_predictions", "new_site")
    )
    assert main(["fit", "--labels", labels, "--predictions", found]) == 0
    said = re.findall(r"MAE (?:on 6|of the baseline).*: ([\d.]+) ", capsys.readouterr().out)
    of_fit, of_mean = map(float, said)
    assert of_fit < 0.75 * of_mean
    assert main(["estimate", "--predictions", new, "--images", site, "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)["estimate"]
    truth = evaluated("new").stats[0]
    assert estimate["lower"] < truth < estimate["upper"]
    assert sum(path.stat().st_size for path in SAMPLE.glob("*.json")) < 400_000
