"""How to split each backbone family of mmdet into layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from autoeval.detectors import ops
from autoeval.stability.network.forward.stages import (
    HookPoints,
    Layer,
    StagedBackbone,
    chain_of_modules,
)

ops.register()  # before mmdet asks for mmcv's operators
from mmdet.models.backbones import (  # noqa: E402
    CSPDarknet,
    CSPNeXt,
    MobileNetV2,
    RegNet,
    ResNet,
    SwinTransformer,
)

Splitter = Callable[[nn.Module], StagedBackbone]
SPLITTERS: dict[Callable, Splitter] = {}
#: Layers of the stem (stride 2) and of the stages (strides 4, 8, 16, 32).
LAYERS = ((0,), (1,), (2,), (3, 4), (5, 6, 7))


def register_splitter(*forwards: Callable) -> Callable[[Splitter], Splitter]:
    """Register how to split the backbones whose ``forward`` is one of these functions.

    The key is the function and not the class, because a subclass may inherit the layers of a family
    and yet run them in a way of its own.

    Parameters
    ----------
    *forwards : callable
        Of backbones of mmdet.
    """

    def register(splitter: Splitter) -> Splitter:
        SPLITTERS.update(dict.fromkeys(forwards, splitter))
        return splitter

    return register


@register_splitter(CSPDarknet.forward, CSPNeXt.forward)
def split_csp(backbone: CSPDarknet | CSPNeXt) -> StagedBackbone:
    """Split into the stem and the stages; a fifth stage (P6 models) is run but never dropped.

    Parameters
    ----------
    backbone : CSPDarknet or CSPNeXt
        Of mmdet.
    """
    layers = [getattr(backbone, name) for name in backbone.layers]
    return chain_of_modules(layers[:1], [[stage] for stage in layers[1:]], backbone.out_indices)


@register_splitter(MobileNetV2.forward)
def split_mobilenet_v2(backbone: MobileNetV2) -> StagedBackbone:
    """Split by stride: layer1 | layer2 | layer3 | layer4, layer5 | layer6, layer7, conv2.

    The ends are the layers that mmdet taps by default. The last stage ends at the last layer that
    the neck reads: where that is ``layer7``, the output of ``conv2`` goes nowhere.

    Parameters
    ----------
    backbone : MobileNetV2
        Of mmdet.
    """
    last = max(*backbone.out_indices, LAYERS[-1][0])
    layers = [getattr(backbone, name) for name in backbone.layers[: last + 1]]
    parts = [[layers[i] for i in group if i <= last] for group in LAYERS]
    stem = [backbone.conv1, *parts[0]]
    return chain_of_modules(stem, parts[1:], [1 + i for i in backbone.out_indices])


@register_splitter(ResNet.forward)
def split_resnet(backbone: ResNet) -> StagedBackbone:
    """Split into a stem with pooling (stride 4) and the residual stages.

    Parameters
    ----------
    backbone : ResNet
        Of mmdet, or of a subclass.
    """

    def stem(x: Tensor) -> Tensor:
        return backbone.maxpool(backbone.stem(x) if backbone.deep_stem else _stem(backbone, x))

    return _split(backbone, stem)


@register_splitter(RegNet.forward)
def split_regnet(backbone: RegNet) -> StagedBackbone:
    """Split into a stem without pooling (stride 2) and the residual stages.

    Parameters
    ----------
    backbone : RegNet
        Of mmdet.
    """
    return _split(backbone, lambda x: _stem(backbone, x))


def _stem(backbone: ResNet, x: Tensor) -> Tensor:
    return backbone.relu(backbone.norm1(backbone.conv1(x)))


def _split(backbone: ResNet, stem: Layer) -> StagedBackbone:
    stages = [[getattr(backbone, name)] for name in backbone.res_layers]
    return chain_of_modules([stem], stages, [1 + i for i in backbone.out_indices])


@register_splitter(SwinTransformer.forward)
def split_swin(backbone: SwinTransformer) -> StagedBackbone:
    """Split into embedding, blocks, merging, blocks, merging, ..., blocks.

    Parameters
    ----------
    backbone : SwinTransformer
        Of mmdet.
    """
    layers: list[Layer] = [partial(_embed, backbone)]
    outputs = []
    for stage in backbone.stages:
        layers.append(partial(_blocks, stage.blocks))
        outputs.append(len(layers) - 1)
        if stage.downsample:
            layers.append(partial(_merge, stage.downsample))

    def tap(norm: nn.Module, x: Tensor) -> Tensor:
        return norm(x).permute(0, 3, 1, 2).contiguous()

    taps = {outputs[i]: partial(tap, getattr(backbone, f"norm{i}")) for i in backbone.out_indices}
    return StagedBackbone(
        tuple(layers),
        inputs=tuple(number - 1 for number in outputs),
        outputs=tuple(outputs),
        taps=taps,
        points=HookPoints(
            tuple(backbone.stages), tuple(stage.blocks[-1] for stage in backbone.stages)
        ),
    )


def _embed(backbone: SwinTransformer, images: Tensor) -> Tensor:
    tokens, grid = backbone.patch_embed(images)
    if backbone.use_abs_pos_embed:
        tokens = tokens + backbone.absolute_pos_embed
    return backbone.drop_after_pos(tokens).unflatten(1, grid)


def _blocks(blocks: nn.ModuleList, x: Tensor) -> Tensor:
    grid = (x.shape[1], x.shape[2])
    tokens = x.flatten(1, 2)
    for block in blocks:
        tokens = block(tokens, grid)
    return tokens.unflatten(1, grid)


def _merge(downsample: nn.Module, x: Tensor) -> Tensor:
    tokens, grid = downsample(x.flatten(1, 2), (x.shape[1], x.shape[2]))
    return tokens.unflatten(1, grid)


def split_backbone(backbone: nn.Module) -> StagedBackbone | None:
    """Split a backbone into layers, or return None where its family is not known.

    Parameters
    ----------
    backbone : Module
        Its family is known by its ``forward``.
    """
    splitter = SPLITTERS.get(type(backbone).forward)
    return splitter(backbone) if splitter else None
