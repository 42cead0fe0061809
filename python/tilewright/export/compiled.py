"""What a target makes of a specialization, as packages have it."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from ..native import knobs
from ..compile import CompiledKernel
from ..native.errors import LaunchError, TilewrightError, UnsupportedError
from ..launch.devices import check_device
from ..launch.jit import JITFunction
from ..launch.options import OPTIONS, Chosen
from ..native.targets import device_named
from .specializations import Specialization, undecided
from .tensor_maps import TensorMap, tensor_maps_of

_LEVEL = re.compile(r"cpu:x86-64-v(\d)")
_GPU_TARGETS = ("nvidia", "amd", "spirv")
_MACHINE_CODE = {"cuda": "cubin", "hip": "hsaco", "opencl": "spirv"}  # by `Code.backend`
_MOST_THREADS = 8
_MOST_MAPS = 16  # TW_MAX_MAPS of runtime/aot/Tables.h
_Result = TypeVar("_Result")


class Code(NamedTuple):
    """What one target made of one specialization."""

    target: str
    symbol: str
    text: str  # assembly; of CUDA's GPUs: PTX; of OpenCL devices: none
    parameters: tuple[str, ...]
    level: int = 0  # of x86-64; 0: a GPU's
    scratch_bytes: int = 0
    backend: str = ""  # of a GPU's: "cuda", "hip" or "opencl"
    machine_code: bytes = b""  # of a GPU: CUBIN, HSACO or SPIR-V
    arch: int = 0  # as the launcher's tables have it
    is_only: bool = False  # runs on exactly that architecture
    num_threads: int = 0
    shared_bytes: int = 0
    resources: Mapping[str, int] = {}
    build_options: str = ""  # of OpenCL's drivers
    tensor_maps: tuple[TensorMap, ...] = ()  # what launches pass behind the parameters

    def images(self) -> list[tuple[str, bytes]]:
        """What a GPU's driver may be given, by the name of its form."""
        found = [("ptx", self.text.encode())] if self.backend == "cuda" else []
        if self.machine_code:
            found.append((_MACHINE_CODE[self.backend], self.machine_code))
        return found


def checked_targets(package: str, targets: Sequence[str]) -> list[str]:
    """The targets, each once. Raises UnsupportedError TW0801 or TW0803."""
    hint = 'for example targets=["nvidia:sm_80", "cpu:x86-64-v3"]'
    is_list = isinstance(targets, Iterable) and not isinstance(targets, (str, bytes, Mapping))
    chosen: list[Any] = list(targets) if is_list else []
    if not is_list or not all(isinstance(target, str) for target in chosen):
        raise undecided(package, f"{targets!r} is not a list of targets", hint)
    if not chosen:
        raise undecided(package, "no target is named", hint)
    for target in chosen:
        check_target(target)
    return list(dict.fromkeys(chosen))


def check_target(target: str) -> None:
    """Refuse what has not machine code of its own. Raises UnsupportedError TW0803."""
    if not _LEVEL.fullmatch(target) and device_named(target).kind not in _GPU_TARGETS:
        raise UnsupportedError(
            f"{target} is not a target that a package can have code for",
            code="TW0803",
            hint="name a level such as cpu:x86-64-v3, an architecture such as nvidia:sm_80 or "
            "amd:gfx942, or spirv:generic16",
        )
    check_device(target)


def compiled_for(function: JITFunction, wanted: Specialization, target: str) -> CompiledKernel:
    """The kernel for one specialization and target. Raises UnsupportedError TW0801."""
    for option in {*Chosen._fields} & {*wanted.options}:
        if wanted.options[option] not in OPTIONS[option].neutral:
            what = f"{option}={wanted.options[option]!r} is an option of launches from Python"
            raise undecided(function.fn.__name__, what, f"leave {option} out")
    try:
        compiled = function.compile(wanted.types, wanted.constants, target, **wanted.options)
    except LaunchError as error:
        if error.code not in ("TW0404", "TW0405"):
            raise
        raise undecided(function.fn.__name__, error.message, error.hint) from error
    except ValueError as error:
        if isinstance(error, TilewrightError):
            raise
        raise undecided(function.fn.__name__, str(error)) from error
    return compiled


def side_by_side(action: Callable[[str], _Result], targets: Sequence[str]) -> list[_Result]:
    """The action's results for the targets, in their order. Raises what it raises for the first of them.

    The compiler lets Python's lock go, so several threads compile. An interrupt of this one waits for none
    of them, and neither does the end of the process.
    """
    count = min(len(targets), os.cpu_count() or 1, _MOST_THREADS)
    if count == 1 or knobs.settings().shows_remarks:  # remarks have an order
        return [action(target) for target in targets]
    waiting = deque(range(len(targets)))
    ended: SimpleQueue[None] = SimpleQueue()  # of each thread
    results: dict[int, _Result] = {}
    failures: dict[int, BaseException] = {}

    def work() -> None:
        while not failures and waiting:
            try:
                index = waiting.popleft()
            except IndexError:  # another thread was first
                break
            try:
                results[index] = action(targets[index])
            except BaseException as error:
                failures[index] = error
        ended.put(None)

    for _ in range(count):
        threading.Thread(target=work, name="tilewright-export", daemon=True).start()
    try:
        for _ in range(count):
            ended.get()
    finally:
        waiting.clear()
    if failures:
        raise failures[min(failures)]
    return [results[index] for index in range(len(targets))]


def codes_for(
    function: JITFunction, wanted: Specialization, target: str
) -> tuple[list[Code], set[str]]:
    """The code for a target, and the arguments that it stores to. Code with tensor maps is followed
    by code without, for launches whose arrays no map describes."""
    compiled = compiled_for(function, wanted, target)
    codes = [code_of(compiled, target)]
    if codes[0].tensor_maps:
        plain = replace(wanted, options={**wanted.options, "tensor_maps": False})
        codes.append(code_of(compiled_for(function, plain, target), target))
    stored = {name for name, _, is_stored, _ in compiled.parameters if is_stored}
    return [code for code in codes if len(code.tensor_maps) <= _MOST_MAPS], stored


def code_of(compiled: CompiledKernel, target: str) -> Code:
    """The code of a compiled kernel with what a launch of it needs."""
    made = compiled.native
    parameters = tuple(name for name, *_ in compiled.parameters)
    if level := _LEVEL.fullmatch(target):
        text = compiled.asm["asm"]
        return Code(target, made.symbol, text, parameters, int(level[1]), made.scratch_bytes)
    return _code_of_gpu(made, target, parameters)._replace(tensor_maps=tensor_maps_of(compiled))


def _code_of_gpu(made: Any, target: str, parameters: tuple[str, ...]) -> Code:
    resources = dict(made.resources)
    device = device_named(target)
    if device.backend == "opencl":
        text, machine_code = "", made.binary
        arch, is_only = _lanes_of(target, resources), True
    else:
        text, machine_code = made.binary.decode(), made.assembled
        arch, is_only = _arch_of_ptx(target, text) if device.backend == "cuda" else _arch_of_hip(device.arch)
    return Code(
        target, made.symbol, text, parameters,
        backend=device.backend,
        machine_code=machine_code,
        arch=arch,
        is_only=is_only,
        num_threads=max(1, resources.get("threads", 0)),
        shared_bytes=max(0, resources.get("shared_bytes", 0)),
        resources=resources,
        build_options=made.build_options,
    )  # fmt: skip


def _arch_of_ptx(target: str, ptx: str) -> tuple[int, bool]:
    arch = re.search(r"^\.target sm_(\d+)(\w?)", ptx, re.M)
    if arch is None:
        raise UnsupportedError(f"{target} gives no PTX", code="TW0803")
    return int(arch[1]), bool(arch[2])


def _arch_of_hip(name: str) -> tuple[int, bool]:
    """The digits of "gfx90a", of which the last may be a letter."""
    return int(name.removeprefix("gfx"), 16), True


def _lanes_of(target: str, resources: Mapping[str, int]) -> int:
    """The lanes of a subgroup, by which OpenCL devices choose code. Raises UnsupportedError TW0803."""
    if resources.get("failure_word"):
        raise UnsupportedError(
            f"code of {target} that checks assertions is launched from Python only",
            code="TW0803",
            hint="leave debug and sanitize_overflow out for this target",
        )
    return device_named(target).warp_size


def describe_code(code: Code) -> dict[str, Any]:
    """What the manifest says of it."""
    content = code.text.encode() or code.machine_code
    entry: dict[str, Any] = {
        "target": code.target,
        "symbol": code.symbol,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }
    if code.level:
        return {**entry, "scratch_bytes": code.scratch_bytes}
    entry["resources"] = dict(sorted(code.resources.items()))
    if code.tensor_maps:
        entry["tensor_maps"] = len(code.tensor_maps)
    for form, image in code.images():
        if form not in ("ptx", "spirv"):
            entry[f"{form}_sha256"] = hashlib.sha256(image).hexdigest()
            entry[f"{form}_bytes"] = len(image)
    return entry
