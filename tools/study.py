"""Study the method on your data; ``python tools/study.py --help`` says how."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["study", *sys.argv[1:]]))
