"""Pins the assemblers of the tests and the benchmark: those of assemblers.txt, no others of the machine."""

from __future__ import annotations

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
KNOB = "TILEWRIGHT_ASSEMBLERS"


def releases() -> list[str]:
    """Return the pinned releases, "13.0.88", ..."""
    lines = (ROOT / "test" / "assemblers.txt").read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def path_of(release: str) -> pathlib.Path:
    """Return the path where `make setup` puts a release."""
    return ROOT / ".venv" / "assemblers" / release / "nvidia" / "cu13" / "bin" / "ptxas"


def pin() -> bool:
    """Make this process and its children assemble by the pinned releases only. Returns False, and leaves
    the choice to the machine, where they are not installed because this is not a source tree (but the
    archive of `make portable`); raises RuntimeError where it is."""
    paths = [path_of(release) for release in releases()]
    if all(path.is_file() for path in paths):
        os.environ[KNOB] = os.pathsep.join(map(str, paths))
        return True
    if (ROOT / "Makefile").exists():
        raise RuntimeError("the tests' assemblers are not installed: run `make setup`")
    return False


def is_pinned(assembler: str) -> bool:
    """Return whether a kernel's assembler, "ptxas 13.0.88", is one of them."""
    return assembler in [f"ptxas {release}" for release in releases()]
