"""Counters from config files, and categories counted as one."""

import numpy as np
import pytest

from autoeval.counting.counters.build import load_counter
from autoeval.counting.counters.mmdet import DetectorCounter, MergedCategories
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError

MODULE = """
class Fixed:
    capabilities = frozenset({"count"})
    fingerprint = "f1"
    def __init__(self, value, *, name="fixed"):
        self.value, self.name = value, name
    def count(self, image, prompt, context=None):
        return self.value
def nothing():
    return 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "my_counters.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def write(folder, text):
    (folder / "counter.py").write_text(text)
    return folder / "counter.py"


def test_any_importable_counter(module):
    path = write(module, "counter = dict(type='my_counters.Fixed', value=3)")
    counter, settings = load_counter(path, {"counter.value": 4})
    assert (counter.value, counter.name) == (4, "fixed")
    assert settings == {"counter": {"type": "my_counters.Fixed", "value": 4}, "fingerprint": "f1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "describes no counter"),
        ("x = 1", "has 'x', which is not read. .* some of counter"),
        ("counter = dict(value=3)", "describes no counter"),
        ("counter = dict(type='my_counters.Missing')", "cannot import the counter"),
        ("counter = dict(type='no_such_module.X')", "cannot import the counter"),
        ("counter = dict(type='my_counters.Fixed', valu=3)", "wrong options for my_counters.Fixed"),
        (
            "counter = dict(type='my_counters.nothing')",
            "object of int, which is no counter: it lacks `name`",
        ),
        ("counter = dict(", "Cannot read the configuration file"),
        ("from os.path import join; x = join('a', 'b')", "Cannot read .*counter.py: RuntimeError"),
        ("counter = dict(type='my_counters.Fixed'); value = 4", "has 'value', which is not read"),
    ],
)
def test_wrong_configs(module, text, message):
    with pytest.raises(InputError, match=message):
        load_counter(write(module, text))


def test_a_change_of_what_is_not_the_counter_is_refused(module):
    path = write(module, "counter = dict(type='my_counters.Fixed', value=3)")
    with pytest.raises(InputError, match=r"'countr', .* 'counter'"):
        load_counter(path, {"countr.value": 4})


def test_what_mmengine_imports_for_a_config_is_no_key_of_its_counter(module):
    imports = "custom_imports = dict(imports=['my_counters'])"
    path = write(module, f"{imports}; counter = dict(type='my_counters.Fixed', value=3)")
    assert load_counter(path)[0].value == 3


def test_a_function_a_class_or_a_counter_of_a_file(tmp_path):
    (tmp_path / "helper.py").write_text("FACTOR = 2\n")
    path = tmp_path / "mine.py"
    path.write_text(
        "from helper import FACTOR\n"
        "def width(image, prompt):\n    return FACTOR * image.shape[1]\n"
        "class Fixed:\n    name, capabilities = 'seven', frozenset({'count'})\n"
        "    def count(self, image, prompt, context=None):\n        return 7\n"
        "fixed, nothing = Fixed(), 3\n"
    )
    counter, settings = load_counter(f"{path}:width")
    assert counter.name == "width" and counter.count(IMAGE, "x").count == 80
    assert settings["counter"] == "mine.py:width" and len(settings["fingerprint"]) == 64
    for name in ("Fixed", "fixed"):
        assert load_counter(f"{path}:{name}")[0].name == "seven"
    with pytest.raises(InputError, match="it lacks `name`, a text and frozenset"):
        load_counter(f"{path}:nothing")
    with pytest.raises(InputError, match="has no 'wide'; it has width, Fixed"):
        load_counter(f"{path}:wide")
    with pytest.raises(InputError, match="check the path"):
        load_counter(tmp_path / "none.py:width")
    (tmp_path / "helper.py").write_text("FACTOR = 2 + 1\n")
    counter, changed = load_counter(f"{path}:width")
    assert counter.count(IMAGE, "x").count == 120
    assert changed["fingerprint"] != settings["fingerprint"]
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Five:\n    n: int = 5\n"
        "def count(image, prompt): return Five().n\n"
    )
    assert load_counter(f"{path}:count")[0].count(IMAGE, "x").count == 5
    path.write_text("import no_such_module\n")
    with pytest.raises(InputError, match="ModuleNotFoundError"):
        load_counter(f"{path}:width")


def test_modules_beside_a_config_are_found(tmp_path):
    (tmp_path / "my_own_counters.py").write_text(MODULE)
    path = write(tmp_path, "counter = dict(type='my_own_counters.Fixed', value=3)")
    assert load_counter(path)[0].value == 3
    (tmp_path / "counts.csv").write_text("a.jpg,3\n")
    kind = "autoeval.counting.counters.adapters.FileCounter"
    path = write(tmp_path, f"counter = dict(type='{kind}', predictions='{tmp_path}/counts.csv')")
    assert load_counter(path)[0].count(IMAGE, "x", {"image_id": "a.jpg"}).count == 3


def test_each_of_two_counters_has_the_module_beside_it(tmp_path):
    counters = []
    for number, name in enumerate(("one", "two"), 1):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net_of_two.py").write_text(MODULE + f"NUMBER = {number}")
        text = "import net_of_two\ndef count(image, prompt): return net_of_two.NUMBER"
        (tmp_path / name / "mine.py").write_text(text)
        counters.append(load_counter(f"{tmp_path}/{name}/mine.py:count")[0])
    assert [counter.count(IMAGE, "dot").count for counter in counters] == [1, 2]


def test_answers_depend_on_the_counts_of_a_file_and_on_code_beside_the_config(tmp_path):
    kind, file = "autoeval.counting.counters.adapters.FileCounter", tmp_path / "counts.csv"
    path = write(tmp_path, f"counter = dict(type='{kind}', predictions='{file}')")
    settings = []
    for text in ("a,3\nb,4\n", "b,4\na,3\n", "a,3\nb,5\n"):
        file.write_text(text)
        settings.append(load_counter(path)[1])
    assert settings[0] == settings[1] != settings[2]
    code = MODULE.replace('    fingerprint = "f1"\n', "")
    path = write(tmp_path, "counter = dict(type='counters_of_mine.Fixed', value=3)")
    settings = []
    for more in ("", "", "# changed\n"):
        (tmp_path / "counters_of_mine.py").write_text(code + more)
        settings.append(load_counter(path)[1])
    assert settings[0] == settings[1] != settings[2] and len(settings[0]["fingerprint"]) == 64
    (tmp_path / "counters_of_mine.py").write_text("import parts_of_mine\n" + code)
    for more in ("", "# changed\n"):
        (tmp_path / "parts_of_mine.py").write_text(more)
        settings.append(load_counter(path)[1])
    assert len({setting["fingerprint"] for setting in settings[2:]}) == 3


class Detector:
    """Boxes an object as a car (.9) and a truck (.8), another as a bus, and a person on both."""

    categories = ("person", "car", "bus", "truck")
    fingerprint = "abc"

    def __init__(self):
        self.settings = {"weights": "w"}

    def observe(self, images, image_ids):
        boxes = np.array(
            [[0, 0, 10, 10], [0, 0, 10, 9], [20, 0, 30, 10], [0, 0, 10, 10], [4, 0, 14, 10]]
        )
        scores, labels = np.array([0.9, 0.8, 0.7, 0.6, 0.5]), np.array([1, 3, 2, 0, 1])
        return [Evidence(i, (40, 40), Detections(boxes, scores, labels)) for i in image_ids]


IMAGE = np.zeros((40, 40, 3), np.uint8)
MAPPING = {"car": "vehicle", "bus": "vehicle", "truck": "vehicle"}


def test_an_object_that_is_car_and_truck_counts_once():
    """Car and truck overlap by .9 and are one; the second car overlaps by 60 / 140 and stays."""
    merged = MergedCategories(Detector.categories, MAPPING)
    assert merged.categories == ("person", "vehicle")
    counter = DetectorCounter(Detector(), score_thr=0.3, merged=merged)
    vehicles, people = counter.count_prompts(IMAGE, ["vehicles", "person"])
    assert vehicles.scores.tolist() == pytest.approx([0.9, 0.7, 0.5])
    assert people.count == 1, "a person on a vehicle is no duplicate of it"


def test_boxes_that_are_merged_count_for_the_limit_of_the_detector():
    """It gave five boxes of at most five, though four are left of them."""
    detector = Detector()
    detector.settings["test_cfg.max_per_img"] = 5
    merged = MergedCategories(Detector.categories, MAPPING)
    with pytest.warns(UserWarning, match="max_per_img = 5"):
        result = DetectorCounter(detector, merged=merged).count(IMAGE, "vehicle")
    assert result.count == 3 and len(result.warnings) == 1


def test_categories_to_merge_are_those_of_the_detector():
    with pytest.raises(InputError, match="it has no lorry"):
        MergedCategories(Detector.categories, {"lorry": "vehicle"})
    # Overlaps that the detector itself left alone are its own affair.
    merged = MergedCategories(Detector.categories, {"person": "human"}, iou_thr=0.1)
    [evidence] = Detector().observe([IMAGE], ["x"])
    assert len(merged.of(evidence.clean)) == 5
