import pytest
import torch

from autoeval.errors import InputError
from autoeval.runtime.shards import launched_by_torchrun


@pytest.mark.parametrize(("local_rank", "n_gpus", "gpu"), [(0, 1, 0), (1, 1, 0), (3, 2, 1)])
def test_more_processes_than_gpus_share_them(monkeypatch, local_rank, n_gpus, gpu):
    taken = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    group = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    for name, value in {**group, "LOCAL_RANK": str(local_rank)}.items():
        monkeypatch.setenv(name, value)
    with launched_by_torchrun() as shards:
        assert (shards.rank, shards.size, shards.leads) == (0, 1, True)
    assert taken == [gpu]


def test_a_launcher_without_torchrun_is_named(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(InputError, match="processes that torchrun starts"), launched_by_torchrun():
        pass
