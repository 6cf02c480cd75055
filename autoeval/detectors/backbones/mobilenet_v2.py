"""MobileNetV2, whose eight layers make four stages by their stride."""

from __future__ import annotations

from mmdet.models.backbones import MobileNetV2

from autoeval.detectors.forward.stages import StagedBackbone, chain_of_modules, register_splitter

#: Layers of the stem (stride 2) and of the stages (strides 4, 8, 16, 32).
LAYERS = ((0,), (1,), (2,), (3, 4), (5, 6, 7))


@register_splitter(MobileNetV2.forward)
def split_mobilenet_v2(backbone: MobileNetV2) -> StagedBackbone:
    """Split by stride: layer1 | layer2 | layer3 | layer4, layer5 | layer6, layer7, conv2.

    The ends are the layers that mmdet taps by default. The last stage ends at the last layer that
    the neck reads: where that is ``layer7``, the output of ``conv2`` goes nowhere.
    """
    last = max(*backbone.out_indices, LAYERS[-1][0])
    layers = [getattr(backbone, name) for name in backbone.layers[: last + 1]]
    stem, *stages = ([layers[i] for i in group if i <= last] for group in LAYERS)
    return chain_of_modules([backbone.conv1, *stem], stages, [1 + i for i in backbone.out_indices])
