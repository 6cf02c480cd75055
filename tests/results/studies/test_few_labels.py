"""The backtest of few labels, from made work dirs to its tables."""

import json

import numpy as np
import pandas as pd
import pytest
from label_worlds import make_place

from autoeval.errors import InputError
from autoeval.estimation.labels.pseudo_labels import with_pseudo_labels
from autoeval.estimation.labels.recording import LABELLED
from autoeval.estimation.labels.stored import pack_place
from autoeval.results.studies.few_labels import labels_report
from autoeval.studies.label_backtest import labels_worth

NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    places = [make_place(k, n_images=70, name=name) for k, name in enumerate(NAMES)]
    boxes = [
        {"source": p.name, "family": p.name, LABELLED: pack_place(p.pool, p.truth)} for p in places
    ]
    rows = [
        {
            "source": place.name,
            "sample_set": "own",
            "kind": "seed",
            "transforms": "",
            "repeat": 0,
            "n_images": 70,
            "atc@0.30": place.pool.found.scores.mean(),
            "box_share@0.30": (place.pool.found.scores > 0.3).mean(),
            "confident_images@0.20": 0.9,
            "mAP": place.rankings[0].precision().mean(),
        }
        for place in places
    ]
    pd.DataFrame(boxes).to_parquet(folder / "boxes.parquet")
    pd.DataFrame(rows).to_parquet(folder / "scores.parquet")
    return folder


def test_every_place_and_estimator_is_judged(work_dir, tmp_path):
    report = labels_report(work_dir, draws=6)
    tables = {part.name: part.table for part in report.parts}
    judged = tables["labels_by_place"]
    assert sorted(set(judged["place"])) == list(NAMES)
    assert set(judged["k"]) == {5, 10, 20, 30, 50}
    assert judged["coverage"].between(0, 1).all()
    errors = tables["labels"].pivot(index="k", columns="estimator", values="error")
    assert (errors.loc[50] < errors.loc[5]).all()
    assert len(tables["labels_correlation"]) == 4
    assert len(tables["labels_stopping"]) == 2
    assert {path.suffix for path in report.write(tmp_path)} == {".png", ".md", ".csv"}


def test_no_place_is_large_enough(work_dir):
    with pytest.raises(InputError, match="None of 4 places has 71 images"):
        labels_report(work_dir, draws=2, fewest=71)


def test_labels_alone_are_worth_themselves():
    rows = [
        {"place": "a", "category": "c", "k": 10, "n_images": 100, "estimator": name, "rmse": rmse}
        for name, rmse in (("labels", 0.2), ("combined", 0.1))
    ]
    worth = labels_worth(pd.DataFrame(rows))["worth"]
    # 1 / w = 1 / 100 + (1 / 10 - 1 / 100) / 4
    assert worth.tolist() == pytest.approx([10, 1 / (0.01 + 0.09 / 4)])


def test_pseudo_labels_are_read_from_files(tmp_path):
    place = make_place(3, n_images=30, name="here")
    found = place.pool.found
    rows = [
        {
            "image_id": found.images[k].image_id,
            "category": "van",
            "bbox": [float(x), float(y), float(x2 - x), float(y2 - y)],
            "score": float(score),
        }
        for k, (x, y, x2, y2), score in zip(found.image, found.boxes, found.scores, strict=True)
    ]
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "here.json").write_text(json.dumps(rows))
    helped = with_pseudo_labels(place, tmp_path, {"van": "car"})
    assert np.sort(helped.pseudo_labels.scores) == pytest.approx(np.sort(found.scores), abs=1e-6)
    with pytest.raises(InputError, match="found 0"):
        with_pseudo_labels(make_place(3, name="there"), tmp_path, {"van": "car"})
