"""Make a meta-set; ``python tools/build_metaset.py --help`` says how."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["build-metaset", *sys.argv[1:]]))
