"""A trial run, so that a detector that does not run says so before any image is read."""

from __future__ import annotations

import numpy as np
import torch

from autoeval.detectors.causes import first_line
from autoeval.detectors.detector import Detector
from autoeval.errors import InputError

HEIGHT, WIDTH, BLOCK = 480, 640, 40


def try_once(detector: Detector) -> None:
    """Run a detector on an image of coloured blocks.

    Raises
    ------
    InputError
        If it fails, as with a pipeline that does not pack images or ``test_cfg`` without what the
        head asks of it, or if memory runs out.
    """
    try:
        detector.observe([blocks()], ["trial"])
    except InputError:
        raise
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"{type(detector.model).__name__} and one image of its input size do not fit into the "
            f"memory of {detector.device}: free some, or choose another --device."
        ) from error
    except Exception as error:  # pipelines and heads are programs: they fail in any way
        raise InputError(
            f"{type(detector.model).__name__} does not run with {detector.config.filename}: on a "
            f"trial image {type(error).__name__}: {first_line(error)}. Check `test_dataloader` and "
            "`model.test_cfg` against a config of mmdet's for this detector."
        ) from error


def blocks() -> np.ndarray:
    """Draw an image (480, 640, 3) of blocks of random colours."""
    shape = (HEIGHT // BLOCK, WIDTH // BLOCK, 3)
    colours = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    return colours.repeat(BLOCK, 0).repeat(BLOCK, 1)
