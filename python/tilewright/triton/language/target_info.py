"""The names of `triton.language.target_info`."""

from __future__ import annotations

from tilewright.library.target_info import *  # noqa: F403 (the same names)
