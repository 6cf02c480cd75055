"""The picture of a dropout search holds the numbers of its table."""

import numpy as np
import pandas as pd

from autoeval.stability.reports.dropout_outcome import plot_dropout_search


def table_of(r2, share=1.0):
    rows = [(stages, rate, r2[stages, rate], share) for stages, rate in r2]
    return pd.DataFrame(rows, columns=["stages", "rate", "r2", "share"])


def test_cells_cuts_and_mark():
    r2 = {("1,2", 0.1): 0.6, ("0", 0.1): 0.2, ("0", 0.3): 0.4, ("1,2", 0.3): 0.5}
    figure = plot_dropout_search(table_of(r2))
    axes = {ax.get_title(): ax for ax in figure.axes}
    heat = axes["R² between bos and mAP over sample sets"]
    assert np.array_equal(heat.images[0].get_array(), [[0.2, 0.4], [0.6, 0.5]])
    assert [t.get_text() for t in heat.get_yticklabels()] == ["[0]", "[1,2]"]
    (mark,) = heat.patches
    assert mark.get_xy() == (-0.5, 0.5)  # the first row of the table
    assert [bar.get_height() for bar in axes["(a) at rate 0.1"].patches] == [0.2, 0.6]
    assert [bar.get_height() for bar in axes["(b) at stages [1,2]"].patches] == [0.6, 0.5]


def test_cells_from_some_of_the_images_are_dotted():
    table = table_of({("0", 0.1): 0.2, ("0", 0.3): 0.4})
    table.loc[1, "share"] = 0.125
    (heat, *_) = plot_dropout_search(table).axes
    assert np.array_equal(heat.collections[0].get_offsets(), [[1, 0]])


def test_gaps_stay_white():
    """A greedy search measures few cells."""
    r2 = {("1", 0.1): 0.6, ("0", 0.1): 0.2, ("1", 0.3): 0.5}
    (heat, *_) = plot_dropout_search(table_of(r2)).axes
    assert np.ma.getmaskarray(heat.images[0].get_array()).sum() == 1
