"""Small worlds of coloured rectangles, and a black box in a file that finds them, not quite."""

import json

import cv2
import numpy as np
from rectangles import write_coco

from autoeval.io.coco import read_coco

SIDE = 96
CHANNEL = {"car": 0, "bus": 2}

DETECTOR = """
import cv2
import numpy as np
from autoeval.detectors import BlackBoxDetector

CHANNEL = {"car": 0, "bus": 2}

def find(images):
    return tuple(zip(*[find_one(image) for image in images]))

def find_one(image):
    boxes, scores, words = [], [], []
    for word, channel in CHANNEL.items():
        layer = image[:, :, channel]
        found = cv2.connectedComponentsWithStats((layer > THRESHOLD).astype(np.uint8))[2][1:, :4]
        for x, y, w, h in found.astype(float):
            level = float(layer[int(y + h / 2), int(x + w / 2)])
            shake = (255 - level) / 15
            boxes.append([x + shake, y, x + w + shake, y + h])
            scores.append(level / 256)
            words.append(word)
    return np.array(boxes).reshape(-1, 4), np.array(scores), words

detector = BlackBoxDetector(find, list(CHANNEL), name="mine", settings={"threshold": THRESHOLD})
"""

TASK = """
name = "colours"
categories = {categories}
data_root = "worlds"
seed_sets = [
    dict(name=n, ann_file=n + "/annotations.json", img_dir=n + "/images", mapping={mapping})
    for n in ["w0", "w1", "w2"]
]
"""


def write_detector(folder, threshold=100):
    """Write the black box; return how a command names it."""
    (folder / "mine.py").write_text(f"THRESHOLD = {threshold}\n" + DETECTOR)
    return f"{folder / 'mine.py'}:detector"


def write_colours(folder, seed, *, n_images=24, names=tuple(CHANNEL)):
    """Write a COCO data set: the darker a rectangle, the worse it is found; some have no label."""
    rng = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    for k in range(n_images):
        image = np.full((SIDE, SIDE, 3), 20, np.uint8)
        for place in rng.choice(9, rng.integers(0, 6), replace=False):
            name, level = names[rng.integers(len(names))], int(rng.integers(70 + 20 * seed, 250))
            x, y = (32 * np.array([place % 3, place // 3]) + rng.integers(1, 6, 2)).tolist()
            w, h = rng.integers(14, 25, 2).tolist()
            image[y : y + h, x : x + w, CHANNEL[name]] = level
            if rng.random() < 0.85:
                about = {"image_id": k, "category_id": 1 + names.index(name), "iscrowd": 0}
                box = {"bbox": [x, y, w, h], "area": w * h}
                annotations.append({"id": len(annotations) + 1, **about, **box})
        cv2.imwrite(str(folder / "images" / f"{k:02d}.png"), image)
        images.append({"id": k, "file_name": f"{k:02d}.png", "width": SIDE, "height": SIDE})
    return write_coco(folder, images, annotations, names)


def write_task(folder, categories=tuple(CHANNEL)):
    """Write three worlds and the task of them; return its file."""
    for seed in range(3):
        write_colours(folder / "worlds" / f"w{seed}", seed)
    mapping = {name: name for name in categories}
    (folder / "task.py").write_text(TASK.format(categories=list(categories), mapping=mapping))
    return folder / "task.py"


def labels_of(folder, file_names, path):
    """Write the labels of some images of a data set, as somebody who labelled them would."""
    content = json.loads((folder / "annotations.json").read_text())
    images = [image for image in content["images"] if image["file_name"] in set(file_names)]
    kept = {image["id"] for image in images}
    boxes = [box for box in content["annotations"] if box["image_id"] in kept]
    path.write_text(json.dumps(content | {"images": images, "annotations": boxes}))
    return path


def write_predictions(detector, folder):
    """Write what a detector finds on a labelled set as COCO results; return the file."""
    content = read_coco(folder / "annotations.json")
    numbers = {image["file_name"]: image["id"] for image in images_of(folder)}
    entries = []
    for image in content.images:
        pixels = cv2.imread(str(folder / "images" / image.file_name))
        (seen,) = detector.observe([pixels], [image.image_id])
        found = seen.clean
        for box, score, label in zip(found.boxes, found.scores, found.labels, strict=True):
            x, y, x2, y2 = map(float, box)
            entry = {"image_id": numbers[image.file_name], "score": float(score)}
            entry |= {"category": detector.categories[label], "bbox": [x, y, x2 - x, y2 - y]}
            entries.append(entry)
    (folder / "clean.json").write_text(json.dumps(entries))
    return folder / "clean.json"


def images_of(folder):
    return json.loads((folder / "annotations.json").read_text())["images"]


def write_distinct(folder, seed, **options):
    """Write a labelled set of images that all differ, each with a faint thing without a label.

    So every list of boxes goes down to low scores, and none looks as if it were cut.
    """
    write_colours(folder, seed, **options)
    for k, path in enumerate(sorted((folder / "images").iterdir())):
        image = cv2.imread(str(path))
        image[0, k] = 21
        y, x = 30 + 32 * (k % 3), 30 + 32 * (k // 3 % 3)  # between the rectangles
        image[y : y + 2, x : x + 2, 2 * (k % 2)] = 62 + k % 5
        cv2.imwrite(str(path), image)
    return folder
