"""The same recipe gives the same pixels on a processor that can do less."""

import hashlib
import os
import subprocess
import sys

import cv2
import numpy as np

from autoeval.io.images import read_image
from autoeval.stability.metasets.transforms import (
    CORRUPTIONS,
    MILD,
    RELEASED_MIX,
    TransformStep,
    apply_step,
    get_transform,
)

OLD_PROCESSOR = {
    "OPENCV_IPP": "disabled",
    "OPENCV_CPU_DISABLE": "SSE4.1,SSE4.2,AVX,FP16,FMA3,AVX2,AVX512-SKX",
    "JSIMD_FORCENONE": "1",
    "NPY_DISABLE_CPU_FEATURES": "FMA3 AVX2 AVX512F AVX512_SKX X86_V3 X86_V4",
    "OMP_NUM_THREADS": "1",
}


def fingerprints(jpeg: str) -> list[str]:
    """Hash what every transform makes of a file and of blocks of noise, ten magnitudes each."""
    blocks = np.random.default_rng(0).integers(0, 256, (20, 31, 3), dtype=np.uint8)
    images = [blocks.repeat(7, 0).repeat(7, 1), read_image(jpeg)]
    found = []
    for name in (*MILD, RELEASED_MIX, *CORRUPTIONS):
        rng, digest = np.random.default_rng(1), hashlib.sha256()
        for magnitude in [get_transform(name).draw(rng) for _ in range(10)]:
            for image in images:
                step = TransformStep(name, magnitude)
                changed, _, _ = apply_step(step, image, np.zeros((0, 4)), rng=rng)
                digest.update(changed.tobytes())
        found.append(f"{name} {digest.hexdigest()}")
    return found


def test_pixels_do_not_depend_on_the_processor(tmp_path):
    noise = np.random.default_rng(2).integers(0, 256, (25, 38, 3), dtype=np.uint8)
    jpeg = str(tmp_path / "image.jpg")
    cv2.imwrite(jpeg, noise.repeat(5, 0).repeat(5, 1))
    done = subprocess.run(
        [sys.executable, __file__, jpeg],
        env={**os.environ, **OLD_PROCESSOR},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:-1] == fingerprints(jpeg)


if __name__ == "__main__":
    print(*fingerprints(sys.argv[1]), sep="\n")
