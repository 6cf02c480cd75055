"""Was a detector trained on these images? Its config says on which."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from mmengine.config import Config

from autoeval.detectors.building.configs import dicts_in
from autoeval.errors import InputError
from autoeval.runtime.files import read_json

MANY = 0.1  # share of images with the name of a training image
LARGEST = 100 * 2**20  # bytes of a training file that is read for the names in it


def trained_on(config: Config, labels: str | os.PathLike[str], names: Iterable[str]) -> list[str]:
    """Say why labelled images, by file names, seem to be those that a detector was trained on.

    Where a file of training labels in the config is here, the names of its images are compared;
    where it is not, its path is with that of the labels. There is one reason for each such file.
    """
    labels, labelled = Path(labels), {Path(name).name for name in names}
    reasons = (_reason(file, labels, labelled) for file in dict.fromkeys(_training_files(config)))
    return [reason for reason in reasons if reason]


def _training_files(config: Config) -> Iterator[Path]:
    for dataset in dicts_in(config.get("train_dataloader", {})):
        if isinstance(dataset.get("ann_file"), str) and dataset["ann_file"]:
            yield Path(dataset.get("data_root") or "", dataset["ann_file"])


def _reason(file: Path, labels: Path, labelled: set[str]) -> str:
    seen = labelled & _names(file)
    if len(seen) > MANY * len(labelled):
        return (
            f"{len(seen)} of {len(labelled)} images have the name of an image in {file}, on which "
            "the config says that the detector was trained"
        )
    same = file.name == labels.name and (
        "train" in file.name or file.parent.name == labels.absolute().parent.name
    )
    if same and not file.exists():
        return f"{labels} is called as the labels that the config trains on, {file}"
    return ""


def _names(file: Path) -> set[str]:
    """Return the names of the images in a COCO file, none where it is absent, great or no such."""
    try:
        if file.suffix != ".json" or file.stat().st_size > LARGEST:
            return set()
        return {Path(image["file_name"]).name for image in read_json(file)["images"]}
    except (OSError, InputError, KeyError, TypeError):
        return set()
