"""The names of `triton.language.core`."""

from __future__ import annotations

from tilewright.language import *  # noqa: F403 (the same names)
