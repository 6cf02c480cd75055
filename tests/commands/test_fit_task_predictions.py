"""`fit` on the predictions of each source of a task, and `estimate` on those of new images."""

import json
import shutil
from dataclasses import replace

import pytest
from predicted_world import write_world

import autoeval
from autoeval.cli import main

TASK = """
name = "things"
categories = ["hard", "easy"]
data_root = "."
detector_mapping = {"thing 1": "easy", "thing 2": "easy", "thing 6": "hard", "thing 5": "hard"}
seed_sets = [dict(name=n, labels=n + "_labels.json") for n in ("dawn", "noon", "dusk", "night")]
"""


@pytest.fixture
def command(tmp_path):
    """Four places at which the detector is ever worse, and a new one."""
    (tmp_path / "predictions").mkdir()
    for k, name in enumerate(("dawn", "noon", "dusk", "night", "new")):
        skill = 0.9 - 0.1 * k
        _, predictions = write_world(tmp_path, name, seed=k, skill=skill, n_categories=7)
        if name != "new":
            predictions.rename(tmp_path / "predictions" / f"{name}.json")
    (tmp_path / "task.py").write_text(TASK)
    folders = ["--predictions", tmp_path / "predictions", "--work-dir", tmp_path / "work"]
    return [str(word) for word in ("fit", "--task", tmp_path / "task.py", *folders)]


def result_of(tmp_path):
    return json.loads((tmp_path / "work/result.json").read_text())


def test_sources_are_left_out_and_the_new_place_is_estimated(command, tmp_path, capsys):
    assert main([*command, "--verbose"]) == 0
    assert "Cross-validation, one group of sites held out" in capsys.readouterr().out
    result = result_of(tmp_path)
    assert result["estimate"] is None  # without new images
    names = [row["source"] for row in result["per_source"]["bayes"]]
    assert names == [
        f"{n}: {c}" for n in ("dawn", "noon", "dusk", "night") for c in ("hard", "easy")
    ]
    new = ["--predictions", str(tmp_path / "new_predictions.json")]
    new += ["--images", str(tmp_path / "new_labels.json")]
    saved = ["--estimator", str(tmp_path / "work/estimator.parquet")]
    assert main(["estimate", *saved, *new, "--work-dir", str(tmp_path / "new")]) == 0
    found = json.loads((tmp_path / "new/result.json").read_text())["estimate"]
    assert found["per_category"]["hard"]["value"] < found["per_category"]["easy"]["value"]
    assert found["n_images"] == 60


def test_named_categories_of_labels_are_those_of_a_task_of_one_source(tmp_path):
    """Labels that are joined by words, on all images, are what a task file says of one source."""
    labels, boxes = write_world(tmp_path, "dawn", seed=0, skill=0.8, n_categories=7)
    text = TASK.split("seed_sets")[0] + "seed_sets = [dict(name='dawn', labels='dawn_labels.json')]"
    (tmp_path / "task.py").write_text(text)
    (tmp_path / "predictions").mkdir()
    shutil.copy(boxes, tmp_path / "predictions/dawn.json")
    by_task = autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")
    words = {"hard": ["thing 6", "thing 5", "thing 4.5"], "easy": ["thing 1", "thing 2"]}
    fitted = autoeval.fit(labels, boxes, categories=words)
    columns = ["category", "mAP", "n_images", "n_boxes"]
    assert fitted.table_[columns].equals(by_task.table_[columns])
    warned = [of for of in fitted.fit_result_.warnings if of.code == "word-not-known"]
    assert [("thing 4.5" in of, "thing 5" in of) for of in warned] == [(True, False)]
    found = fitted.predict(boxes, images=labels)
    assert set(found.per_category) == {"hard", "easy"}


def test_a_word_of_the_detector_that_a_task_calls_another_category(tmp_path):
    """As where its bike is a motorbike: no estimate could be made, since the word stood twice."""
    labels, boxes = write_world(tmp_path, "dawn", seed=0, skill=0.8, n_categories=3)
    mapping = {"thing 0": "thing 1", "thing 1": "thing 2"}
    (tmp_path / "task.py").write_text(
        "name = 'things'; data_root = '.'; categories = ['thing 1', 'thing 2']\n"
        f"detector_mapping = {mapping}\n"
        "seed_sets = [dict(name='dawn', labels='dawn_labels.json')]"
    )
    (tmp_path / "predictions").mkdir()
    shutil.copy(boxes, tmp_path / "predictions/dawn.json")
    fitted = autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")
    assert fitted.categories_ == {"thing 1": ["thing 0"], "thing 2": ["thing 1", "thing 2"]}
    assert set(fitted.predict(boxes, images=labels).per_category) == {"thing 1", "thing 2"}


WORDS = {"thing 1": "easy", "thing 2": "easy", "thing 6": "hard", "thing 5": "hard"}


@pytest.mark.parametrize(
    ("respelt", "has_words"),
    [
        *((str, True), (str, False), (str.upper, True), (str.upper, False)),
        (lambda word: word.removeprefix("thing "), True),  # numbers, as of YOLO without names
    ],
)
def test_words_that_a_mapping_names_are_those_of_the_labels_alone(tmp_path, respelt, has_words):
    """Boxes of car were left out where labels have Car: a fit of .38 was one of .10."""
    labels, boxes = write_world(tmp_path, "dawn", seed=0, skill=0.8, n_categories=7)
    document, rows = json.loads(labels.read_text()), json.loads(boxes.read_text())
    words = {category["id"]: category["name"] for category in document["categories"]}
    if has_words:
        rows = [{**row, "category": words[row["category_id"]]} for row in rows]
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions/dawn.json").write_text(json.dumps(rows))
    usual = autoeval.fit(
        labels, boxes, categories={"hard": list(WORDS)[2:], "easy": list(WORDS)[:2]}
    )

    for category in document["categories"]:
        category["name"] = respelt(category["name"])
    labels.write_text(json.dumps(document))
    mapping = {respelt(word): name for word, name in WORDS.items()}
    numbers = {int(word) if word.isdecimal() else word: name for word, name in mapping.items()}
    seed_set = {"name": "dawn", "labels": labels.name, "mapping": numbers}
    (tmp_path / "task.py").write_text(f"{TASK}seed_sets = [{seed_set}]")
    by_task = autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")
    columns = ["category", "mAP", "n_images", "n_boxes"]
    assert by_task.table_[columns].equals(usual.table_[columns])


@pytest.mark.parametrize("has_words", [True, False])
def test_boxes_of_words_that_only_a_mapping_counts_are_named(tmp_path, has_words):
    """Their objects count, and were missed: a fit of .40 was one of .18."""
    labels, boxes = write_world(tmp_path, "dawn", seed=0, skill=0.8, n_categories=7)
    document, rows = json.loads(labels.read_text()), json.loads(boxes.read_text())
    document["categories"][2]["name"] = "other 2"
    labels.write_text(json.dumps(document))
    words = {category["id"]: category["name"] for category in document["categories"]}
    if has_words:
        rows = [{**row, "category": words[row["category_id"]]} for row in rows]
    (tmp_path / "predictions").mkdir()
    (tmp_path / "predictions/dawn.json").write_text(json.dumps(rows))
    mapping = {"other 2" if word == "thing 2" else word: name for word, name in WORDS.items()}
    seed_set = {"name": "dawn", "labels": labels.name, "mapping": mapping}
    (tmp_path / "task.py").write_text(f"{TASK}seed_sets = [{seed_set}]")
    fitted = autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")
    (warning,) = [of for of in fitted.fit_result_.warnings if of.code == "other-words"]
    assert "other 2" in warning and "thing" not in warning
    text = TASK.replace('"thing 1": "easy"', '"thing 1": "easy", "other 2": "easy"')
    (tmp_path / "task.py").write_text(f"{text}seed_sets = [{seed_set}]")
    whole = autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")
    assert "other-words" not in [of.code for of in whole.fit_result_.warnings]
    assert whole.fit_result_.value > fitted.fit_result_.value


def test_boxes_are_of_the_words_of_a_task_also_in_another_spelling(tmp_path):
    """With car in the task and Car in the boxes these were left out."""
    labels, boxes = write_world(tmp_path, "dawn", seed=0, skill=0.8, n_categories=7)
    document, rows = json.loads(labels.read_text()), json.loads(boxes.read_text())
    words = {category["id"]: category["name"] for category in document["categories"]}
    for category in document["categories"]:
        category["name"] = f"labelled {category['name']}"
    labels.write_text(json.dumps(document))
    mapping = {f"labelled {word}": name for word, name in WORDS.items()}
    seed_set = {"name": "dawn", "labels": labels.name, "mapping": mapping}
    (tmp_path / "task.py").write_text(f"{TASK}seed_sets = [{seed_set}]")
    (tmp_path / "predictions").mkdir()
    file = tmp_path / "predictions/dawn.json"
    values = []
    for word in ("thing 1", "Thing_1"):
        named = words | {k: word for k, name in words.items() if name == "thing 1"}
        file.write_text(json.dumps([{**r, "category": named[r["category_id"]]} for r in rows]))
        fitted = autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")
        values.append(fitted.table_["mAP"].tolist())
    assert values[0] == values[1]
    file.write_text("[]")
    with pytest.raises(autoeval.InputError, match="holds no box"):
        autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")


def test_references_of_a_task_may_be_in_another_format_than_the_predictions(tmp_path):
    """They were looked for under the very names of the predictions files."""
    seed_set = {"name": "dawn", "labels": "dawn_labels.json"}
    (tmp_path / "task.py").write_text(f"{TASK}seed_sets = [{seed_set}]")
    for folder, skill in (("boxes", 0.5), ("json", 0.95), ("lines", 0.95)):
        (tmp_path / folder).mkdir()
        write_world(tmp_path, "dawn", seed=0, skill=skill, n_categories=7)
        (tmp_path / "dawn_predictions.json").rename(tmp_path / folder / "dawn.json")
    rows = json.loads((tmp_path / "lines/dawn.json").read_text())
    (tmp_path / "lines/dawn.json").unlink()
    boxes = tmp_path / "boxes"
    (boxes / "no_site.json").write_text("[]")  # has no reference, and needs none

    def fit(reference):
        files = autoeval.Predictions(boxes, reference=tmp_path / reference)
        return autoeval.fit_task(tmp_path / "task.py", files).table_

    with pytest.raises(autoeval.InputError, match=r"Expected one file dawn\.json"):
        fit("lines")
    (tmp_path / "lines/dawn.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert "reference_ap" in fit("json") and fit("lines").equals(fit("json"))
    # what lies below the folder of a file of equal name is another detector's
    (tmp_path / "json/of another").mkdir()
    (tmp_path / "json/of another/dawn.json").write_text("[]")
    assert fit("json").equals(fit("lines"))


@pytest.mark.parametrize("mapping", [{}, {"thing 1": "easy", "thingy": "hard"}, {"thing 1": "x"}])
def test_a_mapping_that_does_not_fit_labels_or_task_is_refused(tmp_path, mapping):
    """With a word misspelt its objects were none, and boxes on them wrong."""
    labels, boxes = write_world(tmp_path, "dawn", seed=0, skill=0.8, n_categories=7)
    (tmp_path / "predictions").mkdir()
    boxes.rename(tmp_path / "predictions/dawn.json")
    seed_set = {"name": "dawn", "labels": labels.name, "mapping": mapping}
    (tmp_path / "task.py").write_text(f"{TASK}seed_sets = [{seed_set}]")
    with pytest.raises(autoeval.InputError, match="The mapping of"):
        autoeval.fit_task(tmp_path / "task.py", tmp_path / "predictions")


def test_so_many_images_of_a_task_are_those_that_its_labels_keep_by_hand(tmp_path):
    """All 60 were fitted on where `max_images` said 20, as it was read where a detector is run."""
    labels, boxes = write_world(tmp_path, "dawn", seed=0, skill=0.8, n_categories=7)
    (tmp_path / "predictions").mkdir()
    boxes.rename(tmp_path / "predictions/dawn.json")
    (tmp_path / "task.py").write_text(
        f"{TASK}seed_sets = [dict(name='dawn', labels={labels.name!r})]"
    )
    task = autoeval.load_task(tmp_path / "task.py")
    some = autoeval.fit_task(replace(task, max_images=20), tmp_path / "predictions")
    assert "images-thinned" in [warning.code for warning in some.fit_result_.warnings]
    with pytest.raises(autoeval.InputError, match="max_images"):
        autoeval.fit_task(replace(task, max_images=0), tmp_path / "predictions")

    document = json.loads(labels.read_text())
    document["images"] = [document["images"][round(k * 59 / 19)] for k in range(20)]
    ids = [image["id"] for image in document["images"]]
    document["annotations"] = [a for a in document["annotations"] if a["image_id"] in ids]
    labels.write_text(json.dumps(document))
    by_hand = autoeval.fit_task(task, tmp_path / "predictions")
    assert (
        some.table_.equals(by_hand.table_) and some.fit_result_.labelled_sets["n_images"][0] == 20
    )


def test_a_source_with_hardly_a_right_box_is_warned_of_and_all_such_are_refused(
    command, tmp_path, capsys
):
    """One site where a detector fails is what a fit learns from; at all of them it is a mistake."""
    for wrong in (["night"], ["dawn", "noon", "dusk"]):
        for name in wrong:
            path = tmp_path / f"predictions/{name}.json"
            boxes = json.loads(path.read_text())
            small = [
                {**box, "bbox": [*box["bbox"][:2], 4, 4], "score": min(box["score"], 0.3)}
                for box in boxes
            ]
            path.write_text(json.dumps(small))
        status = main([*command, "--verbose"])
        said = capsys.readouterr()
        if wrong == ["night"]:
            assert status == 0, said.err
            assert "night.json is right anywhere" in said.out
    assert status == 2
    assert "Hardly a box of those on dawn, noon, dusk, night is right" in said.err
    assert "mAP50 0.0%" in said.err


def test_a_task_has_its_own_categories(command, capsys):
    assert main([*command, "--category", "hard"]) == 2
    assert "--category is for --labels" in capsys.readouterr().err


def test_a_source_without_predictions(command, tmp_path, capsys):
    (tmp_path / "predictions/dusk.json").unlink()
    assert main(command) == 2
    assert "No predictions of the sites dusk" in capsys.readouterr().err


def test_a_source_by_another_detector_is_told(command, tmp_path, capsys):
    path = tmp_path / "predictions/noon.json"
    entries = [entry for entry in json.loads(path.read_text()) if entry["score"] > 0.2]
    path.write_text(json.dumps(entries))
    assert main(command) == 0
    assert "noon: its lowest score is 0.2" in capsys.readouterr().out


def test_no_folder(command, capsys):
    k = command.index("--predictions") + 1
    assert main([*command[:k], "nowhere", *command[k + 1 :]]) == 2
    assert "No predictions nowhere" in capsys.readouterr().err
