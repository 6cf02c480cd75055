"""Training: the log, the exported file, and one tiny run."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
import torch
from mmengine.config import Config

from autoeval.cli import main
from autoeval.demo import training
from autoeval.demo.training import describe_training, measure
from autoeval.detectors import load_detector
from autoeval.errors import InputError
from autoeval.roadworld import CATEGORY, DETECTOR, ENVIRONMENTS, make_picture
from autoeval.runtime.files import shipped_config
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.passes.presets import as_perturbable

pytestmark = [pytest.mark.rare, pytest.mark.usefixtures("short_logs")]

CONFIG = shipped_config("demo", "train_roadworld_nano.py")
FIRST = shipped_config("demo", "train_roadworld_nano_first.py")


def test_log_keeps_the_last_losses_of_every_epoch(tmp_path):
    rows = [
        {"epoch": 1, "iter": 50, "loss": 9.0, "loss_cls": 4.0, "lr": 0.1},
        {"epoch": 1, "iter": 100, "loss": 7.123456, "loss_cls": 3.0, "lr": 0.1},
        {"epoch": 2, "iter": 200, "loss": 5.0, "loss_cls": 2.0, "lr": 0.1},
        {"coco/bbox_mAP": 0.3, "step": 2},
    ]
    scalars = tmp_path / "scalars.json"
    scalars.write_text("\n".join(map(json.dumps, rows)))
    assert training.summarise_losses(scalars) == [
        {"epoch": 1, "loss": 7.1235, "loss_cls": 3.0},
        {"epoch": 2, "loss": 5.0, "loss_cls": 2.0},
    ]


def test_log_of_a_training_in_two_starts_has_the_epochs_of_both(tmp_path):
    paths = []
    for start, epochs in ((0, (1, 2)), (1, (2, 3))):
        paths.append(tmp_path / f"{start}.json")
        rows = [{"epoch": epoch, "iter": epoch, "loss": epoch + start / 10} for epoch in epochs]
        paths[-1].write_text("\n".join(map(json.dumps, rows)))
    expected = [{"epoch": 1, "loss": 1.0}, {"epoch": 2, "loss": 2.1}, {"epoch": 3, "loss": 3.1}]
    assert training.summarise_losses(*paths) == expected


def test_export_halves_floats_and_leaves_counters(tmp_path):
    state = {"w": torch.tensor([0.1, 2.0]), "n": torch.tensor(70000)}
    torch.save({"state_dict": state, "optimizer": object}, tmp_path / "long.pth")
    training.export_checkpoint(tmp_path / "long.pth", {"epochs": 3}, tmp_path / "short.pth")
    content = torch.load(tmp_path / "short.pth", weights_only=True)
    assert set(content) == {"meta", "state_dict"}
    assert content["state_dict"]["w"].dtype == torch.float16
    assert content["state_dict"]["n"] == 70000
    assert training.read_training_log(tmp_path / "short.pth") == {"epochs": 3}


def test_page_marks_the_environments_of_training():
    log = {"environments": ["fog"], "epochs": 1, "losses": [{"epoch": 1, "loss": 2.0}]}
    row = {"images": 9, "vehicles": 5, "mAP": 0.12345, "mAP50": 0.5, "mAP75": float("nan")}
    table = pd.DataFrame([{"environment": name, **row} for name in ("fog", "rain")])
    page = describe_training(log, table, seed=3, commands=["run it"])
    assert "| fog | 9 | 5 | 12.3% | 50.0% | – | yes |" in page
    assert "| rain | 9 | 5 | 12.3% | 50.0% | – |  |" in page
    assert "run it" in page and "- epochs: 1" in page


TINY = """
_base_ = {base!r}
images_per_environment = 2
data_root = {data!r}
max_epochs = 1
load_from = None
train_cfg = dict(max_epochs=1)
default_hooks = dict(logger=dict(interval=1))
"""


def test_the_command_trains_measures_and_tells(tmp_path, capsys):
    config, checkpoint, page = (tmp_path / name for name in ("t.py", "tiny.pth", "page.md"))
    config.write_text(TINY.format(base=str(CONFIG), data=str(tmp_path / "images")))
    files = ["--config", str(config), "--checkpoint", str(checkpoint), "--report", str(page)]
    options = ["--work-dir", str(tmp_path / "work"), "--images", "1", "--threads", "1"]
    assert main(["train-demo-detector", *files, *options]) == 0
    assert f"wrote {checkpoint}" in capsys.readouterr().out
    log = training.read_training_log(checkpoint)
    assert log["images"] == 8 and log["epochs"] == 1 and log["losses"][0]["loss"] > 0
    assert load_detector(DETECTOR, checkpoint=checkpoint).categories == ("vehicle",)
    said = page.read_text()
    for name in ENVIRONMENTS:
        trained = "yes" if name in log["environments"] else ""
        assert re.search(rf"\| {name} \| 1 \|.*\| {trained} \|", said)
    before = checkpoint.read_bytes()
    again = ["--checkpoint", str(checkpoint), "--images", "1", "--threads", "1"]
    assert main(["train-demo-detector", *again, "--report", str(page), "--report-only"]) == 0
    assert checkpoint.read_bytes() == before and "--report-only --images 1" in page.read_text()


@pytest.mark.slow
def test_an_interrupted_training_goes_on_where_it_was(tmp_path):
    config = tmp_path / "t.py"
    config.write_text(TINY.format(base=str(CONFIG), data=str(tmp_path / "images")))
    _, log = training.train_detector(Config.fromfile(config), tmp_path / "work")
    assert [row["epoch"] for row in log["losses"]] == [1]
    longer = Config.fromfile(config)
    longer.max_epochs = longer.train_cfg.max_epochs = 2
    trained, log = training.train_detector(longer, tmp_path / "work")
    assert [row["epoch"] for row in log["losses"]] == [1, 2]
    state = torch.load(trained, weights_only=False)
    assert state["meta"]["epoch"] == 2 and state["meta"]["iter"] == 2  # 8 images, a batch an epoch


@pytest.fixture(scope="module")
def detector():
    return load_detector(DETECTOR)


def test_it_sees_vehicles_where_it_was_trained_and_fewer_elsewhere(detector):
    easy = measure(detector, "overpass", 12, seed=77)
    hard = measure(detector, "drone_high", 12, seed=77)
    assert easy["vehicles"] > 50 and hard["vehicles"] > 50
    assert easy["mAP50"] > 0.7 and easy["mAP"] > 0.5
    assert hard["mAP"] < easy["mAP"] - 0.15


def test_its_category_and_stages(detector):
    assert detector.categories == (CATEGORY,)
    image = make_picture("highway_day", 0).image
    spec = DropoutSpec("before", (1, 2), 0.15)
    (evidence,) = as_perturbable(detector).observe([image], ["0"], dropout=spec, repeats=1)
    assert len(evidence.clean) and len(evidence.perturbed[0])


def test_the_file_is_small_and_holds_nothing_but_weights_and_words():
    path = shipped_config("detectors", f"{DETECTOR}.pth")
    assert path.stat().st_size < 5e6
    content = torch.load(path, weights_only=True)
    assert content["meta"]["dataset_meta"]["classes"] == (CATEGORY,)
    assert content["meta"]["training"]["losses"]


def test_a_training_that_goes_on_needs_the_weights_of_the_first_part(tmp_path):
    config = Config.fromfile(CONFIG)
    config.load_from = str(tmp_path / "first.pth")
    with pytest.raises(InputError, match=r"train_roadworld_nano_first\.py"):
        training.train_detector(config, tmp_path / "work")


def test_the_shipped_weights_were_trained_by_the_two_shipped_configs():
    first, second = (Config.fromfile(path) for path in (FIRST, CONFIG))
    log = training.read_training_log(shipped_config("detectors", f"{DETECTOR}.pth"))
    assert (log["epochs_before"], log["epochs"]) == (first.max_epochs, second.max_epochs)
    assert [row["epoch"] for row in log["losses"]] == [*range(1, second.max_epochs + 1)]
    assert second.train_cfg.max_epochs == second.max_epochs
    names = [step["type"] for step in second.train_dataloader.dataset.datasets[0].pipeline]
    assert "RandAugment" in names and "RandomAffine" in names
