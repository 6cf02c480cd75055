"""Compare all methods on score tables; ``python tools/bench.py --help`` says how."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
