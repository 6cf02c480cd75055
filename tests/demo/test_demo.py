"""The demo, from its command to its page, with few images."""

import json

import pandas as pd
import pytest

from autoeval.cli import main
from autoeval.demo import showing
from autoeval.demo.roadworld import ENVIRONMENTS


def test_it_fits_estimates_and_compares(tmp_path, monkeypatch, capsys):
    tiny = showing.DemoSizes(images=12, sample_sets=1, sample_images=2, repeats=1)
    monkeypatch.setattr(showing, "DemoSizes", lambda repeats: tiny)
    assert main(["demo", "--work-dir", str(tmp_path), "--held-back", "fog"]) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    result = json.loads((tmp_path / "result.json").read_text())
    assert last.startswith("held back: fog, estimated mAP ")
    assert f"estimated mAP {100 * result['estimate']['value']:.1f}," in last
    table = pd.read_parquet(tmp_path / "scores.parquet")
    assert set(table["source"]) == set(ENVIRONMENTS) - {"fog"}
    assert [m["method"] for m in result["held_out"]][-1] == "constant"
    assert "fog" not in {row["source"] for row in result["per_source"]["constant"]}
    assert (tmp_path / "report.html").is_file()
    again = ["--estimator", str(tmp_path / "estimator.parquet"), "--work-dir", str(tmp_path / "2")]
    assert main(["estimate", str(tmp_path / "data" / "fog" / "images"), *again]) == 0
    estimate = json.loads((tmp_path / "2" / "result.json").read_text())["estimate"]
    assert estimate["value"] == pytest.approx(result["estimate"]["value"])


@pytest.mark.parametrize("name", ["atlantis", ""])
def test_an_unknown_environment_is_refused_with_those_there_are(name, tmp_path, capsys):
    assert main(["demo", "--work-dir", str(tmp_path), "--held-back", name]) == 2
    assert "dusk_city" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
