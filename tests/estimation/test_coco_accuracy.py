"""What `fit` prints of the labelled images is what pycocotools prints."""

import contextlib
import io
from dataclasses import replace

import numpy as np
import pytest
from label_worlds import make_site
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from autoeval.estimation.fitting import fit_sets
from autoeval.report.fit import fit_figures, fit_text

WORDS = ("car", "person", "dog")


def by_pycocotools(labelled):
    """mAP, mAP50 and mAP75 of a labelled set."""

    def xywh(box):
        return [*box[:2], *(box[2:] - box[:2])]

    truth, found = labelled.truth, labelled.boxes
    annotations = [
        dict(id=k + 1, image_id=int(i), category_id=int(c), bbox=list(map(float, xywh(box))))
        | dict(area=float(np.prod(box[2:] - box[:2])), iscrowd=0)
        for k, (i, c, box) in enumerate(zip(truth.image, truth.label, truth.boxes, strict=True))
    ]
    results = [
        dict(image_id=int(i), category_id=int(c), score=float(s), bbox=list(map(float, xywh(box))))
        for i, c, s, box in zip(found.image, found.label, found.scores, found.boxes, strict=True)
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {
            "info": {},
            "images": [dict(id=k, width=200, height=200) for k in range(len(labelled))],
            "categories": [dict(id=k, name=name) for k, name in enumerate(WORDS)],
            "annotations": annotations,
        }
        coco.createIndex()
        evaluation = COCOeval(coco, coco.loadRes(results), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats[:3]


@pytest.fixture(scope="module")
def fitted():
    """A set on which one category has too few labels to be fitted."""
    site = make_site(3, n_images=40, categories=WORDS)
    kept = (site.truth.label != 2) | (np.arange(len(site.truth)) < 8)
    made = replace(site, truth=site.truth.where(kept), everywhere=False)
    return made, fit_sets([made], context={})


def test_the_number_of_pycocotools_is_printed_beside_the_one_that_is_fitted(fitted):
    labelled, estimator = fitted
    expected = by_pycocotools(labelled)
    (row,) = estimator.fit_result_.labelled_sets.to_dict("records")
    assert [row[name] for name in ("mAP", "mAP50", "mAP75")] == pytest.approx(expected, abs=1e-6)
    assert (row["n_categories"], row["n_fitted"], row["n_images"]) == (3, 2, 40)
    own = estimator.regression_.pairs_["mAP"].mean()
    assert abs(own - row["mAP"]) > 0.01
    printed, of_fit, _ = fit_figures(estimator)
    assert [printed.value, of_fit.value] == [f"{100 * x:.1f}" for x in (row["mAP"], own)]
    text = fit_text(estimator, verbose=False)
    assert f"{100 * row['mAP']:.1f} (as pycocotools" in text
    assert f"mAP that is fitted: {100 * own:.1f} (2 categories" in text
