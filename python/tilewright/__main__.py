"""`python -m tilewright` is the command `tilewright`."""

import sys

from .tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
