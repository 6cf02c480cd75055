"""Grounding DINO with random weights and a small text encoder, against mmdet's own inference."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from small_detectors import GROUNDING_DINO

from autoeval.counting.counters import Counter
from autoeval.counting.counters.build import load_counter
from autoeval.errors import InputError
from benchmarks.mmdet_families import save_encoder

pytest.importorskip("transformers", reason="needs pip install 'autoeval[open-vocabulary]'")

CONFIGS = Path(__file__).resolve().parents[3] / "configs" / "counting" / "praco"
PROMPTS = ["car", "traffic light", "zebra"]


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    """Shrink the config until it runs in a second: another text encoder, backbone and depth."""
    folder = tmp_path_factory.mktemp("bert")
    save_encoder(folder)
    small = {"model.language_model.name": str(folder), **GROUNDING_DINO}
    return {**small, "test_pipeline.1.scale": (96, 128)}


@pytest.fixture(scope="module")
def checkpoint(options, tmp_path_factory):
    """Random weights, saved as a checkpoint."""
    import torch

    from autoeval.detectors.loading import build_model, read_config

    torch.manual_seed(1)
    model = build_model(read_config(CONFIGS / "models" / "grounding_dino_swin_t.py", options))
    model.init_weights()
    path = tmp_path_factory.mktemp("weights") / "tiny.pth"
    torch.save({"state_dict": model.state_dict()}, path)
    return path


@pytest.fixture(scope="module")
def counter(options, checkpoint):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_counter(
            CONFIGS / "grounding_dino.py",
            {
                "counter.checkpoint": str(checkpoint),
                "counter.score_thr": 0.0,
                "counter.cfg_options": options,
            },
        )[0]


IMAGE = np.random.default_rng(0).integers(0, 256, (90, 120, 3), np.uint8)


def test_answers_equal_those_of_mmdet_prompt_by_prompt(counter):
    """mmdet asked about one prompt at a time, without chunks of prompts."""
    from mmdet.apis import inference_detector

    found = counter.count_prompts(IMAGE, PROMPTS, {"image_id": "x"})
    counter.model.cfg = counter.config
    counter.model.test_cfg["chunked_size"] = -1
    try:
        for prompt, result in zip(PROMPTS, found, strict=True):
            asked = {"text_prompt": prompt, "custom_entities": True}
            expected = inference_detector(counter.model, IMAGE, **asked).pred_instances
            assert result.count == 10 == len(expected)
            assert np.allclose(result.boxes, expected.bboxes.numpy(), atol=1e-3)
            assert np.allclose(result.scores, expected.scores.numpy(), atol=1e-5)
    finally:
        counter.model.test_cfg["chunked_size"] = 1


def test_an_answer_does_not_depend_on_the_other_prompts(counter):
    alone = counter.count(IMAGE, "zebra")
    among = counter.count_prompts(IMAGE, PROMPTS)[2]
    assert np.allclose(alone.boxes, among.boxes, atol=1e-3)
    centres = (alone.boxes[:, :2] + alone.boxes[:, 2:]) / 2
    assert np.allclose(alone.points, centres)
    assert isinstance(counter, Counter)
    assert counter.capabilities == {"count", "points"}
    assert counter.name == "grounding_dino_swin_t@0"


def test_the_threshold_the_limit_and_one_encoding(counter, monkeypatch):
    everything = counter.count(IMAGE, "traffic light")
    assert "max_per_img" in everything.warnings[0], "ten boxes of at most ten"
    middle = float(np.median(everything.scores))
    monkeypatch.setattr(counter, "score_thr", middle)
    fewer = counter.count(IMAGE, "traffic light")
    assert fewer.count == (everything.scores > middle).sum() and not fewer.warnings
    calls = []
    extract = counter.model.extract_feat
    monkeypatch.setattr(counter.model, "extract_feat", lambda x: calls.append(1) or extract(x))
    counter.count_prompts(IMAGE, PROMPTS)
    assert len(calls) == 1


def test_what_it_needs(tmp_path):
    with pytest.raises(InputError, match="needs weights"):
        load_counter(CONFIGS / "grounding_dino.py")
    from mmengine.config import Config
    from torch import nn

    from autoeval.counting.counters.mmdet import OpenVocabularyCounter

    with pytest.raises(InputError, match="Linear takes no words"):
        OpenVocabularyCounter(nn.Linear(1, 1), Config())
