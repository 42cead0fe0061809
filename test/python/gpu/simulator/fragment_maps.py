"""Measures which elements of its operands each lane's registers of matrix instructions hold.

`fragment_maps.py [--out FILE]` runs small PTX kernels through the CUDA driver
(TILEWRIGHT_CUDA_LIBRARY or libcuda.so.1), compares what they find with the tables of the PTX ISA,
and writes it as JSON.
For mma, one program for each element of A has a 1 there and zeros elsewhere; B holds numbers that
name its elements, digit by digit, so that the result tells which element of B met it, and where.
Each entry of a map is [lane and place in A, [lane and place in D, lane and place in B], ...].
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import sys
from typing import Any, NamedTuple

import numpy as np

LANES = 32
BASE = 16  # of the digits that name an element of B: exact in every type


class Instruction(NamedTuple):
    """mma.sync of one shape: registers of A and B, and how their elements are stored."""

    name: str
    shape: str
    types: str  # d.a.b.c
    a_registers: int
    b_registers: int
    storage: str  # NumPy's type with the element's bits
    kind: str  # "f16", "bf16", "f32", "e4m3" or "s8": how a number is encoded in it
    version: str = "7.0"  # of PTX
    capability: int = 80  # the oldest, times ten

    @property
    def per_register(self) -> int:
        return 4 // np.dtype(self.storage).itemsize


INSTRUCTIONS = [
    Instruction("f16 k8", "m16n8k8", "f32.f16.f16.f32", 2, 1, "uint16", "f16"),
    Instruction("f16 k16", "m16n8k16", "f32.f16.f16.f32", 4, 2, "uint16", "f16"),
    Instruction("bf16 k8", "m16n8k8", "f32.bf16.bf16.f32", 2, 1, "uint16", "bf16"),
    Instruction("bf16 k16", "m16n8k16", "f32.bf16.bf16.f32", 4, 2, "uint16", "bf16"),
    Instruction("tf32 k8", "m16n8k8", "f32.tf32.tf32.f32", 4, 2, "uint32", "f32"),
    Instruction("s8 k16", "m16n8k16", "s32.s8.s8.s32", 2, 1, "uint8", "s8"),
    Instruction("s8 k32", "m16n8k32", "s32.s8.s8.s32", 4, 2, "uint8", "s8"),
    Instruction("e4m3 k32", "m16n8k32", "f32.e4m3.e4m3.f32", 4, 2, "uint8", "e4m3", "8.4", 89),
]

HEAD = """.version 7.0
.target sm_80
.address_size 64
.visible .entry measure(
.param .u64 .ptr .global .align 16 pa, .param .u64 .ptr .global .align 16 pb,
.param .u64 .ptr .global .align 16 pd)
{
.reg .b32 %r<4>;
.reg .b64 %p<8>;
mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mad.lo.s32 %r2, %r1, 32, %r0;
ld.param.u64 %p0, [pa];
ld.param.u64 %p1, [pb];
ld.param.u64 %p2, [pd];
"""


def registers(letter: str, count: int) -> str:
    return ", ".join(f"%{letter}{i}" for i in range(count))


def move(letter: str, count: int, pointer: str, index: str, is_load: bool) -> str:
    """Loads or stores `count` 32-bit registers of a lane at array[index * count]."""
    lines = [f"mul.wide.s32 %p3, {index}, {4 * count};", f"add.s64 %p4, {pointer}, %p3;"]
    for i in range(count):
        if is_load:
            lines.append(f"ld.global.b32 %{letter}{i}, [%p4+{4 * i}];")
        else:
            lines.append(f"st.global.b32 [%p4+{4 * i}], %{letter}{i};")
    return "\n".join(lines) + "\n"


def mma_ptx(of: Instruction) -> str:
    is_float = of.types.startswith("f32")
    zeros = "\n".join(f"mov.b32 %d{i}, {'0f00000000' if is_float else '0'};" for i in range(4))
    head = HEAD.replace(".version 7.0", f".version {of.version}")
    return (
        head.replace(".target sm_80", f".target sm_{of.capability}")
        + f".reg .b32 %a<{of.a_registers}>;\n.reg .b32 %b<{of.b_registers}>;\n"
        + f".reg .{'f32' if is_float else 'b32'} %d<4>;\n{zeros}\n"
        + move("a", of.a_registers, "%p0", "%r2", True)
        # The second half of the programs gets the second array of B.
        + f"mov.u32 %r3, %nctaid.x;\nshr.u32 %r3, %r3, 1;\ndiv.u32 %r3, %r1, %r3;\n"
        + "mad.lo.s32 %r3, %r3, 32, %r0;\n"
        + move("b", of.b_registers, "%p1", "%r3", True)
        + f"mma.sync.aligned.{of.shape}.row.col.{of.types} {{{registers('d', 4)}}}, "
        + f"{{{registers('a', of.a_registers)}}}, {{{registers('b', of.b_registers)}}}, "
        + f"{{{registers('d', 4)}}};\n"
        + move("d", 4, "%p2", "%r2", False)
        + "ret;\n}\n"
    )


def ldmatrix_ptx(is_transposed: bool) -> str:
    trans = ".trans" if is_transposed else ""
    stores = "\n".join(f"st.shared.b32 [%r3+{4 * i}], %a{i};" for i in range(4))
    return (
        HEAD.replace("{\n", "{\n.shared .align 16 .b8 rows[512];\n", 1)
        + ".reg .b32 %a<4>;\n.reg .b32 %d<4>;\n"
        + move("a", 4, "%p0", "%r2", True)
        + "mov.u32 %r3, rows;\nmad.lo.s32 %r3, %r0, 16, %r3;\n"
        + stores
        + f"\nbar.sync 0;\nldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 "
        + f"{{{registers('d', 4)}}}, [%r3];\n"
        + move("d", 4, "%p2", "%r2", False)
        + "ret;\n}\n"
    )


class Driver:
    """What is needed of the CUDA driver."""

    def __init__(self) -> None:
        path = os.environ.get("TILEWRIGHT_CUDA_LIBRARY") or "libcuda.so.1"
        self.library = ctypes.CDLL(path)
        self.call("cuInit", 0)
        device, context = ctypes.c_int(0), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxPushCurrent_v2", context)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()
        major, minor = ctypes.c_int(0), ctypes.c_int(0)
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.capability = 10 * major.value + minor.value

    def call(self, function: str, *arguments: Any) -> None:
        if code := getattr(self.library, function)(*arguments):
            raise RuntimeError(f"{function} gave {code}")

    def run(self, ptx: str, programs: int, inputs: list[np.ndarray], words: int) -> np.ndarray:
        """One warp for each program; the words that they wrote."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        text = ptx.encode() + b"\0"
        self.call("cuModuleLoadDataEx", ctypes.byref(module), text, 0, None, None)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"measure")
        out = np.zeros(words, np.uint32)
        arrays = [np.ascontiguousarray(x) for x in inputs] + [out]
        addresses = [ctypes.c_uint64() for _ in arrays]
        for address, array in zip(addresses, arrays, strict=True):
            size = ctypes.c_size_t(array.nbytes)
            self.call("cuMemAlloc_v2", ctypes.byref(address), size)
            self.call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(array.ctypes.data), size)
        pointers = (ctypes.c_void_p * len(addresses))(*(ctypes.addressof(x) for x in addresses))
        shape = (programs, 1, 1, LANES, 1, 1)
        self.call("cuLaunchKernel", function, *shape, 0, None, pointers, None)
        self.call("cuCtxSynchronize")
        size = ctypes.c_size_t(out.nbytes)
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(out.ctypes.data), addresses[-1], size)
        for address in addresses:
            self.call("cuMemFree_v2", address)
        self.call("cuModuleUnload", module)
        return out


def encoded(numbers: np.ndarray, kind: str) -> np.ndarray:
    """Small integers in the bits of an element type."""
    if kind == "f16":
        return numbers.astype(np.float16).view(np.uint16)
    bits = numbers.astype(np.float32).view(np.uint32)
    if kind == "e4m3":  # the exponent's bias is 7 instead of 127, and of 23 digits it has three
        return np.where(numbers == 0, 0, (bits >> 20) - (120 << 3)).astype(np.uint8)
    if kind == "bf16":
        return (bits >> 16).astype(np.uint16)
    return bits if kind == "f32" else numbers.astype(np.uint8)


def measure_mma(driver: Driver, of: Instruction) -> list[Any]:
    a_count, b_count = (of.per_register * n for n in (of.a_registers, of.b_registers))
    elements = LANES * a_count
    hot = np.tile(np.eye(elements, dtype=np.int64), (2, 1))
    names = np.arange(LANES * b_count)
    digits = np.concatenate([names % BASE + 1, names // BASE + 1])
    inputs = [encoded(x, of.kind).view(np.uint32) for x in (hot, digits)]
    out = driver.run(mma_ptx(of), 2 * elements, inputs, 2 * elements * LANES * 4)
    values = out.view(np.float32 if of.types.startswith("f32") else np.int32)
    low, high = values.reshape(2, elements, LANES * 4).astype(np.int64)
    found: list[Any] = []
    for element in range(elements):
        named = low[element] - 1 + BASE * (high[element] - 1)
        meets = [
            [*divmod(int(at), 4), *divmod(int(named[at]), b_count)]
            for at in np.flatnonzero(low[element])
        ]
        found.append([*divmod(element, a_count), meets])
    return found


def documented_mma(of: Instruction) -> list[Any]:
    """The same by the tables of the PTX ISA, "Matrix Fragments for mma"."""
    per = of.per_register

    def k_of(lane: int, place: int, registers_between: int) -> int:
        register, j = divmod(place, per)
        return lane % 4 * per + j + 4 * per * (register // registers_between)

    b_at = {
        (k_of(lane, place, 1), lane // 4): [lane, place]
        for lane in range(LANES)
        for place in range(per * of.b_registers)
    }
    result: list[Any] = []
    for lane in range(LANES):
        for place in range(per * of.a_registers):
            is_lower = place // per % 2  # registers 1 and 3 hold the rows from 8 on
            row = lane // 4
            meets = []
            for d_lane in range(4 * row, 4 * row + 4):
                for d in (0, 1):
                    b = b_at[k_of(lane, place, 2), d_lane % 4 * 2 + d]
                    meets.append([d_lane, d + 2 * is_lower, *b])
            result.append([lane, place, meets])
    return result


def measure_ldmatrix(driver: Driver, is_transposed: bool) -> list[int]:
    """Which of the 256 elements, row by row, each lane's eight halves hold."""
    words = np.arange(256, dtype=np.uint16).view(np.uint32)
    out = driver.run(ldmatrix_ptx(is_transposed), 1, [words, words], LANES * 4)
    return out.view(np.uint16).tolist()


def documented_ldmatrix(is_transposed: bool) -> list[int]:
    """The same by the PTX ISA, "ldmatrix"."""
    places: list[int] = []
    for lane in range(LANES):
        for matrix in range(4):
            for half in range(2):
                row, column = lane // 4, lane % 4 * 2 + half
                if is_transposed:
                    row, column = column, row
                places.append((8 * matrix + row) * 8 + column)
    return places


def instructions_of(capability: int) -> list[Instruction]:
    return [of for of in INSTRUCTIONS if of.capability <= capability]


def measure() -> tuple[dict[str, Any], list[str]]:
    """Everything that was found, and the names of what differs from the tables."""
    driver = Driver()
    maps: dict[str, Any] = {}
    wrong: list[str] = []
    for of in instructions_of(driver.capability):
        maps[f"mma {of.name}"] = found = measure_mma(driver, of)
        if found != documented_mma(of):
            wrong.append(f"mma {of.name}")
    for is_transposed in (False, True):
        name = "ldmatrix x4" + " trans" * is_transposed
        maps[name] = found = measure_ldmatrix(driver, is_transposed)
        if found != documented_ldmatrix(is_transposed):
            wrong.append(name)
    return {"device": driver.name, "maps": maps}, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path)
    out: pathlib.Path | None = parser.parse_args().out
    found, wrong = measure()
    for name in found["maps"]:
        print(f"{found['device']}: {name}: {'DIFFERS' if name in wrong else 'as documented'}")
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(found) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
