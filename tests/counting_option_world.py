"""The small files that the cases of `counting_option_cases` name."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
from counting_files import write_boxes, write_fsc147
from option_counters import CHANNELS

EXAMPLES = Path(__file__).parents[1] / "docs/counting/examples"
SIDE = 40
PER_CLASS = 2
COUNTERS = {
    "dots": "DotCounter",
    "batches": "BatchCounter', name='batches",
    "meeting": "MeetingCounter",
    "speaker": "Speaker",
    "reader": "Speaker', name='reader', reply='7",
}
CELLS = ",blue,green,red\n"


def write_counting(folder):
    """Write images with dots, counters, answers, and what published evaluations read."""
    folder.mkdir()
    for name, kind in COUNTERS.items():
        text = f"counter = dict(type='option_counters.{kind}')"
        (folder / f"{name}.py").write_text(text)
    objects = write_dots(folder / "fsc/images_384_VarV2")
    write_fsc147(folder / "fsc", objects, splits=("test", "val"), classes=list(CHANNELS))
    (folder / "left_out.txt").write_text("0.png\n")
    names = list(objects)
    boxes = [(names[k], CHANNELS[k % 3], [2, 2, 4, 4]) for k in range(len(names))]
    coco = write_boxes(folder / "annotations.json", names, list(CHANNELS), boxes, (SIDE, SIDE))
    part = f"parts = [dict(ann_file={coco.name!r}, img_dir='fsc/images_384_VarV2')]\n"
    (folder / "parts.py").write_text(f"name = 'parts'\ndata_root = {str(folder)!r}\n{part}")
    write_praco_files(folder / "files", names)
    write_praco_files(folder / "other_files", names, ("mine", "other"))
    write_capture(folder, names[3:])
    write_binned(folder / "binned")


def write_dots(folder):
    """Write images of 1, 2, ... dots; return class and points by name, as FSC-147 has them."""
    folder.mkdir(parents=True)
    objects = {}
    for k in range(PER_CLASS * len(CHANNELS)):
        image = np.zeros((SIDE, SIDE, 3), np.uint8)
        points = [[6 * n + 3, 9] for n in range(k + 1)]
        for x, y in points:
            image[y - 1 : y + 2, x - 1 : x + 2, k % 3] = 255 - 20 * k
        cv2.imwrite(str(folder / f"{k}.png"), image)
        objects[f"{k}.png"] = (CHANNELS[k % 3], points)
    return objects


def write_praco_files(folder, names, models=("CLIPCount", "DAVE")):
    """Write the negative-label test of two models as the authors' code does, one a split."""
    folder.mkdir()
    rows = "".join(f"{name},{k},{2 * k},1\n" for k, name in enumerate(names))
    for model, split in zip(models, ("test", "val"), strict=True):
        (folder / f"Inference_Test1_{model}_{split}.csv").write_text(CELLS + rows)


def write_capture(folder, names):
    """Write metadata of real and synthetic items, and answers to them in either form."""
    box = {"x": 5, "y": 5, "width": 20, "height": 20}
    records = [
        {"image_file": name, "object": "cups", "ground_truth": 2, "bbox": box} for name in names
    ]
    root = folder / "capture_root"
    root.mkdir()
    for kind, more in (("real", {}), ("synthetic", {"shape": "circle"})):
        (root / f"{kind}_metadata.json").write_text(json.dumps([r | more for r in records]))
    for place, value in (("capture_answers", 3), ("other_answers", 4)):
        given = folder / place / "occ_results"
        given.mkdir(parents=True)
        answers = json.dumps([{"image_file": name, "results": value} for name in names])
        (given / "gpt_real_results.json").write_text(answers)


def write_binned(folder):
    """Write errors of two networks, and the counts that bins follow from."""
    folder.mkdir()
    (folder / "nwpu_rr.txt").write_text("1,2,12,10\n2,-4,15,19\n3,1,1,0\n4,9,209,200\n")
    (folder / "Train_stb.txt").write_text("1,13\n2,578\n3,100\n")


def write_counts(folder):
    """Write counts of two detectors with their truth, bins, and points in frames of two sizes."""
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    (folder / "bins.json").write_text(json.dumps([0, 5, 10, 1000]))
    named = {"few": [0, 5, 1000], "more": [0, 2, 4, 8, 1000]}
    (folder / "named_bins.json").write_text(json.dumps(named))
    (folder / "points_truth.json").write_text(json.dumps({"a.png": [[4.0, 4.0], [20.0, 20.0]]}))
    (folder / "points.json").write_text(json.dumps({"a.png": [[7.0, 4.0], [20.0, 21.0]]}))
    # the same points in frames of two sizes, which are compared by --rescale alone
    for name, scale in (("sized_truth", 2), ("sized_points", 1)):
        frame = {"points": [[4 * scale, 4 * scale]], "H": 32 * scale, "W": 32 * scale}
        (folder / f"{name}.json").write_text(json.dumps({"a.png": frame}))
