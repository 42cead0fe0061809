"""The names of `triton.language.standard`."""

from __future__ import annotations

from tilewright.language import *  # noqa: F403 (the same names)
