"""The names of `triton.language.random`."""

from __future__ import annotations

from tilewright.language.random import *  # noqa: F403 (the same names)
