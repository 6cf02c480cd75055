"""Bin samplers and bin losses."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import torch
from mmengine.registry import DATA_SAMPLERS, MODELS
from torch import nn
from torch.utils.data import DataLoader

from autoeval.counting.bin_training import (
    BinLoss,
    RandomBinSampler,
    RoundRobinSampler,
    bin_loss,
    dataset_counts,
)
from autoeval.counting.binning import CountBins
from autoeval.errors import InputError

# 70 items in bin 0, 25 in bin 1, none in bin 2, 5 in bin 3: a heavy tail.
BINS = np.array([0] * 70 + [1] * 25 + [3] * 5)
BOTH = pytest.mark.parametrize("sampler_class", [RoundRobinSampler, RandomBinSampler])


def test_round_robin_serves_every_bin_in_turn_and_small_bins_wrap_around():
    drawn = BINS[list(RoundRobinSampler(BINS))]
    assert drawn.tolist() == ([0, 1, 3] * 34)[:100]
    drawn = np.array(list(RoundRobinSampler(BINS)))
    small = drawn[BINS[drawn] == 3]
    assert len(small) == 33
    for start in range(0, 30, 5):
        assert set(small[start : start + 5]) == {95, 96, 97, 98, 99}
    large = drawn[BINS[drawn] == 0]
    assert len(set(large)) == len(large) == 34
    for rank in range(3):
        share = list(RoundRobinSampler(BINS, num_replicas=3, rank=rank))
        assert set(BINS[share[:3]]) == {0, 1, 3}


def test_random_bins_are_served_alike_and_a_loader_takes_the_bins_in_turn():
    sampler = RandomBinSampler(np.repeat(BINS, 30))
    counts = Counter(np.repeat(BINS, 30)[list(sampler)])
    # 3000 draws from three bins: 1000 each, standard deviation 26.
    assert set(counts) == {0, 1, 3}
    assert all(abs(n - 1000) < 5 * 26 for n in counts.values())
    loader = DataLoader(list(range(100)), batch_size=6, sampler=RoundRobinSampler(BINS))
    batch = BINS[next(iter(loader)).numpy()]
    assert Counter(batch.tolist()) == {0: 2, 1: 2, 3: 2}


@BOTH
def test_seed_and_epoch_decide_and_an_epoch_has_the_length_of_the_training_set(sampler_class):
    def draw(seed, epoch):
        sampler = sampler_class(BINS, seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert draw(1, 2) == draw(1, 2)
    assert draw(1, 2) != draw(1, 3) and draw(1, 2) != draw(2, 2)
    sampler = sampler_class(BINS)
    assert list(sampler) == list(sampler)
    sampler = sampler_class(BINS)
    assert len(sampler) == len(list(sampler)) == 100


@BOTH
@pytest.mark.parametrize("num_replicas", [2, 3, 8])
def test_shares_of_processes_are_the_draws_of_one_epoch(sampler_class, num_replicas):
    shares = [
        list(sampler_class(BINS, num_replicas=num_replicas, rank=r)) for r in range(num_replicas)
    ]
    assert {len(share) for share in shares} == {-(-100 // num_replicas)}
    one = sampler_class(BINS, num_replicas=num_replicas).epoch_order().tolist()
    assert [item for share in shares for item in share] == one
    once = [item for item, n in Counter(one).items() if n == 1]
    for item in once:
        assert sum(item in share for share in shares) == 1


def test_bad_arguments():
    with pytest.raises(InputError, match="at least one item"):
        RoundRobinSampler([])
    with pytest.raises(InputError, match=r"\[0, 2\) but got 2"):
        RoundRobinSampler(BINS, num_replicas=2, rank=2)
    with pytest.raises(InputError, match="2 and 1"):
        BinLoss([0, 10])(torch.ones(2), torch.ones(1))
    with pytest.raises(InputError, match="increasing"):
        BinLoss([10, 0])
    with pytest.raises(ValueError, match="paper"):
        BinLoss([0, 10], "printed")


class Counts:
    counts = (0, 1, 1, 9, 50, 700)  # the last outside the edges


class Infos:
    def __len__(self):
        return 3

    def get_data_info(self, index):
        return {"instances": [{"ignore_flag": 0}] * index + [{"ignore_flag": 1}]}


@pytest.mark.parametrize("name", ["RoundRobinDatasetSampler", "RandomBinDatasetSampler"])
def test_mmengine_builds_samplers_as_its_runner_does(name):
    config = {"type": name, "edges": [0, 0.5, 5, 100]}
    sampler = DATA_SAMPLERS.build(config, default_args={"dataset": Counts(), "seed": 4})
    assert len(sampler) == 6
    # Bins: nothing; one object twice; the rest, the count beyond the edges among them.
    assert [items.tolist() for items in sampler.items_of_bin] == [[0], [1, 2], [3, 4, 5]]


EDGES = torch.tensor([0.0, 10.0, 50.0, 100.0], dtype=torch.float64)
LN = math.log


# The true count 45 lies in (10, 50], as in the paper's figure 4.
@pytest.mark.parametrize(
    ("pred", "paper", "released"),
    [
        (45, 0, 0),
        (40, LN(6), LN(6)),  # inside
        (10, LN(36), LN(36)),  # on the lower edge: still inside
        (50, LN(6), LN(6)),  # on the upper edge
        (51, 6, LN(7)),  # just outside: ln 7 exceeds the distance 1 beyond the edge
        (70, 25, 20),  # far outside: the distance exceeds ln 26
        (5, 40, 5),
        (-3, 48, 13),
    ],
)
def test_by_hand(pred, paper, released):
    pred, target = torch.tensor([float(pred)]).double(), torch.tensor([45.0]).double()
    assert bin_loss(pred, target, EDGES, mode="paper").item() == pytest.approx(paper)
    assert bin_loss(pred, target, EDGES, mode="released").item() == pytest.approx(released)


@pytest.mark.parametrize(
    ("target", "low", "high"),
    [(0, 0, 10), (10, 0, 10), (10.5, 10, 50), (100, 50, 100), (130, 50, 130)],
)
def test_the_bin_of_the_target_decides(target, low, high):
    target = torch.tensor([target, target]).double()
    pred = torch.tensor([low, high]).double()
    inside = bin_loss(pred, target, EDGES)
    outside = bin_loss(pred + torch.tensor([-1e-6, 1e-6]), target, EDGES)
    assert inside.tolist() == pytest.approx((pred - target).abs().log1p().tolist())
    assert outside.tolist() == pytest.approx((pred - target).abs().tolist(), abs=1e-5)


@pytest.mark.parametrize("mode", ["paper", "released"])
def test_gradients_in_both_branches(mode):
    # Inside, beyond and below the bin; none on a kink.
    pred = torch.tensor([40.0, 48.0, 77.0, 3.0, 52.0], dtype=torch.float64, requires_grad=True)
    target = torch.full((5,), 45.0, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda p: bin_loss(p, target, EDGES, mode=mode), pred)
    bin_loss(pred, target, EDGES, mode=mode).sum().backward()
    assert (pred.grad != 0).all() and pred.grad.sign().tolist() == [-1, 1, 1, -1, 1]
    pred = torch.tensor([45.0], requires_grad=True)
    loss = BinLoss(EDGES.tolist(), mode)(pred, torch.tensor([45.0]))
    loss.backward()
    assert loss.item() == 0 and torch.isfinite(pred.grad).all()


def test_gradient_inside_is_that_of_the_logarithm():
    pred = torch.tensor([40.0], requires_grad=True)
    bin_loss(pred, torch.tensor([45.0]), EDGES.float()).backward()
    assert pred.grad.item() == pytest.approx(-1 / 6)


def test_weights_and_mmengine():
    pred, target = torch.tensor([40.0, 70.0]), torch.tensor([45.0, 45.0])
    loss = BinLoss(EDGES.tolist(), log_weight=10, loss_weight=0.5)(pred, target)
    assert loss.item() == pytest.approx(0.5 * (10 * LN(6) + 25) / 2)
    loss = MODELS.build({"type": "BinLoss", "edges": [0, 10, 50], "mode": "released"})
    assert loss(torch.tensor([60.0]), torch.tensor([45.0])).item() == 10
    assert dataset_counts(Infos()) == [0, 1, 2]


def test_density_maps_are_summed_and_gradients_reach_every_pixel():
    maps = torch.full((2, 1, 4, 5), 2.0, requires_grad=True)  # 40 objects each
    loss = BinLoss(CountBins((0, 10, 50)))(maps, torch.tensor([45.0, 36.0]))
    assert loss.item() == pytest.approx((LN(6) + LN(5)) / 2)
    loss.backward()
    assert maps.grad[0].unique().item() == pytest.approx(-1 / 12)
    assert maps.grad[1].unique().item() == pytest.approx(1 / 10)
    of_maps = BinLoss([0, 10, 50])(maps, torch.full((2, 9, 5), 1.0))
    assert of_maps.item() == pytest.approx(LN(6))


def test_the_edges_move_with_the_module_and_half_precision_works():
    loss = BinLoss([0, 10, 50]).to(torch.float64).to("cpu")
    assert loss.edges.dtype == torch.float64
    assert not loss.state_dict()
    half = loss(torch.tensor([40.0]).bfloat16(), torch.tensor([45]))
    assert half.dtype == torch.bfloat16 and half.item() == pytest.approx(LN(6), rel=0.01)
    # 515 is no bfloat16, nor is an edge of 514.5: 512 seemed to lie in its bin.
    loss = BinLoss([0, 514.5, 3000])
    assert loss(torch.tensor([512.0]).bfloat16(), torch.tensor([515.0])).item() == 3
    maps = torch.ones(1, 5, 103).bfloat16()
    assert loss(maps, torch.tensor([513.0])).item() == 2
    for dtype in (torch.bfloat16, torch.float16):  # as a part of a network that is made half
        loss = nn.Sequential(nn.Linear(1, 1), BinLoss([0, 1197.5, 3000])).to(dtype)[1]
        assert loss(torch.tensor([1199.0]), torch.tensor([1100.0])).item() == 99
    meta = BinLoss([0, 10, 50]).to("meta")
    assert meta.edges.device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_edges_are_on_the_gpu():
    loss = BinLoss([0, 10, 50]).cuda()
    assert loss(torch.tensor([40.0]).cuda(), torch.tensor([45.0]).cuda()).is_cuda
