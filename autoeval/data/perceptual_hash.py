"""Fingerprints of images that stay nearly the same when the file is encoded or scaled again."""

from __future__ import annotations

import cv2
import numpy as np

_SIDE, _KEPT = 32, 8
# Below this spread of grey values a picture is flat, and its fingerprint is noise.
_FLAT = 2.0
MAX_DISTANCE = 4


def perceptual_hash(image: np.ndarray) -> int | None:
    """Return the DCT hash of an image: 64 bits, of which few differ between copies.

    Which of the 8 x 8 lowest frequencies, the constant rows left out, of the image at 32 x 32
    pixels lie above their median. Source: Zauner 2010, Implementation and Benchmarking of
    Perceptual Image Hash Functions, section 3.2.1.

    Parameters
    ----------
    image : ndarray of shape (H, W, 3), uint8, BGR

    Returns
    -------
    int or None
        None for a flat image, which is like every other flat one.
    """
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    small = cv2.resize(grey, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA).astype(np.float32)
    if small.std() < _FLAT:
        return None
    low = cv2.dct(small)[1 : _KEPT + 1, 1 : _KEPT + 1]
    return int.from_bytes(np.packbits(low > np.median(low)).tobytes(), "big")


def alike(
    hashes: np.ndarray, others: np.ndarray | None = None, *, max_distance: int = MAX_DISTANCE
) -> np.ndarray:
    """Find the images that have a near copy.

    Parameters
    ----------
    hashes : ndarray of shape (N,), uint64
    others : ndarray of shape (M,), uint64, optional
        Where copies are looked for; by default among the other images of `hashes`.
    max_distance : int
        Bits that may differ.

    Returns
    -------
    ndarray of shape (N,), int64
        Position of the first near copy, -1 where there is none.

    Examples
    --------
    >>> alike(np.array([0b0111, 0b1000, 0b0110], np.uint64), max_distance=1)
    array([ 2, -1,  0])
    """
    among = hashes if others is None else others
    found = np.full(len(hashes), -1)
    for k, own in enumerate(hashes):
        near = np.bitwise_count(among ^ own) <= max_distance
        if others is None:
            near[k] = False
        if near.any():
            found[k] = near.argmax()
    return found
