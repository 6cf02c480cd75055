"""The torchvision snippet of docs/predictions.md, run as it is written."""

import numpy as np
import pytest

from tests.doc_pages import snippet

pytestmark = pytest.mark.clients
torch = pytest.importorskip("torch")

LAST = 90  # toothbrush: beyond the number of distinct words, since "N/A" is there ten times
NMS = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@pytest.fixture
def detection(monkeypatch):
    """torchvision's detectors; beside a torch of another build, with an NMS written in torch."""
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)  # needs no compiler
    try:
        import torchvision
    except RuntimeError as error:  # "operator torchvision::nms does not exist"
        assert "nms" in str(error)
        from autoeval.detectors.ops.hard_nms import nms

        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(name + NMS)
        # With an offset of 0 ours would call torchvision's.
        library.impl("nms", lambda *found: nms(*found, offset=1), "CPU")
        torchvision = pytest.importorskip("torchvision")
        torchvision.kept_library = library
    except ImportError:
        pytest.skip("needs the extra 'clients': torchvision")
    if not torchvision.extension._has_ops():
        monkeypatch.setattr(torchvision.ops.boxes, "_assert_has_ops", lambda: None)
    from torchvision.models import detection

    return detection


def test_boxes_of_the_snippet(detection, monkeypatch):
    def untrained(weights, *args, **kwargs):
        """Return weights that put all boxes into the last category."""
        model = detection.fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None)
        state = model.state_dict()
        state["roi_heads.box_predictor.cls_score.bias"][LAST] += 1000
        return state

    weights = detection.FasterRCNN_ResNet50_FPN_V2_Weights
    monkeypatch.setattr(weights, "get_state_dict", untrained)
    made = {}
    exec(snippet("docs/predictions.md", "torchvision.models"), made)
    detector = made["detector"]
    image = np.random.default_rng(0).integers(0, 255, (120, 160, 3), np.uint8)
    (seen,) = detector.observe([image], ["street"])
    assert len(seen.clean)
    assert LAST in seen.clean.labels
    assert detector.categories[LAST] == "toothbrush"
