"""`python -m tilewright.triton script.py`: runs a script that imports Triton, unmodified."""

from __future__ import annotations

import os
import runpy
import sys

from .alias import install

_USAGE = "usage: python -m tilewright.triton (script.py | -m module) [arguments]"


def main(arguments: list[str]) -> None:
    """Run the script or module as `__main__` with `triton` meaning this package."""
    is_module = arguments[:1] == ["-m"]
    rest = arguments[1:] if is_module else arguments
    if not rest or rest[0].startswith("-"):
        raise SystemExit(_USAGE)
    install()
    sys.argv = rest
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
