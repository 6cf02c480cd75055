"""Videos as images: every so many seconds, or every so many frames.

`autoeval.io.find_images` takes frames of videos by `video_frames`; `time_blocks` says which images
are neighbours in time, so that sampling errors and plans of labels count them together.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from autoeval.errors import InputError
from autoeval.io.images import UnreadableImageError
from autoeval.runtime.files import PathLike
from autoeval.words import printable

VIDEOS = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv"})
SECONDS = 30.0


class Video:
    """A video, decoded from its beginning, frame after frame, never by a seek that may miss.

    Parameters
    ----------
    path : path-like
        The file.

    Attributes
    ----------
    fps : float
        Frames a second, NaN where the file does not say.
    n_frames : int
        Counted by decoding all where the file does not say.

    Raises
    ------
    InputError
        If it cannot be opened.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self._open()
        import cv2

        fps = self._capture.get(cv2.CAP_PROP_FPS)
        self.fps = fps if fps > 0 else math.nan
        n_stated = int(self._capture.get(cv2.CAP_PROP_FRAME_COUNT))
        self.n_frames = n_stated if n_stated > 0 else self._count()

    def read(self, index: int) -> np.ndarray:
        """Decode one frame; forward is cheap, backward starts again.

        Parameters
        ----------
        index : int
            Number of the frame, from 0.

        Returns
        -------
        ndarray of shape (H, W, 3), uint8
            BGR.

        Raises
        ------
        UnreadableImageError
            If the video ends or is damaged before it.
        """
        with self._lock:
            if index < self._next:
                self._open()
            while self._next < index:
                self._advance(index)
            self._advance(index)
            is_decoded, frame = self._capture.retrieve()
        if not is_decoded or frame is None:
            raise UnreadableImageError(self.path, f"frame {index} is damaged")
        return np.asarray(frame)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the decoder behind: it does not travel between processes."""
        kept = ("path", "fps", "n_frames")
        return {name: value for name, value in vars(self).items() if name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the video again."""
        vars(self).update(state)
        self._open()

    def _open(self) -> None:
        """Begin to decode, before the first frame."""
        import cv2

        self._lock = getattr(self, "_lock", None) or threading.Lock()
        self._capture = cv2.VideoCapture(os.fspath(self.path))
        self._next = 0
        if not self._capture.isOpened():
            raise InputError(
                f"Cannot read the video {printable(self.path)}: no such file, damaged, or of a "
                "kind that this OpenCV does not decode."
            )

    def _advance(self, index: int) -> None:
        """Go one frame on, on the way to the frame `index`."""
        if not self._capture.grab():
            self._next = self.n_frames + 1
            raise UnreadableImageError(self.path, f"the video ends or is damaged before {index}")
        self._next += 1

    def _count(self) -> int:
        """Count the frames by decoding all."""
        n_frames = 0
        while self._capture.grab():
            n_frames += 1
        self._open()
        return n_frames


@dataclass(frozen=True)
class VideoFrame:
    """One frame of a video, an image without labels.

    Parameters
    ----------
    image_id : str
        Name of the video, ``#``, and the number of the frame.
    video : Video
        That it is of.
    index : int
        Number of the frame, from 0.
    time_s : float
        Seconds from the beginning, NaN where the video does not say how fast it runs.
    """

    image_id: str
    video: Video = field(compare=False, repr=False)
    index: int
    time_s: float

    @property
    def path(self) -> Path:
        """The video's file."""
        return self.video.path

    def read(self) -> np.ndarray:
        """Decode it; see `Video.read`."""
        return self.video.read(self.index)


def video_frames(
    path: PathLike, every: str | None, name: str | None = None
) -> tuple[VideoFrame, ...]:
    """Take frames of a video at equal distances, the first one first.

    Parameters
    ----------
    path : path-like
        The video.
    every : str or None
        ``"2s"`` or ``"0.5s"`` for seconds, ``"10"`` for every tenth frame; None is refused.
    name : str, optional
        What image ids begin with; by default the file's name.

    Raises
    ------
    InputError
        If `every` is not such a text, is in seconds where the video does not say how fast it runs,
        or the video cannot be read or has no frame.
    """
    if every is None:
        raise InputError(
            f"{printable(path)} is a video: say with --every which frames to take, such as 2s for "
            "one in two seconds or 10 for every tenth."
        )
    video = Video(path)
    name, step = name or printable(video.path.name), _step(video, every)
    indices = (round(k * step) for k in range(math.ceil(video.n_frames / step)))
    frames = tuple(
        VideoFrame(f"{name}#{index}", video, index, index / video.fps)
        for index in indices
        if index < video.n_frames  # the last one may be rounded up to the end
    )
    if not frames:
        raise InputError(f"The video {printable(path)} has no frame.")
    return frames


def _step(video: Video, every: str) -> float:
    """Return the distance of frames in frames, 1 or more; it need not be whole."""
    number = re.fullmatch(r"(\d+)|(\d+(?:\.\d*)?|\.\d+)\s*s", every.strip())
    step = 0.0
    if number:
        step = float(number[1]) if number[1] else float(number[2]) * video.fps
    if math.isnan(step):
        raise InputError(
            f"The video {printable(video.path)} does not say how many frames a second it has: give "
            "--every as a number of frames, such as 30."
        )
    if step <= 0:
        raise InputError(
            f"Expected --every as seconds, such as 2s, or a number of frames, such as 10, but got "
            f"{every!r}."
        )
    return max(step, 1.0)


def time_blocks(images: Iterable[object], *, seconds: float = SECONDS) -> np.ndarray:
    """Return the number of the block of time that each image belongs to.

    Neighbouring frames of a video show the same things, so a set of them carries less information
    than as many independent images would. Drawing whole blocks again in place of images accounts
    for that, where a block lasts longer than what is seen stays in view (Künsch 1989, the block
    bootstrap). The default length is a convention: longer than traffic or passers-by stay in view
    of most cameras.

    Parameters
    ----------
    images : iterable
        Images that are no `VideoFrame` are blocks of their own, and a video that does not say how
        fast it runs is one.
    seconds : float
        Length of a block.

    Returns
    -------
    ndarray of shape (N,), int64
        In order of first appearance, from 0.

    Examples
    --------
    >>> from types import SimpleNamespace as Frame
    >>> gate = [Frame(path="gate.mp4", time_s=time_s) for time_s in (0.0, 20.0, 40.0)]
    >>> time_blocks([*gate, "yard.jpg"]).tolist()
    [0, 0, 1, 2]
    """
    numbers: dict[object, int] = {}
    blocks = []
    for k, image in enumerate(images):
        key: object = k
        time_s = getattr(image, "time_s", None)
        if time_s is not None:
            block = math.floor(time_s / seconds) if math.isfinite(time_s) else 0
            key = getattr(image, "path", None), block
        blocks.append(numbers.setdefault(key, len(numbers)))
    return np.array(blocks, np.int64)
