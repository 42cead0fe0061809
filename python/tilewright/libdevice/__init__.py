"""The namespace `tw.libdevice`: the names of CUDA's device math library, on every target.

Functions of float32 and float64 are computed in the argument's type, those of float16 and bfloat16
in float32; the result has the argument's type. Names that end in f or start with fast_ take every
float and have no lower precision here. What the largest errors are, LIBDEVICE.md says; names with
_rn, _rz, _rd and _ru are exact: to nearest, toward zero, down, up. Conversions to integers
saturate, and NaN gives 0.
"""

# pyright: reportWildcardImportFromLibrary=false
from __future__ import annotations

from . import names
from .names import *  # noqa: F403

__all__ = [*names.__all__]
