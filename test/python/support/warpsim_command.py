"""The command `warpsim` of the build under test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# A sanitized build has one of its own, whose locks the sanitizer knows (test/sanitize/run.py).
BUILD = Path(os.environ.get("WARPSIM_BUILD") or Path(__file__).resolve().parents[3] / "build")
COMMAND = BUILD / "backend" / "tools" / "warpsim"

needs_command = pytest.mark.skipif(not COMMAND.exists(), reason="warpsim is not built")
