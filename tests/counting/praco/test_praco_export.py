"""PrACo as a task of lmms-eval: its files, and measures equal to those of `count praco`."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml

from autoeval.cli import main
from autoeval.counting import lmms_eval_tasks as praco_task
from autoeval.counting.praco.praco_measures import negative_by_image


def export(data, out, *words):
    return main(
        ["count", "praco", "export", *map(str, ("--data", data, "--work-dir", out, *words))]
    )


def test_every_class_is_asked_for_in_every_image(fsc147, tmp_path, capsys):
    assert export(fsc147, tmp_path / "out") == 0
    shown = capsys.readouterr().out
    assert "12 questions: 4 images, 3 classes" in shown and "--tasks praco_test" in shown
    text = (tmp_path / "out" / "praco_test.yaml").read_text()
    task = yaml.safe_load(text.replace("!function ", "function "))
    metrics = {metric["metric"]: metric for metric in task["metric_list"]}
    assert list(metrics) == ["nmn", "pccn", "pccn_released", "mae", "rmse", "skipped"]
    assert metrics["pccn"]["aggregation"] == "function utils.aggregate_pccn"
    assert metrics["pccn"]["higher_is_better"] and not metrics["nmn"]["higher_is_better"]
    table = pq.read_table(task["dataset_kwargs"]["data_files"]["test"])
    notes = json.loads(table.schema.metadata[b"huggingface"])
    assert set(notes["info"]["features"]) == set(table.column_names)
    rows = table.to_pylist()
    assert [row["class"] for row in rows[:3]] == ["a", "b", "c"]
    assert [row["target"] for row in rows[3:6]] == ["0", "4", "0"], "2.jpg holds four b"
    assert "How many b are there" in rows[4]["question"]
    names = {}
    exec((tmp_path / "out" / "utils.py").read_text(), names)
    assert names["doc_to_visual"](rows[3])[0].size == (20, 31)
    assert names["doc_to_text"](rows[3], {"post_prompt": "!"}) == rows[3]["question"] + "!"
    for metric in metrics.values():
        function = metric["aggregation"].removeprefix("function utils.")
        assert function == "mean" or callable(names[function])
    assert export(fsc147, tmp_path / "out", "--question", "How many?") == 2
    assert "{} where the class goes" in capsys.readouterr().err
    assert export(fsc147, tmp_path / "out", "--limit", 2, "--question", "Count {}.") == 0
    assert "6 questions: 2 images" in capsys.readouterr().out


def test_measures_are_those_of_the_counting_benchmark():
    """Thirty images, five classes, a tenth of the answers without a number."""
    rng = np.random.default_rng(0)
    classes = list("abcde")
    truth = pd.DataFrame(
        {"category": rng.choice(classes, 30), "count": rng.integers(1, 40, 30)},
        index=[f"{k}.jpg" for k in range(30)],
    )
    values = rng.integers(0, 40, (30, 5)).astype(float)
    values[rng.random((30, 5)) < 0.1] = np.nan
    counts = pd.DataFrame(values, truth.index, classes)
    found = []
    for image, row in truth.iterrows():
        for name in classes:
            doc = {"image_id": image, "own": name == row["category"], "count": int(row["count"])}
            value = counts.loc[image, name]
            text = "I cannot say." if np.isnan(value) else f"There are {value:.0f} of them."
            found.append(praco_task.process_praco(doc, [text]))
    assert sum(answer["skipped"] for answer in found) == np.isnan(values).sum() > 5
    paper, released = (negative_by_image(counts, truth, mode) for mode in ("paper", "released"))
    error = released["error"]
    for metric, expected in {
        "nmn": released["nmn"].mean(),
        "pccn": 100 * paper["near"].mean(),
        "pccn_released": 100 * released["near"].mean(),
        "mae": error.mean(),
        "rmse": np.sqrt((error**2).mean()),
    }.items():
        aggregate = getattr(praco_task, f"aggregate_{metric}")
        assert aggregate([answer[metric] for answer in found]) == pytest.approx(expected), metric


def test_the_divisors_of_both_conventions_by_hand():
    """One image of 4, counted as 7; absent classes counted as 2 and 12: means 7 and 14 / 3."""
    answers = [
        {"image": "x", "own": own, "count": 4, "value": value}
        for own, value in ((True, 7), (False, 2), (False, 12))
    ]
    assert praco_task.aggregate_nmn(answers) == 7 / 4
    assert praco_task.aggregate_pccn_released(answers) == 0, "|7 - 4| is not below |7 - 4|"
    assert praco_task.aggregate_pccn(answers) == 0, "|7 - 4| is not below |14/3 - 4|"
    nearer = [{**a, "value": 4} if a["own"] else a for a in answers]
    assert praco_task.aggregate_pccn(nearer) == praco_task.aggregate_pccn_released(nearer) == 100
    assert np.isnan(praco_task.aggregate_mae([{**answers[1]}]))


def test_the_functions_need_the_standard_library_alone():
    code = (
        "import sys, autoeval.counting.lmms_eval_tasks; "
        "print([m for m in ('numpy', 'pandas', 'torch', 'cv2') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
