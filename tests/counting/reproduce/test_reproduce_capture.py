"""CAPTURe's tables, from a hand-made split and from the released metadata."""

import json

import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.runtime.files import read_paper

POSITIONS = [[50.0, 100.0], [100.0, 100.0], [150.0, 100.0]]


def item(name, n, occluded, shape="circle"):
    record = {"image_file": name, "ground_truth": n, "shape": shape, "offset": [0, 0]}
    return {**record, "color": "red", "num_occluded": occluded, "dot_shape": "square"} | {
        "positions": POSITIONS
    }


@pytest.fixture
def root(tmp_path):
    """Two synthetic items; the answers of two models in either form."""
    items = [item("a.png", 5, 1), item("b.png", 10, 3, "triangle")]
    (tmp_path / "synthetic_metadata.json").write_text(json.dumps(items))
    folder = tmp_path / "answers" / "synthetic"
    (folder / "total-occluded").mkdir(parents=True)
    given = [{"image_file": "a.png", "results": 3}, {"image_file": "b.png", "results": -1}]
    (folder / "total-occluded" / "Qwen2-VL.json").write_text(json.dumps(given))
    rows = [
        {"image_file": "a.png", "task": "pattern-original", "model": "molmo", "value": "circle"},
        {"image_file": "b.png", "task": "pattern-original", "model": "molmo", "value": "circle"},
    ]
    text = "\n".join(json.dumps({**row, "status": "ok"}) for row in rows)
    (folder / "molmo.jsonl").write_text(text)
    return tmp_path


def reproduce(root, *words):
    given = ["--data-root", root, "--predictions", root / "answers", "--work-dir", root / "out"]
    assert main(["reproduce", "capture", *map(str, given), *words]) == 0


def figures(root, table):
    frame = pd.read_csv(root / "out" / f"table_{table}.csv")
    return frame.set_index([frame.columns[0], "column"])


def test_answers_in_either_form(root, capsys):
    reproduce(root)
    shown = capsys.readouterr().out
    # |5 - 3| / 8 is a quarter; a skipped answer scores 100.
    rows = figures(root, 2)
    cell = rows.loc[("Qwen2VL", "synthetic, occluded")]
    assert cell["own"] == pytest.approx((25 + 100) / 2) and cell["printed"] == 11.74
    assert figures(root, 4).loc[("Molmo", "original"), "own"] == 50
    assert "2 synthetic items (1150 in print)" in shown
    assert "table 2: real: no real_metadata.json" in shown
    assert "table 2: synthetic: no answers for synthetic, original" in shown
    assert "Ask with autoeval count capture run" in shown


def write_answers(path, *values):
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ["a.png", "b.png"]
    rows = [{"image_file": n, "results": v} for n, v in zip(names, values, strict=True)]
    path.write_text(json.dumps(rows))


def test_the_files_of_the_authors_scripts(root):
    """Folders and names as their scripts write them, anywhere below --predictions."""
    scripts = root / "answers" / "CAPTURe"
    write_answers(scripts / "occluded_scripts/occ_results/gpt_syn_results.json", 3, 10)
    write_answers(scripts / "unoccluded_scripts/unocc_results/gpt_syn_results.json", 5, -1)
    write_answers(scripts / "occluded_scripts/occ_results/intern_syn_results.json", 5, 10)
    write_answers(scripts / "occluded_scripts/occ_results/gpt_real_results.json", 1, 1)
    reproduce(root, "--table", "2")
    rows = figures(root, 2)["own"]
    # |5 - 3| / 8 of one of two; a skipped answer of two.
    assert rows["GPT-4o", "synthetic, occluded"] == pytest.approx(25 / 2)
    assert rows["GPT-4o", "synthetic, original"] == pytest.approx(100 / 2)
    assert rows["GPT-4o", "synthetic, Δ"] == pytest.approx(12.5 - 50)
    assert rows["InternVL2", "synthetic, occluded"] == 0
    assert pd.isna(rows["InternVL2", "synthetic, Δ"])
    assert pd.isna(rows["GPT-4o", "real, occluded"]), "the real split is not there"


def test_of_two_names_for_one_model_in_print_the_first_is_compared_and_the_other_named(
    root, capsys
):
    write_answers(root / "answers/occ_results/qwen2_syn_results.json", 5, 10)
    reproduce(root, "--table", "2")
    own = figures(root, 2)["own"]["Qwen2VL", "synthetic, occluded"]
    assert own == pytest.approx((25 + 100) / 2)
    assert "answers of Qwen2VL left out, Qwen2-VL read" in capsys.readouterr().out


def test_average_of_all_models(root):
    for model, value in (("gpt", 3), ("intern", 5), ("molmo", 5), ("qwen2", 15)):
        write_answers(root / f"answers/occ_results/{model}_syn_results.json", value, 10)
    (root / "answers/synthetic/total-occluded/Qwen2-VL.json").unlink()
    reproduce(root, "--table", "2", "6")
    # Errors of 25, 0, 0 and 50 % on one of two items.
    assert figures(root, 2).loc[("Avg. of 4 VLMs", "synthetic, occluded"), "own"] == 75 / 2 / 4
    assert figures(root, 6).loc[("Avg. of 4 VLMs", "synthetic, occluded"), "own"] == 75 / 2 / 4


def test_answers_with_a_back_off_are_those_of_table_6(root):
    row = {"task": "total-original", "model": "molmo", "status": "ok"}
    given = {"plain": [(None, 5), (None, 20)], "backoff": [(1.0, 5), (0.4, 10)]}
    for folder, answers in given.items():
        lines = [
            json.dumps({**row, "image_file": name, "temperature": t, "value": value})
            for name, (t, value) in zip(["a.png", "b.png"], answers, strict=True)
        ]
        path = root / "answers" / "synthetic" / folder / "total-original.jsonl"
        path.parent.mkdir()
        path.write_text("\n".join(lines))
    reproduce(root, "--table", "2", "6")
    own = figures(root, 6)["own"]
    assert own["Molmo", "synthetic, original"] == pytest.approx(100 / 3 / 2)
    assert own["Molmo", "synthetic, original, back-off"] == 0
    assert own["Molmo", "synthetic, original, Δ"] == pytest.approx(-100 / 3 / 2)
    assert figures(root, 2).loc[("Molmo", "synthetic, original"), "own"] == pytest.approx(100 / 6)


def test_a_question_that_failed_is_of_the_run_of_its_file(root):
    """One failed request of a run with a back-off made a run without one, of 100 % in Table 2."""
    row = {"task": "total-original", "model": "molmo", "image_file": "a.png"}
    failed = {**row, "status": "failed: HTTP 500", "value": None}
    given = {**row, "status": "ok", "temperature": 1.0, "value": 5}
    lines = map(json.dumps, [failed, given, {**given, "image_file": "b.png", "value": 10}])
    (root / "answers" / "synthetic" / "total-original.jsonl").write_text("\n".join(lines))
    reproduce(root, "--table", "2", "6")
    own = figures(root, 6)["own"]
    assert own["Molmo", "synthetic, original, back-off"] == 0
    assert pd.isna(own["Molmo", "synthetic, original"])
    assert pd.isna(figures(root, 2).loc[("Molmo", "synthetic, original"), "own"])


@pytest.mark.parametrize("name", "234567")
def test_printed_differences_and_averages_are_those_of_the_printed_rows(name):
    """Within two hundredths: print rounds after averaging and subtracting."""
    entry = read_paper("capture", [name])[0][name]
    rows = {
        model: dict(zip(entry["columns"], values, strict=True))
        for model, values in entry["rows"].items()
    }
    for row in rows.values():
        for column, (minuend, subtrahend) in entry.get("differences", {}).items():
            assert row[column] == pytest.approx(row[minuend] - row[subtrahend], abs=0.0101)
    for column in entry["columns"]:
        mean = sum(rows[model][column] for model in entry["averaged"]) / len(entry["averaged"])
        assert rows[entry["average"]][column] == pytest.approx(mean, abs=0.0201)


def test_points_and_test_images_of_fsc147(root, capsys):
    """The box hides two of three points of 7.jpg; 8.jpg is not in the annotations."""
    box = {"x": 10, "y": 10, "width": 20, "height": 20}
    records = [
        {"image_file": f"{k}.jpg", "ground_truth": 3, "object": "cups", "bbox": box} for k in (7, 8)
    ]
    (root / "real_metadata.json").write_text(json.dumps(records))
    points = {"7.jpg": {"points": [[12, 12], [30, 30], [31, 12]]}}
    (root / "annotation_FSC147_384.json").write_text(json.dumps(points))
    splits = {"train": ["8.jpg"], "val": [], "test": ["7.jpg", "9.jpg"]}
    (root / "Train_Test_Val_FSC_147.json").write_text(json.dumps(splits))
    reproduce(root, "--table", "1")
    rows = figures(root, 1)
    assert rows.loc[("occluded objects, mean", "real"), "own"] == 2
    assert rows.loc[("occluded objects, mean", "real"), "printed"] == 13.97
    assert rows.loc[("images of FSC-147's test split", "real"), "own"] == 1
    assert rows.loc[("images of FSC-147's test split", "real"), "printed"] == 149
    shown = capsys.readouterr().out
    assert "8.jpg: not in the annotations" in shown and "1 (8.jpg)" in shown


def test_figures_and_statistics_by_hand(root, capsys):
    reproduce(root, "--figure", "3", "4")
    table = pd.read_csv(root / "out" / "figure_4.csv").set_index("occluded objects")["images"]
    assert (table["1"], table["3"], table.sum()) == (1, 1, 2)
    shown = capsys.readouterr().out
    assert "100.0 % of 2 images have 1 to 6 occluded objects" in shown
    assert "figure 3: no objects of real items" in shown
    assert not (root / "out" / "table_1.csv").exists()
    reproduce(root, "--table", "1")
    own = figures(root, 1)["own"]
    assert own["images", "synthetic"] == 2 and own["object types", "synthetic"] == 1
    assert own["occluded objects, mean", "synthetic"] == 2
    assert own["objects, mean", "synthetic"] == 7.5
    assert pd.isna(own["images", "real"])
    assert "0 of 924 real images, 2 of 1250 synthetic images" in capsys.readouterr().out


def test_statistics_and_figures_of_the_released_metadata(shared, tmp_path):
    golden = shared / "golden" / "capture"
    words = ["--data-root", str(golden), "--work-dir", str(tmp_path / "out")]
    assert main(["reproduce", "capture", "--table", "1", *words]) == 0
    rows = figures(tmp_path, 1)
    cell = rows.loc[("occluded objects, mean", "synthetic")]
    assert bool(cell["same"]) and cell["printed"] == 2.73
    assert rows.loc[("images", "real"), "own"] == 100
    assert main(["reproduce", "capture", "--figure", "3", "4", *words]) == 0
    records = json.loads((golden / "synthetic_metadata.json").read_text())
    hidden = [record["num_occluded"] for record in records]
    table = pd.read_csv(tmp_path / "out" / "figure_4.csv")
    assert table["images"].tolist() == [hidden.count(k) for k in range(16)]
    # "Generally 1 to 6", and 15 objects at most.
    assert sum(1 <= n <= 6 for n in hidden) > 0.95 * len(hidden)
    assert max(record["ground_truth"] for record in records) == 15
    table = pd.read_csv(tmp_path / "out" / "figure_3.csv").set_index("objects")["images"]
    records = json.loads((golden / "real_validation_metadata.json").read_text())
    totals = [record["ground_truth"] for record in records]
    assert table.sum() == 100 and table["100 or more"] == sum(n >= 100 for n in totals)
    assert table[["0 to 9", "10 to 19", "20 to 29"]].sum() == sum(n < 30 for n in totals)
