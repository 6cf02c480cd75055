"""Label Studio: what a plan offers to it, and what its converter exports of it.

The converter is that of label-studio-sdk, with which the program itself writes its exports. What is
labelled is what the detector found: tasks with predictions become tasks with annotations.
"""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from autoeval import estimate_with_labels, load_labels
from autoeval.estimation.label_planning import PlanRequest, make_plan
from autoeval.io.tasks.seed_set import load_seed_set
from autoeval.labels.fit_assistance import fit_assistance
from autoeval.labels.plan_folder import write_plan
from autoeval.labels.values import ValueWithError
from autoeval.sites.site import with_features
from tests.label_worlds import SIDE, make_site

pytestmark = pytest.mark.clients
pytest.importorskip("label_studio_sdk", reason="needs the extra 'clients'")


@dataclass(frozen=True)
class FileOnDisk:
    image_id: str
    path: Path


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with a plan, and boxes offered; an image has a space and a sign in its name."""
    folder = tmp_path_factory.mktemp("label_studio")
    made = make_site(7, n_images=40)
    images = tuple(
        replace(image, image_id=name, file_name=name)
        for image in made.truth.images
        for name in [f"yard {image.image_id.removesuffix('.jpg')} (1).jpg"]
    )
    found = replace(made.pool, images=images)
    assistance = fit_assistance([make_site(seed) for seed in range(3)])
    priors = {"mAP": ValueWithError(0.45, 0.09)}
    plan = make_plan(with_features(found), assistance, PlanRequest(12))
    plan = replace(plan, priors=priors, detector="abc")
    files = [FileOnDisk(image.image_id, folder / "all" / image.file_name) for image in images]
    (folder / "all").mkdir()
    for k, file in enumerate(files):
        cv2.imwrite(str(file.path), np.full((SIDE, SIDE, 3), k, np.uint8))
    write_plan(plan, folder / "plan", files, prelabel=True)
    return folder / "plan"


def test_what_is_offered_passes_the_schema(site):
    from label_studio_sdk.label_interface import LabelInterface

    interface = LabelInterface((site / "label_config.xml").read_text())
    interface.validate()
    tasks = json.loads((site / "prelabels_label_studio.json").read_text())
    predictions = [prediction for task in tasks for prediction in task["predictions"]]
    assert any(prediction["result"] for prediction in predictions)
    for prediction in predictions:
        assert interface.validate_prediction(prediction, return_errors=True) == []
        for box in (region["value"] for region in prediction["result"]):
            assert box["x"] + box["width"] <= 100 + 1e-3 and box["y"] + box["height"] <= 100 + 1e-3


def uploaded(name, k):
    """Rename as Label Studio does with an upload: Django's valid names after eight digits."""
    from_django = name.replace(" ", "_").replace("(", "").replace(")", "")
    return f"{0xA1B2C3D4 + k:08x}-{from_django}"


def annotated(site, tmp_path, stored):
    """Write what people would have labelled: the offered boxes, and nothing in the last image."""
    tasks = json.loads((site / "prelabels_label_studio.json").read_text())
    drawn = json.loads((site / "plan.json").read_text())["drawn"]
    uploads = tmp_path / "project" / "upload" / "1"
    uploads.mkdir(parents=True)
    for k, (task, name) in enumerate(zip(tasks, drawn, strict=True)):
        if stored == "upload":
            shutil.copyfile(site / "images" / name, uploads / uploaded(name, k))
            task["data"]["image"] = f"/data/upload/1/{uploaded(name, k)}"
        result = [] if k == len(tasks) - 1 else task.pop("predictions")[0]["result"]
        task |= {"id": k + 1, "annotations": [{"id": k + 1, "result": result}]}
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(tasks))
    return file


@pytest.fixture(params=["upload", "upload, without images", "local files", "local files, without"])
def export(request, site, tmp_path, monkeypatch):
    """Make an export of a kind, by format; with the images or without them."""
    from label_studio_sdk._extensions.label_studio_tools.core.utils import io
    from label_studio_sdk.converter import Converter

    stored, _, without = request.param.partition(", ")
    monkeypatch.setattr(io, "LOCAL_FILES_DOCUMENT_ROOT", "" if without else str(site))
    project = None if without else str(tmp_path / "project")
    with_images = {} if without else {"download_resources": True}
    converter = Converter(
        (site / "label_config.xml").read_text(), project_dir=project, **with_images
    )
    tasks = annotated(site, tmp_path, stored)

    def make(form):
        out = tmp_path / form
        getattr(converter, f"convert_to_{form}")(str(tasks), str(out), is_dir=False)
        return out

    return make, not without


def offered_boxes(site):
    content = json.loads((site / "prelabels_coco.json").read_text())
    last = content["images"][-1]["id"]
    return [box["bbox"] for box in content["annotations"] if box["image_id"] != last]


@pytest.mark.parametrize("form", ["coco", "yolo"])
def test_labels_come_back_to_the_plan(site, export, form):
    make, _ = export
    labels = make(form)
    labels = labels / "result.json" if form == "coco" else labels
    estimate = estimate_with_labels(site, labels, img_dir=site / "images")
    assert estimate.n_labelled == 12
    assert not [warning for warning in estimate.warnings if "not labelled:" in warning]


@pytest.mark.parametrize("form", ["coco", "yolo"])
def test_labels_are_a_source_of_a_task(site, export, form):
    make, with_images = export
    labels = make(form)
    folder = labels if with_images and form == "yolo" else site / "images"
    labels = labels / "result.json" if form == "coco" else labels
    for img_dir in [None, folder] if with_images else [folder]:
        seed_set = load_seed_set("yard", labels, img_dir, ["car"])
        assert len(seed_set.images) == 12
        boxes = np.concatenate([image.boxes for image in seed_set.images])
        xywh = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
        expected = np.array(offered_boxes(site))
        key = lambda of: of[np.lexsort(of.round(1).T)]  # noqa: E731
        np.testing.assert_allclose(key(xywh), key(expected), atol=0.1)
        assert len(load_labels(labels, img_dir).images) == 12
