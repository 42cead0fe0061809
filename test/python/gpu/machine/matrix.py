"""Matrix instructions: where lanes hold their operands, as the vendor's matrix calculator has it.

CDNA: lane l holds row l % M of A (column of B), and of K the l // M-th part, one element after the
other. Of the sums it holds column l % M; rows in groups of four over the lanes, then over registers;
sums of 64 bits alternate over the lanes row by row. RDNA 3: lanes l and l + 16 hold the same row of A
(column of B) whole; of the sums lane l has column l % 16 and the rows of the parity of l // 16. gfx12: lane l
holds row l % 16 of A (column of B), and of K the l // 16-th 8 elements of each 16; of the sums it has
column l % 16 and the l // 16-th 8 rows.
CDNA 4 with scales: of 8-bit floats lane l holds two runs of 16 along K, the second behind those first ones
of all lanes; of 4-bit floats one run of 32. It holds the scale of the l // M-th group of 32 along K.
"""

from __future__ import annotations

import re

import numpy as np

from .decode import Instruction
from .semantics import Constant, NotUnderstood
from .wave import Report, Wave, is_register

_SHAPE = re.compile(r"v_(mfma|wmma)_(f32|f64|i32|f16|bf16)_(\d+)x(\d+)x(\d+)_?(\w+)")
_SCALED = re.compile(r"v_mfma_(scale_)?f32_(\d+)x\d+x(\d+)_f8f6f4")
_FORMATS = {0: "float8_e4m3fn", 1: "float8_e5m2", 4: "float4_e2m1fn"}  # of modifiers cbsz and blgp


_STANDARD = {"fp8": "float8_e4m3fn", "bf8": "float8_e5m2"}  # but on gfx942, which has AMD's own


def elements(rows: np.ndarray, kind: str) -> np.ndarray:
    """Registers (rows) of lanes as numbers: one row a lane."""
    data = np.ascontiguousarray(rows.T)
    if kind in ("f16", "f32", "f64", "i8", "i32"):
        return data.view({"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i32": "i4"}[kind])
    if kind == "xf32":  # tf32: ten bits behind the point
        return ((data + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view("f4")
    import ml_dtypes

    types = {"bf16": "bfloat16", "fp8": "float8_e4m3fnuz", "bf8": "float8_e5m2fnuz", "u8": "uint8"}
    if kind == "u8":
        return data.view("u1")
    return data.view(getattr(ml_dtypes, types.get(kind, kind)))


def operand(wave: Wave, text: str, kind: str) -> np.ndarray:
    return elements(wave.words(text), kind).astype(np.float64 if kind[0] != "i" and kind != "u8" else np.int64)


def run(wave: Wave, instruction: Instruction, arch: str) -> None:
    if scaled := _SCALED.fullmatch(instruction.base):
        return _scaled(wave, instruction, int(scaled[2]), int(scaled[3]), bool(scaled[1]))
    match = _SHAPE.fullmatch(instruction.base)
    if not match or {"cbsz", "abid", "blgp"} & instruction.modifiers.keys():
        raise NotUnderstood(f"{instruction}")
    if not wave.active.all():
        raise Report(f"{instruction}: lanes of the wave are off")
    unit, result, rows, _, depth, kind = match.groups()
    kinds = (re.findall(r"[a-z]+\d+", kind) * 2)[:2]
    if arch != "gfx942":
        kinds = [_STANDARD.get(each, each) for each in kinds]
    if unit == "mfma":
        _mfma(wave, instruction, result, int(rows), int(depth), kinds)
    else:
        _wmma(wave, instruction, result, kinds, arch.startswith("gfx12"))


def _mfma(wave: Wave, instruction: Instruction, result: str, rows: int, depth: int, kinds: list[str]) -> None:
    target, left, right, start = instruction.operands[:4]
    a, b = operand(wave, left, kinds[0]), operand(wave, right, kinds[1])
    lane = np.arange(wave.lanes)
    of_a = np.zeros((rows, depth), a.dtype)
    of_b = np.zeros((rows, depth), b.dtype)
    each = depth * rows // wave.lanes
    for element in range(each):
        of_a[lane % rows, lane // rows * each + element] = a[:, element]
        of_b[lane % rows, lane // rows * each + element] = b[:, element]
    place = mfma_sums(result, rows, wave.lanes)
    _finish(wave, target, start, result, of_a @ of_b.T, place)


def _scaled(wave: Wave, instruction: Instruction, rows: int, depth: int, has_scales: bool) -> None:
    if not wave.active.all():
        raise Report(f"{instruction}: lanes of the wave are off")
    target, *operands = instruction.operands
    matrices = []
    for index, modifier in enumerate(("cbsz", "blgp")):
        matrix = _scaled_operand(wave, operands[index], rows, depth, instruction.offset(modifier))
        if has_scales:
            low = instruction.numbers("op_sel", [0, 0, 0])[index]
            byte = low + 2 * instruction.numbers("op_sel_hi", [])[index]
            matrix = matrix * _scales(wave, operands[3 + index], byte, rows, depth)
        matrices.append(matrix)
    place = mfma_sums("f32", rows, wave.lanes)
    _finish(wave, target, operands[2], "f32", matrices[0] @ matrices[1].T, place)


def _scaled_operand(wave: Wave, text: str, rows: int, depth: int, format: int) -> np.ndarray:
    import ml_dtypes

    codes = np.ascontiguousarray(wave.words(text).T).view("u1")
    run = 16
    if format == 4:
        codes, run = np.stack([codes & 15, codes >> 4], axis=-1).reshape(wave.lanes, -1), 32
    numbers = codes.view(getattr(ml_dtypes, _FORMATS[format])).astype(np.float64)
    lane, element = np.meshgrid(np.arange(wave.lanes), np.arange(32), indexing="ij")
    groups = wave.lanes // rows
    found = np.zeros((rows, depth))
    found[lane % rows, lane // rows * run + element % run + element // run * run * groups] = numbers
    return found


def _scales(wave: Wave, text: str, byte: int, rows: int, depth: int) -> np.ndarray:
    """The factor of each element: 2 to the power of a byte less 127, and NaN for 255."""
    if is_register(text):
        words = np.broadcast_to(np.asarray(wave.words(text)).reshape(-1), wave.lanes)
    else:
        words = np.full(wave.lanes, int(text, 0), np.uint32)
    exponents = (words >> np.uint32(8 * byte) & np.uint32(255)).astype(int)
    factors = np.where(exponents == 255, np.nan, np.ldexp(1.0, exponents - 127))
    lane = np.arange(wave.lanes)
    found = np.zeros((rows, depth // 32))
    found[lane % rows, lane // rows] = factors
    return np.repeat(found, 32, axis=1)


def mfma_sums(result: str, rows: int, lanes: int) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the sum in each register of each lane."""
    lane, register = np.meshgrid(np.arange(lanes), np.arange(rows * rows // lanes), indexing="ij")
    group = lane // rows
    if result == "f64":
        return 4 * register + group, lane % rows
    groups = lanes // rows
    return 4 * (register // 4 * groups + group) + register % 4, lane % rows


def _wmma(wave: Wave, instruction: Instruction, result: str, kinds: list[str], is_gfx12: bool) -> None:
    target, left, right, start = instruction.operands[:4]
    signs = instruction.numbers("neg_lo", [0, 0, 0])
    if "iu8" in kinds:
        kinds = ["i8" if sign else "u8" for sign in signs[:2]]
    elif any(signs) or not {*kinds} <= {"f16", "bf16", "f32", *_STANDARD.values()}:
        raise NotUnderstood(f"{instruction}")
    halves = [operand(wave, text, each) for text, each in zip((left, right), kinds)]
    lane, register = np.meshgrid(np.arange(32), np.arange(8), indexing="ij")
    if is_gfx12:
        matrices = [_of_two_halves(each) for each in halves]
        place = register + lane // 16 * 8, lane % 16
    else:
        for each in halves:
            if not np.array_equal(each[:16], each[16:], equal_nan=each.dtype.kind == "f"):
                raise Report(f"{instruction}: the lanes' two copies differ")
        matrices = [each[:16] for each in halves]
        place = 2 * register + lane // 16, lane % 16
    product = matrices[0] @ matrices[1].T
    if result in ("f16", "bf16") and not is_gfx12:
        return _finish_halves(wave, instruction, result, product, place)
    _finish(wave, target, start, result, product, place)


def _of_two_halves(lanes: np.ndarray) -> np.ndarray:
    """Rows of which a half of the wave has 8 elements, the other half the next ones, and so on in turn."""
    run = min(lanes.shape[1], 8)
    runs = lanes.reshape(2, 16, -1, run)
    return runs.transpose(1, 2, 0, 3).reshape(16, -1)


def _finish(
    wave: Wave, target: str, start: str, result: str, product: np.ndarray, place: tuple[np.ndarray, np.ndarray]
) -> None:
    """Adds what the sums begin with, and writes them."""
    dtype = elements(np.zeros((2, 1), np.uint32), result).dtype
    begin = elements(wave.words(start), result) if is_register(start) else constant(start, result)
    done = (product[place] + begin.astype(product.dtype)).astype(dtype)
    wave.words(target)[:] = np.ascontiguousarray(done).view(np.uint32).T


def constant(text: str, result: str) -> np.ndarray:
    return Constant(text).seen_as(result[0], int(result[1:])).number


def _finish_halves(
    wave: Wave, instruction: Instruction, result: str, product: np.ndarray, place: tuple[np.ndarray, np.ndarray]
) -> None:
    """Sums of 16 bits, in one half of their registers: the upper with `op_sel:[0,0,1]`."""
    target, start = instruction.operands[0], instruction.operands[3]
    half = instruction.numbers("op_sel", [0, 0, 0])[2]
    if is_register(start):
        begin = elements(wave.words(start), result).astype(np.float64)[:, half::2]
    else:
        begin = constant(start, "f16").astype(np.float64)
    kind = elements(np.zeros((1, 1), np.uint32), result).dtype
    done = (product[place] + begin).astype(kind).view(np.uint16).astype(np.uint32).T
    old = wave.words(target) & np.uint32(0xFFFF if half else 0xFFFF0000)
    wave.words(target)[:] = old | done << np.uint32(16 * half)
