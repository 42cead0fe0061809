"""The rows of the compiler's TableGen files, as every test that goes by a table reads them."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def dump_of(table: str) -> bytes:
    """What TableGen knows of a file of ir/tile, as JSON."""
    prefix = subprocess.check_output(["llvm-config-22", "--prefix"], text=True).strip()
    command = [f"{prefix}/bin/llvm-tblgen", "--dump-json", "-I", f"{prefix}/include"]
    return subprocess.check_output([*command, str(ROOT / "ir/tile" / table)])


@cache
def records(table: str, class_name: str) -> list[dict[str, Any]]:
    """The rows of a TableGen file of ir/tile in its order, with `bits` fields as integers."""
    packed = ROOT / "ir/tile" / f"{table}.json"  # of the portable archive: it has no TableGen
    dump = json.loads(packed.read_bytes() if packed.is_file() else dump_of(table))
    rows = []
    found = [dump[name] for name in dump["!instanceof"][class_name]]
    for record in sorted(found, key=lambda record: int(record["!locs"][0].rsplit(":", 1)[1])):
        row = {key: value for key, value in record.items() if not key.startswith("!")}
        for key, value in row.items():
            if isinstance(value, list) and value and isinstance(value[0], int):
                row[key] = sum(bit << i for i, bit in enumerate(value))
        rows.append(row)
    return rows
