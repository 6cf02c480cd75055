"""Tables of measured results say what the files of figures beside them say."""

import re

import numpy as np
import pandas as pd

from tests.doc_pages import ROOT, prose_of

RESULTS = ROOT / "docs" / "results"


def tables_of(page, first):
    """The tables of a page whose first column is called `first`, cells as they stand."""
    lines = [line.strip() for line in prose_of(page.read_text("utf-8")).splitlines()]
    blocks = re.findall(r"(?:^\|.*\n)+", "\n".join(lines) + "\n", re.MULTILINE)
    rows = [[row.strip("|").split("|") for row in block.splitlines()] for block in blocks]
    cells = [[[cell.strip() for cell in row] for row in table] for table in rows]
    return [pd.DataFrame(rows, columns=head) for head, _, *rows in cells if head[0] == first]


def differing(shown, figures, columns):
    """Cells that are not what the file says, to the digits that they are told with."""
    if len(shown) != len(figures):
        return [f"{len(shown)} rows, and {len(figures)} in the file"]
    found = []
    for name, (column, scale) in columns.items():
        for cell, figure in zip(shown[name], scale * figures[column], strict=True):
            told = cell.rstrip(" %").replace("–", "nan")
            step = 10.0 ** -len(told.partition(".")[2])
            if not np.isclose(float(told), figure, rtol=0, atol=0.501 * step, equal_nan=True):
                found.append(f"{name}: {cell}, not {figure:g}")
    return found


def test_the_comparison_is_that_of_its_two_files():
    tasks = ("vehicle_22", "person_19")
    files = [pd.read_csv(RESULTS / f"comparison/{t}.csv", index_col="method") for t in tasks]
    shown = tables_of(RESULTS / "comparison.md", "method")[0].set_index("method")
    places = [file.loc[shown.index, :"mean abs. error"].iloc[:, :-1] for file in files]
    means = {"all": pd.concat(places, axis=1).mean(axis=1)}
    means |= {n: f["mean abs. error"] for n, f in zip(("vehicles", "persons"), files, strict=True)}
    for name, mean in means.items():
        columns = {name: ("figure", 1)}
        assert differing(shown, mean[shown.index].to_frame("figure"), columns) == [], name


def test_the_means_of_binned_training_are_those_of_its_runs():
    runs = pd.read_csv(RESULTS / "binned_training.csv").drop(columns="seed").groupby("training")
    shown = tables_of(RESULTS / "binned_training.md", "training")[0].set_index("training")
    mean, std = runs.mean(), runs.std()
    for training, row in shown.iterrows():
        told = [f"{mean.loc[training, c]:.2f} ± {std.loc[training, c]:.2f}" for c in row.index]
        assert row.tolist() == told, training


def test_a_figure_that_differs_is_named():
    shown, columns = pd.DataFrame({"off": ["4.0", "5.2"]}), {"off": ("error", 100)}
    assert differing(shown, pd.DataFrame({"error": [0.0404, 0.0515]}), columns) == []
    wrong = differing(shown, pd.DataFrame({"error": [0.0406, 0.052]}), columns)
    assert wrong == ["off: 4.0, not 4.06"]
    assert differing(shown, pd.DataFrame({"error": [0.0404]}), columns)
