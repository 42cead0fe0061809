"""Compiles hopper_rows.py by one compiler, in a process of its own, and prints JSON.

`hopper_side.py tilewright|triton|cutile FOLDER [TEXT]` compiles the rows whose names have TEXT. PTX and
CUBINs go to the folder, named by the row's number and its form; cuTile makes no PTX, and the parent makes
Triton's CUBINs. "ptx_ms" are CPU milliseconds of this process, "whole_ms" those with the processes that it
starts: assemblers, or cuTile's compiler. Each kernel is compiled once."""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hopper_rows import FORMS, ROWS, Row


def cpu_ms() -> tuple[float, float]:
    """Milliseconds of CPU that this process has taken, and with its children that have ended."""
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    mine = (own.ru_utime + own.ru_stime) * 1e3
    return mine, mine + (children.ru_utime + children.ru_stime) * 1e3


# What was found, and the code by the ending of its file. Tilewright makes the text of PTX for those who
# ask, by another compilation: no launch pays for that.
Compiled = tuple[dict[str, Any], Callable[[], dict[str, str | bytes]]]


def compile_tilewright(row: Row, form: str, stem: pathlib.Path) -> Compiled:
    from hopper_kernels import case_of

    kernel, types, constants = case_of(row, form)
    names = [p.name for p in kernel.parameters if p.name not in constants]
    options = {"num_warps": row.num_warps, "num_stages": row.num_stages}
    # A launch knows that its integers are not negative.
    types = [kind + ":nonneg" if kind.startswith("i32") else kind for kind in types]
    signature = dict(zip(names, types, strict=True))
    compiled = kernel.compile(signature, constants, device=f"nvidia:sm_{row.arch}", **options)
    if compiled.origin != "compiled":
        raise AssertionError(f"{row.name} came from the cache ({compiled.origin})")
    return {"assembler": compiled.assembler}, lambda: {"ptx": compiled.asm["ptx"], "cubin": compiled.asm["cubin"]}


def compile_triton(row: Row, form: str, stem: pathlib.Path) -> Compiled:
    import generated_side
    import triton
    from hopper_kernels import case_of
    from triton.backends.compiler import GPUTarget

    source = generated_side.triton_source(*case_of(row, form), is_amd=False)
    options = {"num_warps": row.num_warps, "num_stages": row.num_stages}
    if row.arch == "90a":
        options["ptx_version"] = 90  # text that the assembler of both sides reads
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        target = GPUTarget("cuda", int(row.arch.removesuffix("a")), 32)
        compiled = triton.compile(source, target=target, options=options)
    return {}, lambda: {"ptx": compiled.asm["ptx"]}


def compile_cutile(row: Row, form: str, stem: pathlib.Path) -> Compiled:
    import hopper_cutile

    hopper_cutile.compile_row(row, str(stem.with_suffix(".cubin")))
    return {}, dict


COMPILE = {"tilewright": compile_tilewright, "triton": compile_triton, "cutile": compile_cutile}
PACKAGES = {"tilewright": "tilewright", "triton": "triton", "cutile": "cuda-tile"}


def version_of(language: str) -> str:
    try:
        return importlib.metadata.version(PACKAGES[language])
    except importlib.metadata.PackageNotFoundError:  # ours, of a source tree
        return __import__(language).__version__


def main(language: str, folder: str, wanted: str = "") -> None:
    root = pathlib.Path(folder)
    # What a process sets up once is not counted: the first kernel is compiled before the clock runs.
    small = replace(ROWS[0], constants={**ROWS[0].constants, "BM": 64, "BN": 64})
    for form in FORMS[language]:
        COMPILE[language](small, form, root / f"first-{form}")[1]()
    results: dict[str, dict[str, Any]] = {}
    for index, row in enumerate(ROWS):
        for form in row.forms_of(language) if wanted in row.name else ():
            stem = root / f"{index}-{form}"
            before = cpu_ms()
            try:
                found, code = COMPILE[language](row, form, stem)
            except Exception as error:  # a compiler that refuses a kernel is a result
                if language == "tilewright":
                    raise
                found, code = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}, dict
            after = cpu_ms()
            for ending, text in code().items():
                stem.with_suffix(f".{ending}").write_bytes(text.encode() if isinstance(text, str) else text)
            found |= {"ptx_ms": after[0] - before[0], "whole_ms": after[1] - before[1]}
            results.setdefault(row.name, {})[form] = found
    print(json.dumps({"version": version_of(language), "rows": results}))


if __name__ == "__main__":
    main(*sys.argv[1:])
