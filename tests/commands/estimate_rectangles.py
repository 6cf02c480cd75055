"""`autoeval estimate-map` with the stand-in detector, for processes of their own."""

import sys

from rectangles import RectangleDetector

import autoeval.detectors.loading
from autoeval.cli import main

if __name__ == "__main__":
    autoeval.detectors.loading.load_detector = lambda *args, **options: RectangleDetector()
    sys.exit(main(["estimate-map", "--detector", "rectangles", *sys.argv[1:]]))
