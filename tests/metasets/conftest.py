"""Tiny hand-made data sets."""

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest
from pictures import picture


@pytest.fixture
def configs(request) -> Path:
    return request.config.rootpath / "configs"


@pytest.fixture
def make_coco(tmp_path) -> Callable[..., tuple[Path, Path]]:
    """Write a COCO data set: boxes are (image id, category, x, y, w, h[, iscrowd])."""

    def make(
        boxes=((1, "car", 5, 5, 10, 10),),
        *,
        n_images: int = 3,
        categories=("car", "person"),
        size=(40, 60),
        name: str = "set",
        change: Callable[[dict], None] = lambda document: None,
    ) -> tuple[Path, Path]:
        img_dir = tmp_path / name / "images"
        img_dir.mkdir(parents=True)
        images = []
        for image_id in range(1, n_images + 1):
            cv2.imwrite(str(img_dir / f"{image_id}.png"), picture(*size, seed=image_id))
            sides = dict(height=size[0], width=size[1])
            images.append(dict(id=image_id, file_name=f"{image_id}.png", **sides))
        document = dict(
            images=images,
            categories=[dict(id=10 + i, name=text) for i, text in enumerate(categories)],
            annotations=[
                dict(id=number, image_id=image_id, category_id=10 + categories.index(category))
                | dict(bbox=list(rest[:4]), iscrowd=int(rest[4]) if len(rest) > 4 else 0)
                for number, (image_id, category, *rest) in enumerate(boxes)
            ],
        )
        change(document)
        ann_file = tmp_path / name / "annotations.json"
        ann_file.write_text(json.dumps(document))
        return ann_file, img_dir

    return make
