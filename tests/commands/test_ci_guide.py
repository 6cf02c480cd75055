"""The examples of docs/how-to/ci.md run as they are printed, on the sample."""

import json
import re
import shlex
import shutil

import pytest
from by_coco import mean_average_precision

from autoeval.cli import main
from tests.doc_pages import ROOT

PAGE = (ROOT / "docs/how-to/ci.md").read_text("utf-8")
SAMPLE = ROOT / "docs/getting-started/sample"


def commands(language):
    """The commands of the block of a language, in order."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found = re.findall(r"autoeval [^>]*?(?=\n- |\n?\Z)", block, re.DOTALL)
    return [shlex.split(text)[1:] for text in found]


def average_precision(labels, boxes):
    """mAP by pycocotools, in points."""
    return 100 * mean_average_precision(json.loads(labels.read_text()), boxes)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder in which the examples ran: a third of the boxes of the candidate are missing."""
    folder = tmp_path_factory.mktemp("gate")
    for name in ("val.json", "new_site.json", "new_labels.json"):
        shutil.copy(SAMPLE / name, folder)
    for part in ("val", "new"):
        boxes = json.loads((SAMPLE / f"{part}_predictions.json").read_text())
        fewer = [box for k, box in enumerate(boxes) if k % 3]
        (folder / f"current_{part}.json").write_text(json.dumps(boxes))
        (folder / f"candidate_{part}.json").write_text(json.dumps(fewer))
    (folder / "sites").mkdir()
    for site, part in (("gate", boxes), ("yard", fewer)):
        (folder / f"sites/{site}.json").write_text(json.dumps(part))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        status = [main(words) for words in commands("yaml")]
        nightly = [main(words) for words in commands("crontab")]
    return folder, status, nightly, average_precision(folder / "new_labels.json", boxes)


def test_the_gate_stops_a_candidate_seven_points_worse_and_says_by_how_much(ran):
    folder, status, _, current = ran
    boxes = json.loads((folder / "candidate_new.json").read_text())
    loss = current - average_precision(folder / "new_labels.json", boxes)
    assert loss > 5 and status == [0, 0, 3]
    summary = (folder / "summary.md").read_text()
    assert "**gate failed: " in summary and f"less than current by {loss:.1f} " in summary
    result = json.loads((folder / "work_dirs/compare/result.json").read_text())
    (measured,) = result["gate"]["losses"]
    assert 100 * measured["value"] == pytest.approx(loss, abs=0.05)
    assert measured["lower"] == measured["upper"] == measured["value"]


@pytest.mark.parametrize("n_labels", [0, 20])
def test_a_candidate_seven_points_worse_does_not_pass_with_few_labels(ran, monkeypatch, n_labels):
    folder, *_ = ran
    monkeypatch.chdir(folder)
    (words,) = (words for words in commands("yaml") if words[0] == "compare")
    at = words.index("--labels")
    if n_labels:
        truth = json.loads((folder / "new_labels.json").read_text())
        truth["images"] = truth["images"][:n_labels]
        kept = {image["id"] for image in truth["images"]}
        truth["annotations"] = [box for box in truth["annotations"] if box["image_id"] in kept]
        (folder / "some_labels.json").write_text(json.dumps(truth))
        words[at + 1] = "some_labels.json"
    else:
        del words[at : at + 2]
    assert main([*words, "--work-dir", f"few_{n_labels}"]) in (3, 4)
    gate = json.loads((folder / f"few_{n_labels}/result.json").read_text())["gate"]
    assert gate["outcome"] in ("failed", "undecided")
    if gate["outcome"] == "undecided":
        assert 0 < gate["losses"][0]["labels"] <= 60 - n_labels


def test_the_monitor_writes_what_the_guide_names(ran):
    folder, _, (nightly,), _ = ran
    assert nightly in (0, 3)
    gauges = (folder / "autoeval.prom").read_text()
    for name in re.findall(r"`(autoeval_site_\w+)`", PAGE):
        sites = re.findall(rf'^{name}{{site="(\w+)"', gauges, re.MULTILINE)
        assert sorted(sites) == ["gate", "yard"] or name == "autoeval_site_alarm"
    assert "autoeval_site_alarm{" not in gauges or nightly == 3  # while nothing is known
