"""Watch many sites; ``python tools/monitor.py --help`` says how."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main(["monitor", *sys.argv[1:]]))
