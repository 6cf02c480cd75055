"""Grounding DINO as a detector whose categories are its prompt, with a small text encoder."""

import warnings

import numpy as np
import pytest
import torch
from small_detectors import GROUNDING_DINO

from autoeval.detectors import MMDetector, load_detector
from autoeval.detectors.building.category_names import find_categories, prompt
from autoeval.detectors.building.configs import build_model, read_config
from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.perturbable import PerturbableDetector
from benchmarks.mmdet_families import save_encoder

pytest.importorskip("transformers", reason="needs pip install 'autoeval[open-vocabulary]'")

CONFIG = "mmdet::grounding_dino/grounding_dino_r50_scratch_8xb2_1x_coco.py"
IMAGE = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)
ANIMALS = ("zebra", "traffic light", "dog")


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """Shrink the config until it runs in a second."""
    folder = tmp_path_factory.mktemp("bert")
    save_encoder(folder)
    return {"model.language_model.name": str(folder), **GROUNDING_DINO}


@pytest.fixture(scope="module")
def model(options):
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = build_model(read_config(CONFIG, options))
    built.init_weights()
    return built.eval()


def test_boxes_are_those_of_mmdet_for_the_same_words(model, options):
    from mmdet.apis import inference_detector

    config = read_config(CONFIG, options)
    detector = MMDetector(model, config, ANIMALS)
    (found,) = detector.observe([IMAGE], ["a"])
    model.cfg = config
    asked = {"text_prompt": ANIMALS, "custom_entities": True}
    expected = inference_detector(model, IMAGE, **asked).pred_instances
    np.testing.assert_array_equal(found.clean.boxes, expected.bboxes.numpy())
    np.testing.assert_array_equal(found.clean.labels, expected.labels.numpy())
    assert found.missing == {}
    assert MMDetector(model, config, ["dog"]).fingerprint != detector.fingerprint


def test_features_are_dropped_as_of_any_other(model, options):
    detector = PerturbableDetector(model, read_config(CONFIG, options), ANIMALS)
    dropped = {"dropout": DropoutSpec(), "repeats": 1}
    (found,) = detector.observe([IMAGE], ["a"], wants=["features"], **dropped)
    assert detector.splits_backbone and found.missing == {}
    assert not np.array_equal(found.perturbed[0].boxes, found.clean.boxes)


def test_words_asked_for_in_parts(model, options, monkeypatch):
    monkeypatch.setitem(model.test_cfg, "chunked_size", 2)
    (found,) = MMDetector(model, read_config(CONFIG, options), ANIMALS).observe([IMAGE], ["a"])
    assert set(found.clean.labels) == {0, 1, 2}


def test_any_number_of_words_and_coco_by_default(model, options):
    config = read_config(CONFIG, options)
    assert find_categories(model, config, {}, ["cat"]) == ("cat",)
    assert len(find_categories(model, config, {})) == 80
    trained = {"dataset_meta": {"classes": ("dog", "horse")}}
    assert find_categories(model, config, trained) == ("dog", "horse")
    config.test_dataloader.dataset.metainfo = {"classes": ("pothole",)}
    assert find_categories(model, config, trained) == ("pothole",)
    assert find_categories(model, config, trained, ["cat"]) == ("cat",)


def test_words_from_a_file(model, options, tmp_path):
    torch.save({"state_dict": model.state_dict()}, tmp_path / "a.pth")
    loaded = load_detector(
        CONFIG, checkpoint=tmp_path / "a.pth", cfg_options=options, classes=ANIMALS
    )
    assert loaded.categories == ANIMALS and len(loaded.observe([IMAGE], ["a"])[0].clean)


def test_more_words_than_it_reads_at_once(model):
    with pytest.raises(InputError, match=r"256 tokens at once.*300 categories.*602.*--classes"):
        prompt(model, ["dog"] * 300)  # each with a full stop, a beginning and an end


def test_others_are_told_nothing():
    assert prompt(torch.nn.Linear(1, 1), ["dog"]) == {}
