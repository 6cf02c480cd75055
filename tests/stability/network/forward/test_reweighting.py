import numpy as np
import pytest
import torch

from autoeval.stability.network.capture import class_probabilities
from autoeval.stability.network.perturbable import changed_weights, weight_change

FIELDS = ("boxes", "scores", "labels")


def weights_of(model):
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


@pytest.mark.parametrize("step", [1.0, 0.1])
def test_all_weights_move_by_one_step_and_back(build, step):
    model = build("yolox_nano").model
    before = weights_of(model).clone()
    with changed_weights(model, weight_change(model, 3, step=step)):
        moved = weights_of(model) - before
    assert torch.equal(weights_of(model), before)
    assert float(moved.double().norm()) == pytest.approx(step, rel=1e-3)
    # uniform on [0, 1): the mean of n coordinates is sqrt(3) / 2 of the root mean square
    assert float(moved.mean()) == pytest.approx(step * (3 / len(moved)) ** 0.5 / 2, rel=1e-2)


def test_a_seed_fixes_the_change_and_an_error_undoes_it(build):
    model = build("yolox_nano").model
    before, moved = weights_of(model).clone(), []
    for seed in (0, 0, 1):
        change = weight_change(model, seed)
        with pytest.raises(RuntimeError), changed_weights(model, change):
            moved.append(weights_of(model).clone())
            raise RuntimeError
        assert torch.equal(weights_of(model), before)
    assert torch.equal(moved[0], moved[1]) and not torch.equal(moved[0], moved[2])


@pytest.mark.parametrize("name", ["yolox_nano", "faster_rcnn_r50"])
def test_boxes_before_and_after_are_the_same_to_the_last_bit(build, images, name):
    detector, ids = build(name), ["a", "b", "c"]
    before = detector.observe(images, ids)
    observed = detector.observe(images, ids, wants=["reweighted"], seed=5)
    again = detector.observe(images, ids)
    for one, seen, other in zip(before, observed, again, strict=True):
        clean, perturbed = seen.reweighted
        for field in FIELDS:
            for same in (seen.clean, clean, other.clean):
                assert np.array_equal(getattr(one.clean, field), getattr(same, field))
        assert not np.array_equal(clean.scores, perturbed.scores)
        assert clean.probabilities.shape == (len(clean), 81)
        np.testing.assert_allclose(clean.probabilities.sum(axis=1), 1, rtol=1e-5)
        if name.startswith("faster"):  # its scores are these probabilities
            own = clean.probabilities[np.arange(len(clean)), clean.labels]
            np.testing.assert_allclose(own, clean.scores, rtol=1e-4)


def test_heads_of_sigmoids_get_a_background():
    one = class_probabilities(torch.tensor([[1.0], [3.0]]).log(), 1)
    np.testing.assert_allclose(one, [[0.5, 0.5], [0.75, 0.25]], rtol=1e-6)
    with_background = class_probabilities(torch.tensor([[1.0, 3.0], [1.0, 1.0]]).log(), 1)
    np.testing.assert_allclose(with_background, [[0.25, 0.75], [0.5, 0.5]], rtol=1e-6)


def test_the_change_of_the_weights_is_drawn_once_for_many_batches(build, images, monkeypatch):
    detector, drawn = build("yolox_nano"), []
    monkeypatch.setattr(detector, "_changes", {})
    rand = torch.rand
    monkeypatch.setattr(torch, "rand", lambda *a, **k: drawn.append(a) or rand(*a, **k))
    for seed, n_draws in ((0, 1), (0, 1), (1, 2)):
        detector.observe(images[:1], ["a"], wants=["reweighted"], seed=seed)
        assert len(drawn) == n_draws * len(list(detector.model.parameters()))


def test_a_head_that_cannot_be_followed_gives_the_reason(build, images, monkeypatch):
    detector = build("yolox_nano")
    module = "autoeval.stability.network.capture._patches"
    monkeypatch.setattr(module, lambda head, failures: [])
    (seen,) = detector.observe(images[:1], ["a"], wants=["reweighted"])
    assert "does not state which class logits" in seen.why_missing("reweighted")
