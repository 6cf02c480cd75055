"""CSPDarknet (YOLOX) and CSPNeXt (RTMDet): a stem at stride 2, stages at strides 4, 8, 16, 32."""

from __future__ import annotations

from mmdet.models.backbones import CSPDarknet, CSPNeXt

from autoeval.detectors.forward.stages import StagedBackbone, chain_of_modules, register_splitter


@register_splitter(CSPDarknet.forward, CSPNeXt.forward)
def split_csp(backbone: CSPDarknet | CSPNeXt) -> StagedBackbone:
    """Split into the stem and the stages; a fifth stage (P6 models) is run but never dropped."""
    stem, *stages = (getattr(backbone, name) for name in backbone.layers)
    return chain_of_modules([stem], [[stage] for stage in stages], backbone.out_indices)
