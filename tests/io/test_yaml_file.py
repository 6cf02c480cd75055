"""YAML files of other programs, in which nothing can fill the memory, and names in JSON."""

import json

import pytest

from autoeval.detectors.detector_spec import read_classes
from autoeval.errors import InputError
from autoeval.io.labels.yolo import find_names
from autoeval.io.predictions.category_words import read_names

READERS = [read_names, lambda path: find_names(path.parent)]


def bomb(levels=9, width=9):
    """Lists of lists by alias: the last stands for 9 ** 9 words."""
    lines = ["a0: &a0 [lol]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * width)}]" for k in range(1, levels)]
    return "\n".join([*lines, f"names: [{', '.join([f'*a{levels - 1}'] * width)}]"])


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(), "more than 20 aliases"),
        ("names: [" + "a, " * 400_000 + "]", "expected a YAML file of 1,048,576 at most"),
        ("names: [car", "is not a YAML file"),
        ("names: [car, [bus, van]]", "word"),
        ("names: {0: car, 1: {a: b}}", "word"),
    ],
)
def test_what_is_no_list_of_names_is_refused(read, text, message, tmp_path):
    (tmp_path / "data.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "data.yaml")


@pytest.mark.parametrize(
    "content",
    [
        {"0": "car", "1": "bus"},
        ["car", "bus"],
        {"names": ["car", "bus"]},
        {"names": {"1": "bus", "0": "car"}},
    ],
)
def test_names_may_be_json(tmp_path, content):
    (tmp_path / "names.json").write_text(json.dumps(content, indent=2))
    assert read_names(tmp_path / "names.json") == {"0": "car", "1": "bus"}


@pytest.mark.parametrize(
    ("name", "text"), [("data.YAML", "names: [car, bus]\n"), ("names.JSON", '["car", "bus"]')]
)
def test_what_a_file_of_names_is_does_not_depend_on_the_case_of_its_ending(tmp_path, name, text):
    """Its lines were taken for words."""
    (tmp_path / name).write_text(text)
    assert read_names(tmp_path / name) == {"0": "car", "1": "bus"}
    assert read_classes(tmp_path / name) == ("car", "bus")


def test_json_that_is_no_list_of_names_is_refused(tmp_path):
    (tmp_path / "coco.json").write_text(json.dumps({"images": [], "categories": [{"id": 1}]}))
    with pytest.raises(InputError, match="word for each number, not for images, categories"):
        read_names(tmp_path / "coco.json")


def test_a_few_aliases_are_read(tmp_path):
    (tmp_path / "data.yaml").write_text("known: &known [car, bus]\nnames: *known\n")
    assert read_names(tmp_path / "data.yaml") == {"0": "car", "1": "bus"}
