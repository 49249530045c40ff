"""`python -m chapard`."""

import sys

from chapard.cli import main

if __name__ == "__main__":
    sys.exit(main())
