"""Networks that answer with a density map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from autoeval.counting.counters.base import COUNT, DENSITY, CountResult
from autoeval.errors import InputError

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def imagenet_input(image: np.ndarray) -> torch.Tensor:
    """Turn an image (H, W, 3) uint8 BGR into RGB, (3, H, W) float32, normalised as ImageNet."""
    rgb = torch.from_numpy(np.ascontiguousarray(image[..., ::-1])).permute(2, 0, 1).float() / 255
    mean, std = torch.tensor(IMAGENET_MEAN), torch.tensor(IMAGENET_STD)
    return (rgb - mean[:, None, None]) / std[:, None, None]


class DensityCounter:
    """Counts with a module that maps an image to a density map; the count is the map's sum.

    Parameters
    ----------
    module : torch.nn.Module
        Takes a batch of one image and returns a map (H, W), with leading axes of length 1 or
        without. The map may be smaller than the image.
    name : str
        Identifies the counter in result files.
    device : str
        Where the module runs.
    scale : float
        The map is multiplied by it: 0.01 for a network trained on maps times 100.
    to_input : callable of image -> Tensor of shape (C, H, W)
        Preprocessing.
    prompted : bool
        Whether the module also takes the list of prompts, ``module(batch, [prompt])``.

    Examples
    --------
    >>> counter = DensityCounter(torch.nn.AdaptiveAvgPool3d((1, 2, 2)), name="toy",
    ...                          to_input=lambda image: torch.ones(3, 4, 4))
    >>> counter.count(np.zeros((4, 4, 3), np.uint8), "dots").count
    4.0
    """

    capabilities = frozenset({COUNT, DENSITY})

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        name: str,
        device: str = "cpu",
        scale: float = 1.0,
        to_input: Callable[[np.ndarray], torch.Tensor] = imagenet_input,
        prompted: bool = False,
    ) -> None:
        self.module = module.to(device).eval()
        self.name = name
        self.device = device
        self.scale = scale
        self.to_input = to_input
        self.prompted = prompted

    @torch.inference_mode()
    def count(
        self, image: np.ndarray, prompt: str, context: Mapping[str, Any] | None = None
    ) -> CountResult:
        """Count in ``image`` (H, W, 3) uint8 BGR; `prompt` matters to a prompted module only.

        Raises
        ------
        InputError
            If the module returns anything but one map.
        """
        batch = self.to_input(image)[None].to(self.device)
        output = self.module(batch, [prompt]) if self.prompted else self.module(batch)
        density = self.scale * _one_map(output).double().cpu().numpy()
        if not np.isfinite(density).all():
            return CountResult(
                float("nan"), status="failed: the density map is not finite", context=context or {}
            )
        return CountResult(float(density.sum()), density=density, context=context or {})


def _one_map(output: Any) -> torch.Tensor:
    shape = tuple(getattr(output, "shape", ()))
    if len(shape) < 2 or any(length != 1 for length in shape[:-2]):
        raise InputError(
            f"Expected the module to return one density map (H, W) but got "
            f"{f'shape {shape}' if shape else type(output).__name__}."
        )
    return output.reshape(shape[-2:])
