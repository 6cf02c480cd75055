"""Keeping the boxes of labelled images during a pass, to learn for few labels elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from autoeval.data.labels.truth import Truth
from autoeval.detections import Evidence
from autoeval.errors import InputError
from autoeval.estimation.observation.samples import Samples
from autoeval.labels.labelled_site import LabelledSite, pack_site, unpack_site
from autoeval.labels.pool import pool_of_evidence
from autoeval.metasets.sample_set import Sample

LABELLED = "labelled_boxes"
"""Column of a source's own images that holds them with their boxes and labels, as bytes."""

BOXES_FILE = "boxes.parquet"
"""File of a work dir with these columns: ``source``, ``family`` and `LABELLED`."""

MOST_IMAGES = 300  # of a source


class Recording:
    """Samples that remember the labels they gave out, and what the detector said of them."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self._labels: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._seen: list[Evidence] = []

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Sample:
        """Make one image, and remember its labels."""
        sample = self.samples[index]
        if index < MOST_IMAGES:
            self._labels[sample.image_id] = (sample.boxes, sample.labels, sample.iscrowd)
        return sample

    def watch(self, evidence: Evidence) -> None:
        """Keep the boxes of an image."""
        if evidence.image_id in self._labels:
            self._seen.append(evidence.boxes_alone())

    def content(self, categories: tuple[str, ...]) -> bytes:
        """Return all that was seen; see `pack_site`."""
        pool = pool_of_evidence(self._seen, categories)
        labels = [self._labels[evidence.image_id] for evidence in self._seen]
        boxes, names, crowds = (np.concatenate(part) for part in zip(*labels, strict=True))
        image = np.repeat(np.arange(len(labels)), [len(part[0]) for part in labels])
        truth = Truth(pool.found.images, categories, image, names, boxes, crowds)
        return pack_site(pool, truth)


def apart(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take the boxes out of a score table.

    Returned: table (without them); boxes (one row a source that has them: ``source``, ``family``
        (its own name by default), `LABELLED`).
    """
    columns = ["source", "family", LABELLED]
    if LABELLED not in table:
        return table, pd.DataFrame(columns=columns)
    rows = table[table[LABELLED].notna()].drop_duplicates("source")
    if "family" not in rows:
        rows = rows.assign(family=rows["source"])
    boxes = rows.assign(family=rows["family"].fillna(rows["source"]))[columns]
    return table.drop(columns=LABELLED), boxes.reset_index(drop=True)


def recorded_sites(boxes: pd.DataFrame) -> list[LabelledSite]:
    """Read the labelled places of the second table of `apart`."""
    columns: Iterable = zip(boxes[LABELLED], boxes["source"], boxes["family"], strict=True)
    return [unpack_site(content, str(name), str(family)) for content, name, family in columns]


def read_sites(folder: Path) -> list[LabelledSite]:
    """Read the labelled places that `fit_task` left in a work dir."""
    file = folder / BOXES_FILE
    if not file.is_file():
        raise InputError(
            f"Expected the boxes of the sources in {file}: run estimate-map again in a new work "
            "dir; older versions did not keep them."
        )
    return recorded_sites(pd.read_parquet(file))
