"""Swin Transformer, whose patch merging lies between the stages.

A stage is its blocks. Its output, at full resolution, feeds the neck (through a norm) and the patch
merging; its input is what patch merging, or the patch embedding, returns. Tokens travel as
(N, H, W, C), so that their grid is known.
"""

from __future__ import annotations

from functools import partial

from mmdet.models.backbones import SwinTransformer
from torch import Tensor, nn

from autoeval.detectors.forward.stages import HookPoints, Layer, StagedBackbone, register_splitter


@register_splitter(SwinTransformer.forward)
def split_swin(backbone: SwinTransformer) -> StagedBackbone:
    """Split into embedding, blocks, merging, blocks, merging, ..., blocks."""
    layers: list[Layer] = [partial(_embed, backbone)]
    outputs = []
    for stage in backbone.stages:
        layers.append(partial(_blocks, stage.blocks))
        outputs.append(len(layers) - 1)
        if stage.downsample:
            layers.append(partial(_merge, stage.downsample))
    taps = {outputs[i]: partial(_tap, getattr(backbone, f"norm{i}")) for i in backbone.out_indices}
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


def _tap(norm: nn.Module, x: Tensor) -> Tensor:
    return norm(x).permute(0, 3, 1, 2).contiguous()
