"""The sizes of the sample sets that a search is given."""

import pytest
from rectangles import write_task
from shaken_rectangles import ShakenRectangles

from autoeval.cli import main


@pytest.mark.parametrize("option", ["--n-sets", "--n-images"])
def test_no_sample_sets_are_refused(option, tmp_path, monkeypatch, capsys):
    """None at all are not the usual number of them."""
    load = "autoeval.detectors.loading.load_detector"
    monkeypatch.setattr(load, lambda *of, **options: ShakenRectangles())
    words = ["search-dropout", "--detector", "rectangles", "--task", str(write_task(tmp_path))]
    assert main([*words, option, "0", "--work-dir", str(tmp_path / "out")]) == 2
    assert "must be at least 1" in capsys.readouterr().err
