"""The number comes first, then its warnings, the files that were written, and the next step."""

import io
import json
import re
import shlex
import shutil
from contextlib import redirect_stdout
from dataclasses import replace

import pytest

from autoeval.cli import main
from autoeval.commands.labels import larger_plan
from autoeval.estimation.estimator import AccuracyEstimator
from tests.doc_pages import ROOT

SAMPLE = ROOT / "docs/getting-started/sample"
NEW = ("--predictions", "new_predictions.json", "--images", "new_site.json")
ESTIMATOR = "work_dirs/fit/estimator.parquet"
SAVED = ("--estimator", ESTIMATOR)
PLAN = ("label", "plan", *SAVED, *NEW, "--n", "15")
LABELLED = ("label", "estimate", "--plan", "work_dirs/labels", "--labels", "new_labels.json")
OTHER = ("--labels", "val.json", "--predictions", "val_b.json", "--work-dir", "work_dirs/b")
COMPARE = (
    *("compare", "work_dirs/fit", "work_dirs/b", "--images", "new_site.json"),
    *("--predictions", "new_predictions.json", "new_b.json"),
)
NUMBERS = {
    (
        "fit",
        "--labels",
        "val.json",
        "--predictions",
        "val_predictions.json",
    ): "mAP on the labelled images: ",
    ("estimate", *NEW): "estimated mAP: ",
    ("fit", *OTHER): "mAP on the labelled images: ",
    COMPARE: "mAP on 60 images",
    PLAN: "15 of 60 images drawn",
    LABELLED: "estimated mAP: ",
    ("threshold", *SAVED, *NEW): "score threshold for the best F1: ",
    (
        *("monitor", *SAVED, "--predictions", "sites", "--images", "lists"),
        *("--category", "sedan"),
    ): "Sites by mAP, ",
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each command prints, in the short form and with --verbose."""
    folder = tmp_path_factory.mktemp("printed") / "sample"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("work_dirs"))
    for name, kept in (("sites", "new_predictions.json"), ("lists", "new_site.json")):
        (folder / name).mkdir()
        shutil.copy(folder / kept, folder / name / "gate.json")
    for name in ("val", "new"):
        boxes = json.loads((folder / f"{name}_predictions.json").read_text())
        (folder / f"{name}_b.json").write_text(
            json.dumps([box for k, box in enumerate(boxes) if k % 100])
        )
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in NUMBERS:
            both = []
            for more in ([], ["--verbose"]):
                with redirect_stdout(io.StringIO()) as shown:
                    assert main([*words, *more]) == 0, words
                both.append(shown.getvalue())
            found[words] = both
    return folder, found


@pytest.mark.parametrize("words", NUMBERS, ids=lambda words: " ".join(words[:2]))
def test_the_number_is_first_and_the_files_come_after_at_most_five_warnings(words, printed):
    short, whole = printed[1][words]
    assert short.startswith(NUMBERS[words]) and whole.startswith(NUMBERS[words])
    lines = short.splitlines()
    at = [k for k, line in enumerate(lines) if line.startswith("warning: ")]
    assert len(at) <= 5 and at == list(range(at[0], at[-1] + 1) if at else [])
    assert all(k < lines.index("written:") for k in at)
    steps = [k for k, line in enumerate(lines) if line.startswith("next step, ")]
    assert all(lines.index("written:") < k == len(lines) - 2 for k in steps)
    counts = "new in this run", "--verbose prints"  # none in a second run, none in all lines
    known = [line for line in lines if not any(of in line for of in counts)]
    assert set(known) <= set(whole.splitlines())


def test_the_rest_is_printed_with_verbose(printed):
    said = {words[0]: both for words, both in printed[1].items() if words[0] != "label"}
    for command, part in {
        "fit": "Cross-validation, one group of sites held out",
        "estimate": "sampling error of 60 images: ± ",
    }.items():
        short, whole = said[command]
        assert part in whole and part not in short
    short, whole = printed[1][LABELLED]
    assert "sample estimate: " in whole and "sample estimate: " not in short


def test_what_the_fit_has_printed_is_counted_and_not_printed_again(tmp_path, monkeypatch, capsys):
    """A fit on labels that lie six pixels beside the objects warns of them."""
    for file in SAMPLE.glob("*.json"):
        shutil.copy(file, tmp_path)
    labels = json.loads((tmp_path / "val.json").read_text())
    for label in labels["annotations"]:
        label["bbox"][0] += 6
    (tmp_path / "val.json").write_text(json.dumps(labels))
    monkeypatch.chdir(tmp_path)

    def shown(*words):
        assert main(words) == 0
        return capsys.readouterr().out

    first = shown(*next(iter(NUMBERS)))
    of_fit = [line for line in first.splitlines() if line.startswith("warning: ")]
    for words in (("estimate", *NEW), ("threshold", *SAVED, *NEW)):
        short, whole = shown(*words), shown(*words, "--verbose")
        repeated = [line for line in of_fit if line in whole.splitlines()]
        assert repeated and not any(line in short for line in repeated)
        counted = re.search(r"^(\d+) warnings? of the fit holds? here, too; --verbose", short, re.M)
        assert counted and int(counted[1]) == len(repeated)


def test_a_next_step_is_one_that_works(printed, monkeypatch, capsys):
    """Also where the usual folder holds the plan of another draw of the same images."""
    folder, found = printed
    monkeypatch.chdir(folder)
    at_threshold = ("estimate", *NEW, "--score-thr", ".3", "--iou", ".75")
    for words in (("estimate", *NEW), at_threshold, COMPARE):
        assert main(words) == 0
        (step,) = (w for w in capsys.readouterr().out.splitlines() if " label plan --" in w)
        assert main(shlex.split(step)[1:]) == 0
        capsys.readouterr()
    assert "autoeval estimate --predictions NEW.json" in found[next(iter(NUMBERS))][0]
    assert main([*LABELLED, "--until", "6"]) == 0
    assert "next step" not in capsys.readouterr().out  # ±6 is reached
    assert main([*LABELLED, "--until", "1"]) == 0
    said = capsys.readouterr().out
    assert "±1 is not reached" in said.split("written:")[0]
    more, step = said.splitlines()[-2:]
    assert more == "next step, images to label:"
    assert step.startswith("  autoeval label plan --estimator ")
    assert main([*shlex.split(step)[1:], "--work-dir", "work_dirs/more"]) == 0
    capsys.readouterr()
    assert main([*LABELLED, "--until", "5"]) == 0
    said = capsys.readouterr().out
    assert said.count("±5") == 1 and "for ±3" in said  # ±5 is reached or not, not both


def test_there_is_no_next_step_where_it_cannot_work(printed, tmp_path, monkeypatch, capsys):
    """An estimator of few boxes has no label assistance, and a plan drawn in Python no command."""
    monkeypatch.chdir(printed[0])
    estimator = replace(AccuracyEstimator.load(ESTIMATOR), assistance_=None)
    estimator.save(tmp_path / "estimator.parquet")
    named = ["--estimator", tmp_path / "estimator.parquet", "--work-dir", tmp_path / "new"]
    assert main([*map(str, ["estimate", *NEW, *named, "--verbose"])]) == 0
    said = capsys.readouterr().out
    assert "too wide to act on" in said
    assert "next step" not in said
    in_python = {"about": {"command": "python mine.py"}}
    assert larger_plan(in_python, 9) == larger_plan({}, 9) == ""
