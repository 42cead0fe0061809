"""Writes the package as one binary wheel for several Pythons: `make wheel`.

The compiler is one library, beside which each Python has a small module of its own, so that one
wheel has the tags of all of them.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import pathlib
import re
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

PLATFORM = "manylinux_2_35_x86_64"  # as pack.NEWEST
SKIPPED = {".pyc", ".records"}


def write_wheel(
    package: pathlib.Path, project: dict[str, Any], version: str, readme: str,
    licenses: Iterable[tuple[str, pathlib.Path]], out: pathlib.Path,
) -> pathlib.Path:  # fmt: skip
    """Write the wheel of a folder `package` with its modules into the folder `out`. `project` is the
    table of that name in pyproject.toml. Raises ValueError where there is no module."""
    tags = sorted(tags_of(package), key=lambda tag: int(tag[3:]))
    if not tags:
        raise ValueError(f"{package} has no module for any Python")
    name = project["name"]
    info = f"{name}-{version}.dist-info"
    tag = f"{'.'.join(tags)}-none-{PLATFORM}"
    files = {
        f"{package.name}/{path.relative_to(package)}": path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.is_file() and path.suffix not in SKIPPED and "__pycache__" not in path.parts
    }
    kept = {f"{stem}.txt": path.read_bytes() for stem, path in sorted(licenses)}
    files |= {f"{info}/licenses/{file}": content for file, content in kept.items()}
    scripts = "".join(f"{key} = {value}\n" for key, value in project["scripts"].items())
    texts = {
        "METADATA": "\n".join([*headers_of(project, version, kept), "", readme]),
        "WHEEL": "".join(
            ["Wheel-Version: 1.0\nGenerator: tilewright\nRoot-Is-Purelib: false\n"]
            + [f"Tag: {one}-none-{PLATFORM}\n" for one in tags]
        ),
        "entry_points.txt": f"[console_scripts]\n{scripts}",
    }
    files |= {f"{info}/{file}": text.encode() for file, text in texts.items()}
    record = io.StringIO()
    rows = [(file, _digest(content), len(content)) for file, content in files.items()]
    csv.writer(record, lineterminator="\n").writerows([*rows, (f"{info}/RECORD", "", "")])
    files[f"{info}/RECORD"] = record.getvalue().encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file, content in files.items():
            entry = zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0))  # the same files, the same wheel
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return wheel


def tags_of(package: pathlib.Path) -> Iterator[str]:
    """The tag of each Python that a module is for: "cp311" of _native.cpython-311-*.so."""
    for module in package.glob("_native.cpython-*.so"):
        if found := re.match(r"_native\.cpython-(\d+)-", module.name):
            yield f"cp{found[1]}"


def headers_of(project: dict[str, Any], version: str, licenses: Iterable[str]) -> Iterator[str]:
    """The lines of METADATA before the description."""
    yield "Metadata-Version: 2.4"
    yield f"Name: {project['name']}"
    yield f"Version: {version}"
    yield f"Summary: {project['description']}"
    yield f"Keywords: {','.join(project['keywords'])}"
    yield from (f"Classifier: {classifier}" for classifier in project["classifiers"])
    yield f"License-Expression: {project['license']}"
    yield from (f"License-File: {name}" for name in licenses)
    yield f"Requires-Python: {project['requires-python']}"
    yield from (f"Requires-Dist: {needed}" for needed in project.get("dependencies", ()))
    for extra, packages in project.get("optional-dependencies", {}).items():
        yield f"Provides-Extra: {extra}"
        yield from (f'Requires-Dist: {needed}; extra == "{extra}"' for needed in packages)
    yield "Description-Content-Type: text/markdown"


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"
