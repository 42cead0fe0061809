"""The names of `triton.language.math`."""

from __future__ import annotations

from tilewright.language.math import *  # noqa: F403 (the same names)
