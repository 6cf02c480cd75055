"""Published figures of CAPTURe, for comparison (Tables 2 and 3; sMAPE in %, lower is better)."""

from __future__ import annotations

import pandas as pd

from autoeval.data.paper_tables import read_paper


def published_table(split: str) -> pd.DataFrame:
    """Return the published sMAPE on the ``real`` or ``synthetic`` split, original and occluded."""
    rows = [{"model": "humans, 100 items", "original": None, "occluded": published_human(split)}]
    table = _rows("2")
    for model in read_paper("capture", ["2"])[0]["2"]["averaged"]:
        values = {name: table[model][f"{split}, {name}"] for name in ("original", "occluded")}
        rows.append({"model": model, **values})
    return pd.DataFrame(rows)


def published_human(split: str) -> float:
    """Return the published sMAPE of people on 100 occluded items of a split."""
    return _rows("3")["Human"][f"{split}, occluded"]


def _rows(name: str) -> dict[str, dict[str, float]]:
    """Return the printed values of a table by row and column."""
    entry = read_paper("capture", [name])[0][name]
    return {
        row: dict(zip(entry["columns"], values, strict=True))
        for row, values in entry["rows"].items()
    }
