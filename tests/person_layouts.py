"""Miniature copies of published sets of pedestrians, written from images and boxes xywh."""

import json
from collections.abc import Callable
from pathlib import Path

from paper_layouts import (
    Pictures,
    cityscapes,
    coco,
    exdark,
    kitti,
    put_image,
    put_text,
    rectangles,
    self_driving,
)

WITH_BOTH: tuple[Callable, ...] = (coco, cityscapes, exdark, kitti, self_driving)
TEST_SETS = ("set06", "set07", "set08", "set09", "set10")


def caltech(root: Path, pictures: Pictures) -> None:
    """Write Caltech pedestrians: one video of the test sets."""
    frames = {}
    for k, (image, boxes) in enumerate(pictures):
        number = 30 * k + 29
        put_image(root / "caltech" / "images" / f"set06_V000_{number}.png", image)
        frames[str(number)] = [
            {"lbl": "person", "pos": list(box), "posv": [0, 0, 0, 0]} for box in boxes
        ]
    video = {"nFrame": 30 * len(pictures), "frames": frames}
    content = {name: {"V000": video} if name == "set06" else {} for name in TEST_SETS}
    put_text(root / "caltech" / "annotations.json", content)


def crowdhuman(root: Path, pictures: Pictures) -> None:
    """Write CrowdHuman, validation."""
    lines = []
    for k, (image, boxes) in enumerate(pictures):
        put_image(root / "crowdhuman" / "Images" / f"{k},a.jpg", image)
        found = [
            {"tag": "person", "fbox": box, "vbox": box, "hbox": box, "extra": {"box_id": 0}}
            for box in boxes
        ]
        lines.append(json.dumps({"ID": f"{k},a", "gtboxes": found}))
    put_text(root / "crowdhuman" / "annotation_val.odgt", "\n".join(lines))


def eurocity(root: Path, pictures: Pictures) -> None:
    """Write EuroCity Persons, day, validation."""
    for k, (image, boxes) in enumerate(pictures):
        put_image(root / "eurocity" / "day" / "img" / "val" / "ulm" / f"ulm_{k}.png", image)
        children = [
            {"identity": "pedestrian", "x0": x, "y0": y, "x1": x + w, "y1": y + h, "tags": []}
            for x, y, w, h in boxes
        ]
        height, width = image.shape[:2]
        content = {"imageheight": height, "imagewidth": width, "children": children}
        put_text(root / "eurocity" / "day" / "labels" / "val" / "ulm" / f"ulm_{k}.json", content)


def citypersons(root: Path, pictures: Pictures) -> None:
    """Write CityPersons, validation: on the images that `cityscapes` writes."""
    for k, (_, boxes) in enumerate(pictures):
        objects = [{"label": "pedestrian", "bbox": box, "bboxVis": box} for box in boxes]
        name = f"ulm_{k}_gtBboxCityPersons.json"
        put_text(root / "cityscapes/gtBboxCityPersons/val/ulm" / name, {"objects": objects})


def write_person_sets(root: Path) -> Path:
    """Write all nine sets with rectangles for pedestrians, each set darker than the one before."""
    for k, write in enumerate(WITH_BOTH):
        write(root, list(rectangles(250 - 9 * k, seed=k)), words=("person",))
    for k, write in enumerate((caltech, crowdhuman, eurocity), len(WITH_BOTH)):
        write(root, list(rectangles(250 - 9 * k, seed=k)))
    same = WITH_BOTH.index(cityscapes)
    citypersons(root, list(rectangles(250 - 9 * same, seed=same)))
    return root
