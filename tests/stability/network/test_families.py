"""One stock detector of mmdet of each kind of head and backbone, made small, from end to end.

All families are tried by `benchmarks.mmdet_families`.
"""

import warnings

import pytest
from mmengine.logging import MMLogger

from autoeval.detectors.building.configs import dicts_in
from benchmarks import mmdet_families
from benchmarks.mmdet_families import FAMILIES, try_family, unset_memory_is_nan

# The config's directory, the evidence that its detector cannot give, and what it stands for.
KINDS = [
    ("cascade_rcnn", set()),  # heads in a row
    ("centernet", {"candidates", "logits"}),  # modulated deformable convolution, never resizes
    ("deformable_detr", {"candidates", "logits"}),  # queries, deformable attention
    ("efficientnet", set()),  # a backbone of blocks
    ("fcos", set()),  # dense without anchors
    ("guided_anchoring", set()),  # masked convolution, deformable convolution
    ("hrnet", set()),  # a backbone of branches
    ("ld", {"logits"}),  # a student without its teacher
    ("mask_rcnn", set()),  # masks, which rescale boxes in place
    ("pvt", set()),  # a backbone of tokens
    ("soft_teacher", set()),  # one of a pair
    ("tridentnet", {"logits"}),  # branches that only a checkpoint initialises
    ("yolo", {"logits"}),  # a head that inherits what it never calls
]
CONFIGS = {path.split("/")[0]: path for path in FAMILIES.read_text().split()}


@pytest.fixture
def filled_memory():
    """Fill what nobody initialises with nan, which would else be there once in a hundred runs."""
    with unset_memory_is_nan():
        yield


# Of these a quarter of the channels will do, which their configs let one choose.
NARROW = {"cascade_rcnn", "deformable_detr", "fcos", "guided_anchoring", "hrnet", "mask_rcnn"}
NARROW |= {"soft_teacher"}


@pytest.fixture
def narrow(family, monkeypatch):
    """Shrink networks further: on a small image most of the time is that of wide weights."""
    make_small = mmdet_families.make_small

    def make_narrow(config, name):
        make_small(config, name)
        for part in dicts_in(config.model):
            if part.get("type") == "ResNet":
                part.base_channels = 16
            if part.get("type") in ("FPN", "HRFPN", "ChannelMapper"):
                part.in_channels = [n // 4 for n in part.in_channels]
            if "num_channels" in part:
                part.num_channels = tuple(n // 4 for n in part.num_channels)
            if "fc_out_channels" in part:
                part.fc_out_channels = 64

    if family in NARROW:
        monkeypatch.setattr(mmdet_families, "make_small", make_narrow)


@pytest.mark.usefixtures("filled_memory", "narrow")
@pytest.mark.parametrize(("family", "absent"), KINDS, ids=[family for family, _ in KINDS])
def test_a_stock_detector(family, absent, monkeypatch):
    monkeypatch.setattr(MMLogger.get_current_instance(), "level", 40)  # weights are told one by one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = try_family(CONFIGS[family])
    assert outcome["boxes"] and outcome["dropout"] and outcome["dropout moves boxes"]
    assert outcome["equal"]  # to mmdet's own
    assert set(outcome["missing"]) == absent
