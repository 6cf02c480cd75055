"""The generator: what is drawn, what is covered, what the metadata says."""

from __future__ import annotations

import json
from functools import partial

import cv2
import numpy as np
import pytest

from autoeval.counting.capture.making import (
    COLORS,
    LAYOUTS,
    SyntheticSpec,
    draw_objects,
    draw_occluder,
    fit_shift,
    make_records,
    offsets,
    pattern_positions,
    possible_counts,
    render_pair,
    touched,
    write_synthetic,
)
from autoeval.counting.capture.split import open_split, read_items, to_items, write_contact_sheet
from autoeval.errors import InputError


@pytest.mark.parametrize(("dot_shape", "area"), [("circle", np.pi * 25), ("square", 100)])
@pytest.mark.parametrize("point", [(20, 20), (20.5, 17.25)])
def test_an_object_has_its_area_and_centre(dot_shape, area, point):
    image = draw_objects(np.array([point]), dot_shape=dot_shape, color="blue", size=40)
    weight = 1 - image[..., 2] / 255.0
    y, x = np.indices(weight.shape) + 0.5
    assert weight.sum() == pytest.approx(area, rel=0.01)
    assert (weight * x).sum() / weight.sum() == pytest.approx(point[0], abs=0.02)
    assert (weight * y).sum() / weight.sum() == pytest.approx(point[1], abs=0.02)


def test_number_of_drawn_components_is_the_count_inside_the_canvas():
    for record in list(make_records(SyntheticSpec()))[::25]:
        original, occluded = render_pair(record)
        box = record["bbox"]
        seen = (np.ptp(original, axis=2) > 0).astype(np.uint8)
        assert cv2.connectedComponents(seen)[0] - 1 == record["in_canvas_count"]
        inside = np.s_[box["y"] : box["y"] + box["height"], box["x"] : box["x"] + box["width"]]
        assert not occluded[inside].any()
        occluded[inside] = original[inside]
        np.testing.assert_array_equal(occluded, original)


def test_objects_called_hidden_are_those_that_lose_pixels():
    for record in list(make_records(SyntheticSpec()))[7::150]:
        for point, hidden in zip(record["positions"], record["occluded"], strict=True):
            alone = {**record, "positions": [point]}
            original, occluded = render_pair(alone)
            lost = (np.ptp(original, axis=2) > 0) & (occluded == 0).all(2)
            off_canvas = not np.ptp(original, axis=2).any()
            # The rim of a disc fades over half a pixel, which a box may reach without the disc.
            assert hidden == (lost.sum() > 0) or lost.sum() <= 3 or off_canvas


def test_records_extend_the_released_schema_and_depend_on_name_and_seed_alone():
    whole = {r["image_file"]: r for r in make_records(SyntheticSpec(seed=3))}
    part = list(make_records(SyntheticSpec(seed=3, counts=(6,), patterns=("circle",))))
    assert len(whole) == 1250 and len(part) == 50
    assert all(whole[record["image_file"]] == record for record in part)
    other = {r["image_file"]: r for r in make_records(SyntheticSpec(seed=4))}
    assert sum(whole[name]["bbox"] != other[name]["bbox"] for name in whole) > 1200
    released = "image_file ground_truth shape offset color num_occluded dot_shape positions"
    assert set(released.split()) < set(part[0])
    assert {r["color"] for r in whole.values()} == set(COLORS)


def test_occluder_is_a_square_of_6_to_12_radii_on_an_object():
    points = np.array([[50.0, 60.0], [150.0, 60.0], [50.0, -20.0]])
    rng = np.random.default_rng(0)
    boxes = np.array([draw_occluder(points, radius=5, size=200, rng=rng) for _ in range(400)])
    sides = boxes[:, 2:] - boxes[:, :2]
    assert sides.min() >= 29 and sides.max() <= 61
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    assert set(np.unique(middles[:, 1].round(-1))) == {60}  # never on the one outside
    assert np.abs(middles[:, 0, None] - [50, 150]).min(1).max() <= 0.5
    draw = partial(draw_occluder, points, radius=5, size=200, rng=rng, anywhere=True)
    middles = np.array([(box[1] + box[3]) / 2 for box in (draw() for _ in range(300))])
    assert np.mean(middles < 0) == pytest.approx(1 / 3, abs=0.09)  # three standard errors


def test_a_box_outside_the_image_hides_nothing_there():
    """Of a column of five, 40 pixels apart, the first stands above the image in two places."""
    records = list(make_records(SyntheticSpec(counts=(5,), box_anywhere=True)))
    unseen = [r for r in records if r["num_occluded"] and not r["in_canvas_occluded"]]
    assert unseen and all(record["in_canvas_count"] == 4 for record in unseen)
    for record in unseen:
        original, occluded = render_pair(record)
        changed = (original != occluded).any(2)
        assert (original[changed] == 255).all(), "the box covers blank canvas, or none at all"
    assert all(r["in_canvas_occluded"] for r in make_records(SyntheticSpec(counts=(5,))))


def test_touching_is_exact_at_edges_and_corners():
    box = np.array([0, 0, 10, 10])
    diagonal = 10 + 5 / np.sqrt(2)
    points = np.array([[14.9, 5], [15.1, 5], [diagonal - 0.1] * 2, [diagonal + 0.1] * 2])
    assert touched(points, box, 5, "circle").tolist() == [True, False, True, False]
    assert touched(points, box, 5, "square").tolist() == [True, False, True, True]


@pytest.mark.usefixtures("drawn_here")
def test_a_split_is_written_and_read_back(tmp_path):
    spec = SyntheticSpec(counts=(6,), size=100, patterns=("triangle", "staggered"))
    split = write_synthetic(spec, tmp_path)
    assert len(split.items) == 100 and len(open_split(tmp_path).items) == 100
    item = split.items[0]
    original, occluded = render_pair(item.record)
    np.testing.assert_array_equal(split.read_image(item, "original"), original)
    np.testing.assert_array_equal(split.read_image(item, "occluded"), occluded)
    assert (item.object_name, item.split, item.ground_truth) == ("circles", "synthetic", 6)
    assert len(item.visible_points) == 6 - item.num_occluded
    write_contact_sheet(split, tmp_path / "sheet.png", pairs=7)
    assert cv2.imread(str(tmp_path / "sheet.png")).shape[0] == round(150 * (2 * 2.7 + 0.4))


def test_released_metadata_reads_as_items_with_our_positions(shared):
    items = read_items(shared / "golden/capture/synthetic_metadata.json")
    assert len(items) == 1150
    assert items[0].box is None and items[0].num_occluded == 1 and items[0].visible_points is None
    off = [((i.points < -5) | (i.points > 205)).any() for i in items]
    assert sum(off) == 151
    released = json.loads((shared / "golden/capture/synthetic_metadata.json").read_text())
    ours = {record["image_file"]: record for record in make_records(SyntheticSpec())}
    keys = ["ground_truth", "shape", "offset", "color", "dot_shape", "positions"]
    for record in released:
        for key in keys:
            assert ours[record["image_file"]][key] == record[key], (record["image_file"], key)
    names = [record["image_file"] for record in released]
    assert [name for name in ours if name in set(names)] == names  # the same order
    published = np.array([record["num_occluded"] for record in released])
    means = []
    for seed in range(3):
        records = make_records(SyntheticSpec(seed=seed))
        means.append(np.mean([r["num_occluded"] for r in records if r["image_file"] in names]))
    error = published.std() / np.sqrt(len(published))
    assert published.mean() == pytest.approx(2.73, abs=0.005)  # Table 1
    assert abs(np.mean(means) - published.mean()) < 2 * error


BROKEN = [
    ("[", "not a JSON file"),
    ('{"image_file": "a"}', "list of records"),
    ('[{"image_file": "a"}, {"image_file": "a"}]', "more than once: a"),
    ('[{"image_file": "a", "object": "dots"}]', "record of a .*ground_truth"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_broken_metadata_is_named(tmp_path, text, message):
    (tmp_path / "metadata.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_items(tmp_path)


BY_HAND = [
    # Angle 72 degrees: 100 + 50 cos = 115.45, 100 + 50 sin = 147.55.
    ("circle", 5, (0, 0), 1, [115.45, 147.55]),
    # The first object of a circle lies right of the centre; the offset is added.
    ("circle", 8, (26, -26), 0, [176.0, 74.0]),
    # k = 3, spacing 80 / 3; row 2 is 2 * 23.094 below 60 and starts one spacing left of 100.
    ("triangle", 6, (0, 0), 3, [73.33, 106.19]),
    # k = 4, spacing 20, last of the last row: 1.5 spacings right, 3 * 17.3205 down.
    ("triangle", 10, (0, 0), 9, [130.0, 111.96]),
    # 12 has the divisors 1 2 3 4 6 12: 4 rows (60 to 140) of 3 (80 to 120).
    ("rectangle", 12, (0, 0), 4, [100.0, 86.67]),
    # A prime is one column from 20 to 180: steps of 16 for 11; here moved off the canvas.
    ("rectangle", 11, (-26, -26), 0, [74.0, -6.0]),
    ("rectangle", 11, (0, 0), 1, [100.0, 36.0]),
]


@pytest.mark.parametrize(("pattern", "n", "offset", "index", "expected"), BY_HAND)
def test_positions_by_hand(pattern, n, offset, index, expected):
    assert pattern_positions(pattern, n, offset=offset)[index].tolist() == expected


def test_five_places_and_the_shortest_shift_into_the_canvas():
    assert offsets(200) == [(0, 0), (-26, -26), (26, -26), (-26, 26), (26, 26)]
    assert offsets(400)[1] == (-52, -52)
    points = pattern_positions("rectangle", 5, offset=(26, -26))  # y from -6 to 154
    assert fit_shift(points, 200, 5).tolist() == [0, 11]
    assert fit_shift(points + np.array([0, 60]), 200, 5).tolist() == [0, -19]  # y to 214
    with pytest.raises(InputError, match="does not fit"):
        fit_shift(np.array([[0.0, 0.0], [0.0, 200.0]]), 200, 5)
    with pytest.raises(InputError, match="does not fit"):  # 220 wide, and only its left end outside
        fit_shift(np.array([[-40.0, 100.0], [180.0, 100.0]]), 200, 5)

    def outside(**options):
        records = make_records(SyntheticSpec(**options))
        return sum(r["in_canvas_count"] < r["ground_truth"] for r in records)

    # Columns of 5, 7, 11 and 13 in four places, two shapes and five colours: 4 * 4 * 10.
    assert outside() == 160
    assert outside(fit_canvas=True) == 0


@pytest.mark.parametrize("pattern", LAYOUTS)
def test_every_layout_gives_n_distinct_objects_and_scales_with_the_canvas(pattern):
    for n in possible_counts(pattern, range(5, 30)):
        small, large = pattern_positions(pattern, n), pattern_positions(pattern, n, size=400)
        assert small.shape == (n, 2) and len(np.unique(small, axis=0)) == n
        np.testing.assert_allclose(large, 2 * small, atol=0.02)


def test_impossible_patterns_are_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be made of 7"):
        pattern_positions("triangle", 7)
    with pytest.raises(InputError, match="circle, triangle"):
        pattern_positions("hexagon", 7)
    with pytest.raises(InputError, match="None of these patterns"):
        write_synthetic(SyntheticSpec(counts=(7,), patterns=("triangle",)), tmp_path)
    with pytest.raises(InputError, match="No metadata file"):
        open_split(tmp_path)
    assert to_items([]) == []
