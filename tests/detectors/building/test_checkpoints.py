"""Reading checkpoints: what is accepted, what is refused, what is said."""

from __future__ import annotations

import http.server
import importlib.util
import pickle
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.config import ConfigDict
from mmengine.logging import HistoryBuffer, MessageHub
from mmengine.runner.checkpoint import CheckpointLoader

from autoeval.detectors.building import checkpoints
from autoeval.detectors.building.checkpoints import (
    find_checkpoint,
    load_from_torchvision,
    load_weights,
    read_checkpoint,
    register_model_zoo,
)
from autoeval.errors import InputError

WEIGHTS = {"weight": torch.ones(2, 3), "bias": torch.zeros(2)}


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


def save(path, content):
    torch.save(content, path)
    return path


def test_what_openmmlab_saves_is_read(tmp_path):
    hub = MessageHub("a run")
    hub.update_scalar("train/loss", np.float32(1.5))
    hub.update_info("epoch", 3)
    meta = {"dataset_meta": {"classes": ("car",), "palette": [(1, 2, 3)]}, "seed": np.int64(3)}
    meta |= {"settings": ConfigDict(a=ConfigDict(b=1)), "mean": np.arange(3.0)}
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    more = {"message_hub": hub.state_dict(), "optimizer": optimizer.state_dict()}
    content = {"state_dict": WEIGHTS, "meta": meta, **more}
    read = read_checkpoint(save(tmp_path / "a.pth", content))
    assert read["meta"]["dataset_meta"]["classes"] == ("car",)
    assert torch.equal(read["state_dict"]["weight"], WEIGHTS["weight"])


def test_weights_alone_are_read(tmp_path):
    assert set(read_checkpoint(save(tmp_path / "a.pth", WEIGHTS))["state_dict"]) == set(WEIGHTS)


@pytest.mark.parametrize("holder", ["model", "model_state_dict"])
def test_weights_of_other_trainers_are_read(holder, tmp_path):
    content = {holder: WEIGHTS, "epoch": 3, "optimizer": {"lr": 0.1}}
    read = read_checkpoint(save(tmp_path / "a.pth", content))
    assert torch.equal(read["state_dict"]["weight"], WEIGHTS["weight"])


def test_a_whole_network_is_read_where_it_is_trusted(tmp_path):
    network = torch.nn.Linear(3, 2)
    path = save(tmp_path / "a.pth", network)
    with pytest.raises(InputError, match="--trust-checkpoint"):
        read_checkpoint(path)
    read = read_checkpoint(path, trust=True)["state_dict"]
    assert torch.equal(read["weight"], network.weight)


def test_code_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path / "a.pth", {"state_dict": WEIGHTS, "meta": {"x": Bomb()}})
    with pytest.raises(InputError, match=r"a\.pth holds .*--trust-checkpoint"):
        read_checkpoint(path)
    assert not Path("exploded").exists()
    read_checkpoint(path, trust=True)
    assert Path("exploded").exists()


def test_getattr_gives_no_other_attribute(tmp_path):
    """The name `getattr` is let through for HistoryBuffer's own statistics only."""

    class Sneaky:
        def __reduce__(self):
            return (getattr, (HistoryBuffer, "__init__"))

    with pytest.raises(InputError, match="--trust-checkpoint"):
        read_checkpoint(save(tmp_path / "a.pth", {"state_dict": WEIGHTS, "meta": {"x": Sneaky()}}))


def test_damaged_files_are_named(tmp_path):
    whole = save(tmp_path / "a.pth", {"state_dict": WEIGHTS}).read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"<html>404</html>"):
        (tmp_path / "a.pth").write_bytes(content)
        with pytest.raises(InputError, match=r"a\.pth"):
            read_checkpoint(tmp_path / "a.pth")


def test_half_a_download_of_the_older_format_is_named(tmp_path):
    """Its reader raises other errors by where the file ends: of structs, of empty lists."""
    path = tmp_path / "a.pth"
    torch.save({"state_dict": WEIGHTS}, path, _use_new_zipfile_serialization=False)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"a\.pth"):
            read_checkpoint(path)


@pytest.mark.parametrize("content", [{}, {"state_dict": {}}, {"epoch": 3}, [1]])
def test_no_weights(tmp_path, content):
    with pytest.raises(InputError, match="weights"):
        read_checkpoint(save(tmp_path / "a.pth", content))


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match=r"No checkpoint file nowhere/a\.pth"):
        find_checkpoint("nowhere/a.pth")


@pytest.fixture
def server(tmp_path):
    """A folder, and the address under which a local server offers it."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    answers = partial(Quiet, directory=str(folder))
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), answers)
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    yield folder, f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def test_download_once(server, tmp_path, monkeypatch):
    folder, address = server
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    save(folder / "tiny.pth", {"state_dict": WEIGHTS})
    path = find_checkpoint(f"{address}/tiny.pth")
    assert path.parent == tmp_path / "home" / "hub" / "checkpoints"
    assert path.name.endswith("_tiny.pth")
    assert set(read_checkpoint(path)["state_dict"]) == set(WEIGHTS)
    (folder / "tiny.pth").unlink()
    assert find_checkpoint(f"{address}/tiny.pth") == path


@pytest.mark.parametrize("name", ["best.pth", "epoch-12.pth"])
def test_files_of_one_name_at_two_addresses_are_two(name, server, tmp_path, monkeypatch):
    """And what stands behind a hyphen is no hash if it is shorter than those that are published."""
    folder, address = server
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    for k in (1, 2):
        (folder / f"run{k}").mkdir()
        save(folder / f"run{k}" / name, {"state_dict": {"w": torch.tensor([k])}})
        content = read_checkpoint(find_checkpoint(f"{address}/run{k}/{name}"))
        assert content["state_dict"]["w"].tolist() == [k]


def test_a_download_that_fails_says_what_to_do(server, tmp_path, monkeypatch):
    folder, address = server
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    with pytest.raises(InputError, match=r"absent\.pth.*--checkpoint FILE"):
        find_checkpoint(f"{address}/absent.pth")
    save(folder / "tiny-00000000.pth", {"state_dict": WEIGHTS})  # not the hash of its content
    with pytest.raises(InputError, match="invalid hash value"):
        find_checkpoint(f"{address}/tiny-00000000.pth")
    assert not list((tmp_path / "home" / "hub" / "checkpoints").iterdir())


@pytest.mark.parametrize("wrapped", ["", "module.", "model.", "module.model.", "_orig_mod."])
def test_weights_fill_the_model(wrapped):
    model = torch.nn.Linear(3, 2)
    load_weights(model, {f"{wrapped}{name}": value for name, value in WEIGHTS.items()}, Path("a"))
    assert model.weight.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_part_that_is_called_model_keeps_its_name():
    whole = torch.nn.ModuleDict({"model": torch.nn.Linear(3, 2)})
    load_weights(whole, {f"model.{name}": value for name, value in WEIGHTS.items()}, Path("a"))
    assert whole["model"].weight.sum() == 6


def test_weights_that_are_not_finite_are_refused():
    diverged = {**WEIGHTS, "bias": torch.tensor([0.0, torch.nan])}
    with pytest.raises(InputError, match=r"not finite: 1 \(bias\)"):
        load_weights(torch.nn.Linear(3, 2), diverged, Path("a.pth"))


def test_weights_that_do_not_fit_are_named():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2))
    weights = {"0.weight": torch.ones(5, 3), "0.bias": torch.zeros(2), "head.bias": torch.ones(1)}
    with pytest.raises(InputError) as caught:
        load_weights(model, weights, Path("a.pth"))
    text = str(caught.value)
    assert "Missing: 2 (1.weight, 1.bias)" in text
    assert "of another shape: 1 (0.weight (checkpoint (5, 3), model (2, 3)))" in text
    assert "without a place: 1 (head.bias)" in text


def test_weights_without_a_place_are_warned_about():
    with pytest.warns(UserWarning, match=r"1 \(extra\)"):
        load_weights(torch.nn.Linear(3, 2), {**WEIGHTS, "extra": torch.ones(1)}, Path("a.pth"))


def test_what_is_let_through_is_harmless():
    """A pickle that calls an allowed class with code as its argument still runs none."""
    for owner, name in [(HistoryBuffer, "__class__"), (dict, "mean"), (Path, "unlink")]:
        with pytest.raises(pickle.UnpicklingError):
            checkpoints._history_statistic(owner, name)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    return tmp_path / "checkpoints"


def test_a_stock_config_s_backbone_comes_from_the_cache(hub, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(CheckpointLoader, "_schemes", dict(CheckpointLoader._schemes))
    torch.save({"conv1.weight": torch.ones(2)}, hub / "resnet18-f37072fd.pth")
    assert register_model_zoo()
    found = CheckpointLoader.load_checkpoint("torchvision://resnet18", "cpu", None)
    assert found["conv1.weight"].tolist() == [1, 1]


def test_an_installed_torchvision_stays_in_charge(monkeypatch):
    before = dict(CheckpointLoader._schemes)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert not register_model_zoo()
    assert before == CheckpointLoader._schemes


def test_without_a_network_it_says_where_the_file_belongs(hub, monkeypatch):
    def fail(*args, **options):
        raise OSError("no route")

    monkeypatch.setattr(checkpoints.torch.hub, "download_url_to_file", fail)
    with pytest.raises(InputError, match=r"download.pytorch.*Put that file at .*resnet50-.*init_c"):
        load_from_torchvision("torchvision://resnet50")


def test_an_unknown_name():
    with pytest.raises(InputError, match=r"no model 'resnet7'.*resnet18"):
        load_from_torchvision("torchvision://resnet7")
