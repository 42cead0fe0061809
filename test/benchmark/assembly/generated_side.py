"""Compiles generated_kernels.py in one language, in a process of its own, and prints JSON.

`generated_side.py tilewright|triton ARCH REPETITIONS FOLDER`: PTX and CUBINs go to the folder, of an architecture of
AMD's (gfx942) the assembly. Milliseconds are of fresh compiles in this warm process, by stage; "assemble" is what
turns PTX into machine code; "cpu" are those of this process until there is machine code."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import time
from types import ModuleType
from typing import Any

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "generated_kernels.py"


def fresh_kernels(folder: str, repetition: int) -> ModuleType:
    """The kernels in a file whose lines are numbered differently: no cache knows them."""
    path = pathlib.Path(folder) / f"kernels_{repetition}.py"
    path.write_text("\n" * repetition + SOURCE.read_text())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # both languages look their source up by module
    spec.loader.exec_module(module)
    return module


def is_amd(arch: str) -> bool:
    return arch.startswith("gfx")


def num_stages(kernels: ModuleType, name: str, arch: str) -> int:
    """AMD's loops load one step ahead, through registers."""
    return 2 if is_amd(arch) else kernels.NUM_STAGES.get(name, 3)


def result_of(compiled: Any, forms: dict[str, str], **found: Any) -> dict[str, Any]:
    """The texts and binaries of `forms` (ending of the file to its name here), and what was found."""
    return {"files": {ending: compiled.asm[form] for ending, form in forms.items()}, **found}


def compile_tilewright(kernels: ModuleType, name: str, arch: str) -> dict[str, Any]:
    kernel = getattr(kernels, name)
    constants = kernels.CONSTANTS[name]
    names = [p.name for p in kernel.parameters if p.name not in constants]
    signature = dict(zip(names, kernels.SIGNATURES[name].split(), strict=True))
    start, start_cpu = time.perf_counter(), time.process_time()
    compiled = kernel.compile(
        signature,
        constants,
        device=f"amd:{arch}" if is_amd(arch) else f"nvidia:sm_{arch}",
        num_warps=kernels.NUM_WARPS,
        num_stages=num_stages(kernels, name, arch),
    )
    total, cpu = (time.perf_counter() - start) * 1e3, (time.process_time() - start_cpu) * 1e3
    if compiled.origin != "compiled":
        raise AssertionError(f"{name} came from the cache ({compiled.origin})")
    stages = {
        stage: ms
        for stage, ms in compiled.milliseconds.items()
        if "/" not in stage and stage not in ("total", "assemble", "load")
    }
    to_ptx = total - compiled.milliseconds.get("assemble", 0.0)
    stages["rest"] = to_ptx - sum(stages.values())
    forms = {"s": "asm"} if is_amd(arch) else {"ptx": "ptx", "cubin": "cubin"}
    sizes = {"num_warps": kernels.NUM_WARPS, "shared_bytes": compiled.resources.get("shared_bytes", 0)}
    times = {"to_ptx": to_ptx, "total": total, "cpu": cpu, "stages": stages}
    return result_of(compiled, forms, **times, **sizes, assembler=compiled.assembler)


def triton_source(kernel: Any, entries: list[str], constants: dict[str, Any], is_amd: bool) -> Any:
    """The source that Triton compiles, of a kernel with the types of `SIGNATURES`."""
    from triton.compiler import ASTSource

    # What equals 1 is a constant in Triton.
    values = {n: 1 for n, e in zip(kernel.arg_names, entries, strict=False) if e.endswith(":1")}
    values |= constants
    kinds = {n: e.removesuffix(":16") for n, e in zip(kernel.arg_names, entries, strict=False)}
    signature = kinds | dict.fromkeys(values, "constexpr")
    divisible = {(i,): [["tt.divisibility", 16]] for i, e in enumerate(entries) if ":16" in e}
    if is_amd:  # what its launcher finds of arrays below 2 GiB, which ours takes for granted
        for i, entry in enumerate(entries):
            if entry.startswith("*"):
                divisible.setdefault((i,), []).append(["tt.pointer_range", 32])
    numbered = {(kernel.arg_names.index(n),): value for n, value in values.items()}
    return ASTSource(kernel, signature, numbered, attrs=divisible)


def compile_triton(kernels: ModuleType, name: str, arch: str) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget

    stages: dict[str, float] = {}

    def listen(*, times: Any, **_: Any) -> None:
        stages["init"] = times.ir_initialization / 1e3
        stages.update({stage: us / 1e3 for stage, us in times.lowering_stages})

    triton.knobs.compilation.listener = listen
    start, start_cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as cache:
        triton.knobs.cache.dir = cache
        entries = kernels.SIGNATURES[name].split()
        source = triton_source(getattr(kernels, name), entries, kernels.CONSTANTS[name], is_amd(arch))
        options = {"num_warps": kernels.NUM_WARPS, "num_stages": num_stages(kernels, name, arch)}
        lanes = 64 if arch.startswith("gfx9") else 32
        target = GPUTarget("hip", arch, lanes) if is_amd(arch) else GPUTarget("cuda", int(arch), lanes)
        compiled = triton.compile(source, target=target, options=options)
        total, cpu = (time.perf_counter() - start) * 1e3, (time.process_time() - start_cpu) * 1e3
    to_ptx = sum(ms for stage, ms in stages.items() if stage != "cubin")
    stages.pop("cubin", None)
    forms = {"s": "amdgcn"} if is_amd(arch) else {"ptx": "ptx", "cubin": "cubin"}
    sizes = {"num_warps": kernels.NUM_WARPS, "shared_bytes": compiled.metadata.shared}
    return result_of(compiled, forms, to_ptx=to_ptx, total=total, cpu=cpu, stages=stages, **sizes)


def main(language: str, arch: str, repetitions: int, folder: str) -> None:
    os.environ["BENCHMARK_LANGUAGE"] = language
    compile_one = compile_triton if language == "triton" else compile_tilewright
    results: dict[str, Any] = {}
    for repetition in range(repetitions + 1):
        kernels = fresh_kernels(folder, repetition)
        for name in kernels.SIGNATURES:
            if name in kernels.AMD_ONLY and not is_amd(arch):
                continue
            run = compile_one(kernels, name, arch)
            for ending, data in run.pop("files").items():
                content = data.encode() if isinstance(data, str) else data
                (pathlib.Path(folder) / f"{name}.{ending}").write_bytes(content)
            if repetition:  # the first one pays for what the process sets up once
                results.setdefault(name, []).append(run)
    module = __import__(language)
    print(json.dumps({"version": module.__version__, "kernels": results}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
