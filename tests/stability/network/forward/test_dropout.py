"""Feature dropout by its laws, and what it leaves behind."""

import hashlib

import numpy as np
import pytest
import torch
from torch import nn

from autoeval.errors import InputError
from autoeval.stability.network.forward.dropout import (
    CACHED,
    draw_uniform,
    drop_elements,
    feature_dropout,
    sample_seed,
)
from autoeval.stability.network.forward.dropout_spec import DropoutSpec
from autoeval.stability.network.forward.stages import HookPoints

FEATURES = torch.arange(1.0, 1 + 2 * 3 * 5 * 7).reshape(2, 3, 5, 7)  # H != W, no zeros


def test_spec_is_sorted_and_hashable():
    assert DropoutSpec("before", [3, 1]).stages == (1, 3)
    assert len({DropoutSpec("after", (1, 2)), DropoutSpec("after", [2, 1])}) == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("position", ["inside"]),
        ("stages", [(), (4,), (-1,), (1, 1), "ab", "12", (1, 2.5), 1]),
        ("rate", [1.0, -0.1, float("nan")]),
    ],
)
def test_spec_refuses(name, values):
    for value in values:
        with pytest.raises(InputError, match=r"Expected dropout.*got"):
            DropoutSpec(**{name: value})


def test_rate_zero_is_the_identity():
    assert torch.equal(drop_elements(FEATURES, 0.0, [1, 2], stage=0), FEATURES)


def test_kept_elements_are_rescaled_and_the_rest_is_zero():
    dropped = drop_elements(FEATURES, 0.2, [1, 2], stage=0)
    kept = dropped != 0
    assert torch.equal(dropped[kept], FEATURES[kept] / 0.8)
    assert 0 < kept.sum() < kept.numel()


@pytest.mark.parametrize("rate", [0.05, 0.15, 0.95])
def test_share_dropped_and_mean_kept(rate):
    n = 200_000
    dropped = drop_elements(torch.ones(1, n), rate, [0], stage=2)
    spread = (rate * (1 - rate) / n) ** 0.5
    assert (dropped == 0).double().mean().item() == pytest.approx(rate, abs=5 * spread)
    assert dropped.double().mean().item() == pytest.approx(1, abs=5 * spread / (1 - rate))


def test_elements_are_dropped_one_by_one():
    """Neither whole channels nor the same places in every channel."""
    kept = drop_elements(torch.ones(1, 8, 40, 30), 0.5, [0], stage=0)[0] != 0
    assert kept.flatten(1).any(1).all() and not kept.flatten(1).all(1).any()
    assert not torch.equal(kept[0], kept[1])


def test_a_sample_drops_the_same_in_every_batch():
    together = drop_elements(FEATURES, 0.5, [8, 9], stage=1)
    alone = drop_elements(FEATURES[1:], 0.5, [9], stage=1)
    assert torch.equal(together[1:], alone)


def hashed(position, seed, stage):
    """One draw in integers of Python: two keyed rounds of mixing, of which 24 bits stay."""
    digest = hashlib.blake2b(f"{seed}/{stage}".encode(), digest_size=8).digest()
    first, second = divmod(int.from_bytes(digest, "little") >> 1, 2**32)
    x = position ^ first
    for a, f, b, g, c in (
        (16, 0x7FEB352D, 15, 0x846CA68B, 16),
        (16, 0x85EBCA6B, 13, 0xC2B2AE35, 16),
    ):
        x = (x ^ x >> a) * f % 2**32
        x = (x ^ x >> b) * g % 2**32
        x = ((x ^ x >> c) + second) % 2**32 if a == 16 and b == 15 else x ^ x >> c
    return (x >> 8) / 2**24


def test_draws_are_a_hash_of_seed_stage_and_position():
    seeds, n = [5, 2**62 + 1], CACHED + 10
    draws = draw_uniform((n,), seeds, 3)
    assert draws.dtype == torch.float32
    for row, seed in zip(draws.tolist(), seeds, strict=True):
        for position in (0, 1, 2, 12345, CACHED - 1, CACHED, n - 1):
            assert row[position] == hashed(position, seed, 3)


def test_draws_are_uniform_and_independent():
    """By chi-square over 64 x 64 cells of neighbours, and between two seeds: 4095 +- 91 each."""
    one, two = draw_uniform((2**19,), [1, 2], 0).double().numpy()
    for x, y in ((one[::2], one[1::2]), (one[: 2**18], two[: 2**18]), (one[:-64:2], one[64::2])):
        cells = np.bincount((x * 64).astype(int) * 64 + (y * 64).astype(int), minlength=64**2)
        expected = len(x) / 64**2
        assert abs(((cells - expected) ** 2 / expected).sum() - 4095) < 5 * 91


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_draws_the_same():
    assert torch.equal(
        draw_uniform((64, 52, 52), [1, 2], 1, device="cuda").cpu(),
        draw_uniform((64, 52, 52), [1, 2], 1),
    )


def test_masks_differ_by_seed_and_stage():
    same = FEATURES[:1].expand(2, -1, -1, -1)
    one = drop_elements(same, 0.5, [8, 9], stage=1)
    assert not torch.equal(one[0], one[1])
    assert not torch.equal(one, drop_elements(same, 0.5, [8, 9], stage=2))


def test_tokens_and_maps_of_one_shape_drop_the_same():
    tokens = drop_elements(torch.ones(1, 35, 6), 0.5, [3], stage=0)
    grid = drop_elements(torch.ones(1, 5, 7, 6), 0.5, [3], stage=0)
    assert torch.equal(tokens, grid.flatten(1, 2))


def test_one_seed_for_each_sample():
    with pytest.raises(ValueError, match="2 seeds"):
        drop_elements(FEATURES, 0.5, [1], stage=0)


def test_seeds_differ_by_each_part():
    base = sample_seed(0, "a/1.jpg", 0)
    assert base == sample_seed(0, "a/1.jpg", 0)
    others = [(1, "a/1.jpg", 0), (0, "a/2.jpg", 0), (0, "a/1.jpg", 1)]
    assert len({base, *(sample_seed(*other) for other in others)}) == 4


@pytest.fixture
def network():
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Conv2d(3, 3, 3, padding=1) for _ in range(4))).eval()


def hooks(network):
    return [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in network.modules()]


@pytest.mark.parametrize("position", ["after", "before"])
def test_the_model_is_left_as_found_when_the_body_raises(network, position):
    points = HookPoints(tuple(network), tuple(network))
    image = torch.rand(1, 3, 6, 5)
    before, forwards = network(image), [m.forward for m in network.modules()]
    with (
        pytest.raises(KeyError),
        feature_dropout(points, DropoutSpec(position, (0, 2)), [1]),
    ):
        assert not torch.equal(network(image), before)
        raise KeyError
    assert torch.equal(network(image), before)
    assert hooks(network) == [({}, {})] * 5
    assert [m.forward for m in network.modules()] == forwards
    assert not any(m.training for m in network.modules())


def test_hooks_of_others_stay(network):
    network[1].register_forward_hook(lambda module, inputs, output: output + 1)
    found = hooks(network)
    with feature_dropout(HookPoints(tuple(network), tuple(network)), DropoutSpec(), [1]):
        assert hooks(network) != found
        network(torch.rand(1, 3, 6, 5))
    assert hooks(network) == found


def test_before_by_hand():
    """Through identity layers nothing but the mask is seen."""
    chain = nn.Sequential(*(nn.Identity() for _ in range(4)))
    points = HookPoints(tuple(chain), tuple(chain))
    with feature_dropout(points, DropoutSpec("before", (2,), 0.5), [4]):
        seen = chain(FEATURES[:1])
    assert torch.equal(seen, drop_elements(FEATURES[:1], 0.5, [4], stage=2))


def test_a_stage_that_never_runs_is_reported(network):
    """Otherwise the perturbed boxes would equal the clean ones without a word."""
    points = HookPoints(tuple(network), tuple(network))
    with (
        pytest.raises(InputError, match=r"never ran its stages \[2\]"),
        feature_dropout(points, DropoutSpec("after", (1, 2)), [1]),
    ):
        network[:2](torch.rand(1, 3, 6, 5))
    assert hooks(network) == [({}, {})] * 5


def test_a_stage_that_the_backbone_lacks(network):
    points = HookPoints(tuple(network)[:3], tuple(network)[:3])
    with (
        pytest.raises(InputError, match=r"3 stages.*\[3\]"),
        feature_dropout(points, DropoutSpec("after", (1, 3)), [1]),
    ):
        pass
