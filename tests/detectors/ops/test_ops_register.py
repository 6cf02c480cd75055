"""The stand-in for mmcv's extension: where it goes, and where it must not."""

import importlib.util
import sys
import warnings
from importlib import metadata
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
import torch

from autoeval.detectors import ops
from autoeval.errors import InputError


def test_every_op_of_mmcv_is_answered():
    assert ops.register() and ops.register()
    import mmcv.ops  # noqa: F401  (asserts that each of its 112 functions exists)

    assert importlib.util.find_spec("mmcv._ext") is not None


def test_other_ops_say_what_is_missing():
    ops.register()
    from mmcv.ops import roi_pool

    with pytest.raises(InputError, match=r"operator roi_pool_forward.*compile mmcv"):
        roi_pool(torch.zeros(1, 1, 4, 4), torch.zeros(1, 5), (2, 2))


def test_a_model_is_searched_for_missing_ops_before_it_runs():
    ops.register()
    from mmcv.ops import DeformConv2d, RoIPool

    ops.check_needs(torch.nn.Sequential(DeformConv2d(2, 2, 3), torch.nn.Linear(2, 2)))
    with pytest.raises(InputError, match=r"RoIPool \('1.pool'\).*roi_pool_backward and roi_pool_f"):
        ops.check_needs(
            torch.nn.ModuleList([torch.nn.Identity(), torch.nn.ModuleDict({"pool": RoIPool(2)})])
        )


def test_a_loaded_extension_stays(monkeypatch):
    compiled = ModuleType("mmcv._ext")
    monkeypatch.setitem(sys.modules, "mmcv._ext", compiled)
    assert not ops.register()
    assert sys.modules["mmcv._ext"] is compiled


@pytest.mark.parametrize("spec", [ModuleSpec("mmcv._ext", None), None])
def test_an_extension_on_disk_stays_and_without_mmcv_nothing_happens(monkeypatch, spec):
    monkeypatch.delitem(sys.modules, "mmcv._ext", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    assert not ops.register()
    assert "mmcv._ext" not in sys.modules


def test_torchvision_that_does_not_fit_is_passed_over(monkeypatch, tmp_path):
    from autoeval.detectors.ops.support import torchvision_ops

    (tmp_path / "torchvision.py").write_text("raise RuntimeError('torchvision::nms is missing')")
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    assert torchvision_ops.__wrapped__("cpu") is None


@pytest.mark.parametrize(
    "names, warned", [({"mmcv", "mmcv-lite"}, True), ({"mmcv-lite"}, False), ({"mmcv"}, False)]
)
def test_two_distributions_in_one_folder_are_named(monkeypatch, names, warned):
    def find(name):
        if name not in names:
            raise metadata.PackageNotFoundError(name)

    monkeypatch.delitem(sys.modules, "mmcv._ext", raising=False)
    monkeypatch.setattr(metadata, "distribution", find)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ops.register()
    said = [str(each.message) for each in caught]
    assert any("mmcv and mmcv-lite are both installed" in text for text in said) == warned
