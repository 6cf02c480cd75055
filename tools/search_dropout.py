"""Search the dropout of box stability; ``python tools/search_dropout.py --help`` says how."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["search-dropout", *sys.argv[1:]]))
