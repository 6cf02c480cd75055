"""A dropout numbers the stages that it was searched at, and is used at no others."""

import pytest
from rectangles import write_task
from shaken_rectangles import ShakenRectangles

from autoeval.cli import main
from autoeval.errors import InputError
from autoeval.stability.commands.meta_set_options import pass_settings
from autoeval.stability.network.forward.dropout_spec import of_search
from autoeval.stability.passes import presets


@pytest.mark.parametrize("stages", [(), ("norm1", "norm2")])
def test_a_dropout_is_used_at_the_stages_that_were_searched(stages, tmp_path, monkeypatch):
    load = "autoeval.detectors.loading.load_detector"
    monkeypatch.setattr(load, lambda *of, **options: ShakenRectangles())
    monkeypatch.setattr(presets, "as_perturbable", lambda detector, stages: detector)
    words = ["search-dropout", "--detector", "rectangles", "--task", str(write_task(tmp_path))]
    words += ["--n-sets", "1", "--n-images", "2", "--rates", "0.15", "--work-dir", str(tmp_path)]
    assert main([*words, *(["--stages", ",".join(stages)] if stages else [])]) == 0
    file = str(tmp_path / "dropout.py")
    assert of_search(file, "named_stages") == stages
    assert pass_settings({"dropout": file, "stages": list(stages)}).stages == stages
    if stages:
        for others in (None, ["norm2", "norm1"]):
            with pytest.raises(InputError, match="--stages norm1,norm2"):
                pass_settings({"dropout": file, "stages": others})
