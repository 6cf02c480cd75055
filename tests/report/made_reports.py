"""Reports made of parts, for tests of what they say."""

import dataclasses
import math
import re

import numpy as np
import pandas as pd

from autoeval.accuracy.measures import find_target
from autoeval.estimation.protocol import FitResult, LeaveOneSourceOut
from autoeval.report.estimate import category_blocks, result_blocks
from autoeval.report.page import Page
from autoeval.report.scatter import ScatterChart
from autoeval.stability.methods.source_regression import PublishedEstimate

HOSTILE = "<img src=x onerror=alert(1)>"
MAP = find_target("mAP")
OF_METHOD = {"method": "bos", "std": 0.01}
ESTIMATE = PublishedEstimate(
    0.4, 0.3, 0.55, 0.9, "jackknife+", "mAP", 80, {"bos": 0.7}, **OF_METHOD
)


def points(n=12):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "source": np.repeat(["a", "_b", "$c"], n // 3),
            "sample_set": [f"id{k}" for k in range(n)],
            "kind": (["seed"] + ["sample"] * (n // 3 - 1)) * 3,
            "transforms": ([""] + ["Rotate 3"] * (n // 3 - 1)) * 3,
            "n_images": 20.0,
            "mAP": rng.uniform(0, 1, n),
            "bos": rng.uniform(0, 1, n),
            "ac": rng.uniform(0, 1, n),
        }
    )


def held_out(**errors):
    """Three sources with a true value of .5, two of them inside their interval."""
    table = pd.DataFrame({"source": ["a", "_b", "$c"], "n_images": 20, "true": 0.5})
    table = table.assign(std=0.0, lower=[0.2, 0.2, 0.6], upper=[0.6, 0.6, 1.0], missing=False)
    return tuple(
        LeaveOneSourceOut(method, "mAP", table.assign(error=e, estimate=0.5 - e), np.full(2, e), {})
        for method, e in errors.items()
    )


def report(estimate=ESTIMATE, results=(), target=MAP, scores=("bos", "ac"), title="t", **changes):
    """Make the page of an estimate; `changes` are those of the estimate."""
    estimate = dataclasses.replace(estimate, target=target.name, **changes)
    fit = FitResult(points(), results)
    star = {"value": estimate.value, **estimate.features}
    table = points().rename(columns={"mAP": target.name})
    chart = ScatterChart(table, scores, target, estimate=star)
    return Page(title, [*result_blocks(estimate, fit), chart.block(), *category_blocks(estimate)])


def blocks(page, kind):
    """The blocks of a kind, from top to bottom; empty warnings are not shown."""
    return [of for of in page.blocks if of.kind == kind and getattr(of, "warnings", True)]


def tables(page):
    """The tables of a page by name."""
    return {table.name: table for table in blocks(page, "table")}


def text(page):
    """The page as a reader sees it, roughly."""
    html = page.render()
    return re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", html, flags=re.S)


NONE = {"lower": math.nan, "upper": math.nan}
