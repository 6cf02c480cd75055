"""Every backbone family split into stages against its own forward, with and without hooks."""

import pytest
import torch
from branching import perturb
from small_detectors import build_backbone

from autoeval.errors import InputError
from autoeval.stability.network.backbones import split_backbone
from autoeval.stability.network.forward.dropout import feature_dropout
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.stages import guess_hook_points, stack

RESNET = {"type": "ResNet", "depth": 18, "base_channels": 8, "stem_channels": 8}
SWIN = {"type": "SwinTransformer", "embed_dims": 12, "depths": (1, 2, 1, 1)}
MOBILE = {"type": "MobileNetV2", "widen_factor": 0.25}
# Alone, next to each other, apart, all: where the prefix ends that is kept, and what follows it.
SUBSETS = [(0,), (1,), (2,), (3,), (1, 2), (0, 3), (0, 1, 2, 3)]
CSP = {"widen_factor": 0.125, "deepen_factor": 0.33}

BACKBONES = {
    "resnet": RESNET,
    "resnet, not all stages tapped": {**RESNET, "out_indices": (1, 3)},
    "resnet v1d, whose stem is deep": {**RESNET, "type": "ResNetV1d", "depth": 50},
    "resnext": {"type": "ResNeXt", "depth": 50, "base_channels": 8, "groups": 2, "base_width": 2},
    "regnet, whose stem does not pool": {"type": "RegNet", "arch": "regnetx_400mf"},
    "swin": SWIN,
    "swin, as RetinaNet taps it": {**SWIN, "out_indices": (1, 2, 3)},
    "swin, with position embedding": {**SWIN, "use_abs_pos_embed": True, "pretrain_img_size": 64},
    "mobilenet v2": MOBILE,
    "mobilenet v2, tapped amid the last stage": {**MOBILE, "out_indices": (1, 2, 4, 6, 7)},
    "mobilenet v2, whose last layer goes nowhere": {**MOBILE, "out_indices": (2, 4, 6)},
    "csp darknet": {"type": "CSPDarknet", **CSP},
    "csp darknet, stem tapped": {"type": "CSPDarknet", **CSP, "out_indices": (0, 2, 4)},
    "csp darknet, five stages": {"type": "CSPDarknet", "arch": "P6", **CSP},
    "cspnext": {"type": "CSPNeXt", **CSP},
}


def build(options):
    backbone = build_backbone(options)
    for module in backbone.modules():  # the statistics of a real signal, lest the last stages die
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
            module.training = True
    with torch.no_grad():
        backbone(torch.randn(4, 3, 64, 64))
    backbone.eval()  # which, for some backbones, returns nothing
    return backbone


@pytest.mark.parametrize("options", BACKBONES.values(), ids=BACKBONES.keys())
def test_split(options):
    backbone, images = build(options), torch.randn(1, 3, 64, 64)
    staged = split_backbone(backbone)
    with torch.inference_mode():
        clean, prefixes = staged.forward(images)
        assert not prefixes
        assert all(map(torch.equal, clean, backbone(images)))
        for position in ("after", "before"):
            for stages in SUBSETS:
                spec = DropoutSpec(position, stages, 0.4)
                _, cached = perturb(staged, images, spec, [7])
                with feature_dropout(staged.points, spec, [7]):
                    full = backbone(images)
                assert all(map(torch.equal, cached, full)), spec
                assert not all(map(torch.equal, cached, clean)), spec


def test_strides_of_the_stages():
    """MobileNetV2's eight layers fall into the strides that all families' stages have."""
    for options in (RESNET, MOBILE, {"type": "CSPDarknet", **CSP}, {"type": "CSPNeXt", **CSP}):
        staged = split_backbone(build(options))
        strides, x = {}, torch.randn(1, 3, 64, 64)
        for number, layer in enumerate(staged.layers):
            x = layer(x)
            strides[number] = 64 // x.shape[-1]
        assert [strides[number] for number in staged.outputs] == [4, 8, 16, 32]


def test_before_leaves_the_necks_view_of_the_previous_stage():
    staged, images = split_backbone(build(RESNET)), torch.randn(1, 3, 64, 64)
    spec = DropoutSpec("before", (2,), 0.4)
    with torch.inference_mode():
        clean, dropped = perturb(staged, images, spec, [7])
    assert list(map(torch.equal, clean, dropped)) == [True, True, False, False]


def test_after_reaches_the_neck_too():
    staged, images = split_backbone(build(RESNET)), torch.randn(1, 3, 64, 64)
    spec = DropoutSpec("after", (1,), 0.4)
    with torch.inference_mode():
        clean, dropped = perturb(staged, images, spec, [7])
    assert torch.equal(clean[0], dropped[0])
    zeros = (dropped[1] == 0) & (clean[1] != 0)
    assert zeros.double().sum() / (clean[1] != 0).sum() == pytest.approx(0.4, abs=0.1)


def test_three_stages_have_no_fourth():
    three = {"num_stages": 3, "strides": (1, 2, 2), "dilations": (1, 1, 1)}
    staged = split_backbone(build({**RESNET, **three, "out_indices": (0, 1, 2)}))
    with pytest.raises(InputError, match="3 stages"):
        staged.first_layer(DropoutSpec("after", (3,)))


def test_a_forward_of_its_own_is_not_split():
    """A subclass may run the inherited layers in another way."""
    from mmdet.models.backbones import ResNet

    class Other(ResNet):
        def forward(self, x):
            return super().forward(x)

    options = {key: value for key, value in RESNET.items() if key != "type"}
    backbone = Other(**options)
    assert split_backbone(backbone) is None
    layers = tuple(getattr(backbone, f"layer{n}") for n in (1, 2, 3, 4))
    assert guess_hook_points(backbone).exits == layers


def test_a_batch_is_stacked_several_times_over_and_once_without_a_copy():
    x = torch.arange(4.0).reshape(2, 2)
    assert stack(x, 1) is x
    assert stack(x, 2).tolist() == [[0, 1], [2, 3], [0, 1], [2, 3]]
