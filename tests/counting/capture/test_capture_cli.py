"""The commands from end to end."""

import json
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from stub_endpoint import KEY, ok

from autoeval.cli import main
from autoeval.counting.capture.split import open_split

CONFIGS = Path(__file__).resolve().parents[3] / "configs/counting/capture"


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "split"
    words = f"count capture generate {folder} --counts 6 --patterns triangle --size 100"
    assert main(words.split()) == 0
    return folder


def capture(*words):
    return main(["count", "capture", *map(str, words)])


@pytest.mark.usefixtures("drawn_here")
def test_generate_writes_pairs_metadata_and_a_sheet(split, capsys, tmp_path):
    assert len(open_split(split).items) == 50
    assert len(list((split / "occluded").iterdir())) == 50
    assert capture("generate", tmp_path, "--counts", "5", "--patterns", "rectangle") == 0
    assert "40 of them have an object outside" in capsys.readouterr().out
    assert cv2.imread(str(tmp_path / "contact_sheet.png")) is not None


BAD_OPTIONS = [
    (["--counts", "15-5"], "like 5-15"),
    (["--counts", "many"], "like 5-15"),
    (["--counts", "0,3"], "like 5-15"),
    (["--size", "39"], "--size from 40"),
    (["--size", "10001"], "to 10000 pixels"),
    (["--counts", f"5-{10**20}"], "like 5-15"),
    (["--counts", "7", "--patterns", "triangle"], "None of these patterns"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS)
def test_bad_options_are_explained(tmp_path, capsys, options, message):
    assert capture("generate", tmp_path / "out", *options) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("drawn_here")
def test_run_and_report_a_baseline(split, tmp_path, capsys):
    config = CONFIGS / "visible_only.py"
    words = ("run", split, "--counter", config, "--work-dir", tmp_path / "answers")
    assert capture(*words) == 0
    assert "visible-only, total-occluded: 50 answered" in capsys.readouterr().out
    assert capture(*words) == 0
    assert "0 answered, 0 skipped, 0 failed, 50 from before" in capsys.readouterr().out
    assert capture("report", split, tmp_path / "answers", "--work-dir", tmp_path / "report") == 0
    table = pd.read_csv(tmp_path / "report/measures.csv").set_index("task")
    assert table.loc["total-original", "sMAPE"] == 0
    items = open_split(split).items
    expected = np.mean([100 * i.num_occluded / (12 - i.num_occluded) for i in items])
    assert table.loc["total-occluded", "sMAPE"] == pytest.approx(expected)
    differences = pd.read_csv(tmp_path / "report/differences.csv")
    assert differences.loc[0, "difference"] == pytest.approx(expected)
    assert (tmp_path / "report/report.html").stat().st_size > 50_000
    (tmp_path / "empty").mkdir()
    assert capture("report", split, tmp_path / "empty") == 2
    assert "No answers in" in capsys.readouterr().err
    assert capture("answers") == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("| kind | answers | right")


def test_a_limited_run_is_measured_on_what_was_asked(split, tmp_path, capsys):
    config = CONFIGS / "visible_only.py"
    words = ("run", split, "--counter", config, "--work-dir", tmp_path / "answers")
    assert capture(*words, "--task", "total-original", "--limit", 10) == 0
    capsys.readouterr()
    assert capture("report", split, tmp_path / "answers", "--work-dir", tmp_path / "report") == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("visible-only, total-original: measured on the first 10 of 50 items")
    row = pd.read_csv(tmp_path / "report/measures.csv").iloc[0]
    assert (row["n"], row["sMAPE"], row["missing"]) == (10, 0, 0)
    assert first in (tmp_path / "report/report.html").read_text()
    # Without a limit, what has no answer is missing and scores as skipped.
    (path,) = (tmp_path / "answers").rglob("asked.json")
    path.write_text('{"total-original": null}')
    assert capture("report", split, tmp_path / "answers", "--work-dir", tmp_path / "report") == 0
    assert pd.read_csv(tmp_path / "report/measures.csv").loc[0, "sMAPE"] == 80


def test_what_an_earlier_run_asked_is_measured_beyond_a_later_limit(split, tmp_path, capsys):
    """A second look at a few items left the report with these alone."""
    words = ["run", split, "--counter", CONFIGS / "visible_only.py", "--task", "total-original"]
    words += ["--work-dir", tmp_path / "answers"]
    for limit, n in ((12, 12), (5, 12), (50, 50), (5, 50)):
        assert capture(*words, "--limit", limit) == 0
        capsys.readouterr()
        report = ("report", split, tmp_path / "answers", "--work-dir", tmp_path / "report")
        assert capture(*report) == 0
        shown = capsys.readouterr().out
        row = pd.read_csv(tmp_path / "report/measures.csv").iloc[0]
        assert (row["n"], row["sMAPE"], row["missing"]) == (n, 0, 0)
        assert ("which is what was asked" in shown) == (n < 50) and "not in this task" not in shown


def test_model_and_wording_must_not_change_within_a_folder(split, tmp_path, capsys, serve):
    server = serve(ok("6"))
    words = ["run", split, "--counter", CONFIGS / "endpoint.py", "--work-dir", tmp_path / "out"]
    words += ["--task", "total-occluded", "--cfg-options", f"counter.url={server.url}"]
    assert capture(*words) == capture(*words, "--prompts-of", "default") == 0
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written and not any(KEY.encode() in path.read_bytes() for path in written)
    assert capture(*words, "counter.max_tokens=5") == 2
    assert "other settings" in capsys.readouterr().err
    assert capture(*words, "--prompts-of", "molmo") == 2
    assert "prompts_of" in capsys.readouterr().err
    mine = tmp_path / "mine.py"
    mine.write_text((CONFIGS / "prompts.py").read_text())
    assert capture(*words, "--prompts", mine) == 2
    assert "prompts" in capsys.readouterr().err


def test_failed_questions_give_status_1(split, tmp_path, capsys, serve):
    server = serve((400, {}, {"error": "no"}), ok("6"))
    words = ["run", split, "--counter", CONFIGS / "endpoint.py", "--work-dir", tmp_path]
    words += ["--workers", 3, "--task", "total-occluded"]
    words += ["--cfg-options", f"counter.url={server.url}"]
    assert capture(*words) == 1
    shown = capsys.readouterr().out
    assert "49 answered, 0 skipped, 1 failed" in shown and "asks them again" in shown
    assert capture(*words) == 0
    assert len(server.requests) == 51


def test_a_model_may_read_the_answers(split, tmp_path, serve):
    speaker, reader = serve(ok("a good many")), serve(ok("6"))
    config = tmp_path / "reader.py"
    config.write_text(
        'counter = dict(type="autoeval.counting.counters.build.endpoint", '
        f'url="{reader.url}", model="reader")\n'
    )
    words = ["run", split, "--counter", CONFIGS / "endpoint.py", "--work-dir", tmp_path]
    words += ["--task", "total-occluded", "--extractor", config]
    assert capture(*words, "--cfg-options", f"counter.url={speaker.url}") == 0
    (answers,) = tmp_path.rglob("total-occluded.jsonl")
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert {row["value"] for row in rows} == {6}
    asked = reader.requests[0][2]["messages"][0]["content"][0]["text"]
    assert asked.endswith("a good many") and "-1" in asked
    config.write_text(config.read_text().replace('"reader"', '"another"'))
    again = capture(*words, "--cfg-options", f"counter.url={speaker.url}")
    assert again == 2, "answers that another model reads do not go into one folder"
    assert capture(*words[:-1], CONFIGS / "visible_only.py") == 2


def test_report_names_what_is_wrong_with_foreign_answers(split, tmp_path, capsys):
    items = open_split(split).items
    records = [{"image_file": i.image_file, "results": 6} for i in items[:48]]
    records += [dict(records[0], results=5), {"image_file": "elsewhere.png", "results": 1}]
    (tmp_path / "model.json").write_text(json.dumps(records))
    words = ("report", split, tmp_path / "model.json", "--work-dir", tmp_path / "report")
    assert capture(*words) == 0
    shown = capsys.readouterr().out
    assert f"1 items answered more than once, the last counts: {items[0].image_file}" in shown
    assert "1 images are not in this task of the split: elsewhere.png" in shown
    assert f"2 of 50 items missing: {items[48].image_file}" in shown
    measures = pd.read_csv(tmp_path / "report/measures.csv")
    assert measures.loc[0, "sMAPE"] == pytest.approx((100 / 11 + 2 * 100) / 50)


def test_build_real_prints_its_problems(tmp_path, capsys):
    (tmp_path / "images").mkdir()
    cv2.imwrite(str(tmp_path / "images/1.jpg"), np.full((60, 80, 3), 200, np.uint8))
    box = {"x": 5, "y": 5, "width": 20, "height": 20}
    records = [
        {"image_file": f"{k}.jpg", "object": "cups", "ground_truth": 2, "bbox": box} for k in (1, 2)
    ]
    (tmp_path / "meta.json").write_text(json.dumps(records))
    words = ["build-real", tmp_path / "out", "--images", tmp_path / "images"]
    assert capture(*words, "--metadata", tmp_path / "meta.json") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("1 pairs in") and "2.jpg: left out" in shown
    assert capture(*words, "--metadata", tmp_path / "absent.json") == 2


def test_exported_tasks_hold_images_questions_and_answers(split, tmp_path, capsys):
    words = ("export", split, tmp_path, "--task", "total-occluded", "pattern-original")
    assert capture(*words, "--prompts-of", "molmo", "--max-tokens", "2000") == 0
    assert "capture_synthetic_total_occluded,capture_synthetic_pattern" in capsys.readouterr().out
    text = (tmp_path / "capture_synthetic_total_occluded.yaml").read_text()
    task = yaml.safe_load(text.replace("!function ", "function "))
    assert task["process_results"] == "function utils.process_count"
    assert task["generation_kwargs"]["max_new_tokens"] == 2000
    assert [metric["metric"] for metric in task["metric_list"]] == ["smape", "exact", "skipped"]
    table = pq.read_table(task["dataset_kwargs"]["data_files"]["test"])
    notes = json.loads(table.schema.metadata[b"huggingface"])
    assert notes["info"]["features"]["image"] == {"_type": "Image"}
    assert set(notes["info"]["features"]) == set(table.column_names)
    rows, items = table.to_pylist(), open_split(split).items
    assert [row["target"] for row in rows] == ["6"] * 50
    assert rows[0]["question"].startswith("Your task is to count") and "{" not in text
    picture = (split / "occluded" / items[0].image_file).read_bytes()
    assert rows[0]["image"] == {"bytes": picture, "path": items[0].image_file}
    namespace = {}
    exec((tmp_path / "utils.py").read_text(), namespace)
    assert namespace["process_count"](rows[0], ["6"])["smape"] == 0
    for task in ("sampled-occluded", "hybrid", "inpainted"):
        assert capture("export", split, tmp_path, "--task", task) == 2
