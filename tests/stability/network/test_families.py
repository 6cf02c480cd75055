"""One stock detector of mmdet of each kind of head and backbone, made small, from end to end.

All families are tried by `benchmarks.mmdet_families`.
"""

import warnings

import pytest
from mmengine.logging import MMLogger

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


@pytest.mark.usefixtures("filled_memory")
@pytest.mark.parametrize(("family", "absent"), KINDS, ids=[family for family, _ in KINDS])
def test_a_stock_detector(family, absent, monkeypatch):
    monkeypatch.setattr(MMLogger.get_current_instance(), "level", 40)  # weights are told one by one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome = try_family(CONFIGS[family])
    assert outcome["boxes"] and outcome["dropout"] and outcome["dropout moves boxes"]
    assert outcome["equal"]  # to mmdet's own
    assert set(outcome["missing"]) == absent
