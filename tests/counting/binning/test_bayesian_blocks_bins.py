"""Bayesian blocks: laws of the method, and the message where astropy is missing."""

import sys

import numpy as np
import pytest

from autoeval.counting.binning import bayesian_blocks_bins
from autoeval.errors import InputError


def test_a_step_in_the_rate_is_found():
    counts = [*range(0, 100), *range(100, 1000, 50)]  # one a unit, then one in fifty
    edges = bayesian_blocks_bins(counts, 0.1).edges
    assert edges[0] == 0 and edges[-1] == 950
    assert len(edges) == 3 and 95 <= edges[1] <= 130


def test_even_counts_make_one_bin():
    assert len(bayesian_blocks_bins(np.arange(0, 300, 3), 0.1)) == 1


def test_the_extra_is_named_where_astropy_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "astropy.stats", None)
    with pytest.raises(InputError, match=r"autoeval\[counting\]"):
        bayesian_blocks_bins([1, 2, 3])
