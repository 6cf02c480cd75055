"""The torchvision snippet of docs/how-to/predictions.md, run as it is written."""

import numpy as np
import pytest

from tests.clients.torchvision_operators import usable_torchvision
from tests.doc_pages import snippet

pytestmark = pytest.mark.clients

LAST = 90  # toothbrush: beyond the number of distinct words, since "N/A" is there ten times


def test_boxes_of_the_snippet(monkeypatch):
    usable_torchvision()
    from torchvision.models import detection

    def untrained(weights, *args, **kwargs):
        """Return weights that put all boxes into the last category."""
        model = detection.fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None)
        state = model.state_dict()
        state["roi_heads.box_predictor.cls_score.bias"][LAST] += 1000
        return state

    weights = detection.FasterRCNN_ResNet50_FPN_V2_Weights
    monkeypatch.setattr(weights, "get_state_dict", untrained)
    made = {}
    exec(snippet("docs/how-to/predictions.md", "torchvision.models"), made)
    detector = made["detector"]
    image = np.random.default_rng(0).integers(0, 255, (120, 160, 3), np.uint8)
    (seen,) = detector.observe([image], ["street"])
    assert len(seen.clean)
    assert LAST in seen.clean.labels
    assert detector.categories[LAST] == "toothbrush"
