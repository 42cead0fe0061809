"""Kernels compiled ahead of time, as a package for programs in C and C++."""

from .package import Package as Package
from .package import export as export
