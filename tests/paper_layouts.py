"""Miniature copies of published data sets, written from images and boxes xywh."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from autoeval.errors import InputError

SIZE = 64
N = 4

Picture = tuple[np.ndarray, list[tuple[int, int, int, int]]]
Pictures = Sequence[Picture]
Words = Sequence[str]


def rectangles(brightness: int, seed: int) -> Iterator[Picture]:
    """Make dark images with one bright rectangle each."""
    rng = np.random.default_rng(seed)
    for _ in range(N):
        x, y, w, h = (int(v) for v in rng.integers([4, 4, 16, 16], [20, 20, 36, 36]))
        image = np.full((SIZE, SIZE, 3), 20, np.uint8)
        image[y : y + h, x : x + w] = brightness
        yield image, [(x, y, w, h)]


def scenes(n: int, seed: int, size: tuple[int, int] = (256, 160)) -> Iterator[Picture]:
    """Make coloured noise, of another roughness and brightness in each set, with 1 to 5 boxes."""
    rng = np.random.default_rng(seed)
    width, height = size
    for _ in range(n):
        rough = rng.integers(0, 100 + 15 * seed, (6 + seed, 8 + seed, 3)).astype(np.uint8)
        image, boxes = cv2.resize(rough, size), []
        for _ in range(rng.integers(1, 6)):
            w, h = (int(v) for v in rng.integers([16, 12], [width // 3, height // 3]))
            x, y = int(rng.integers(0, width - w)), int(rng.integers(0, height - h))
            patch = rng.integers(0, 256, (3, 4, 3), np.uint8)
            image[y : y + h, x : x + w] = cv2.resize(patch, (w, h))
            boxes.append((x, y, w, h))
        yield image, boxes


def put_image(path: Path, image: np.ndarray) -> None:
    """Write an image, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), image)


def put_text(path: Path, text: Any) -> None:
    """Write a text, or anything else as JSON, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))


def named(pictures: Pictures, words: Words) -> Iterator[tuple[int, np.ndarray, list[tuple]]]:
    """Give the boxes of images their words in turn."""
    for k, (image, boxes) in enumerate(pictures):
        yield k, image, [(box, words[(k + j) % len(words)]) for j, box in enumerate(boxes)]


def coco(root: Path, pictures: Pictures, words: Words = ("car",)) -> None:
    """Write COCO 2017, validation."""
    names = {1: "person", 3: "car", 6: "bus", 8: "truck"}
    numbers = {name: number for number, name in names.items()}
    images, annotations = [], []
    for k, image, boxes in named(pictures, words):
        name = f"{k + 1:012}.png"
        put_image(root / "coco" / "val2017" / name, image)
        height, width = image.shape[:2]
        images.append({"id": k + 1, "file_name": name, "height": height, "width": width})
        annotations += [
            {"image_id": k + 1, "category_id": numbers[word], "bbox": box} for box, word in boxes
        ]
    content = {
        "images": images,
        "annotations": [{"id": k, **each} for k, each in enumerate(annotations, 1)],
        "categories": [{"id": number, "name": name} for number, name in names.items()],
    }
    put_text(root / "coco" / "annotations" / "instances_val2017.json", content)


def bdd(root: Path, pictures: Pictures) -> None:
    """Write BDD100K, validation, labels of 2020."""
    frames: list[dict] = []
    for k, (image, boxes) in enumerate(pictures):
        put_image(root / "bdd100k" / "images" / "100k" / "val" / f"{k}.jpg", image)
        sides = [{"x1": x, "y1": y, "x2": x + w, "y2": y + h} for x, y, w, h in boxes]
        labels = [{"category": "car", "box2d": box2d} for box2d in sides]
        frames.append({"name": f"{k}.jpg", "labels": labels})
    beyond = {"x1": 9990, "y1": 9990, "x2": 9995, "y2": 9995}  # only so that the words occur
    frames[0]["labels"] += [{"category": word, "box2d": beyond} for word in ("bus", "truck")]
    put_text(root / "bdd100k" / "labels" / "det_20" / "det_val.json", frames)


def cityscapes(root: Path, pictures: Pictures, words: Words = ("car",)) -> None:
    """Write Cityscapes, validation."""
    for k, image, boxes in named(pictures, words):
        put_image(root / f"cityscapes/leftImg8bit/val/ulm/ulm_{k}_leftImg8bit.png", image)
        objects = [
            {"label": word, "polygon": [[x, y], [x + w, y], [x + w, y + h], [x, y + h]]}
            for (x, y, w, h), word in boxes
        ]
        height, width = image.shape[:2]
        content = {"imgHeight": height, "imgWidth": width, "objects": objects}
        put_text(root / f"cityscapes/gtFine/val/ulm/ulm_{k}_gtFine_polygons.json", content)


def detrac(root: Path, pictures: Pictures) -> None:
    """Write UA-DETRAC, one video of the test set."""
    frames = ""
    for k, (image, boxes) in enumerate(pictures):
        number = 1 + 25 * k
        put_image(root / f"detrac/Insight-MVT_Annotation_Test/MVI_1/img{number:05d}.jpg", image)
        frames += f'<frame num="{number}"><target_list>'
        for x, y, w, h in boxes:
            box = f'<box left="{x}" top="{y}" width="{w}" height="{h}"/>'
            frames += f'<target>{box}<attribute vehicle_type="van"/></target>'
        frames += "</target_list></frame>"
    text = f'<sequence name="MVI_1"><ignored_region/>{frames}</sequence>'
    put_text(root / "detrac" / "DETRAC-Test-Annotations-XML" / "MVI_1.xml", text)


def exdark(root: Path, pictures: Pictures, words: Words = ("car",)) -> None:
    """Write ExDark, the folder of cars."""
    names = {"car": "Car", "person": "People"}
    for k, image, boxes in named(pictures, words):
        put_image(root / "exdark" / "ExDark" / "Car" / f"2015_{k}.png", image)
        lines = [f"{names[word]} {' '.join(map(str, box))} 0 0 0 0 0 0 0" for box, word in boxes]
        path = root / "exdark" / "ExDark_Annno" / "Car" / f"2015_{k}.png.txt"
        put_text(path, "\n".join(["% bbGt version=3", *lines]))


def kitti(root: Path, pictures: Pictures, words: Words = ("car",)) -> None:
    """Write KITTI, training."""
    names = {"car": "Car", "person": "Pedestrian"}
    for k, image, boxes in named(pictures, words):
        put_image(root / "kitti" / "training" / "image_2" / f"{k:06d}.png", image)
        lines = [
            f"{names[word]} 0.00 0 -1.5 {x} {y} {x + w} {y + h} 1.5 1.6 3.7 1.0 1.8 30.0 -1.5"
            for (x, y, w, h), word in boxes
        ]
        put_text(root / "kitti" / "training" / "label_2" / f"{k:06d}.txt", "\n".join(lines))


def self_driving(root: Path, pictures: Pictures, words: Words = ("car",)) -> None:
    """Write Kaggle's self-driving cars."""
    numbers = {"car": 1, "person": 3}
    lines = ["frame,xmin,xmax,ymin,ymax,class_id"]
    lines += [f"0.jpg,9990,9995,9990,9995,{number}" for number in (2, 3)]
    for k, image, boxes in named(pictures, words):
        put_image(root / "self_driving" / "images" / f"{k}.jpg", image)
        lines += [f"{k}.jpg,{x},{x + w},{y},{y + h},{numbers[n]}" for (x, y, w, h), n in boxes]
    put_text(root / "self_driving" / "labels_trainval.csv", "\n".join(lines))


def _yolo(images: Path, labels: Path, pictures: Pictures) -> None:
    for k, (image, boxes) in enumerate(pictures):
        put_image(images / f"{k}.jpg", image)
        height, width = image.shape[:2]
        lines = [
            f"0 {(x + w / 2) / width} {(y + h / 2) / height} {w / width} {h / height}"
            for x, y, w, h in boxes
        ]
        put_text(labels / f"{k}.txt", "\n".join(lines))


def roboflow(root: Path, pictures: Pictures) -> None:
    """Write Kaggle's cars and persons of Roboflow."""
    _yolo(root / "roboflow/valid/images", root / "roboflow/valid/labels", pictures)
    put_text(root / "roboflow" / "data.yaml", "names: [Car, Person]")


def udacity(root: Path, pictures: Pictures) -> None:
    """Write Kaggle's Udacity."""
    head = "filename,width,height,class,xmin,ymin,xmax,ymax"
    lines = [head, "0.jpg,64,64,truck,9990,9990,9995,9995"]
    for k, (image, boxes) in enumerate(pictures):
        put_image(root / "udacity" / "export" / f"{k}.jpg", image)
        lines += [f"{k}.jpg,64,64,car,{x},{y},{x + w},{y + h}" for x, y, w, h in boxes]
    put_text(root / "udacity" / "export" / "_annotations.csv", "\n".join(lines))


def traffic(root: Path, pictures: Pictures) -> None:
    """Write Kaggle's traffic."""
    _yolo(root / "traffic/images/val", root / "traffic/labels/val", pictures)
    path = root / "traffic/labels/val/0.txt"
    beyond = [f"{number} 1.4 1.4 0.1 0.1" for number in (5, 6)]
    put_text(path, "\n".join([path.read_text(), *beyond]))


SETS: tuple[Callable, ...] = (
    coco,
    bdd,
    cityscapes,
    detrac,
    exdark,
    kitti,
    self_driving,
    roboflow,
    udacity,
    traffic,
)


def write_sets(root: Path, sets: Iterable[Callable] = SETS, **options: Any) -> Path:
    """Write data sets of rectangles, each darker than the one before."""
    for k, write in enumerate(sets):
        write(root, list(rectangles(250 - 9 * k, seed=k)), **options)
    return root


def write_scenes(root: Path, n: int) -> Path:
    """Write all ten data sets with n images of random content each."""
    for seed, write in enumerate(SETS):
        write(root, list(scenes(n, seed)))
    return root


def photographs(
    path: Path, n: int, words: Words = ("vehicle", "car", "bus", "truck")
) -> Iterator[Picture]:
    """Read n images of a COCO file, at equal distances, with their boxes of vehicles."""
    content = json.loads(path.read_text())
    wanted = {each["id"] for each in content["categories"] if each["name"] in words}
    boxes: dict[int, list] = {each["id"]: [] for each in content["images"]}
    for each in content["annotations"]:
        if each["category_id"] in wanted and not each.get("iscrowd"):
            boxes[each["image_id"]].append(tuple(each["bbox"]))
    labelled = [each for each in content["images"] if boxes[each["id"]]]
    for k in np.linspace(0, len(labelled) - 1, min(n, len(labelled))).round().astype(int):
        image = cv2.imread(str(path.parent / "images" / labelled[k]["file_name"]))
        if image is None:
            raise InputError(f"Expected an image, but {labelled[k]['file_name']} is none.")
        yield image, boxes[labelled[k]["id"]]


def write_photographs(root: Path, paths: Iterable[Path], n: int) -> Path:
    """Write n photographs of each COCO file in the layouts, in turn."""
    for write, path in zip(SETS, paths, strict=False):
        write(root, list(photographs(path, n)))
    return root
