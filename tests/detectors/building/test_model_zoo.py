"""Pretrained weights by the names that stock configs give them."""

import importlib.util

import pytest
import torch
from mmengine.runner.checkpoint import CheckpointLoader

from autoeval.detectors.building import checkpoints
from autoeval.detectors.building.model_zoo import load_from_torchvision, register_model_zoo
from autoeval.errors import InputError


@pytest.fixture
def hub(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    return tmp_path / "checkpoints"


def test_a_stock_config_s_backbone_comes_from_the_cache(hub, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(CheckpointLoader, "_schemes", dict(CheckpointLoader._schemes))
    torch.save({"conv1.weight": torch.ones(2)}, hub / "resnet18-f37072fd.pth")
    assert register_model_zoo()
    found = CheckpointLoader.load_checkpoint("torchvision://resnet18", "cpu", None)
    assert found["conv1.weight"].tolist() == [1, 1]


def test_an_installed_torchvision_stays_in_charge(monkeypatch):
    before = dict(CheckpointLoader._schemes)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert not register_model_zoo()
    assert before == CheckpointLoader._schemes


def test_without_a_network_it_says_where_the_file_belongs(hub, monkeypatch):
    def fail(*args, **options):
        raise OSError("no route")

    monkeypatch.setattr(checkpoints.torch.hub, "download_url_to_file", fail)
    with pytest.raises(InputError, match=r"download.pytorch.*Put that file at .*resnet50-.*init_c"):
        load_from_torchvision("torchvision://resnet50")


def test_an_unknown_name():
    with pytest.raises(InputError, match=r"no model 'resnet7'.*resnet18"):
        load_from_torchvision("torchvision://resnet7")
