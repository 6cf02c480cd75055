"""torchvision beside a torch of another build, as its wheel beside a torch for processors alone."""

import pytest


def usable_torchvision():
    """Import torchvision; where its operators do not load, with an NMS written in torch."""
    torch = pytest.importorskip("torch")
    try:
        import torchvision
    except ImportError:
        pytest.skip("needs the extra 'clients': torchvision")
    except RuntimeError as error:  # "operator torchvision::nms does not exist"
        assert "nms" in str(error)
        torchvision = _with_own_nms(torch)
    return torchvision


def _with_own_nms(torch):
    from autoeval.detectors.ops.nms import nms

    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    # With an offset of 0 ours would call torchvision's.
    library.impl("nms", lambda *found: nms(*found, offset=1), "CPU")
    import torchvision

    torchvision.kept_library = library
    torchvision.ops.boxes._assert_has_ops = lambda: None
    torch.compile = lambda function, **_: function  # what stands in for RoIAlign is compiled
    return torchvision
