import numpy as np
import pytest
from observations import found, image
from rectangles import RectangleDetector, rectangle_task

from autoeval.errors import InputError
from autoeval.estimation.observation.observing import Observer
from autoeval.runtime.store import RowStore
from autoeval.stability.metasets import MetaSetConfig, SampleSet, draw_recipes, own_images
from autoeval.stability.passes.presets import preset
from autoeval.stability.passes.tally import scored_rows
from autoeval.stability.studies.kept_boxes import observe_sets, pack_images, unpack_images
from autoeval.stability.studies.set_sizes import whole_sets


def test_an_image_survives_being_packed():
    # two repeats, the second of which lost everything; a crowd; two categories
    clean = found([[1, 2, 30, 40.25], [5, 5, 9, 9]], [0.75, 0.125], [0, 1])
    perturbed, true = [found([[1, 2, 31, 41]]), found([])], [[0, 0, 30, 40], [50, 50, 90, 90]]
    made = image("x", clean, perturbed, true, labels=[1, 0], iscrowd=[False, True])
    empty = image("y", found([]), [found([]), found([])], [])
    back, nothing = unpack_images(pack_images([made, empty]))
    assert back.evidence.image_size == (100, 200) and back.evidence.image_id == "x"
    assert back.evidence.clean.boxes.tolist() == clean.boxes.tolist()
    assert back.evidence.clean.scores.tolist() == [0.75, 0.125]
    assert back.evidence.clean.labels.tolist() == [0, 1]
    assert [len(boxes) for boxes in back.evidence.perturbed] == [1, 0]
    assert back.boxes.tolist() == [[0, 0, 30, 40], [50, 50, 90, 90]]
    assert back.labels.tolist() == [1, 0] and back.iscrowd.tolist() == [False, True]
    assert len(nothing.evidence.clean) == len(nothing.boxes) == 0
    assert len(nothing.evidence.perturbed) == 2


@pytest.fixture
def world(tmp_path):
    task = rectangle_task(tmp_path / "worlds")
    seed_sets = task.load_seed_sets()
    recipes = []
    for seed_set in seed_sets:
        recipes.append(own_images(seed_set))
        recipes += draw_recipes(seed_set, MetaSetConfig(n_sets=2, n_images=4))
    return task, seed_sets, recipes


def observe(world, folder, detector):
    task, seed_sets, recipes = world
    settings = preset("paper", repeats=2)
    store = RowStore(folder)
    return observe_sets(Observer(detector, task, settings), seed_sets, recipes, store=store)


def test_kept_boxes_give_the_scores_and_the_map_of_the_pass(world, tmp_path):
    task, seed_sets, recipes = world
    detector = RectangleDetector()
    table = whole_sets(observe(world, tmp_path / "boxes", detector))
    for at in (0, 4):
        observer = Observer(detector, task, preset("paper", repeats=2))
        rows = scored_rows(observer, SampleSet(seed_sets[at // 3], recipes[at]))
        kept = table[table["sample_set"] == recipes[at].recipe_id].to_dict("records")
        for direct, again in zip(rows, kept, strict=True):
            for name in ("mAP", "mAP75", "bos", "bos_strict", "ac", "ps@0.50", "n_images"):
                assert again[name] == pytest.approx(direct[name], abs=1e-12, nan_ok=True), name


def test_a_second_run_observes_nothing_anew(world, tmp_path):
    detector = RectangleDetector()
    first = observe(world, tmp_path / "boxes", detector)
    seen = detector.observed
    again = observe(world, tmp_path / "boxes", detector)
    assert detector.observed == seen == 4 * (6 + 2 * 4)
    assert len(again.sets) == len(first.sets) == 12
    assert len(again.of_kind("seed").sets) == 4 and again.largest == 6


def test_an_unreadable_image_is_named_and_left_out(world, tmp_path):
    broken = next((tmp_path / "worlds" / "w0" / "images").iterdir())
    broken.write_bytes(b"no image")
    result = observe(world, tmp_path / "boxes", RectangleDetector())
    assert any(broken.name in warning for warning in result.warnings)
    assert len(result.of_kind("seed").sets[0].images) == 5


def test_sets_that_fail_are_told_and_all_failing_is_an_error(world, tmp_path, monkeypatch):
    detector = RectangleDetector()
    original = detector.observe

    def failing(images, image_ids, **options):
        if np.max(images[0]) > 240:
            raise RuntimeError("out of memory")
        return original(images, image_ids, **options)

    monkeypatch.setattr(detector, "observe", failing)
    result = observe(world, tmp_path / "some", detector)
    assert 0 < len(result.sets) < 12 and "out of memory" in result.warnings[0]
    with pytest.raises(InputError, match="no"):
        result.of_kind("astrology")

    def always(*args, **options):
        raise RuntimeError("no such device")

    monkeypatch.setattr(detector, "observe", always)
    with pytest.raises(InputError, match=r"No sample set could be observed\. .*no such device"):
        observe(world, tmp_path / "none", detector)
