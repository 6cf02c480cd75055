"""`autoeval.detect`: a detector's boxes in one file that knows its images and its detector."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from forking import fork
from labelled_colours import write_detector, write_distinct

import autoeval
from autoeval.api.options import given_boxes_of
from autoeval.boxes import LabelledImage
from autoeval.detectors.adapters import adapters
from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.detectors.detector_spec import DetectorSpec, load_black_box
from autoeval.errors import InputError
from autoeval.estimation.fitting import join_fits
from autoeval.io.find_images import ImageArray, find_images
from autoeval.io.video import time_blocks
from autoeval.monitoring.read_sites import site_observer
from autoeval.report.estimate import estimate_values

WORDS = ("car", "bus", "tram")
LABELS = "annotations.json"
IMAGES = "images"


def find_bright(images):
    """One box around what is bright, a bus where it is red; none in a dark image."""
    boxes, scores, words = [], [], []
    for image in images:
        ys, xs = np.nonzero(image.max(axis=2) > 100)
        some = [[xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]] if len(xs) else []
        boxes.append(some)
        scores.append([image.max() / 256] * len(some))
        words.append(["bus" if image[..., 2].max() > 100 else "car"] * len(some))
    return boxes, scores, words


def bright(**settings):
    return BlackBoxDetector(find_bright, WORDS, name="bright", settings={"least": 100, **settings})


def write_image(path, k):
    """A rectangle 4 wide and 5 high at (2, 3), brighter by k; black where k is None."""
    image = np.zeros((24, 20, 3), np.uint8)
    if k is not None:
        image[3:8, 2:6, 2 * (k % 2)] = 128 + k % 100
        image[20, k % 20, 1] = k // 20  # so that no two files are the same
    path.parent.mkdir(parents=True, exist_ok=True)
    cv2.imwrite(str(path), image)
    return path


@pytest.fixture
def street(tmp_path):
    """Two images with a box, one dark, one that is damaged, and a copy of the first."""
    folder = tmp_path / "street"
    for name, k in (("a", 0), ("sub/b", 1), ("dark", None)):
        write_image(folder / f"{name}.png", k)
    shutil.copy(folder / "a.png", folder / "e.png")
    (folder / "torn.png").write_bytes((folder / "a.png").read_bytes()[:40])
    return folder


def test_the_file_has_a_row_a_box_and_knows_the_rest(street, tmp_path):
    found = autoeval.detect(bright(), street, tmp_path / "boxes.parquet")
    rows = pd.read_parquet(tmp_path / "boxes.parquet")
    assert list(rows) == ["file_name", "category", "x", "y", "w", "h", "score"]
    assert rows["file_name"].tolist() == ["a.png", "e.png", "sub/b.png"]
    assert rows["category"].tolist() == ["car", "car", "bus"]
    np.testing.assert_array_equal(rows[["x", "y", "w", "h"]], [[2, 3, 4, 5]] * 3)
    np.testing.assert_array_equal(rows["score"], [128 / 256, 128 / 256, 129 / 256])
    # all images, sizes and words, without a list of images
    assert [image.file_name for image in found.images] == [
        "a.png",
        "dark.png",
        "e.png",
        "sub/b.png",
    ]
    assert {image.size for image in found.images} == {(24, 20)}
    assert found.categories == WORDS and len(found.uncovered) == 0
    np.testing.assert_array_equal(found.run.copies, [False, False, True, False])
    assert found.run.settings == bright().settings and found.run.is_identified
    assert found.run.versions["autoeval"] == autoeval.__version__
    (lost,) = found.run.unreadable
    assert "torn.png" in lost


def test_nothing_found_is_known_too(tmp_path):
    write_image(tmp_path / "night/a.png", None)
    found = autoeval.detect(bright(), tmp_path / "night", tmp_path / "none.parquet")
    assert (len(found), len(found.images), found.categories) == (0, 1, WORDS)


def test_images_are_called_as_the_labels_call_their_files(tmp_path):
    """A COCO file has ids of its own: boxes go by the names of its files."""
    for k in range(2):
        write_image(tmp_path / f"images/day/{k}.png", k)
    images = [{"id": 7 + k, "file_name": f"day/{k}.png", "width": 20, "height": 24} for k in (1, 0)]
    (tmp_path / "new.json").write_text(json.dumps({"images": images}))
    found = autoeval.detect(bright(), tmp_path / "new.json", tmp_path / "boxes.parquet")
    assert [(image.image_id, image.file_name) for image in found.images] == [
        ("8", "day/1.png"),
        ("7", "day/0.png"),
    ]
    labels = [LabelledImage(str(k), f"day/{k}.png", None) for k in range(2)]
    by_labels = autoeval.load_predictions(tmp_path / "boxes.parquet", images=labels)
    np.testing.assert_array_equal(by_labels.image, [1, 0])


@pytest.mark.parametrize("kept", [True, False])
def test_batches_and_workers_change_nothing(street, tmp_path, kept):
    files = []
    for size, workers in ((1, 0), (3, 1), (4, 3)):
        run = autoeval.Detector(bright(), batch_size=size, num_workers=workers)
        work_dir = tmp_path / f"kept{size}" if kept else None
        autoeval.detect(run, street, tmp_path / f"{size}.parquet", work_dir=work_dir)
        files.append((tmp_path / f"{size}.parquet").read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.rare
def test_a_killed_run_goes_on_without_losing_or_doubling_an_image(tmp_path):
    n, seen = 200, tmp_path / "seen.txt"
    for k in range(n):
        write_image(tmp_path / f"many/{k}.png", k)

    def dying(after):
        left = [after]

        def find(images):
            left[0] -= len(images)
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            with seen.open("a") as file:
                file.write("x" * len(images))
            return find_bright(images)

        return BlackBoxDetector(find, WORDS, name="bright", settings={"least": 100})

    output, images, kept = tmp_path / "boxes.parquet", tmp_path / "many", tmp_path / "kept"
    rng = np.random.default_rng(0)
    kills = 0
    for after in [*rng.integers(0, 100, 5).tolist(), n + 1]:
        dies = dying(after)
        child = fork(lambda dies=dies: autoeval.detect(dies, images, output, work_dir=kept))
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        assert output.exists() != killed
        kills += killed
        if not killed:
            break
    assert kills >= 3
    rows = pd.read_parquet(output)
    assert rows["file_name"].tolist() == [f"{k}.png" for k in range(n)]
    autoeval.detect(bright(), images, tmp_path / "whole.parquet")
    assert (tmp_path / "whole.parquet").read_bytes() == output.read_bytes()
    again = len(seen.read_text())
    autoeval.detect(dying(0), images, output, work_dir=kept)  # runs nothing
    assert len(seen.read_text()) == again < 2 * n
    assert not [path for path in tmp_path.glob(".*")]


@pytest.mark.slow
def test_forty_kills_at_drawn_times_lose_and_double_no_image(tmp_path):
    """Each run is killed once, wherever it is, and given again; its file is always the same."""
    n = 300
    for k in range(n):
        write_image(tmp_path / f"many/{k}.png", k)
    images, whole = tmp_path / "many", tmp_path / "whole.parquet"

    def run(output, work_dir, seconds=None):
        """Detect in a process of its own; return whether it was killed before it had ended."""
        child = fork(lambda: autoeval.detect(bright(), images, output, work_dir=work_dir))
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])

    start = time.perf_counter()
    assert not run(whole, tmp_path / "undisturbed")
    duration = time.perf_counter() - start
    expected, rng = whole.read_bytes(), np.random.default_rng(0)
    inside = begun = 0
    for kill in range(40):
        output, work_dir = tmp_path / f"{kill}.parquet", tmp_path / f"kept{kill}"
        killed = run(output, work_dir, rng.uniform(0.05, 1) * duration)
        inside += killed
        begun += killed and work_dir.exists() and any(work_dir.rglob("*.parquet"))
        assert not output.exists() or output.read_bytes() == expected  # whole, or not there
        assert not run(output, work_dir)
        assert output.read_bytes() == expected
    print(f"{inside} of 40 kills fell inside the run, {begun} of them after something was kept")
    assert inside >= 20 and begun >= 5
    rows = pd.read_parquet(whole)
    assert rows["file_name"].tolist() == [f"{k}.png" for k in range(n)]


def test_kept_arrays_of_another_shape_are_other_images(tmp_path):
    for size in ((48, 64), (64, 48)):  # of the same bytes
        images, kept = [np.zeros((*size, 3), np.uint8)], tmp_path / "kept"
        found = autoeval.detect(bright(), images, tmp_path / "boxes.parquet", work_dir=kept)
        assert found.images[0].size == size


def test_what_is_refused(street, tmp_path):
    with pytest.raises(InputError, match=r"ends in \.parquet"):
        autoeval.detect(bright(), street, tmp_path / "boxes.json")
    with pytest.raises(InputError, match="reference is another detector"):
        run = autoeval.Detector(bright(), reference=str(tmp_path))
        autoeval.detect(run, street, tmp_path / "boxes.parquet")
    twins = [ImageArray("a", np.zeros((4, 4, 3), np.uint8))] * 2
    with pytest.raises(InputError, match="same name"):
        autoeval.detect(bright(), twins, tmp_path / "boxes.parquet")
    with pytest.raises(InputError, match="None of the 1 images can be read"):
        autoeval.detect(bright(), [street / "torn.png"], tmp_path / "boxes.parquet")
    (tmp_path / "list.txt").write_text("elsewhere/a.png\nelsewhere/b.png\n")
    with pytest.raises(InputError, match=r"no such file.*below its folder.*") as refusal:
        autoeval.detect(bright(), tmp_path / "list.txt", tmp_path / "boxes.parquet")
    assert "--img-dir" in str(refusal.value)
    with pytest.raises(InputError, match="BlackBoxDetector"):
        autoeval.detect(find_bright, street, tmp_path / "boxes.parquet")
    assert not (tmp_path / "boxes.parquet").exists()


def test_a_detector_is_named_by_a_path_as_by_text(tmp_path):
    name, image = write_detector(tmp_path), [np.zeros((8, 8, 3), np.uint8)]
    by_text = autoeval.detect(name, image, tmp_path / "text.parquet")
    by_path = autoeval.detect(Path(name), image, tmp_path / "path.parquet")
    assert by_path.run.settings == by_text.run.settings
    spec = autoeval.Detector(Path("a.py"), checkpoint=Path("a.pth"), classes=Path("a.txt")).spec
    assert spec == DetectorSpec("a.py", "a.pth", classes="a.txt")


def test_how_a_detector_is_run_is_kept_where_it_is_an_option():
    run = autoeval.Detector(bright(), reference="boxes.json", batch_size=3)
    assert given_boxes_of(None, {"detector": run}) is run
    for option in ({"batch_size": 2}, {"reference": ["other.json"]}, {"device": "cpu"}):
        with pytest.raises(InputError, match="leave it out"):
            given_boxes_of(None, {"detector": run, **option})


def test_frames_of_a_video_keep_their_blocks_of_time(tmp_path):
    path = tmp_path / "drive.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 1, (64, 48))
    for _ in range(30):
        writer.write(np.full((48, 64, 3), 200, np.uint8))
    writer.release()
    frames = find_images(path, every="5s").images
    found = autoeval.detect(bright(), frames, tmp_path / "boxes.parquet")
    assert found.images[1].file_name == "drive.avi#5"
    np.testing.assert_array_equal(found.run.blocks, time_blocks(frames))
    assert len({*found.run.blocks.tolist()}) < len(frames) == 6
    kept = found.on_images([4, 5])
    np.testing.assert_array_equal(kept.run.blocks, time_blocks(frames)[4:])
    # also where the images are listed again, in another order, and with one of another time
    stranger = LabelledImage("other.png", "other.png", (48, 64))
    listed = [*reversed(found.images), stranger]
    site = autoeval.Predictions(tmp_path / "boxes.parquet").read(listed, where="list", numbers={})
    expected = time_blocks(frames)[::-1]
    assert [image.file_name for image in site.boxes.images] == [i.file_name for i in listed[:-1]]
    same = site.blocks[:, None] == site.blocks
    np.testing.assert_array_equal(same, expected[:, None] == expected)
    assert site.blocks.max() + 1 == len({*expected.tolist()})


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """A labelled site and a new one; in the new one a copy, a dark image and a damaged one."""
    root = tmp_path_factory.mktemp("sites")
    known = write_distinct(root / "known", 0, n_images=40)
    new = write_distinct(root / "new", 1, n_images=20)
    shutil.copy(new / IMAGES / "03.png", new / IMAGES / "04.png")
    write_image(new / IMAGES / "30.png", None)
    (new / IMAGES / "31.png").write_bytes(b"no image")
    name = write_detector(root, 60)
    code = (root / "mine.py").read_text()
    (root / "mine.py").write_text(code.replace("level / 256", "(level - 60) ** 2 / 40000"))
    (root / "other.py").write_text((root / "mine.py").read_text().replace("D = 60", "D = 61"))
    return known, new, name


@pytest.fixture(scope="module")
def fitted(sites):
    known, _, name = sites
    return autoeval.fit(known / LABELS, load_black_box(name), img_dir=known / IMAGES)


@pytest.fixture(scope="module")
def files(sites, tmp_path_factory):
    """The boxes of both sites, and of the new one by a detector with another setting."""
    known, new, name = sites
    folder = tmp_path_factory.mktemp("files")
    for site in (known, new):
        autoeval.detect(name, site / IMAGES, folder / f"{site.name}.parquet")
    other = name.replace("mine.py", "other.py")
    autoeval.detect(other, new / IMAGES, folder / "other.parquet")
    return folder


def numbers_of(estimate):
    plain = estimate.to_dict()
    return {name: of for name, of in plain.items() if name not in ("warnings", "warning_codes")}


def test_images_that_could_not_be_read_are_named_by_a_run_and_by_its_file(sites, fitted, files):
    """Those of a file were not in ``result.json``, and a plan for them did not say so."""
    for options in ({"images": sites[1] / IMAGES}, {"predictions": files / "new.parquet"}):
        estimate = fitted.predict(**options)
        reason = estimate_values(estimate, fitted)["unreadable"]
        assert "/31.png: " in reason and "; " not in reason
        plan = autoeval.plan_labels(fitted, n=5, **options)
        lost = [warning for warning in plan.warnings if warning.code == "images-unreadable"]
        assert len(lost) == 1 and reason in lost[0]


@pytest.mark.parametrize("categories", [None, {"vehicle": ["car", "bus"]}])
def test_its_file_is_estimated_as_the_detector_is(sites, fitted, files, categories):
    by_run = fitted.predict(images=sites[1] / IMAGES, categories=categories)
    by_file = fitted.predict(files / "new.parquet", categories=categories)
    assert numbers_of(by_file) == numbers_of(by_run)
    assert by_file.n_images == 20 and np.isfinite(by_file.value)
    codes = {warning.code for warning in by_file.warnings if hasattr(warning, "code")}
    assert "images-unreadable" in codes and "copies-left-out" in codes
    assert "images-without-box-unknown" not in codes
    assert by_file.site.detector == fitted.detector_.fingerprint


def test_a_word_that_stands_twice_moves_no_label(sites, fitted, tmp_path):
    """The categories of torchvision and DETR hold "N/A" several times, before others."""
    known, new, name = sites
    inner = load_black_box(name)
    words = ["car", "N/A", "N/A", "bus"]
    longer = BlackBoxDetector(inner.find, words, settings={"least": 60})
    by_longer = autoeval.fit(known / LABELS, longer, img_dir=known / IMAGES)
    accuracies = [
        made.table_.set_index("category")["mAP"].to_dict() for made in (fitted, by_longer)
    ]
    assert accuracies[0] == accuracies[1] and set(accuracies[0]) == {"car", "bus"}
    estimate = by_longer.predict(longer, images=new / IMAGES)
    assert numbers_of(estimate) == numbers_of(fitted.predict(images=new / IMAGES))
    autoeval.detect(longer, new / IMAGES, tmp_path / "new.parquet")
    assert numbers_of(by_longer.predict(tmp_path / "new.parquet")) == numbers_of(estimate)


OF_MMDET = {"test_cfg.score_thr": None}
OF_FRAMEWORKS = [
    {"framework": adapter.FRAMEWORK, adapter.SCORE_THRESHOLD: None} for adapter in adapters()
]


def thresholded(name, threshold, settings=OF_MMDET):
    """The detector with a threshold of scores, as a framework has it in its settings."""
    inner = load_black_box(name)

    def find(images):
        kept = ([], [], [])
        for boxes, scores, words in zip(*inner.find(images), strict=True):
            over = np.float32(scores) > np.float32(threshold)
            kept[0].append(boxes[over])
            kept[1].append(scores[over])
            kept[2].append([word for word, there in zip(words, over, strict=True) if there])
        return kept

    settings = {key: threshold if of is None else of for key, of in settings.items()}
    return BlackBoxDetector(find, inner.categories, settings=settings)


@pytest.mark.parametrize("settings", [OF_MMDET, *OF_FRAMEWORKS])
def test_boxes_from_a_lower_threshold_are_those_of_the_fit_above_its_own(sites, tmp_path, settings):
    known, new, name = sites
    high = thresholded(name, 0.05, settings)
    fitted = autoeval.fit(known / LABELS, high, img_dir=known / IMAGES)
    of_low = thresholded(name, 0.001, settings)
    low = autoeval.detect(of_low, new / IMAGES, tmp_path / "low.parquet")
    assert low.floor < 0.05
    by_file = fitted.predict(tmp_path / "low.parquet")
    assert numbers_of(by_file) == numbers_of(fitted.predict(images=new / IMAGES))
    assert by_file.site.boxes.floor > 0.05
    by_run = fitted.predict(of_low, images=new / IMAGES)  # it was refused
    assert numbers_of(by_run) == numbers_of(by_file)


def test_copies_count_in_nothing_that_is_compared_with_the_fit(sites, tmp_path):
    """What is unseen over a higher threshold was that of all images, copies among them."""
    known, new, name = sites
    fitted = autoeval.fit(known / LABELS, thresholded(name, 0.01), img_dir=known / IMAGES)
    found = autoeval.detect(thresholded(name, 0.2), new / IMAGES, tmp_path / "high.parquet")
    assert found.run.copies.sum() == 1
    rest = found.on_images(np.flatnonzero(~found.run.copies))
    assert numbers_of(fitted.predict(found)) == numbers_of(fitted.predict(rest))


def test_boxes_from_a_higher_threshold_are_read_alike_by_file_and_by_run(sites, tmp_path):
    known, new, name = sites
    fitted = autoeval.fit(known / LABELS, thresholded(name, 0.01), img_dir=known / IMAGES)
    high = thresholded(name, 0.2)
    autoeval.detect(high, new / IMAGES, tmp_path / "high.parquet")
    by_run = fitted.predict(high, images=new / IMAGES)
    assert numbers_of(by_run) == numbers_of(fitted.predict(tmp_path / "high.parquet"))
    codes = [warning.code for warning in by_run.warnings]
    assert "low-scores-missing" in codes and by_run.site.boxes.floor > 0.2
    assert by_run.value < fitted.predict(images=new / IMAGES).value
    site_observer(fitted, autoeval.Detector(thresholded(name, 0.01)))
    # a monitor stores boxes as they are found
    with pytest.raises(InputError, match=r"detector\.test_cfg\.score_thr: fitted with 0\.01"):
        site_observer(fitted, autoeval.Detector(high))


@pytest.mark.rare
@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ("retinanet_r50", "model.test_cfg.score_thr", 0.01),
        ("faster_rcnn_r50", "model.test_cfg.rcnn.score_thr", 0.01),
        ("retinanet_mobilenetv2", "", None),  # from .01 on as it is
    ],
)
def test_thresholds_of_mmdet_are_lowered_unless_they_are_given(given, name, expected):
    spec = DetectorSpec(given, cfg_options={"model.backbone.init_cfg": None})
    low = spec.with_low_scores()
    changes = {n: of for n, of in low.cfg_options.items() if n not in spec.cfg_options}
    assert changes == ({name: expected} if name else {})
    if name:
        own = DetectorSpec(given, cfg_options={name: 0.3})
        assert own.with_low_scores() == own
    assert DetectorSpec("mine.py:detector").with_low_scores().cfg_options is None


@pytest.mark.parametrize("by_files", [False, True])
def test_boxes_of_another_detector_are_refused(sites, fitted, files, by_files):
    if by_files:
        fitted = autoeval.fit(sites[0] / LABELS, files / "known.parquet")
        assert np.isfinite(fitted.predict(files / "new.parquet").value)
    with pytest.raises(InputError, match="threshold: fitted with 60, now 61"):
        fitted.predict(files / "other.parquet")


def test_a_fit_on_its_file_is_joined_with_one_with_the_detector(sites, fitted, files, tmp_path):
    """They were fits on predictions and with a detector; boxes of nobody known stay so."""
    known, new, name = sites
    by_run = autoeval.fit(new / LABELS, load_black_box(name), img_dir=new / IMAGES)
    both, values = join_fits({"a": fitted, "b": by_run}), []
    by_file = autoeval.fit(new / LABELS, files / "new.parquet")
    for fits in ({"a": fitted, "b": by_file}, {"b": by_file, "a": fitted}):
        joined = join_fits(fits)
        assert joined.context_ == both.context_ and joined.looks_.detector == both.looks_.detector
        values.append(joined.predict(images=new / IMAGES, predictions=load_black_box(name)).value)
    expected = both.predict(files / "new.parquet").value
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    other = autoeval.fit(new / LABELS, files / "other.parquet")
    with pytest.raises(InputError, match="threshold: fitted with 60, now 61"):
        join_fits({"a": fitted, "b": other})
    pd.read_parquet(files / "new.parquet").to_parquet(tmp_path / "plain.parquet")
    plain = autoeval.fit(new / LABELS, tmp_path / "plain.parquet")
    with pytest.raises(InputError, match="predictions and fits with a detector are not joined"):
        join_fits({"a": fitted, "b": plain})
    join_fits({"b": plain, "c": autoeval.fit(known / LABELS, files / "known.parquet")})


def test_a_note_that_is_damaged_is_refused(files, tmp_path):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(files / "new.parquet")
    for k, note in enumerate((b"{", b'{"format": 99}', b'{"format": 1}')):
        changed = table.replace_schema_metadata({b"autoeval.detect": note})
        pyarrow.parquet.write_table(changed, tmp_path / f"{k}.parquet")
        with pytest.raises(InputError, match="Run it again"):
            autoeval.load_predictions(tmp_path / f"{k}.parquet")
