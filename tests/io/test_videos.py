import pickle

import cv2
import numpy as np
import pytest

from autoeval.errors import InputError
from autoeval.io.find_images import find_images
from autoeval.io.image_lists import ImageFile
from autoeval.io.images import UnreadableImageError
from autoeval.io.video import Video, time_blocks, video_frames

FPS = 10
N = 50


def grey(frame):
    return round(float(frame.mean()))


@pytest.fixture
def video(tmp_path):
    """A video of 5 seconds, each frame a little brighter than the one before."""
    path = tmp_path / "video.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), FPS, (64, 48))
    for k in range(N):
        writer.write(np.full((48, 64, 3), 5 * k, np.uint8))
    writer.release()
    return path


@pytest.mark.parametrize(
    ("every", "indices"),
    [
        ("2s", [0, 20, 40]),
        ("0.5 s", list(range(0, 50, 5))),
        (".25s", [0, 2, 5, 8, 10, 12, 15, 18, 20, 22, 25, 28, 30, 32, 35, 38, 40, 42, 45, 48]),
        ("20", [0, 20, 40]),
        ("0.001s", list(range(50))),  # not finer than the video
        ("9s", [0]),
        ("4.96s", [0]),  # 49.6 is nearest to 50, which is no frame
    ],
)
def test_frames_at_equal_distances(video, every, indices):
    frames = video_frames(video, every)
    assert [frame.index for frame in frames] == indices
    assert [frame.time_s for frame in frames] == [k / FPS for k in indices]
    assert frames[-1].image_id == f"video.mp4#{indices[-1]}"


def test_a_frame_is_the_same_in_whatever_order_it_is_read(video):
    frames = video_frames(video, "7")
    forward = [frame.read() for frame in frames]
    for image, frame in zip(reversed(forward), reversed(frames), strict=True):
        np.testing.assert_array_equal(frame.read(), image)


def test_the_right_frames_are_taken_also_in_another_process(video):
    for frame in video_frames(video, "1s"):
        expected = frame.read()
        assert abs(grey(expected) - 5 * frame.index) <= 4
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(frame)).read(), expected)


def test_a_video_that_ends_too_early_says_so_and_can_still_be_read(video):
    whole = Video(video)
    with pytest.raises(UnreadableImageError, match="ends or is damaged before 70"):
        whole.read(70)
    assert abs(grey(whole.read(10)) - 50) <= 4


def test_a_frame_that_cannot_be_decoded_is_unreadable_and_the_next_can_be_read(video, monkeypatch):
    opened = Video(video)

    class Damaged:
        """A decoder that finds the next frame and cannot decode it."""

        def __init__(self, capture):
            self.grab = capture.grab

        def retrieve(self):
            return False, None

    whole = opened._capture
    monkeypatch.setattr(opened, "_capture", Damaged(whole))
    with pytest.raises(UnreadableImageError, match="frame 3 is damaged"):
        opened.read(3)
    monkeypatch.setattr(opened, "_capture", whole)
    assert abs(grey(opened.read(4)) - 20) <= 4


@pytest.mark.parametrize(
    ("every", "message"),
    [
        (None, "is a video: say with --every"),
        *((every, "Expected --every as seconds") for every in ("0", "0s", "-1s", "2 minutes")),
    ],
)
def test_bad_steps(video, every, message):
    with pytest.raises(InputError, match=message):
        find_images(video, every=every)


def test_what_is_no_video(tmp_path):
    (tmp_path / "video.mp4").write_bytes(b"text")
    with pytest.raises(InputError, match=r"Cannot read the video .*video\.mp4"):
        find_images(tmp_path / "video.mp4", every="2s")


def test_a_video_without_a_speed_is_taken_by_number(video, monkeypatch):
    monkeypatch.setattr(cv2, "CAP_PROP_FPS", -1)  # OpenCV gives 0 for what it does not know
    frames = video_frames(video, "20")
    assert [frame.index for frame in frames] == [0, 20, 40] and frames[1].time_s != frames[1].time_s
    assert time_blocks(frames).tolist() == [0, 0, 0]
    with pytest.raises(InputError, match="how many frames a second"):
        video_frames(video, "2s")


def test_blocks_of_time(video, tmp_path):
    frames = video_frames(video, "1s")
    other = video_frames(video, "1s", "copy")
    still = ImageFile("a", tmp_path / "a.jpg"), ImageFile("b", tmp_path / "b.jpg")
    blocks = time_blocks([*frames, *still], seconds=2)
    assert blocks.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert time_blocks([*frames, *other], seconds=9).tolist() == [0] * 10
