"""Published figures of CAPTURe, for comparison (Tables 2 and 3; sMAPE in %, lower is better)."""

from __future__ import annotations

import pandas as pd

from autoeval.data.paper_tables import read_paper

_FIRST = {"real": 0, "synthetic": 2}


def published_table(split: str) -> pd.DataFrame:
    """Return the published sMAPE on the ``real`` or ``synthetic`` split, original and occluded."""
    tables, _ = read_paper("capture", ["2"])
    first = _FIRST[split]
    rows = [{"model": "humans, 100 items", "original": None, "occluded": published_human(split)}]
    for model, values in tables["2"]["rows"].items():
        rows.append({"model": model, "original": values[first], "occluded": values[first + 1]})
    return pd.DataFrame(rows)


def published_human(split: str) -> float:
    """Return the published sMAPE of people on 100 occluded items of a split."""
    tables, _ = read_paper("capture", ["3"])
    return tables["3"]["rows"]["Human"][_FIRST[split] // 2]
