"""Published figures of CAPTURe, for comparison (Tables 2 and 3; sMAPE in %, lower is better)."""

from __future__ import annotations

import pandas as pd

_VLM = {
    "GPT-4o": (13.34, 14.75, 5.90, 9.71),
    "InternVL2": (26.17, 32.90, 16.44, 17.57),
    "Molmo": (25.90, 32.49, 8.40, 17.73),
    "Qwen2-VL": (18.96, 29.33, 6.63, 11.74),
}
HUMAN = {"real": 3.79, "synthetic": 0.92}  # on 100 occluded items of each split


def published_table(split: str) -> pd.DataFrame:
    """Return the published sMAPE on the ``real`` or ``synthetic`` split, original and occluded."""
    first = 0 if split == "real" else 2
    rows = [{"model": "humans, 100 items", "original": None, "occluded": HUMAN[split]}]
    for model, values in _VLM.items():
        rows.append({"model": model, "original": values[first], "occluded": values[first + 1]})
    return pd.DataFrame(rows)
