"""The names of `triton.profiler.viewer`: reading and printing a profile."""

from __future__ import annotations

from tilewright.profiler.viewer import main as main
from tilewright.profiler.viewer import parse as parse
from tilewright.profiler.viewer import print_tree as print_tree
from tilewright.profiler.viewer import read as read

from ..absent import names_of

__all__ = ["main", "parse", "print_tree", "read"]
__path__: list[str] = []
__getattr__ = names_of(__name__)

if __name__ == "__main__":
    main()
