"""ResNet and what shares its forward pass (ResNeXt, Res2Net, ResNeSt, ...), and RegNet."""

from __future__ import annotations

from mmdet.models.backbones import RegNet, ResNet
from torch import Tensor

from autoeval.detectors.forward.stages import (
    Layer,
    StagedBackbone,
    chain_of_modules,
    register_splitter,
)


@register_splitter(ResNet.forward)
def split_resnet(backbone: ResNet) -> StagedBackbone:
    """Split into a stem with pooling (stride 4) and the residual stages."""

    def stem(x: Tensor) -> Tensor:
        return backbone.maxpool(backbone.stem(x) if backbone.deep_stem else _stem(backbone, x))

    return _split(backbone, stem)


@register_splitter(RegNet.forward)
def split_regnet(backbone: RegNet) -> StagedBackbone:
    """Split into a stem without pooling (stride 2) and the residual stages."""
    return _split(backbone, lambda x: _stem(backbone, x))


def _stem(backbone: ResNet, x: Tensor) -> Tensor:
    return backbone.relu(backbone.norm1(backbone.conv1(x)))


def _split(backbone: ResNet, stem: Layer) -> StagedBackbone:
    stages = [[getattr(backbone, name)] for name in backbone.res_layers]
    return chain_of_modules([stem], stages, [1 + i for i in backbone.out_indices])
