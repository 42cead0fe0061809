"""The peak numbers of GPUs that scripts of Triton compare measurements with."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from tilewright.native.errors import UnsupportedError


class Rates(NamedTuple):
    """Multiply-adds that one processor of a GPU finishes in a cycle, dense matrices."""

    simd: dict[str, int]
    matrix: dict[str, int]


# SIMD: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions", by compute
# capability; two elements of packed 16 bits count as two.
# Matrices: peak rates of NVIDIA's white papers (A100, GA102, Ada, H100, Blackwell) divided by
# processors and boost clock, products of 16 and 8 bits added in float32.
_RATES: dict[int, Rates] = {
    80: Rates(
        {"fp64": 32, "fp32": 64, "fp16": 256, "bf16": 128},
        {"fp64": 64, "tf32": 512, "fp16": 1024, "bf16": 1024, "int8": 2048},
    ),
    86: Rates(
        {"fp64": 2, "fp32": 128, "fp16": 128, "bf16": 128},
        {"tf32": 128, "fp16": 256, "bf16": 256, "int8": 1024},
    ),
    89: Rates(
        {"fp64": 2, "fp32": 128, "fp16": 128, "bf16": 128},
        {"tf32": 128, "fp16": 256, "bf16": 256, "int8": 1024, "fp8": 512},
    ),
    90: Rates(
        {"fp64": 64, "fp32": 128, "fp16": 256, "bf16": 256},
        {"fp64": 128, "tf32": 1024, "fp16": 2048, "bf16": 2048, "int8": 4096, "fp8": 4096},
    ),
}


def _refuse(what: str) -> NoReturn:
    raise UnsupportedError(
        what, code="TW0432", hint="put the numbers of the data sheet into the script"
    )


def _facts(device: Any) -> dict[str, int]:
    from .runtime.driver import driver

    properties = driver.active.get_device_properties(0 if device is None else device)
    return {**properties, "capability": _capability()}


def _capability() -> int:
    """Ten times the compute capability of the GPU in use; 0 where launches use none."""
    from .runtime.driver import driver

    target = driver.active.get_current_target()
    return target.arch if target.backend == "cuda" and isinstance(target.arch, int) else 0


def get_dram_gbps(device: Any = None) -> float:
    """The peak rate of a GPU's memory in GB/s: two transfers of the bus's width in each cycle of its
    clock. Raises UnsupportedError TW0432 where nobody tells clock and width."""
    facts = _facts(device)
    clock, bits = facts["mem_clock_rate"], facts["mem_bus_width"]
    if not clock or not bits:
        _refuse("the clock and the width of this device's memory are not known")
    return 2 * clock * 1e3 * bits / 8 / 1e9


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: Any = None) -> float:
    """The peak rate of matrix products in TFLOPS, at a clock in kHz: a multiply-add is two. float32
    is multiplied as tf32. Raises UnsupportedError TW0432 for GPUs and types of unknown rates."""
    return _tflops(dtype, clock_rate, device, is_matrix=True)


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: Any = None) -> float:
    """The peak rate of arithmetic without matrix instructions in TFLOPS, at a clock in kHz: a
    multiply-add is two. Raises UnsupportedError TW0432 for GPUs and types of unknown rates."""
    return _tflops(dtype, clock_rate, device, is_matrix=False)


def _tflops(dtype: Any, clock_rate: float, device: Any, is_matrix: bool) -> float:
    facts = _facts(device)
    rates = _RATES.get(facts["capability"])
    if rates is None:
        _refuse("the rates of this device's arithmetic are not known")
    name = _name_of(dtype, is_matrix)
    rate = (rates.matrix if is_matrix else rates.simd).get(name)
    if rate is None:
        _refuse(f"the rate of {dtype} on this device is not known")
    return 2 * rate * facts["multiprocessor_count"] * clock_rate * 1e3 / 1e12


def _name_of(dtype: Any, is_matrix: bool) -> str:
    """A type of ours or of torch's in the words of the table."""
    name = str(dtype).rpartition(".")[2]
    long = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "uint8": "int8"}
    name = long.get(name, name)
    if name.startswith(("fp8", "float8")):
        return "fp8"
    return "tf32" if is_matrix and name == "fp32" else name
