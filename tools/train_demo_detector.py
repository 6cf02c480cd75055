"""Train the road world's detector; ``python tools/train_demo_detector.py --help`` says how."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["train-demo-detector", *sys.argv[1:]]))
