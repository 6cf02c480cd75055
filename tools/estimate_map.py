"""Estimate mAP without labels; ``python tools/estimate_map.py --help`` says how."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["estimate-map", *sys.argv[1:]]))
