import pytest

from autoeval.errors import InputError
from autoeval.io.labels.any_format import load_labels

IMAGE = None
PLACES = {"JPEGImages/a.jpg": IMAGE}


def annotation(*objects, size="<size><width>40</width><height>20</height></size>"):
    return f"<annotation><filename>a.jpg</filename>{size}{''.join(objects)}</annotation>"


def read(write, content, **options):
    return load_labels(write({**PLACES, "Annotations/a.xml": content}), **options)


def thing(xmin, ymin, xmax, ymax, name="car", more=""):
    box = f"<xmin>{xmin}</xmin><ymin>{ymin}</ymin><xmax>{xmax}</xmax><ymax>{ymax}</ymax>"
    return f"<object><name>{name}</name>{more}<bndbox>{box}</bndbox></object>"


def test_pixels_count_from_one(write):
    whole, first_pixel = thing(1, 1, 40, 20), thing(1, 1, 1, 1, "person")
    labels = read(write, annotation(whole, first_pixel))
    assert [box.xywh for box in labels.boxes] == [(0, 0, 40, 20), (0, 0, 1, 1)]
    assert labels.categories == ("car", "person") and labels.warnings == ()
    assert labels.images[0].size == (20, 40) and labels.images[0].image_id == "a.jpg"


def test_a_box_that_begins_at_zero_shows_that_pixels_count_from_zero(write):
    labels = read(write, annotation(thing(0, 2, 40, 20), thing(3, 4, 5, 6)))
    assert [box.xywh for box in labels.boxes] == [(0, 2, 40, 18), (3, 4, 2, 2)]
    assert "counted from 0" in labels.warnings[0]


def test_boxes_that_end_within_pixels_show_that_pixels_count_from_zero(write):
    """CVAT and Roboflow write fractions; a few boxes of VOC2012 have some, too."""
    inside = [thing(3.5, 4, 5, 6), thing(2.25, 4.5, 7.25, 9), thing(9, 9, 12, 12)]
    labels = read(write, annotation(*inside))
    assert [box.xywh for box in labels.boxes] == [
        (3.5, 4, 1.5, 2),
        (2.25, 4.5, 5, 4.5),
        (9, 9, 3, 3),
    ]
    assert [warning.code for warning in labels.warnings] == ["pixels-from-zero"]
    few = read(write, annotation(inside[0], thing(3, 4, 5, 6), thing(9, 9, 12, 12)))
    assert few.boxes[1].xywh == (2, 3, 3, 3) and few.warnings == ()


def test_boxes_in_shares_of_the_image_are_refused_as_in_coco(write):
    shares = [thing(0.2, 0.1 + 0.01 * k, 0.6, 0.7) for k in range(20)]
    with pytest.raises(InputError, match=r"all labelled boxes lie in \[0, 1\]"):
        read(write, annotation(*shares))
    mixed = read(write, annotation(*shares[:1], *[thing(3.5, 4, 9, 8)] * 19))
    assert "boxes-in-shares" in [warning.code for warning in mixed.warnings]


def test_difficult_objects_are_areas_to_ignore(write):
    stated = {
        "1": True,
        "0": False,
        "True": True,
        "TRUE": True,
        "1.0": True,
        "yes": True,
        "2": True,
    }
    stated |= {"": False, "0.0": False, "false": False, "Unspecified": False}
    objects = [thing(1, 1, 2, 2, more=f"<difficult>{value}</difficult>") for value in stated]
    labels = read(write, annotation(*objects, thing(1, 1, 2, 2)))
    assert [box.iscrowd for box in labels.boxes] == [*stated.values(), False]


def test_an_object_that_is_neither_difficult_nor_not_is_left_out_and_counted(write):
    odd = thing(1, 1, 2, 2, more="<difficult>perhaps</difficult>")
    labels = read(write, annotation(odd, thing(1, 1, 3, 3), thing(1, 1, 4, 4)))
    assert len(labels.boxes) == 2 and "expected difficult 0 or 1" in labels.warnings[0]


def test_a_turned_box_of_rolabelimg_is_the_box_around_it(write):
    numbers = {"cx": 16, "cy": 8, "w": 12, "h": 6, "angle": 1.5707963}  # a quarter turn, in radians
    box = "".join(f"<{name}>{number}</{name}>" for name, number in numbers.items())
    turned = f"<object><name>car</name><robndbox>{box}</robndbox></object>"
    labels = read(write, annotation(turned, thing(0, 0, 5, 5)))
    assert labels.boxes[0].xywh == pytest.approx((13, 2, 6, 12), abs=1e-5)
    assert "read as the boxes around them: 1" in labels.warnings[0]


def test_turned_boxes_in_fractions_of_pixels_count_from_0(write):
    """As roLabelImg writes them where no box is upright: they were a pixel larger and displaced."""
    numbers = {"cx": 16.25, "cy": 8.5, "w": 12.5, "h": 6.5, "angle": 3.1415926}  # half a turn
    box = "".join(f"<{name}>{number}</{name}>" for name, number in numbers.items())
    labels = read(write, annotation(f"<object><name>car</name><robndbox>{box}</robndbox></object>"))
    assert labels.boxes[0].xywh == pytest.approx((10, 5.25, 12.5, 6.5), abs=1e-4)
    assert "pixels-from-zero" in [notice.code for notice in labels.warnings]


def test_parts_of_an_object_are_no_objects(write):
    part = "<part><name>head</name><bndbox><xmin>9</xmin></bndbox></part>"
    labels = read(write, annotation(thing(2, 2, 8, 8, "person", more=part)))
    assert [(box.category, box.xywh) for box in labels.boxes] == [("person", (1, 1, 7, 7))]


def test_missing_empty_and_unsized(write):
    files = {"a.jpg": IMAGE, "b.jpg": IMAGE, "c.jpg": IMAGE}
    empty = annotation(size="")
    labels = load_labels(write({**files, "a.xml": annotation(thing(1, 1, 4, 4)), "b.xml": empty}))
    assert [image.image_id for image in labels.images] == ["a.jpg", "b.jpg"]
    assert labels.unlabelled == ("c.jpg",) and len(labels.boxes) == 1
    assert labels.images[1].size == (20, 40)  # measured


def test_a_split_of_the_development_kit(write):
    """Nobody has labelled c and d, of which d is of another split."""
    folder = write(
        {f"JPEGImages/{name}.jpg": IMAGE for name in "abcd"}
        | {"Annotations/a.xml": annotation(), "Annotations/b.xml": annotation()}
        | {"ImageSets/Main/val.txt": "b\nc\n"}
    )
    labels = load_labels(folder, split="val")
    assert [image.image_id for image in labels.images] == ["b.jpg"]
    assert labels.unlabelled == ("c.jpg",)
    with pytest.raises(InputError, match="No list of split 'test'"):
        load_labels(folder, split="test")
    with pytest.raises(InputError, match=r"'part', .*Expected some of split"):
        load_labels(folder, part="val")


@pytest.mark.parametrize(
    ("lines", "images", "lost"),
    [
        ("a\nb\n", ["a.jpg", "b.jpg"], ""),
        ("a\nx\ny\n", ["a.jpg"], "2 (x, y)"),
        ("a -1\nb  1\n", ["a.jpg", "b.jpg"], ""),  # of one category
        ("\ufeffcam/a.jpg\r\nJPEGImages/yard north.jpg\r\n", ["a.jpg", "yard north.jpg"], ""),
        ("yard north\n", ["yard north.jpg"], ""),
        ("yard north -1\nb 1\n", ["b.jpg", "yard north.jpg"], ""),
        ("JPEGImages/a.jpg Annotations/a.xml\n", ["a.jpg"], ""),
    ],
)
def test_images_that_a_split_lists_and_that_are_not_there_are_named(write, lines, images, lost):
    names = ("a", "b", "yard north")
    folder = write(
        {f"JPEGImages/{name}.jpg": IMAGE for name in names}
        | {f"Annotations/{name}.xml": annotation() for name in names}
        | {"ImageSets/Main/val.txt": lines}
    )
    labels = load_labels(folder, split="val")
    assert [image.image_id for image in labels.images] == images
    missing = [str(w) for w in labels.warnings if w.code == "split-paths-missing"]
    assert bool(missing) == bool(lost) and all(lost in text for text in missing)


@pytest.mark.parametrize("ends", ["", ".jpg", "  1"])
def test_a_split_that_lists_paths_has_no_images_of_equal_names_in_other_folders(write, ends):
    names = ("1", "cam1/1", "cam1/2", "cam2/1", "cam2/3")
    folder = write(
        {f"JPEGImages/{name}.jpg": IMAGE for name in names}
        | {f"Annotations/{name}.xml": annotation() for name in names}
        | {"ImageSets/Main/val.txt": f"cam1/1{ends}\ncam1/2{ends}\n"}
        | {"ImageSets/Main/test.txt": f"1{ends}\n3{ends}\n"}
        | {"ImageSets/Main/train.txt": f"JPEGImages/cam1/1{ends}\n./cam2/1{ends}\n"}
    )
    listed = {
        split: [image.image_id for image in load_labels(folder, split=split).images]
        for split in ("val", "test", "train")
    }
    assert listed == {
        "val": ["cam1/1.jpg", "cam1/2.jpg"],
        "test": ["1.jpg", "cam2/3.jpg"],
        "train": ["cam1/1.jpg", "cam2/1.jpg"],
    }


def test_a_split_of_another_encoding_is_refused(write):
    folder = write({**PLACES, "Annotations/a.xml": annotation(), "ImageSets/Main/val.txt": "a"})
    (folder / "ImageSets/Main/val.txt").write_bytes("a\nstraße\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"val\.txt is not in UTF-8 .*encoding='utf-8'"):
        load_labels(folder, split="val")


def test_a_split_none_of_whose_images_is_there_is_refused(write):
    folder = write({**PLACES, "Annotations/a.xml": annotation(), "ImageSets/Main/val.txt": "x\ny"})
    with pytest.raises(InputError, match=r"None of the 2 images of .*val\.txt"):
        load_labels(folder, split="val")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<annotation>", "is not an XML file"),
        ("<annotations/>", "expected <annotation> but got <annotations>"),
        (annotation("<object><name>car</name></object>"), "name and a bndbox"),
        (annotation(thing("x", 1, 2, 3)), "name and a bndbox"),
        (annotation(thing("inf", 1, 2, 3)), "name and a bndbox"),
        (annotation(thing(1, 1, 2, 3, name="")), "name and a bndbox"),
    ],
)
def test_malformed_files_are_named(write, content, message):
    with pytest.raises(InputError, match=message) as caught:
        read(write, content, layout="voc")
    assert "a.xml" in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "images"),
    [("ann", "images"), ("labels", "data")],  # supervision, FiftyOne
)
def test_a_root_whose_folder_of_labels_has_another_name(write, labels, images):
    file = {f"{labels}/a.xml": annotation(thing(1, 1, 40, 20))}
    folder = write({f"{images}/a.jpg": IMAGE, **file})
    for labels in (load_labels(folder), load_labels(folder, folder / images)):
        assert [image.image_id for image in labels.images] == ["a.jpg"]
        assert [box.xywh for box in labels.boxes] == [(0, 0, 40, 20)]
