"""Answers beside the truth: measures by hand, and answer files with something wrong in them."""

import json

import numpy as np
import pandas as pd
import pytest

from autoeval.counting.capture.results import (
    by_factor,
    collect,
    confusion,
    group_rows,
    measure,
    model_difference,
    paired_difference,
    published_table,
    read_answers,
    reliability,
)
from autoeval.counting.capture.run_page import (
    capture_page,
    confusion_chart,
    factor_chart,
    reliability_chart,
)
from autoeval.counting.capture.split import CaptureSplit, to_items
from autoeval.counting.capture.task_run import get_task
from autoeval.counting.lmms_eval_tasks import process_choice, process_count, process_hidden
from autoeval.counting.measures.count_errors import smape
from autoeval.counting.praco.evaluation_page import confusion_chart as praco_confusion_chart
from autoeval.counting.praco.evaluation_page import drift_chart
from autoeval.errors import InputError

NAMES = ("a.png", "b.png", "c.png", "d.png")
TRUTH = (6, 8, 10, 10)
HIDDEN = (1, 1, 2, 3)
SHAPES = ("circle", "circle", "rectangle", "triangle")


@pytest.fixture
def split(tmp_path):
    names = ("image_file", "ground_truth", "shape", "num_occluded")
    rows = zip(NAMES, TRUTH, SHAPES, HIDDEN, strict=True)
    of_all = {"dot_shape": "circle", "positions": [[10, 10]]}
    records = [dict(zip(names, row, strict=True)) | of_all for row in rows]
    return CaptureSplit(tmp_path, tuple(to_items(records)))


def row(name, value, status="ok", task="total-occluded", **more):
    return {"image_file": name, "task": task, "value": value, "status": status, **more}


ROWS = [row("a.png", 6), row("b.png", 12), row("c.png", None, "skipped"), row("d.png", 15)]


def result_of(split, rows, task="total-occluded", model="m"):
    return collect(split, get_task(task), model, rows)


def test_measures_and_errors_by_factor_by_hand(split):
    found = measure(result_of(split, ROWS))
    # Relative errors 0, 4/20, 1 (skipped) and 5/25; absolute ones 0, 4 and 5.
    assert found["sMAPE"] == pytest.approx(100 * (0 + 0.2 + 1 + 0.2) / 4)
    assert found["MAE"] == 3 and found["exact %"] == 25 and found["skipped %"] == 25
    assert found["low"] < found["sMAPE"] < found["high"] and found["missing"] == 0
    result = result_of(split, ROWS)
    by_shape = by_factor(result, "shape").set_index("shape")
    expected = pytest.approx({"circle": 10, "rectangle": 100, "triangle": 20})
    assert by_shape["sMAPE"].to_dict() == expected
    assert by_factor(result, "num_occluded")["n"].tolist() == [2, 1, 1]
    assert by_factor(result, "ground_truth")["sMAPE"].tolist() == pytest.approx([0, 20, 60])
    table = confusion(result_of(split, ROWS))
    assert table.index.tolist() == [6, 8, 10]
    assert table.columns.tolist() == [6, 8, 10, 12, 15, "none"]
    assert table.loc[10].tolist() == [0, 0, 0, 0, 1, 1] and table.loc[8, 12] == 1
    assert confusion(result_of(split, ROWS), most=9).columns.tolist() == [6, 8, "> 9", "none"]


def test_paired_difference_by_hand(split):
    values = zip(NAMES, (6, 8, 10, 15), strict=True)
    rows = [row(n, v, task="total-original") for n, v in values]
    original = result_of(split, rows, "total-original")
    found = paired_difference(original, result_of(split, ROWS))
    assert found["original"] == pytest.approx(5) and found["occluded"] == pytest.approx(35)
    assert found["difference"] == pytest.approx(30) and found["n"] == 4
    same = paired_difference(original, original)
    assert (same["difference"], same["low"], same["high"]) == (0, 0, 0)


def test_sampled_and_stated_confidence_by_hand(split):
    values = [7, 7, 7, 8, None]
    answers = [(v, "ok" if v else "skipped", "sampled-occluded") for v in values]
    rows = [row("a.png", *answer, sample=k) for k, answer in enumerate(answers)]
    frame = result_of(split, rows, "sampled-occluded").frame.set_index("image_file")
    assert frame.loc["a.png", "value"] == 7 and frame.loc["a.png", "confidence"] == 3 / 5
    warnings = result_of(split, rows, "sampled-occluded").warnings
    assert any("1 items with fewer than 20 samples: a.png" in text for text in warnings)
    values = zip(NAMES, (6, 8, 10, 30), (1.0, 0.96, 0.31, 0.35), strict=True)
    rows = [row(n, v, task="confidence-occluded", confidence=c) for n, v, c in values]
    table = reliability(result_of(split, rows, "confidence-occluded"))
    assert table["n"].tolist() == [2, 2]
    assert table["confidence"].tolist() == pytest.approx([0.33, 0.98])
    assert table["sMAPE"].tolist() == pytest.approx([25, 0])  # 0 and 20/40
    assert reliability(result_of(split, ROWS)).empty


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_of_equally_common_answers_that_of_the_first_sample_is_the_value(split, order):
    values = [8, 7, 7, 8]
    rows = [row("a.png", values[k], task="sampled-occluded", sample=k) for k in order]
    frame = result_of(split, rows, "sampled-occluded").frame.set_index("image_file")
    assert frame.loc["a.png", "value"] == 8 and frame.loc["a.png", "confidence"] == 0.5


def test_answers_about_another_box_and_texts_that_were_read_again(split):
    box = split.items[0].box
    own = None if box is None else box.tolist()
    rows = [
        row("a.png", 9, key="old", box=own),
        row("a.png", 7, key="old", box=own),  # read again by other rules
        row("a.png", 4, key="other", box=[1, 2, 3, 4]),
        row("b.png", 5),
    ]
    result = result_of(split, rows)
    values = result.frame.set_index("image_file")["value"]
    assert values["a.png"] == 7 and values["b.png"] == 5
    assert not any("more than once" in text for text in result.warnings)
    assert any("1 answers" in text and "a.png" in text for text in result.warnings)


def test_an_answer_about_an_image_that_changed_since_does_not_stand(split):
    """A question is asked again under its key where the image changed; here that failed."""
    failed = row("a.png", None, "failed: HTTP 500", key="k")
    result = result_of(split, [row("a.png", 6, key="k"), *ROWS[1:], failed])
    assert result.frame["status"].tolist() == ["failed", "ok", "skipped", "ok"]
    assert measure(result)["missing"] == 1
    other = result_of(split, [row("a.png", 6, key="k"), *ROWS[1:], {**failed, "key": "other"}])
    assert other.frame["status"].tolist() == ["ok", "ok", "skipped", "ok"]


def test_patterns_are_measured_by_accuracy(split):
    answers = ("circle", "rectangle", None, "triangle")
    given = zip(NAMES, answers, strict=True)
    rows = [row(n, v, "ok" if v else "skipped", "pattern-occluded") for n, v in given]
    result = result_of(split, rows, "pattern-occluded")
    assert measure(result)["accuracy"] == 50 and "sMAPE" not in measure(result)
    table = confusion(result)
    assert table.loc["circle", ["circle", "rectangle"]].tolist() == [1, 1]
    assert table.loc["rectangle", "none"] == 1


def test_missing_failed_repeated_and_unknown_answers_are_named(split):
    rows = [
        row("a.png", 5),
        row("a.png", 6),
        row("b.png", None, "failed: EndpointError: gave up"),
        row("c.png", 10),
        row("c.png", None, "failed: later"),
        row("z.png", 3),
    ]
    result = result_of(split, rows)
    assert result.warnings == (
        "1 items answered more than once, the last counts: a.png",
        "1 images are not in this task of the split: z.png",
        "1 of 4 items missing: d.png",
        "1 of 4 items failed: b.png",
    )
    frame = result.frame.set_index("image_file")
    assert frame["status"].tolist() == ["ok", "failed", "ok", "missing"]
    assert frame.loc["a.png", "value"] == 6 and frame.loc["c.png", "value"] == 10
    # Missing and failed items score as skipped ones.
    assert measure(result)["sMAPE"] == 50 and measure(result)["missing"] == 2
    found = measure(result_of(split, []))
    assert found["sMAPE"] == 100 and np.isnan(found["MAE"]) and found["missing"] == 4
    rows = [row("a.png", None, "failed: x"), row("a.png", 6)]
    assert not any("more than once" in text for text in result_of(split, rows).warnings)


def test_json_of_the_authors_scripts_is_read(split, tmp_path):
    path = tmp_path / "qwen2_syn_results.json"
    records = [
        {"image_file": "a.png", "answer": "six", "results": 6},
        {"image_file": "b.png", "results": 5, "processed_results": 8},
        {"image_file": "c.png", "results": -1},
    ]
    path.write_text(json.dumps(records), encoding="utf-8-sig")
    (((model, task), rows),) = group_rows(read_answers(path)).items()
    assert (model, task) == ("qwen2_syn_results", "total-occluded")
    frame = result_of(split, rows).frame
    assert frame["status"].tolist() == ["ok", "ok", "skipped", "missing"]
    assert frame["value"].tolist()[:2] == [6, 8]


@pytest.mark.parametrize("blank", ["None", "nan", ""])
def test_a_missing_number_is_skipped_in_a_list_as_in_a_table(split, tmp_path, blank):
    """`None` was the number 0 in a list, and a pattern of that name."""
    records = [{"image_file": "a.png", "results": blank}]
    (tmp_path / "m.json").write_text(json.dumps(records))
    (tmp_path / "m.csv").write_text(f"image,count\na.png,{blank}\n")
    for name in ("m.json", "m.csv"):
        assert result_of(split, read_answers(tmp_path / name)).frame["status"].iloc[0] == "skipped"
    rows = read_answers(tmp_path / "m.json", task="pattern-original")
    assert result_of(split, rows, "pattern-original").frame["status"].iloc[0] == "skipped"


@pytest.mark.parametrize("name", ["mine.csv", "mine.tsv", "mine.txt"])
def test_a_table_is_read_whatever_its_ending_and_separator(split, tmp_path, name):
    (tmp_path / name).write_text("count\timage\n6\tx/a\n\tx/b\n-1\tx/c\n")
    frame = result_of(split, read_answers(tmp_path / name)).frame
    assert frame["status"].tolist() == ["ok", "skipped", "skipped", "missing"]
    assert frame["value"].iloc[0] == 6


FIELDS = '{"image_file": "a.png", "task": "total-occluded", "status": "ok", "value": 1, '
BROKEN = [
    ("a.json", "{"),
    ("a.json", "[1]"),
    ("a.jsonl", '{"image_file": "a"}'),
    ("a.jsonl", "x"),
    ("a.jsonl", FIELDS + '"sample": "x"}'),
    ("a.jsonl", FIELDS + '"confidence": "sure"}'),
    ("a.jsonl", FIELDS + '"sample": 1' + "0" * 500 + "e5}"),
]


@pytest.mark.parametrize(("name", "content"), BROKEN)
def test_broken_answer_files_are_refused(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match="does not hold answers"):
        read_answers(tmp_path / name)
    with pytest.raises(InputError, match="No answers at"):
        read_answers(tmp_path / "absent.json")


def test_the_report_shows_models_problems_and_charts(split, tmp_path):
    results = [
        result_of(split, ROWS[:3], model="<b>m</b>"),
        result_of(split, [], "pattern-occluded", "other"),
    ]
    page = capture_page(split, results)
    text = page.render()
    assert "&lt;b&gt;m&lt;/b&gt;" in text and "<b>m</b>" not in text
    assert "1 of 4 items missing: d.png" in text and "http" not in text.split("</style>")[0]
    written = page.write_all(tmp_path / "out")
    names = {path.relative_to(tmp_path / "out").as_posix() for path in written}
    tables = ("measures", "published", "items", "total-occluded_by_shape")
    assert {"report.html", *(f"{name}.csv" for name in tables)} < names
    assert {f"figures/total-occluded_by_shape.{suffix}" for suffix in ("png", "svg")} < names
    confusion_file = tmp_path / "out" / "total-occluded_confusion__b_m_b_.csv"
    assert pd.read_csv(confusion_file, index_col="truth").loc[8, "12"] == 1
    items = pd.read_csv(tmp_path / "out/items.csv")
    assert len(items) == 8 and items["status"].tolist().count("missing") == 5


def test_charts_are_drawn_for_one_and_for_several_models(split):
    tables = [by_factor(result_of(split, ROWS), "num_occluded")] * 2
    assert tables[0]["n"].tolist() == [2, 1, 1]  # a single item has no interval
    assert tables[0]["low"].isna().tolist() == [False, True, True]
    factor_chart(tables[:1], "num_occluded").canvas.draw()
    (axes,) = factor_chart(tables, "num_occluded").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1\n2", "2\n1", "3\n1"]
    (axes,) = confusion_chart(confusion(result_of(split, ROWS))).axes
    assert [text.get_text() for text in axes.texts] == ["1"] * 4
    rows = [row(n, 8, task="confidence-occluded", confidence=0.7) for n in NAMES]
    (axes,) = reliability_chart([reliability(result_of(split, rows, "confidence-occluded"))]).axes
    assert axes.texts[0].get_text() == "4"


def test_harness_scores_are_the_measures(split):
    answers = ["6", "There are 12.", "I cannot tell.", "a total of 15"]
    docs = [{"target": str(item.ground_truth)} for item in split.items]
    items = [process_count(doc, [text]) for doc, text in zip(docs, answers, strict=True)]
    mean = pd.DataFrame(items).mean()
    found = measure(result_of(split, ROWS))
    assert mean["smape"] == pytest.approx(found["sMAPE"])
    assert 100 * mean["exact"] == found["exact %"] and 100 * mean["skipped"] == found["skipped %"]
    assert process_count({"target": "0"}, ["0"])["smape"] == smape([0], [0]) == 0
    of_hidden = process_hidden({"target": "3"}, ["12 in total. 9 are visible, so 3 are hidden."])
    assert of_hidden == {"smape": 0, "exact": 1, "skipped": 0}
    doc = {"target": "circle", "choices": "rectangle, triangle, circle"}
    assert process_choice(doc, ["A ring."]) == {"exact": 1.0, "skipped": 0.0}


def test_published_figures_are_those_of_the_paper():
    table = published_table("real").set_index("model")
    assert table.loc["GPT-4o"].tolist() == [13.34, 14.75]
    # Table 2 prints the averages over the four models.
    for split_name, expected in (("real", (21.09, 27.37)), ("synthetic", (9.34, 14.19))):
        means = published_table(split_name).iloc[1:, 1:].astype(float).mean()
        assert means.tolist() == pytest.approx(expected, abs=0.01)


def of_list(split, path, values, **more):
    records = [{"image_file": n, "results": v, **more} for n, v in zip(NAMES, values, strict=True)]
    path.write_text(json.dumps(records))
    return result_of(split, read_answers(path))


def test_values_that_are_no_numbers(split, tmp_path):
    """A count in words is read; what is no count is a skipped answer, and named."""
    result = of_list(split, tmp_path / "m.json", ["six", 10**400, "I cannot tell", [9]])
    assert result.frame["value"].tolist()[0] == 6 and result.frame["value"].isna().sum() == 3
    assert measure(result)["sMAPE"] == 75 and measure(result)["skipped %"] == 75
    assert "3 values are no count and taken as skipped: b.png, c.png, d.png" in result.warnings


def test_a_contradicting_true_count_is_reported(split, tmp_path):
    result = of_list(split, tmp_path / "m.json", [6, 8, 10, 10], ground_truth=10)
    [warning] = result.warnings
    assert "2 answers state another true count than the split" in warning
    assert "a.png (10, here 6), b.png (10, here 8)" in warning
    assert measure(result)["sMAPE"] == 0, "the split's counts are used"


def test_models_are_compared_on_the_same_items(split):
    a = result_of(split, ROWS, model="a")
    rows = [row(n, v) for n, v in zip(NAMES, (6, 8, 10, 10), strict=True)]
    b = result_of(split, rows, model="b")
    found = model_difference(a, b)
    # a scores 0, 20, 100 and 20; b is right throughout.
    assert (found["of A"], found["of B"], found["difference"]) == (pytest.approx(35), 0, 35)
    assert found["n"] == 4 and found["low"] <= 35 <= found["high"]
    assert found["better"] == ("b" if found["low"] > 0 else "")
    assert model_difference(b, b)["difference"] == 0 and model_difference(b, b)["better"] == ""
    task = "pattern-occluded"
    right, circles = (
        result_of(
            split, [row(i.image_file, shape or i.shape, task=task) for i in split.items], task
        )
        for shape in (None, "circle")
    )
    found = model_difference(right, circles)
    assert (found["measure"], found["of A"], found["of B"]) == ("accuracy", 100, 50)


@pytest.mark.parametrize("name", ["_gpt", "a$b_{$c"])
def test_any_name_of_a_model_or_class_is_drawn(name):
    """No legend leaves it out, and none is read as a formula."""
    steps = pd.DataFrame({"model": [name], "confidence": [0.5], "sMAPE": [3.0], "n": [1]})
    factors = pd.DataFrame({"model": [name], "shape": ["x"], "sMAPE": [3.0], "n": [1]})
    factors = factors.assign(low=2.0, high=4.0)
    for figure in (reliability_chart([steps]), factor_chart([factors], "shape")):
        figure.draw_without_rendering()
        assert len(figure.axes[0].get_legend().get_texts()) == 1
    praco_confusion_chart(pd.DataFrame([[1.0]], [name], [name])).draw_without_rendering()
    drift_chart({name: np.array([0.1, 0.2])}).draw_without_rendering()
