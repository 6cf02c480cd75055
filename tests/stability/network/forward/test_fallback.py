"""The stages of backbones that no family knows, found by a trial run."""

import pytest
import torch
from small_detectors import build_backbone
from torch import nn

from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout import feature_dropout
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.stages import guess_hook_points, hook_points, trace

HRNET = {
    "stage1": {"num_modules": 1, "num_branches": 1, "block": "BOTTLENECK"}
    | {"num_blocks": (1,), "num_channels": (8,)},
    **{
        f"stage{n}": {"num_modules": 1, "num_branches": n, "block": "BASIC"}
        | {"num_blocks": (1,) * n, "num_channels": (4, 8, 16, 32)[:n]}
        for n in (2, 3, 4)
    },
}

# Each with the names of the modules that end strides 4, 8, 16 and 32.
BACKBONES = {
    "branches that run side by side": (
        {"type": "HRNet", "extra": HRNET},
        ["layer1", "stage2", "stage3", "stage4"],
    ),
    "blocks of inverted residuals": (
        {"type": "EfficientNet", "arch": "b0"},
        ["layers.2", "layers.3", "layers.4", "layers.6"],
    ),
    "tokens that are rearranged between the stages": (
        {"type": "PyramidVisionTransformerV2", "embed_dims": 8, "num_layers": [1, 1, 1, 1]},
        ["layers.0.2", "layers.1.2", "layers.2.2", "layers.3.2"],
    ),
    "three strides": (
        {"type": "SSDVGG", "depth": 11, "ceil_mode": True, "out_feature_indices": (10, 22)},
        ["features.9", "features.14", "features.22"],
    ),
    "modules within modules": (
        {"type": "HourglassNet", "downsample_times": 3, "num_stacks": 1, "feat_channel": 8}
        | {"stage_channels": (4, 4, 8, 8), "stage_blocks": (1, 1, 1, 1)},
        None,
    ),
}


def build(options):
    backbone = build_backbone(options)
    backbone.eval()
    return backbone


def named(backbone, modules):
    names = {module: name for name, module in backbone.named_modules()}
    return [names[module] for module in modules]


@pytest.mark.parametrize(("options", "names"), BACKBONES.values(), ids=BACKBONES.keys())
def test_stages_by_resolution(options, names):
    backbone, image = build(options), torch.randn(1, 3, 64, 64)
    points = guess_hook_points(backbone)
    assert names is None or named(backbone, points.exits) == names
    with torch.no_grad():
        clean = backbone(image)
        for position in ("after", "before"):
            for stage in range(len(points.exits)):
                with feature_dropout(points, DropoutSpec(position, (stage,), 0.4), [7]):
                    dropped = backbone(image)
                assert not all(map(torch.equal, clean, dropped)), (position, stage)
        assert all(map(torch.equal, clean, backbone(image)))


def test_strides_of_hourglass_stages():
    backbone = build(BACKBONES["modules within modules"][0])
    points = guess_hook_points(backbone)
    seen = trace(backbone)
    strides = {call.module: call.stride(seen.area) for call in seen.calls}
    assert [strides[module] for module in points.exits] == [2, 3, 4, 5]


class Chain(nn.Module):
    """Four strides, a norm for the neck after each, as ConvNeXt and Swin have them."""

    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList(nn.Conv2d(3, 3, s, stride=s) for s in (4, 2, 2, 2))
        self.norm0, self.norm1, self.norm2 = (nn.BatchNorm2d(3) for _ in range(3))

    def forward(self, x):
        outputs = []
        for number, step in enumerate(self.steps):
            x = step(x)
            outputs.append(getattr(self, f"norm{number}", nn.Identity())(x))
        return outputs


def test_a_stage_ends_where_the_next_one_reads():
    """Not at the norm, which the neck alone reads, although it comes later and lies outside."""
    chain = Chain().eval()
    points = guess_hook_points(chain)
    for modules in (points.exits, points.entries):
        assert named(chain, modules) == [f"steps.{n}" for n in range(4)]
    image = torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        with feature_dropout(points, DropoutSpec("before", (1,), 0.5), [1]):
            dropped = chain(image)
        assert list(map(torch.equal, dropped, chain(image))) == [True, False, False, False]


def test_lists_that_no_one_calls_are_no_stages():
    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.ModuleList([nn.Identity()])])

    with pytest.raises(InputError, match=r"stages of the backbone Pyramid.*--stages.*--repeats 0"):
        guess_hook_points(Pyramid())


def test_a_backbone_that_takes_no_trial_image_may_list_its_stages():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.ModuleList(nn.Identity() for _ in range(5))

        def forward(self, x):
            raise TypeError("no image of mine")

    odd = Odd()
    assert named(odd, guess_hook_points(odd).exits) == [f"stages.{n}" for n in range(1, 5)]


def test_named_stages():
    chain = Chain()
    assert hook_points(chain, ["steps.1"]).exits == (chain.steps[1],)
    too_many = [f"steps.{n}" for n in range(4)] + ["norm0"]
    for names in ([], ["nothing"], ["steps.1"] * 2, too_many):
        with pytest.raises(InputError):
            hook_points(chain, names)
