"""The demo, from its command to its page, with few images."""

import contextlib
import io
import json
import math
import shutil
from types import SimpleNamespace

import cv2
import pandas as pd
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from autoeval import roadworld
from autoeval.cli import main
from autoeval.demo import showing
from autoeval.detectors import load_detector
from autoeval.roadworld import DETECTOR, environments_task
from autoeval.roadworld.environments_task import render_environments

pytestmark = pytest.mark.rare

N_IMAGES = 20
NAMES = (
    "dusk_city",
    "fog",
    "rain",
    "overpass",
)  # the one held back, and so few that there is a fit
ENVIRONMENTS = {name: roadworld.ENVIRONMENTS[name] for name in NAMES}


@pytest.fixture(scope="module", autouse=True)
def few_environments():
    with pytest.MonkeyPatch.context() as patched:
        for module in (roadworld, environments_task, showing):
            patched.setattr(module, "ENVIRONMENTS", ENVIRONMENTS)
        yield


@pytest.fixture(scope="module")
def rendered(few_environments, tmp_path_factory):
    """The environments that the demo renders, once for all of its runs, which keep them."""
    folder = tmp_path_factory.mktemp("rendered")
    render_environments(folder, N_IMAGES, seed=showing.SEED)
    return folder


@pytest.mark.parametrize("options", [[], ["--published"]], ids=["default", "published"])
def test_it_fits_estimates_labels_and_compares(
    options, rendered, true_map, tmp_path, monkeypatch, capsys
):
    shutil.copytree(rendered, tmp_path / "data")
    tiny = showing.DemoSizes(N_IMAGES, sample_sets=1, sample_images=2, repeats=1, labels=5)
    monkeypatch.setattr(showing, "DemoSizes", lambda: tiny)
    assert main(["demo", "--work-dir", str(tmp_path), "--held-back", "fog", *options]) == 0
    paragraph = " ".join(capsys.readouterr().out.strip().rpartition("\n\n")[2].split())
    result = json.loads((tmp_path / "result.json").read_text())
    free, labelled = result["estimate"], result["labelled_estimate"]
    assert result["demo"] == [paragraph]
    assert f"estimated at {100 * free['value']:.1f} " in paragraph
    drawn = json.loads((tmp_path / "labels" / "fog" / "annotations.json").read_text())
    assert len(drawn["images"]) == 5 and not any("did not draw" in w for w in labelled["warnings"])
    assert labelled["n_labelled"] == 5 and "labels of 5 of these images" in paragraph
    assert f"the estimate is {100 * labelled['value']:.1f} (90% interval " in paragraph
    assert f"the true mAP, {100 * true_map:.1f}:" in paragraph
    table = pd.read_parquet(tmp_path / "scores.parquet")
    assert set(table["source"]) == set(ENVIRONMENTS) - {"fog"}
    published = ["fused", "ac", "bos"] if options else []
    evaluated = [m["method"] for m in result["held_out"]]
    assert set(evaluated) == {"bayes", *published, "constant"} and evaluated[-1] == "constant"
    assert "fog" not in {row["source"] for row in result["per_source"]["constant"]}
    assert (tmp_path / "report.html").is_file()
    assert "Cross-validation, one group of sites held out" in (tmp_path / "tables.txt").read_text()
    if options:
        return
    again = ["--estimator", str(tmp_path / "estimator.parquet"), "--work-dir", str(tmp_path / "2")]
    assert main(["estimate", "--images", str(tmp_path / "data" / "fog" / "images"), *again]) == 0
    estimate = json.loads((tmp_path / "2" / "result.json").read_text())["estimate"]
    assert estimate["value"] == pytest.approx(free["value"])


@pytest.fixture(scope="module")
def true_map(rendered):
    """What pycocotools makes of the boxes that the detector finds in the images on disk."""
    truth = json.loads((rendered / "fog" / "annotations.json").read_text())
    detector, found = load_detector(DETECTOR), []
    for image in truth["images"]:
        picture = cv2.imread(str(rendered / "fog" / "images" / image["file_name"]))
        (seen,) = detector.observe([picture], [image["file_name"]])
        for (x1, y1, x2, y2), score in zip(seen.clean.boxes, seen.clean.scores, strict=True):
            box = [x1, y1, x2 - x1, y2 - y1]
            found.append({"image_id": image["id"], "category_id": 1, "bbox": box, "score": score})
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = truth
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(found), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats[0]


NAN = (math.nan, math.nan)
INTERVALS = [
    ((0.3, 0.6), (0.4, 0.5), "both intervals contain it"),
    ((0.5, 0.6), (0.4, 0.5), "the second of the two intervals contains it"),
    ((0.3, 0.6), (0.3, 0.4), "the first of the two intervals contains it"),
    ((0.5, 0.6), (0.3, 0.4), "neither of the two intervals contains it"),
    (NAN, (0.4, 0.5), "the second of the two intervals contains it"),
]


@pytest.mark.parametrize(("free", "labelled", "expected"), INTERVALS)
def test_the_paragraph_names_the_intervals_that_contain_the_truth(free, labelled, expected):
    value = math.nan if free is NAN else 0.55
    estimate = SimpleNamespace(value=value, lower=free[0], upper=free[1], level=0.9)
    with_labels = SimpleNamespace(
        value=0.42, interval=labelled, level=0.9, n_labelled=20, n_pool=60
    )
    words = showing.in_words("fog", estimate, with_labels, 0.45)
    assert words.endswith(f"the true mAP, 45.0: {expected}.")
    said = f"estimated at 55.0 (90% interval {100 * free[0]:.1f} to 60.0). "
    if free is NAN:
        said = "give no estimate of its mAP there: the interval would be too wide. "
    assert said in words


@pytest.mark.parametrize("name", ["atlantis", ""])
def test_an_unknown_environment_is_refused_with_those_there_are(name, tmp_path, capsys):
    assert main(["demo", "--work-dir", str(tmp_path), "--held-back", name]) == 2
    assert "dusk_city" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
