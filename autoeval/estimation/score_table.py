"""The score table: one row for each sample set and dropout repeat.

Columns: ``source`` (seed set), ``group`` (optional: sources of one origin), ``sample_set`` (recipe
id), ``kind`` (``"seed"`` for a source's own images, ``"sample"`` for a transformed subset),
``repeat``, ``n_images``, one column a feature, and ``mAP``, ``mAP50``, ``mAP75`` in [0, 1].
"""

from __future__ import annotations

import pandas as pd

from autoeval.targets import TARGETS

SEED, SAMPLE = "seed", "sample"
REQUIRED = ("source", "sample_set", "kind", "repeat", "n_images")
_COUNTS = ("n_boxes", "n_unreadable")


def sources(table: pd.DataFrame) -> list[str]:
    """Return the names of the sources, in order of appearance."""
    return list(dict.fromkeys(table["source"]))


def feature_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that hold scores, not names, counts, seconds or accuracies."""
    not_features = {*REQUIRED, *_COUNTS}
    return [
        name
        for name in table.select_dtypes("number")
        if name not in not_features
        and not name.endswith("_s")
        and name.split("/")[0] not in TARGETS
    ]
