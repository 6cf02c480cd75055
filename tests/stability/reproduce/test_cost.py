from pictures import seed_set

from autoeval.stability.metasets.recipe import MetaSetConfig
from autoeval.stability.reproduce.available import Cost, RunCost, images_to_observe


def test_own_images_are_5000_at_most_and_sample_sets_250_where_there_are_as_many():
    sets = [seed_set(6000, "large"), seed_set(100, "small")]
    assert images_to_observe(sets, None) == 5000 + 100
    protocol = MetaSetConfig(n_sets=50, n_images=250)
    assert images_to_observe(sets, protocol) == 5100 + 50 * 250 + 50 * 100


def test_time_and_passes():
    cost = Cost({"a": RunCost(7200, 10, 0.5), "b": RunCost(10, 0, 200.0)})
    assert cost.lines() == [
        "a: 7200 images, 79200 passes of the network, 4.0 hours at 0.5 images a second",
        "b: 10 images, 10 passes of the network, 0 seconds at 200 images a second",
    ]
    unknown = Cost({"a": RunCost(3, 1, float("nan"))})
    assert unknown.text() == "a: 3 images, 6 passes of the network; the rate was not measured"
    assert unknown.to_dict()["cost"][0]["hours"] is None
