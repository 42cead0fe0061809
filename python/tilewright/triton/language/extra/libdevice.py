"""The names of `triton.language.extra.libdevice`."""

from __future__ import annotations

from tilewright.language.libdevice import *  # noqa: F403 (the same names)
