"""Bin samplers: every bin in turn, whole epochs, seeds, shares of processes, mmengine."""

from collections import Counter

import numpy as np
import pytest
from mmengine.registry import DATA_SAMPLERS
from torch.utils.data import DataLoader

from autoeval.counting.bin_training import RandomBinSampler, RoundRobinSampler, dataset_counts
from autoeval.errors import InputError

# 70 items in bin 0, 25 in bin 1, none in bin 2, 5 in bin 3: a heavy tail.
BINS = np.array([0] * 70 + [1] * 25 + [3] * 5)
BOTH = pytest.mark.parametrize("sampler_class", [RoundRobinSampler, RandomBinSampler])


def test_round_robin_serves_every_bin_in_turn_from_the_first():
    drawn = BINS[list(RoundRobinSampler(BINS))]
    assert drawn.tolist() == ([0, 1, 3] * 34)[:100]


def test_random_bins_are_served_alike():
    sampler = RandomBinSampler(np.repeat(BINS, 30))
    counts = Counter(np.repeat(BINS, 30)[list(sampler)])
    # 3000 draws from three bins: 1000 each, standard deviation 26.
    assert set(counts) == {0, 1, 3}
    assert all(abs(n - 1000) < 5 * 26 for n in counts.values())


@BOTH
def test_an_epoch_has_the_length_of_the_training_set(sampler_class):
    sampler = sampler_class(BINS)
    assert len(sampler) == len(list(sampler)) == 100


def test_small_bins_wrap_around_and_no_item_comes_back_before_the_others():
    drawn = np.array(list(RoundRobinSampler(BINS)))
    small = drawn[BINS[drawn] == 3]
    assert len(small) == 33
    for start in range(0, 30, 5):
        assert set(small[start : start + 5]) == {95, 96, 97, 98, 99}
    large = drawn[BINS[drawn] == 0]
    assert len(set(large)) == len(large) == 34


@BOTH
def test_seed_and_epoch_decide(sampler_class):
    def draw(seed, epoch):
        sampler = sampler_class(BINS, seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert draw(1, 2) == draw(1, 2)
    assert draw(1, 2) != draw(1, 3) and draw(1, 2) != draw(2, 2)
    sampler = sampler_class(BINS)
    assert list(sampler) == list(sampler)


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


def test_every_process_gets_every_bin():
    for rank in range(3):
        share = list(RoundRobinSampler(BINS, num_replicas=3, rank=rank))
        assert set(BINS[share[:3]]) == {0, 1, 3}


def test_a_data_loader_takes_it():
    loader = DataLoader(list(range(100)), batch_size=6, sampler=RoundRobinSampler(BINS))
    batch = BINS[next(iter(loader)).numpy()]
    assert Counter(batch.tolist()) == {0: 2, 1: 2, 3: 2}


def test_bad_arguments():
    with pytest.raises(InputError, match="at least one item"):
        RoundRobinSampler([])
    with pytest.raises(InputError, match=r"\[0, 2\) but got 2"):
        RoundRobinSampler(BINS, num_replicas=2, rank=2)


class Counts:
    counts = (0, 1, 1, 9, 50, 700)  # the last outside the edges


class Infos:
    def __len__(self):
        return 3

    def get_data_info(self, index):
        return {"instances": [{"ignore_flag": 0}] * index + [{"ignore_flag": 1}]}


@pytest.mark.parametrize("name", ["RoundRobinDatasetSampler", "RandomBinDatasetSampler"])
def test_mmengine_builds_it_as_its_runner_does(name):
    config = {"type": name, "edges": [0, 0.5, 5, 100]}
    sampler = DATA_SAMPLERS.build(config, default_args={"dataset": Counts(), "seed": 4})
    assert len(sampler) == 6
    # Bins: nothing; one object twice; the rest, the count beyond the edges among them.
    assert [items.tolist() for items in sampler.items_of_bin] == [[0], [1, 2], [3, 4, 5]]


def test_instances_are_counted_without_ignored_ones():
    assert dataset_counts(Infos()) == [0, 1, 2]
