"""Tasks: seed sets and categories from configuration files."""

from __future__ import annotations

import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.io.tasks.task import ROOT_VARIABLE, Task, load_task

TASK = """
name = "traffic"
categories = ["vehicle"]
data_root = {root!r}
detector_mapping = dict(car="vehicle")
seed_sets = [
    dict(name="set", ann_file="set/annotations.json", img_dir="set/images",
         mapping=dict(car="vehicle")),
]
"""


@pytest.fixture(autouse=True)
def no_root(monkeypatch):
    monkeypatch.delenv(ROOT_VARIABLE, raising=False)


def write(tmp_path, text=None, root=None):
    path = tmp_path / "task.py"
    path.write_text(TASK.format(root=root) if text is None else text)
    return path


def test_seed_sets_are_found_under_the_data_root(make_coco, tmp_path):
    make_coco()
    task = load_task(write(tmp_path), tmp_path)
    assert task.name == "traffic" and task.categories == ("vehicle",)
    (seed_set,) = task.load_seed_sets()
    assert seed_set.name == "set" and seed_set.n_boxes == 1


def test_root_comes_from_argument_then_environment_then_file(tmp_path, monkeypatch):
    for name in ("own", "environment", "argument"):
        (tmp_path / name).mkdir()
    path = write(tmp_path, root="own")

    def root(given=None):
        return load_task(path, given).seed_sets[0].img_dir.parts[-3]

    assert root() == "own"
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "environment"))
    assert root() == "environment"
    assert root(tmp_path / "argument") == "argument"


def test_a_missing_root_says_how_to_give_it(tmp_path):
    with pytest.raises(InputError, match=rf"not given.*--data-root DIR.*{ROOT_VARIABLE}.*task\.py"):
        load_task(write(tmp_path))
    with pytest.raises(InputError, match=r"typo does not exist.*--data-root"):
        load_task(write(tmp_path), tmp_path / "typo")


SEED_SET = 'dict(name="a", ann_file="a.json", img_dir="a", mapping=dict(a="a"))'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "Cannot read"),
        ("name = 'x'", r"malformed.*categories"),
        ("name = 'x'; categories = ['a']; seed_sets = [dict(name='a')]", r"malformed.*labels"),
        ("name = 'x'; categories = ['a']; seed_sets = []", "needs seed sets"),
        (f"name = 'x'; categories = ['a']; seed_sets = [{SEED_SET}] * 2", "different names"),
        (f"name = 'x'; categories = ['a', 'a']; seed_sets = [{SEED_SET}]", "different categories"),
        (f"name = 'x'; categories = []; seed_sets = [{SEED_SET}]", "different categories"),
        (
            f"name = 'x'; categories = 'car'; seed_sets = [{SEED_SET}]",
            "malformed.*no list of words: 'car'",
        ),
        (f"name = 'x'; categories = ['a', ['b']]; seed_sets = [{SEED_SET}]", "malformed.*words"),
        (f"name = 'x'; categories = [1]; seed_sets = [{SEED_SET}]", "malformed.*words"),
        (
            f"name = 'x'; categories = ['a']; seed_sets = [{SEED_SET}]; detector_mapping = ['b']",
            "malformed.*WORD=CATEGORY",
        ),
        (
            "name = 'x'; categories = ['a'];"
            "seed_sets = [dict(name='s', labels='l', img_dir='i', mapping=['car'])]",
            "malformed.*WORD=CATEGORY",
        ),
        (
            f"name = 'x'; categories = ['a']; seed_sets = [{SEED_SET}]; "
            "detector_mapping = dict(car='b')",
            "`detector_mapping` leads to b",
        ),
        (
            f"name = 'x'; categories = ['a']; seed_sets = [{SEED_SET}]; "
            "detector_mapping = dict(car=['a'], bus=1, van='b')",
            r"`detector_mapping` leads to 1, \['a'\], b",
        ),
    ],
)
def test_malformed_task_files(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load_task(write(tmp_path, text), tmp_path)
    with pytest.raises(InputError, match="No configuration file"):
        load_task(tmp_path / "missing.py", tmp_path)


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        (f"max_images = 50; seed_sets = [{SEED_SET}]", "max_images", None),
        (f"detector_maping = dict(b='a'); seed_sets = [{SEED_SET}]", "detector_maping", "mapping"),
        ("seed_sets = [dict(name='a', labels='a', maping=dict(b='a'))]", "maping", "mapping"),
        ("seed_sets = [dict(name='a', labels='a', layout='voc', splt='val')]", "splt", "split"),
        ("seed_sets = [dict(name='a', labels='a', layout='kitti', split='val')]", "split", None),
    ],
)
def test_keys_that_nothing_reads_are_refused(tmp_path, text, key, meant):
    """They were ignored: all images were read, or words of labels counted as nothing."""
    with pytest.raises(InputError) as refusal:
        load_task(write(tmp_path, f"name = 'x'; categories = ['a']; {text}"), tmp_path)
    assert f"has '{key}'" in str(refusal.value)
    assert ("did you mean" in str(refusal.value)) == (meant is not None)
    assert meant is None or f"{meant}'?" in str(refusal.value)


@pytest.mark.parametrize("variable", ["mine", "_mine", "mapping"])
def test_variables_that_the_file_itself_uses_are_its_own(tmp_path, variable):
    text = f"name = 'x'; categories = ['a']; {variable} = {SEED_SET}; seed_sets = [{variable}]"
    path = write(tmp_path, text)
    assert load_task(path, tmp_path).groups == {"a": "a"}
    base = path.rename(tmp_path / "base.py")
    assert load_task(write(tmp_path, f"_base_ = [{str(base)!r}]"), tmp_path).groups == {"a": "a"}


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_task_file_may_name_files_of_python_and_be_based_on_others(tmp_path, suffix):
    """The line that ends as the path of a file, and the whole of another one, were no Python."""
    (tmp_path / f"base.{suffix}").write_text('{"name": "x", "categories": ["a"]}')
    text = f"_base_ = 'base.{suffix}'\nmine = [\n    {SEED_SET}]  # as in other.py\n"
    path = write(tmp_path, f"{text}seed_sets = mine\n")
    assert load_task(path, tmp_path).groups == {"a": "a"}


def test_sources_of_one_group(tmp_path):
    text = """name = 'x'
categories = ['a']
seed_sets = [dict(name=n, labels=n + '.json', group=g) for n, g in (('a', 'port'), ('b', None))]
"""
    assert load_task(write(tmp_path, text), tmp_path).groups == {"a": "port", "b": "b"}


def test_names_may_be_numbers(tmp_path):
    """As of sites by year; scores of all of them were lost in a traceback."""
    text = """name = 7
categories = ['a']
detector_mapping = {2: 'a', 'b': 'a'}
seed_sets = [dict(name=2024, labels='x.json', group=3), dict(name=2025, labels='y.json')]
"""
    task = load_task(write(tmp_path, text), tmp_path)
    assert task.lookup(["2", "1", "B"]).tolist() == [0, -1, 0]
    assert task.name == "7" and task.groups == {"2024": "3", "2025": "2025"}


def test_lookup():
    task = Task("t", ("person", "vehicle"), (), {"car": "vehicle", "truck": "vehicle"})
    found = task.lookup(["truck", "dog", "person", "car"])
    assert found.tolist() == [1, -1, 0, 1] and found.dtype == np.int64
    with pytest.raises(InputError, match=r"none of person, vehicle, car, truck.*knows: dog"):
        task.lookup(["dog"])
    with pytest.raises(InputError, match="knows none"):
        task.lookup([])


def test_words_that_count_as_nothing_are_not_of_a_category_without_a_name():
    task = Task("t", ("", "car"), ())
    assert task.lookup(["dog", "car", ""]).tolist() == [-1, 1, 0]


def test_a_detector_may_spell_its_words_otherwise():
    task = Task("t", ("person", "vehicle"), (), {"car": "vehicle", "traffic light": "vehicle"})
    assert task.lookup(["Car", "dog", "Person", "traffic_light"]).tolist() == [1, -1, 0, 1]
    assert task.lookup(["Car", "car", "PERSON"]).tolist() == [-1, 1, 0]  # two words of its own


@pytest.mark.parametrize(
    ("name", "category", "n_seed_sets"), [("vehicle", "vehicle", 11), ("person_19", "person", 12)]
)
def test_real_seed_sets_load_without_problems(shared, configs, name, category, n_seed_sets):
    task = load_task(configs / "tasks" / f"{name}.py", shared / "real")
    files = [one for one in task.seed_sets if f"/{category}/" in str(one.labels)]
    assert len(files) == n_seed_sets
    described = (shared / "real" / "README.md").read_text()
    for seed_set in map(task.load_seed_set, files):
        assert seed_set.warnings == () and seed_set.categories == (category,)
        row = f"{category}/{seed_set.name} | {len(seed_set.images)} | {seed_set.n_boxes} |"
        assert row in described


def test_labels_of_any_format_in_one_line(make_coco, tmp_path):
    """The words of the labels are those of the task, or those that it knows of detectors."""
    _, img_dir = make_coco()
    (tmp_path / "set" / "labels").mkdir()
    (tmp_path / "set" / "labels" / "1.txt").write_text("2 0.5 0.5 0.5 0.5\n0 0.5 0.5 0.1 0.1")
    (tmp_path / "set" / "classes.txt").write_text("dog\nperson\ncar")
    line = "seed_sets = [dict(name='a', labels='set/labels')]"
    words = "categories = ['vehicle']; detector_mapping = dict(car='vehicle')"
    path = write(tmp_path, f"name = 'x'; {words}; {line}")
    (seed_set,) = load_task(path, tmp_path).load_seed_sets()
    (record,) = seed_set.images
    assert record.path == img_dir.resolve() / "1.png"
    assert record.boxes.tolist() == [[15, 10, 45, 30]]
    assert seed_set.warnings == (
        "images without labels, left out: 2 (2.png, 3.png)",
        "boxes of categories that the mapping lacks, left out: 1 (dog 1)",
    )
    path = write(tmp_path, f"name = 'x'; categories = ['boat']; {line}")
    with pytest.raises(InputError, match=r"None of the categories of .*\(dog, person, car\).*boat"):
        load_task(path, tmp_path).load_seed_sets()


def test_classes_by_number_are_mapped_by_number(make_coco, tmp_path):
    make_coco()
    (tmp_path / "set" / "labels").mkdir()
    (tmp_path / "set" / "labels" / "1.txt").write_text("2 0.5 0.5 0.5 0.5")
    line = "dict(name='a', labels='set/labels', layout='yolo', mapping={2: 'vehicle'})"
    path = write(tmp_path, f"name = 'x'; categories = ['vehicle']; seed_sets = [{line}]")
    (seed_set,) = load_task(path, tmp_path).load_seed_sets()
    assert seed_set.n_boxes == 1 and "named by their numbers" in seed_set.warnings[0]
