"""The examples of docs/how-to/ci.md run as they are printed, on the sample."""

import json
import re
import shlex
import shutil

import pytest

from autoeval.cli import main
from tests.doc_pages import ROOT

PAGE = (ROOT / "docs/how-to/ci.md").read_text("utf-8")
SAMPLE = ROOT / "docs/getting-started/sample"


def commands(language):
    """The commands of the block of a language, in order."""
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found = re.findall(r"autoeval [^>]*?(?=\n- |\n?\Z)", block, re.DOTALL)
    return [shlex.split(text)[1:] for text in found]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder in which the gate ran: half the boxes of the candidate are missing."""
    folder = tmp_path_factory.mktemp("gate")
    for name in ("val.json", "new_site.json", "new_labels.json"):
        shutil.copy(SAMPLE / name, folder)
    for ours, theirs in (("val", "val"), ("new", "new")):
        boxes = json.loads((SAMPLE / f"{theirs}_predictions.json").read_text())
        (folder / f"current_{ours}.json").write_text(json.dumps(boxes))
        (folder / f"candidate_{ours}.json").write_text(json.dumps(boxes[::2]))
    (folder / "sites").mkdir()
    for site, part in (("gate", boxes), ("yard", boxes[::2])):
        (folder / f"sites/{site}.json").write_text(json.dumps(part))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        status = [main(words) for words in commands("yaml")]
        nightly = [main(words) for words in commands("crontab")]
    return folder, status, nightly


def test_the_gate_stops_a_worse_candidate_and_says_by_how_much(ran):
    folder, status, _ = ran
    assert status == [0, 0, 3]
    summary = (folder / "summary.md").read_text()
    assert "**failed**: " in summary and "| current | candidate | all |" in summary
    result = json.loads((folder / "work_dirs/compare/result.json").read_text())
    (pair,) = (of for of in result["comparison"]["pairs"] if of["category"] == "all")
    shown = " | ".join(f"{100 * pair[name]:+.1f}" for name in ("difference", "lower", "upper"))
    assert f"| current | candidate | all | {shown} |" in summary


def test_the_monitor_writes_what_the_guide_names(ran):
    folder, _, (nightly,) = ran
    assert nightly in (0, 3)
    gauges = (folder / "autoeval.prom").read_text()
    for name in re.findall(r"`(autoeval_site_\w+)`", PAGE):
        sites = re.findall(rf'^{name}{{site="(\w+)"', gauges, re.MULTILINE)
        assert sorted(sites) == ["gate", "yard"] or name == "autoeval_site_alarm"
