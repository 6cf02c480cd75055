"""What a run was made with, and where its time went."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

import pandas as pd

from autoeval import __version__
from autoeval.detectors.detector import Detector
from autoeval.estimation.estimator import MapEstimator
from autoeval.estimation.presets import PassSettings

LIBRARIES = ("torch", "mmdet", "mmengine", "mmcv", "numpy", "albumentations", "faster_coco_eval")
STAGES = {
    "read_s": "waiting for images (decoding, transforms)",
    "network_s": "network",
    "scores_s": "matching and scores",
    "map_s": "mAP",
}


def facts(
    name: str,
    detector: Detector,
    task_name: str,
    settings: PassSettings,
    estimator: MapEstimator,
) -> dict[str, str]:
    """Say in words what a run was made with."""
    dropout = settings.dropout
    table = estimator.table_
    n_sets = table["sample_set"].nunique()
    return {
        "detector": name,
        "detector fingerprint": detector.fingerprint,
        "task": task_name,
        "method": f"{estimator.method}, estimating {estimator.target}",
        "sources": ", ".join(estimator.sources_),
        "sample sets": f"{n_sets}, with their recipes' ids in the last table",
        "dropout": f"{dropout.position} stages {list(dropout.stages)}, rate {dropout.rate}",
        "repeats": str(settings.repeats),
        "seed": str(settings.seed),
        "versions": f"autoeval {__version__}, python {platform.python_version()}, {_versions()}",
    }


def time_table(
    fitted: pd.DataFrame | None, unlabelled: Mapping[str, Any] | None
) -> pd.DataFrame | None:
    """Add up the seconds of each stage of the pass.

    Parameters
    ----------
    fitted : DataFrame, optional
        Score table, whose seconds stand in each row of a sample set.
    unlabelled : mapping, optional
        Row of the pass over unlabelled images.

    Returns
    -------
    DataFrame or None
        Stages and, last, their sum; for each of the two the seconds and the milliseconds an image.
        None where neither tells of time.
    """
    passes: dict[str, Mapping[str, Any]] = {}
    if fitted is not None and set(STAGES) <= set(fitted):
        passes["sample sets"] = fitted.drop_duplicates(["source", "sample_set"])[
            [*STAGES, "n_images"]
        ].sum()
    if unlabelled is not None and set(STAGES) <= set(unlabelled):
        passes["unlabelled images"] = unlabelled
    if not passes:
        return None
    table = pd.DataFrame({"stage": [*STAGES.values(), "all"]})
    for name, spent in passes.items():
        seconds = [float(spent[stage]) for stage in STAGES]
        seconds.append(sum(seconds))
        table[f"{name}, s"] = seconds
        table[f"{name}, ms an image"] = [1000 * s / spent["n_images"] for s in seconds]
    return table


def _versions() -> str:
    loaded = {name: sys.modules[name] for name in LIBRARIES if name in sys.modules}
    known = {name: getattr(module, "__version__", "") for name, module in loaded.items()}
    return ", ".join(f"{name} {version}" for name, version in known.items() if version)
