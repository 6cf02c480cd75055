"""The steps that a detector's configuration applies to test images, as lists of settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mmengine.config import Config

from autoeval.errors import InputError

STRIDE = 32
NO_PIPELINE = (
    "The detector's config has no test pipeline: expected `test_dataloader.dataset.pipeline`, "
    "as in mmdet's configs."
)

#: Steps without which a detector cannot do, and with which an image is not one image.
REFUSED = {
    "LoadProposals": (
        "the detector (Fast R-CNN) needs region proposals beside each image. Choose the config of "
        "a detector that makes its own, such as Faster R-CNN."
    ),
    "TestTimeAug": (
        "it makes several images of one, whose boxes `tta_model` would merge. Give the plain test "
        "pipeline as `test_dataloader.dataset.pipeline`."
    ),
}


def test_pipeline(config: Config) -> list[dict[str, Any]]:
    """Return the steps that the configuration applies to test images."""
    from mmdet.utils import get_test_pipeline_cfg

    try:
        steps = get_test_pipeline_cfg(config.copy())
    except (AttributeError, KeyError, IndexError, TypeError, RuntimeError) as error:
        raise InputError(NO_PIPELINE) from error
    if not isinstance(steps, list | tuple):
        raise InputError(NO_PIPELINE)
    return [_step(step) for step in steps]


def _step(step: Any) -> dict[str, Any]:
    if not isinstance(step, Mapping) or "type" not in step:
        raise InputError(f"Expected each step of the test pipeline with a `type`, got {step!r}.")
    return dict(step)


def adapt_pipeline(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take an array in place of a file, and read no annotations."""
    if not steps or not step_name(steps[0]).startswith("LoadImage"):
        found = step_name(steps[0]) if steps else "nothing"
        raise InputError(
            f"Expected the test pipeline to begin with LoadImageFromFile, but found {found} there."
        )
    for name in map(step_name, steps):
        if name in REFUSED:
            raise InputError(f"The config's test pipeline has {name}: {REFUSED[name]}")
    first = {**steps[0], "type": "mmdet.LoadImageFromNDArray"}
    rest = [step for step in steps[1:] if not _reads_annotations(step)]
    return [first, *rest]


def rescale_pipeline(steps: Sequence[dict[str, Any]], scale: float) -> list[dict[str, Any]]:
    """Multiply the sizes that images are resized to, and those they are padded to.

    The latter are rounded up to what `STRIDE` divides: some necks can take nothing else. Where no
    step resizes (CornerNet), the image is resized once it is read.
    """
    rescaled: list[dict[str, Any]] = []
    found = False
    for step in map(dict, steps):
        if step_name(step) in ("Resize", "FixScaleResize"):
            found = True
            step |= {k: _times(step[k], scale) for k in ("scale", "scale_factor") if step.get(k)}
        elif step_name(step) == "Pad" and step.get("size"):
            step["size"] = tuple(math.ceil(n * scale / STRIDE) * STRIDE for n in step["size"])
        rescaled.append(step)
    return rescaled if found else _resized_when_read(rescaled, scale)


def _resized_when_read(steps: list[dict[str, Any]], scale: float) -> list[dict[str, Any]]:
    """Resize after the first step, and let the last one hand on by how much."""
    first, *rest, last = steps
    if "meta_keys" in last:
        last = {**last, "meta_keys": (*last["meta_keys"], "scale_factor")}
    return [first, {"type": "mmdet.Resize", "scale_factor": scale}, *rest, last]


def step_name(step: dict[str, Any]) -> str:
    """Return the bare name of a pipeline step's type, given as a class or a scoped string."""
    kind = step["type"]
    return kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


def _times(size: Any, scale: float) -> Any:
    """Multiply pixels, which stay whole, or a factor."""
    if isinstance(size, list | tuple):
        return tuple(_times(side, scale) for side in size)
    return max(1, round(size * scale)) if isinstance(size, int) else size * scale


def _reads_annotations(step: dict[str, Any]) -> bool:
    name = step_name(step)
    return name.startswith("Load") and name.endswith("Annotations")
