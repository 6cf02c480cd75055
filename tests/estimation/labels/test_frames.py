"""Numbered files are frames where somebody says so."""

from dataclasses import dataclass

from autoeval.estimation.labels.frames import blocks_of


@dataclass(frozen=True)
class Named:
    image_id: str


IMAGES = [Named(f"{camera}/{n}.jpg") for camera in ("a", "b") for n in (10, 2, 1, 3)]


def test_files_are_no_frames_by_default():
    assert sorted(blocks_of(IMAGES)) == list(range(8))


def test_numbers_are_counted_as_numbers_camera_by_camera():
    blocks = blocks_of(IMAGES, frames=2).tolist()
    assert blocks[2] == blocks[1] != blocks[3] == blocks[0]
    assert set(blocks[:4]).isdisjoint(blocks[4:])
