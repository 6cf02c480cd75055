"""Which list of categories is believed."""

import pytest
from mmengine.config import Config
from torch import nn

from autoeval.detectors import ops
from autoeval.detectors.building.category_names import (
    coco_categories,
    find_categories,
)
from autoeval.detectors.detector_spec import DetectorSpec, read_classes
from autoeval.errors import InputError

ops.register()


def detector(n_classes):
    model = nn.Module()
    model.bbox_head = nn.Module()
    model.bbox_head.num_classes = n_classes
    return model


def config(**dataset):
    return Config({"test_dataloader": {"dataset": dataset}})


def test_in_their_order():
    meta = {"dataset_meta": {"CLASSES": ("a", "b")}}
    both = config(type="CocoDataset", metainfo={"classes": ("c", "d")})
    assert find_categories(detector(2), both, meta, ["e", "f"]) == ("e", "f")
    assert find_categories(detector(2), both, {"dataset_meta": None}, ["e", "f"]) == ("e", "f")
    assert find_categories(detector(2), both, meta) == ("a", "b")
    assert find_categories(detector(2), both, {}) == ("c", "d")


def test_the_list_that_fits_the_head_goes_before_one_that_does_not():
    """Fine-tuned from a checkpoint of COCO, whose names it kept."""
    meta = {"dataset_meta": {"classes": coco_categories()}}
    three = config(type="CocoDataset", metainfo={"classes": ("a", "b", "c")})
    assert find_categories(detector(3), three, meta) == ("a", "b", "c")
    assert find_categories(detector(20), config(type="VOCDataset"), meta)[0] == "aeroplane"
    with pytest.raises(InputError, match=r"has 4 classes.*dataset_meta lists 80.*metainfo lists 3"):
        find_categories(detector(4), three, meta)
    with pytest.raises(InputError, match=r"--classes lists 2 categories"):
        find_categories(detector(3), three, meta, ["a", "b"])


@pytest.mark.parametrize(
    ("kind", "number", "first"),
    [
        ("VOCDataset", 20, "aeroplane"),
        ("CityscapesDataset", 8, "person"),
        ("Objects365V1Dataset", 365, "person"),
        ("WIDERFaceDataset", 1, "face"),
        ("LVISV1Dataset", 1203, "aerosol_can"),
        ("DeepFashionDataset", 15, "top"),
        ("CrowdHumanDataset", 1, "person"),
        ("CocoDataset", 80, "person"),
    ],
)
def test_of_the_type_of_the_data(kind, number, first):
    names = find_categories(detector(number), config(type=f"mmdet.{kind}"), {})
    assert len(names) == number and names[0] == first
    several = {"type": "ConcatDataset", "datasets": [{"type": kind}]}
    wrapped = config(type="RepeatDataset", dataset=several)
    assert find_categories(detector(number), wrapped, {}) == names


def test_a_type_with_another_number_says_nothing():
    assert (coco_categories()[2], coco_categories()[7]) == ("car", "truck")
    assert find_categories(detector(80), config(type="VOCDataset"), {}) == coco_categories()
    with pytest.raises(InputError, match=r"2 classes, but its checkpoint and config list none"):
        find_categories(detector(2), config(type="VOCDataset"), {})


def test_a_file_that_the_config_names(tmp_path):
    """One category is not called by the path of the file, which mmengine reads."""
    path = tmp_path / "classes.txt"
    for words in (["lorry"], ["lorry", "bus"]):
        path.write_text("\n".join(words) + "\n")
        of_file = config(type="CocoDataset", metainfo={"classes": str(path)})
        assert find_categories(detector(len(words)), of_file, {}) == tuple(words)
    bare = config(type="CocoDataset", metainfo={"classes": "lorry"})
    assert find_categories(detector(1), bare, {}) == ("lorry",)


def test_given_ones_of_another_number():
    with pytest.raises(InputError, match=r"2 classes, but --classes lists 3"):
        find_categories(detector(2), config(), {}, ["a", "b", "c"])


def test_a_cascade_has_the_classes_of_its_last_head():
    model = nn.Module()
    model.roi_head = nn.Module()
    model.roi_head.bbox_head = nn.ModuleList([detector(5).bbox_head, detector(1).bbox_head])
    assert find_categories(model, config(), {}, ["a"]) == ("a",)


def test_a_file_of_classes(tmp_path):
    (tmp_path / "classes.txt").write_text("lorry\n\n  fire engine \n")
    assert read_classes(tmp_path / "classes.txt") == ("lorry", "fire engine")
    (tmp_path / "marked.txt").write_text("lorry\nbus\n", encoding="utf-8-sig")  # as Windows does
    assert read_classes(tmp_path / "marked.txt") == ("lorry", "bus")
    for text in ("", "a\na\n"):
        (tmp_path / "classes.txt").write_text(text)
        with pytest.raises(InputError, match=r"different names in .*classes\.txt"):
            read_classes(tmp_path / "classes.txt")
    with pytest.raises(InputError, match=r"Cannot read the classes in .*none\.txt"):
        read_classes(tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("data.yaml", "path: /data\ntrain: images\nnc: 2\nnames: [lorry, fire engine]\n"),
        ("data.yml", "names:\n  1: fire engine\n  0: lorry\n"),  # Ultralytics takes any order
        ("words.json", '["lorry", "fire engine"]'),
        ("config.json", '{"names": {"0": "lorry", "1": "fire engine"}}'),
    ],
)
def test_a_file_of_classes_by_number(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert DetectorSpec("x.onnx", classes=tmp_path / name).words == ("lorry", "fire engine")


def test_numbers_of_classes_that_leave_one_out_are_refused(tmp_path):
    """Each name behind the gap would be that of the number before."""
    for numbers in ((1, 2), (0, 2)):
        path = tmp_path / "data.yaml"
        path.write_text("names:\n" + "".join(f"  {n}: word {n}\n" for n in numbers))
        with pytest.raises(InputError, match="a name for each number from 0 to 1"):
            read_classes(path)
