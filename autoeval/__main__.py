"""``python -m autoeval`` is the program ``autoeval``."""

import sys

from autoeval.cli import main

if __name__ == "__main__":
    sys.exit(main())
