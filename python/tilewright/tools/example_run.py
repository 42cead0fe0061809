"""A simulated launch of a kernel on arrays that are made up, for `tilewright explain --run`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ..compile import CompiledKernel
from ..compile.facts import Facts
from ..explain import explain_request
from ..explain.facts import Explanation
from ..explain.run import add_statistics
from ..export.entries import read_constants
from ..launch.arguments import reinterpret
from ..native.errors import DeviceError
from ..native.targets import device_named
from ..launch.devices import device
from ..launch.simulated import read_report
from .request_options import read_kernel, read_request

_SEED = 2026
_NUMPY_TYPES = {
    "fp16": "float16", "fp32": "float32", "fp64": "float64", "i1": "bool", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip


def run_example(options: argparse.Namespace) -> tuple[Explanation, bool]:
    """Simulate the launch that the options describe, and explain the kernel that ran with what was
    counted; true if all went well. A launch that goes wrong says so on standard error, and what it
    counted is there.

    Raises ValueError for parameters without an example, and for devices that are not simulated.
    """
    if not device_named(options.simulated).is_simulated:
        raise ValueError(
            f"--run takes a simulated device, such as sim:sm_80, not {options.simulated}"
        )
    options.target = options.simulated
    request = read_request(options)
    arguments = _arguments(options.example, request.parameters, request.facts, request.constants)
    grid = tuple(_whole(part) for part in options.grid.split(","))
    kernel: Any = read_kernel(options.kernel)
    ran: Any = None
    with device(options.simulated):
        try:
            ran = kernel[grid](
                **arguments, num_warps=options.num_warps, num_stages=options.num_stages
            )
        except DeviceError as error:
            print(error.rendered.rstrip(), file=sys.stderr)
    found = explain_request(ran.request if isinstance(ran, CompiledKernel) else request)
    _, statistics = read_report(options.simulated) or ([], {})
    add_statistics(found, statistics)
    return found, isinstance(ran, CompiledKernel)


def _whole(text: str) -> int:
    if not text.strip().isascii() or not text.strip().isdigit():
        raise ValueError(f"--grid has one to three whole numbers, not {text.strip()!r}")
    return int(text)


def _arguments(
    example: str, names: tuple[str, ...], facts: tuple[Any, ...], constants: tuple[Any, ...]
) -> dict[str, Any]:
    """The arguments of the launch: arrays of random numbers, and the values that are given."""
    given = read_constants(example)
    arguments: dict[str, Any] = {}
    missing: list[str] = []
    for name, fact, constant in zip(names, facts, constants):
        if not isinstance(fact, Facts):
            arguments[name] = constant
        elif name not in given:
            missing.append(f"{name}={'ELEMENTS' if fact.is_pointer else 'VALUE'}")
        elif fact.is_pointer:
            arguments[name] = _array(name, fact.type, given.pop(name))
        else:
            arguments[name] = given.pop(name)
    if missing:
        raise ValueError(f"--run needs examples of all arguments: --example '{', '.join(missing)}'")
    if given:
        raise ValueError(f"--example names no argument of the launch: {', '.join(given)}")
    return arguments


def _array(name: str, type: str, count: Any) -> Any:
    """An array of a type: floats around 0, and integers that are 0, so that they may be indices."""
    import numpy

    if not isinstance(count, int) or count < 1:
        raise ValueError(f"--example gives the elements of the array {name}, not {count!r}")
    rng = numpy.random.default_rng(_SEED)
    if type in _NUMPY_TYPES and type.startswith("fp"):
        return rng.standard_normal(count).astype(_NUMPY_TYPES[type])
    if type in _NUMPY_TYPES:
        return numpy.zeros(count, dtype=_NUMPY_TYPES[type])
    import tilewright.language as language

    dtype = getattr(language, {"bf16": "bfloat16"}.get(type, type), None)
    if dtype is None:
        raise ValueError(f"--run makes no arrays of {type}")
    words = numpy.zeros(count, dtype=f"uint{dtype.primitive_bitwidth}")
    return reinterpret(words, dtype)
