"""A pass that is kept ends as an undisturbed one, however often it was stopped."""

import json
import os
import shutil
import signal

import cv2
import numpy as np
import pytest
from forking import fork
from rectangles import BOXES, RectangleDetector

from autoeval.detectors.black_box import BlackBoxDetector
from autoeval.errors import InputError
from autoeval.estimation.observation.kept_observer import (
    MEAN,
    MOST,
    OBSERVED,
    Keeping,
    KeptObserver,
    pieces,
    with_keeping,
)
from autoeval.estimation.observation.observing import Observer
from autoeval.estimation.observation.pass_settings import PassSettings
from autoeval.estimation.observation.reference_boxes import DetectorReference
from autoeval.estimation.observation.samples import ImageLoading, UnlabelledSamples
from autoeval.io.image_lists import ImageFile, load_image_folder
from autoeval.stability.passes.presets import preset
from autoeval.stability.passes.tally import scored_rows

N = 150
# seeds, each with a batch size: one of them in every run
KILLED = [(1, 4), *(pytest.param(*of, marks=pytest.mark.rare) for of in ((0, 1), (2, 7)))]


class Logged(RectangleDetector):
    """Writes down each image that it observes, and dies at one of them."""

    def __init__(self, log, dies_at=None, **settings):
        super().__init__(**settings)
        self.log, self.dies_at = log, dies_at

    def _one(self, image, image_id, repeats, seed):
        if self.observed == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with open(self.log, "a") as log:
            log.write(f"{image_id}\n")
        return super()._one(image, image_id, repeats, seed)


def write_site(folder):
    """Write images of one rectangle each, of any brightness; one is torn."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "site").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for k in range(N):
        image = np.full((48, 48, 3), 20, np.uint8)
        x, y, w, h = (int(v) for v in rng.integers([2, 2, 9, 9], [20, 20, 26, 26]))
        image[y : y + h, x : x + w] = rng.integers(110, 255)
        cv2.imwrite(str(folder / "site" / f"{k}.png"), image)
    (folder / "site" / "77.png").write_bytes(b"no image")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where all tests have their site: what could not be read is named by its path."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def undisturbed(place):
    """Rows of a pass over these images that nothing stops."""
    return plain(write_site(place))


@pytest.fixture
def site(place):
    return write_site(place)


def observer(detector, batch_size=4):
    return Observer(detector, BOXES, preset("paper", repeats=2), reading=ImageLoading(batch_size))


def rows_with_times(watching, site):
    samples = UnlabelledSamples(load_image_folder(site / "site"))
    with watching.begin(samples, len(samples)) as bar:
        return scored_rows(watching, samples, advance=bar.update, resamples=5)


def rows(watching, site):
    """Rows of the pass without what differs from run to run, seconds."""
    found = rows_with_times(watching, site)
    return [{k: v for k, v in row.items() if not k.endswith("_s")} for row in found]


def plain(site):
    return rows(observer(RectangleDetector()), site)


def kept(site, batch_size=4, **settings):
    """Rows of a kept pass, and the images that it observed."""
    log = site / "log.txt"
    log.write_text("")
    watching = with_keeping(observer(Logged(log, **settings), batch_size), Keeping(site / "work"))
    return rows(watching, site), log.read_text().split()


def left(site):
    hidden = [p.name for p in (site / "work" / OBSERVED).iterdir() if p.name.startswith(".")]
    return [name for name in hidden if name != ".writing.lock"]


def assert_equal(found, expected):
    np.testing.assert_equal(found, expected)  # exact, NaN equal to NaN


def in_a_child(work):
    """Work in a forked process; return its status."""
    return os.waitpid(fork(work), 0)[1]


def missing(site):
    """Number of images whose pieces are not there."""
    folder = site / "work" / OBSERVED
    jobs = json.loads((folder / "jobs.json").read_text())["jobs"]
    return sum(job["size"] for job in jobs if not (folder / f"{job['key']}.parquet").exists())


@pytest.mark.parametrize(("seed", "batch_size"), KILLED)
def test_killed_at_drawn_images_it_ends_as_an_undisturbed_one(undisturbed, site, seed, batch_size):
    draw = np.random.default_rng(seed).integers
    for dies_at in (draw(MOST + 1, N - 1), draw(20), draw(20)):  # one piece is whole, at least
        status = in_a_child(lambda: kept(site, batch_size, dies_at=dies_at))  # noqa: B023
        assert os.WTERMSIG(status) == signal.SIGKILL
    left_over = missing(site)
    found, observed = kept(site, batch_size)
    assert_equal(found, undisturbed)
    assert len(observed) in (left_over, left_over - 1) and left_over < N  # one is torn
    assert left(site) == [] and kept(site)[1] == []


def test_all_that_is_kept_is_said_and_no_image_is_opened_again(site, capsys, monkeypatch):
    first, observed = kept(site)
    assert len(observed) == N - 1
    assert capsys.readouterr().err == "observing images: 150 images\n"
    read, opened = ImageFile.read, []
    monkeypatch.setattr(ImageFile, "read", lambda f: opened.append(f.image_id) or read(f))
    again, observed = kept(site)
    assert_equal(again, first)
    assert (observed, opened) == ([], ["77.png"])  # what could not be read is tried again
    folder = site / "work" / OBSERVED
    said = f"observing images: all 150 images are kept in {folder}\n"
    assert capsys.readouterr().err == said


def test_the_time_that_pieces_took_counts_although_it_was_spent_earlier(site):
    watching = KeptObserver(observer(RectangleDetector()), Keeping(site / "work"))
    first, again = (rows_with_times(watching, site)[0] for _ in range(2))
    assert again["network_s"] == first["network_s"] > 0


def test_other_settings_are_observed_anew_and_that_is_said(site, capsys):
    kept(site)
    capsys.readouterr()
    _, observed = kept(site, score_thr=0.3)
    assert len(observed) == N - 1
    assert (
        "also keeps 150 images as another detector saw them, or the same with other settings"
        in (capsys.readouterr().err)
    )
    assert kept(site)[1] == []  # the first ones are still there


@pytest.mark.parametrize("settings", [None, {"size": 48}], ids=["unknown", "of another file"])
def test_the_boxes_of_a_changed_reference_are_found_anew(site, settings):
    """One that states nothing of itself, or whose file has changed, left its old boxes."""

    def seen_with(side):
        def find(images):
            return [[[0, 0, side, side]]] * len(images), [[0.9]] * len(images), [[0]] * len(images)

        reference = BlackBoxDetector(find, RectangleDetector.categories, settings=settings)
        reference.file_digest = f"of {side}"
        passed = PassSettings(reference=DetectorReference(reference))
        watching = with_keeping(
            Observer(RectangleDetector(), BOXES, passed), Keeping(site / "work")
        )
        samples = UnlabelledSamples(load_image_folder(site / "site"))
        with watching.begin(samples, len(samples)):
            return next(seen for _, seen in watching.each(samples)).reference.boxes

    assert [seen_with(side).tolist() for side in (8, 16)] == [[[0, 0, 8, 8]], [[0, 0, 16, 16]]]


def test_a_changed_image_costs_its_piece(site, capsys):
    kept(site)
    capsys.readouterr()
    shutil.copy(site / "site" / "3.png", site / "site" / "90.png")
    found, observed = kept(site)
    assert "90.png" in observed and len(observed) <= MOST
    assert "images not asked for, or as they were before a change" in capsys.readouterr().err
    assert_equal(found, plain(site))


def test_images_that_went_and_came(site):
    kept(site)
    (site / "site" / "20.png").unlink()
    shutil.copy(site / "site" / "3.png", site / "site" / "77.png")  # the torn one
    found, observed = kept(site)
    assert "77.png" in observed and "20.png" not in observed and len(observed) <= 3 * MOST
    assert_equal(found, plain(site))


def test_folders_whose_images_look_alike_are_told_apart(site):
    kept(site)
    shutil.copytree(site / "site", site / "other", copy_function=shutil.copy2)
    shutil.move(site / "site", site / "before")
    shutil.move(site / "other", site / "site")
    assert kept(site)[1] == []  # equal paths, sizes and times
    shutil.copytree(site / "before", site / "elsewhere" / "site", copy_function=shutil.copy2)
    (site / "elsewhere" / "work").symlink_to(site / "work")
    assert len(kept(site / "elsewhere")[1]) == N - 1


def test_a_damaged_piece_is_observed_again(site):
    first, _ = kept(site)
    piece = next((site / "work" / OBSERVED).glob("*.parquet"))
    piece.write_bytes(piece.read_bytes()[:-100])
    with pytest.warns(UserWarning, match="its job runs again"):
        found, observed = kept(site)
    assert 0 < len(observed) <= MOST
    assert_equal(found, first)


def test_two_at_once_share_the_images(undisturbed, site):
    def one(name):
        watching = KeptObserver(observer(Logged(site / name)), Keeping(site / "work"))
        assert_equal(rows(watching, site), undisturbed)

    child = fork(lambda: one("one.txt"))
    one("two.txt")
    assert os.waitpid(child, 0)[1] == 0
    logs = [site / name for name in ("one.txt", "two.txt")]
    observed = [name for log in logs if log.exists() for name in log.read_text().split()]
    assert sorted(observed) == sorted(f"{k}.png" for k in range(N) if k != 77)


def test_what_cannot_be_observed_is_named_and_tried_again(undisturbed, site):
    class Failing(RectangleDetector):
        def _one(self, image, image_id, repeats, seed):
            if image_id == "140.png":
                raise RuntimeError("out of memory")
            return super()._one(image, image_id, repeats, seed)

    lost = rows(KeptObserver(observer(Failing()), Keeping(site / "work")), site)
    assert "140.png: the detector fails on it (RuntimeError: out of memory)" in str(lost)
    found, observed = kept(site)
    assert "140.png" in observed and len(observed) <= MOST
    assert_equal(found, undisturbed)
    for image in (site / "site").iterdir():
        image.write_bytes(b"no image")
    with pytest.raises(InputError, match="None of the 150 images can be read"):
        kept(site)


NAMES = [f"site/{k:05d}.jpg" for k in range(5000)]


def contents(names):
    return [tuple(names[k] for k in piece) for piece in pieces(names)]


def test_all_images_once_and_in_order():
    cut = contents(NAMES)
    assert [name for piece in cut for name in piece] == NAMES
    assert max(map(len, cut)) <= MOST
    assert MEAN / 2 < len(NAMES) / len(cut) < MEAN


@pytest.mark.parametrize("k", [0, 1234, 4999])
def test_one_image_less_or_more_leaves_nearly_all_pieces(k):
    fewer = NAMES[:k] + NAMES[k + 1 :]
    more = [*NAMES[:k], "site/between.jpg", *NAMES[k:]]
    for changed in (fewer, more):
        assert len(set(contents(NAMES)) - set(contents(changed))) <= 3


def test_no_image_no_piece():
    assert contents([]) == []
