"""The boxes of `autoeval estimate --export out` in FiftyOne, with their estimates."""

import json

import fiftyone as fo
import fiftyone.utils.coco as fouc

dataset = fo.Dataset.from_dir(
    dataset_type=fo.types.COCODetectionDataset,
    data_path="new_site/",
    labels_path="new.json",
    include_id=True,
)
with open("out/predictions.json") as file:
    rows = json.load(file)
fouc.add_coco_labels(
    dataset,
    "predictions",
    rows,
    categories={row["category_id"]: row["category"] for row in rows},
    coco_id_field="coco_id",
)
