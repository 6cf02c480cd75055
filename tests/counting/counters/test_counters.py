"""Adapters: a detector, a density network, words, a file; prompts and their categories."""

import warnings

import numpy as np
import pytest
import torch

from autoeval.counting.counters import Counter, CountResult, as_result, count_prompts
from autoeval.counting.counters.adapters import (
    DensityCounter,
    FileCounter,
    FunctionCounter,
    TextCounter,
    imagenet_input,
)
from autoeval.counting.counters.mmdet import DetectorCounter, box_limit, find_category
from autoeval.counting.predictions import CountPredictions
from autoeval.counting.prompting import CutOffAnswer
from autoeval.detections import Detections, Evidence
from autoeval.errors import InputError

IMAGE = np.zeros((40, 60, 3), np.uint8)


class FakeDetector:
    """Finds two people and a bus, and counts its passes."""

    categories = ("person", "bus", "dog")
    settings = {"test_cfg.rpn.max_per_img": 2, "test_cfg.rcnn.max_per_img": 4}  # noqa: RUF012

    def __init__(self, scores=(0.9, 0.8, 0.7, 0.2)):
        self.scores = scores
        self.passes = []

    def observe(self, images, image_ids):
        self.passes.append(tuple(image_ids))
        boxes = [[0, 0, 10, 20], [20, 10, 30, 30], [5, 5, 45, 35], [0, 0, 2, 2]]
        found = Detections(np.array(boxes), np.array(self.scores), np.array([0, 0, 1, 0]))
        return [Evidence(i, im.shape[:2], found) for i, im in zip(image_ids, images, strict=True)]


def test_boxes_above_the_threshold_become_points():
    result = DetectorCounter(FakeDetector()).count(IMAGE, "people", {"image_id": "a"})
    assert result.count == 2 and result.status == "ok" and result.warnings == ()
    assert result.points.tolist() == [[5, 10], [25, 20]]
    assert result.scores.tolist() == pytest.approx([0.9, 0.8])
    assert result.context == {"image_id": "a"}
    counter = DetectorCounter(FakeDetector((0.5, 0.5, 0.5, 0.5)), score_thr=0.5)
    assert counter.count(IMAGE, "person").count == 0
    detector = FakeDetector()
    results = count_prompts(DetectorCounter(detector), IMAGE, ["buses", "Person", "dogs"])
    assert [result.count for result in results] == [1, 2, 0]
    assert len(detector.passes) == 1


def test_a_full_detector_warns():
    counter = DetectorCounter(FakeDetector(), score_thr=0.1)
    assert counter.max_per_img == 4  # of the second stage, not of the proposals
    with pytest.warns(UserWarning, match="max_per_img = 4"):
        result = counter.count(IMAGE, "person")
    assert "objects may be missing" in result.warnings[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert DetectorCounter(FakeDetector()).count(IMAGE, "person").warnings == ()


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({}, None),
        ({"max_per_img": 300}, 300),
        ({"a.b.max_per_img": 7, "test_cfg.max_per_img": 9, "score_thr": 0.1}, 7),
        ({"test_cfg.rpn.max_per_img": 5}, None),
    ],
)
def test_box_limit(settings, limit):
    assert box_limit(settings) == limit


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("cars", "car"),
        ("CAR", "car"),
        ("people", "person"),
        ("buses", "bus"),
        ("sandwiches", "sandwich"),
        ("knives", "knife"),
        ("mice", "mouse"),
        ("teddy_bears", "teddy bear"),
        ("ski", "skis"),
        ("scissors", "scissors"),
        ("baseball gloves", "baseball glove"),
        ("sheep", "sheep"),
        ("strawberries", "strawberry"),
    ],
)
def test_prompts_find_their_category(prompt, name):
    categories = (
        "person", "car", "bus", "sandwich", "knife", "mouse", "teddy bear", "skis", "scissors",
        "baseball glove", "sheep", "bear", "strawberry",
    )  # fmt: skip
    assert categories[find_category(prompt, categories)] == name


def test_prompts_without_a_category_or_with_two():
    with pytest.raises(InputError, match=r"'zebras'.*person, bus, dog"):
        DetectorCounter(FakeDetector()).count(IMAGE, "zebras")
    with pytest.raises(InputError, match="could mean leaf, leave"):
        find_category("leaves", ("leaf", "leave"))
    with pytest.raises(InputError, match="no category"):
        find_category("", ("person",))


def test_categories_that_differ_in_case_alone_are_two():
    categories = ("Helmet", "helmet")
    assert [find_category(name, categories) for name in categories] == [0, 1]
    with pytest.raises(InputError, match="could mean Helmet, helmet"):
        find_category("HELMET", categories)


class MeanMap(torch.nn.Module):
    """A map of half the image's size; its sum is a quarter of the area times the red mean."""

    def forward(self, batch):
        return torch.nn.functional.avg_pool2d(batch[:, :1], 2)


def red(value):
    image = np.zeros((8, 12, 3), np.uint8)
    image[..., 2] = value
    return image


def test_the_count_is_the_sum_of_the_map_and_a_module_may_get_the_prompt():
    counter = DensityCounter(
        MeanMap(), name="mean", scale=0.5,
        to_input=lambda im: torch.from_numpy(im[..., ::-1].copy()).permute(2, 0, 1).float(),
    )  # fmt: skip
    result = counter.count(red(4), "anything", {"image_id": "a"})
    assert result.density.shape == (4, 6)
    assert result.count == 0.5 * 4 * 24 == pytest.approx(result.density.sum())

    class Prompted(torch.nn.Module):
        def forward(self, batch, prompts):
            assert not self.training
            return torch.full((1, 2, 2), float(len(prompts[0])))

    assert DensityCounter(Prompted(), name="p", prompted=True).count(IMAGE, "abc").count == 12


def test_the_default_input_is_rgb_normalised_as_imagenet():
    image = np.array([[[10, 20, 30]]], np.uint8)  # blue 10, green 20, red 30
    expected = [(30 / 255 - 0.485) / 0.229, (20 / 255 - 0.456) / 0.224, (10 / 255 - 0.406) / 0.225]
    assert imagenet_input(image).flatten().tolist() == pytest.approx(expected)
    assert imagenet_input(np.zeros((5, 7, 3), np.uint8)).shape == (3, 5, 7)


class Broken(torch.nn.Module):
    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, batch):
        return self.output


def test_a_map_that_is_not_finite_is_a_failure_and_no_map_is_an_error():
    result = DensityCounter(Broken(torch.tensor([[1.0, np.nan]])), name="b").count(IMAGE, "x")
    assert np.isnan(result.count) and result.status.startswith("failed")
    for output in (torch.ones(2, 1, 3, 3), torch.tensor(3.0), [1]):
        with pytest.raises(InputError, match="one density map"):
            DensityCounter(Broken(output), name="b").count(IMAGE, "x")


def test_answers_in_words():
    asked = []

    def ask(image, prompt):
        asked.append((image.shape, prompt))
        return "about 12" if "cars" in prompt else "no idea"

    counter = TextCounter(ask, name="words")
    good, skipped = (counter.count(IMAGE, f"How many {w}?", {"k": 1}) for w in ("cars", "dogs"))
    assert (good.count, good.text, good.status) == (12, "about 12", "ok")
    assert np.isnan(skipped.count) and (skipped.text, skipped.status) == ("no idea", "skipped")
    assert asked[0] == ((40, 60, 3), "How many cars?") and skipped.context == {"k": 1}


def test_predictions_made_elsewhere():
    counter = FileCounter(CountPredictions("f", ("a", "b"), np.ones(2), np.array([2.5, np.nan])))
    assert counter.count(IMAGE, "x", {"image_id": "a"}).count == 2.5
    assert counter.count(IMAGE, "x", {"image_id": "b"}).status == "skipped"
    with pytest.raises(InputError, match="'c'"):
        counter.count(IMAGE, "x", {"image_id": "c"})
    with pytest.raises(InputError, match="image_id"):
        counter.count(IMAGE, "x")


@pytest.mark.parametrize(
    "counter",
    [
        DetectorCounter(FakeDetector()),
        DensityCounter(MeanMap(), name="m"),
        TextCounter(lambda image, prompt: "1"),
        FileCounter(CountPredictions("f", ("a",), np.ones(1), np.ones(1))),
    ],
)
def test_every_adapter_is_a_counter_and_delivers_what_it_declares(counter):
    assert isinstance(counter, Counter) and counter.name
    result = counter.count(IMAGE, "person", {"image_id": "a"})
    carried = {
        "count": True,
        "density": result.density is not None,
        "points": result.points is not None,
        "text": result.text is not None,
    }
    assert {name for name, has in carried.items() if has} == counter.capabilities
    assert result.context == {"image_id": "a"}


RETURNED = [
    (7, 7, None),
    (np.float32(2.5), 2.5, None),
    ([[1, 2], [3, 4], [5, 6]], 3, "points"),
    ([], 0, "points"),
    (np.full((4, 6), 0.25), 6, "density"),
    (torch.full((1, 1, 4, 6), 0.25), 6, "density"),
    ("There are twenty-one of them.", 21, "text"),
    (None, np.nan, None),
    (CountResult(6, density=np.full((1, 4, 6), 0.25)), 6, "density"),
]
NARROW = [np.full((9, 3), 0.25), np.full((9, 6), 1.5), torch.full((1, 1, 9, 5), 2.0)]


@pytest.mark.parametrize(("returned", "count", "carries"), RETURNED)
def test_what_a_function_may_return(returned, count, carries):
    counter = FunctionCounter(lambda image, prompt: returned, name="f")
    [result] = count_prompts(counter, IMAGE, ["x"], {"image_id": "a"})
    assert result.count == pytest.approx(count, nan_ok=True)
    assert result.status == ("skipped" if returned is None else "ok")
    for name in ("points", "density", "text"):
        assert (getattr(result, name) is not None) == (name == carries)
    if carries == "density":
        assert result.density.shape == (4, 6)
    assert counter.capabilities == {"count", *({carries} & {"points", "density"})}


@pytest.mark.parametrize("density", NARROW)
def test_a_narrow_density_map_is_given_as_a_result(density):
    """Alone it may be a table of boxes, which is refused; the refusal says how to give it."""
    with pytest.raises(InputError, match=r"CountResult\(density\.sum\(\), density=density\)"):
        as_result(density, "mine")
    result = as_result(CountResult(float(density.sum()), density=density), "mine")
    assert result.density.sum() == result.count and result.density.shape[0] == 9


WRONG = [
    ({"count": 3}, "returned dict: expected a number"),
    (True, "returned bool"),
    (np.zeros((3, 8, 8)), r"shape \(3, 8, 8\): expected points \(N, 2\) or one density map"),
    ([[10, 20, 30, 40], [50, 60, 70, 80]], r"shape \(2, 4\), which may be a table of boxes"),
    (np.ones((7, 3)), r"shape \(7, 3\), which may be a table"),
    (torch.tensor([[[10.0, 20, 30, 40, 0.9, 2]]]), r"shape \(1, 1, 6\), which may be a table"),
    (torch.ones(7, 5), r"shape \(7, 5\), which may be a table"),
    (CountResult(5, density=np.full((8, 8), 1.25)), r"sums to 80 \(16 times\)"),  # upsampled by 4
    (CountResult(5, density=np.ones((2, 8, 8))), r"shape \(2, 8, 8\)"),
    (CountResult(5, points=[[1, 2], [3, 4]]), "counts 5, but gives 2 points"),
    (CountResult(0, boxes=np.ones((3, 4))), "counts 0, but gives 3 points or boxes"),
    (CountResult(2, points=np.ones((2, 3))), r"points of shape \(2, 3\)"),  # with scores
    (CountResult(2, boxes=np.ones((2, 6))), r"boxes of shape \(2, 6\)"),
    (CountResult(2, points=[[1, 2], [3, np.nan]]), "finite coordinates"),
    (CountResult(2, points=np.ones((2, 2)), scores=torch.ones(3)), "with 3 scores"),
]


@pytest.mark.parametrize(("returned", "message"), WRONG)
def test_what_no_counter_may_return_ends_the_run(returned, message):
    with pytest.raises(InputError, match=message):
        as_result(returned, "mine")


AS_MANY = [
    CountResult(2, points=[[1, 2], [3, 4]], scores=[0.5, 1]),
    CountResult(1.6, points=[[1, 2], [3, 4]]),  # of a network that rounds it
    CountResult(0, boxes=np.zeros((0, 4)), scores=[]),
    CountResult(np.nan, points=[[1, 2]], status="skipped"),
]


@pytest.mark.parametrize("result", AS_MANY)
def test_points_as_many_as_the_count_are_taken(result):
    assert as_result(result, "mine") is result


@pytest.mark.parametrize("kind", ["points", "boxes"])
def test_places_and_scores_of_a_result_may_be_tensors_of_a_network(kind):
    """As of a forward pass with gradients, or on an accelerator, which NumPy refuses to take."""
    places = torch.tensor([[2.0, 4.0, 4.0, 8.0]], requires_grad=True)
    places = places if kind == "boxes" else places[:, 1:3]
    scores = torch.tensor([0.5], requires_grad=True)
    result = as_result(CountResult(1, scores=scores, **{kind: places}), "mine")
    assert result.centres.tolist() == ([[3, 6]] if kind == "boxes" else [[4, 4]])
    assert np.asarray(result.scores).tolist() == [0.5]


def test_a_function_may_take_the_context():
    counter = FunctionCounter(lambda image, prompt, context: len(context["image_id"]), name="f")
    assert counter.count(IMAGE, "x", {"image_id": "abc"}).count == 3


def test_a_table_of_images_and_classes_is_a_counter(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("filename;category;prediction\na.jpg;cars;3,5\na.jpg;dogs;\nb.jpg;cars;1\n")
    counter = FileCounter(path)
    assert counter.name == "mine"
    assert counter.count(IMAGE, "cars", {"image_id": "images/a.png"}).count == 3.5
    assert counter.count(IMAGE, "dogs", {"image_id": "a.jpg"}).status == "skipped"
    with pytest.raises(InputError, match=r"no class 'dogs' for b\.jpg; they have cars"):
        counter.count(IMAGE, "dogs", {"image_id": "b.jpg"})
    path.write_text("a.jpg,3\n")
    assert FileCounter(path).count(IMAGE, "whatever", {"image_id": "a"}).count == 3
    path.write_text("a.jpg,cars,3\na.jpg,cars,4\n")
    with pytest.raises(InputError, match=r"1 rows come twice: a\.jpg cars"):
        FileCounter(path)


def test_a_count_on_file_is_that_of_one_image(tmp_path):
    """Images of one name in two folders had the count of the one image on file."""
    path = tmp_path / "mine.csv"
    path.write_text("1.jpg,7\nyard/2.jpg,9\n")
    counter = FileCounter(path)
    for _ in range(2):
        assert counter.count(IMAGE, "cars", {"image_id": "gate/1.jpg"}).count == 7
    assert counter.count(IMAGE, "cars", {"image_id": "yard/2.jpg"}).count == 9
    with pytest.raises(InputError, match=r"gate/1\.jpg and yard/1\.jpg"):
        counter.count(IMAGE, "cars", {"image_id": "yard/1.jpg"})


def test_an_answer_that_was_cut_off_is_skipped_or_asked_again():
    said = iter([CutOffAnswer("Row 1 has 4, row 2"), "There are 8."])
    given = []

    def ask(image, prompt, temperature=None):
        given.append(temperature)
        return next(said)

    counter = TextCounter(ask)
    assert counter.count(IMAGE, "x").status == "skipped"
    said = iter([CutOffAnswer("There are 12"), "There are 8."])
    counter.temperatures = (1.0, 0.9)
    assert counter.count(IMAGE, "x").count == 8 and given[1:] == [1.0, 0.9]
