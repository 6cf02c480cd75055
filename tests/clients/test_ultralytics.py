"""Ultralytics: commands and snippet of docs/how-to/predictions.md, run as they are written."""

import json
import shlex

import cv2
import numpy as np
import pytest

from autoeval.io.image_lists import load_image_folder, read_image_list
from autoeval.io.predictions import read_predictions
from tests.clients.torchvision_operators import usable_torchvision
from tests.doc_pages import ROOT, shell_of, snippet

pytestmark = pytest.mark.clients
pytest.importorskip("ultralytics", reason="needs the extra 'clients'")
SIZES = {"000000": (240, 320), "000007": (300, 200), "yard": (160, 160)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A network of random weights, a folder of images, and data files as the page has them."""
    usable_torchvision()
    import torch
    from ultralytics import YOLO

    folder = tmp_path_factory.mktemp("ultralytics")
    torch.manual_seed(0)
    model = YOLO("yolo11n.yaml")
    _simplify(model.model)
    model.model.names = {k: f"thing {k}" for k in reversed(range(80))}  # as a data.yaml may
    model.save(folder / "yolo11n.pt")
    (folder / "new_site").mkdir()
    for seed, (name, size) in enumerate(SIZES.items(), 9):
        cv2.imwrite(str(folder / "new_site" / f"{name}.jpg"), _picture(*size, seed))
    names = {k: f"thing {k}" for k in range(80)}
    for name in ("data", "new_site"):
        data = {"path": str(folder), "train": "new_site", "val": "new_site", "names": names}
        (folder / f"{name}.yaml").write_text(json.dumps(data))  # JSON is YAML
    return folder


def _picture(height, width, seed):
    coarse = np.random.default_rng(seed).integers(0, 255, (height // 20, width // 20, 3), np.uint8)
    return coarse.repeat(20, 0).repeat(20, 1)


def _simplify(network):
    """Find three categories everywhere, each with its score, in boxes of 15 steps of 32 pixels."""
    import torch

    head = network.model[-1]
    for layer in (part[-1] for part in (*head.cv2, *head.cv3)):
        torch.nn.init.zeros_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    for part in head.cv3:
        torch.nn.init.constant_(part[-1].bias, -20)
    head.cv3[-1][-1].bias.data[-3:] = torch.tensor([-3.0, -1.0, 0.0])


@pytest.fixture(scope="module")
def written(folder):
    """What the commands of the page write, by their `name`."""
    from ultralytics.cfg import entrypoint

    page = (ROOT / "docs/how-to/predictions.md").read_text("utf-8")
    (block,) = [block for block in shell_of(page) if "yolo val" in block]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in block.strip().splitlines():
            entrypoint(f"{line} project={folder / 'runs'}")
    assert len(shlex.split(block)) > 20
    return folder / "runs"


def read(folder, path):
    images = read_image_list(folder / "new_site")
    numbers = {str(k + 1): f"thing {k}" for k in range(80)}
    found = read_predictions(path, images=images, numbers=numbers)
    assert all(
        warning.code == "boxes-without-area" for warning in found.left_out
    )  # in the grey around images
    return found


def test_files_of_a_folder_without_labels(folder, written):
    found = read(folder, written / "new" / "predictions.json")
    again = read(folder, written / "val" / "predictions.json")
    assert len(found) == len(again) > 9
    # The last category is the most confident one: 1 / (1 + exp(0)).
    assert found.scores.max() == pytest.approx(0.5, abs=0.01)
    assert {found.categories[k] for k in found.label[found.scores > 0.495]} == {"thing 79"}
    assert {found.images[k].file_name for k in found.image} == {f"{name}.jpg" for name in SIZES}


@pytest.mark.parametrize("name", ["txt", "new/predictions.json"])
def test_boxes_are_in_pixels_of_their_image(folder, written, name):
    """What is found everywhere reaches to all edges of the image."""
    found = read(folder, written / name)
    for k, image in enumerate(found.images):
        height, width = SIZES[image.file_name.removesuffix(".jpg")]
        boxes = found.boxes[found.image == k]
        edges = [*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0)]
        np.testing.assert_allclose(edges, [0, 0, width, height], atol=1)


def test_the_snippet(folder, monkeypatch):
    monkeypatch.chdir(folder)
    made = {}
    exec(snippet("docs/how-to/predictions.md", "from ultralytics"), made)
    image = load_image_folder(folder / "new_site")[0].read()
    (seen,) = made["detector"].observe([image], ["a"])
    assert len(seen.clean) > 3
    assert made["detector"].categories == tuple(f"thing {k}" for k in range(80))
