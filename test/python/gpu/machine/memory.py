"""Memory: what a launch may touch, and the instructions that do."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .atomics import atomic_of, combined, width_of
from .decode import Instruction
from .semantics import NotUnderstood
from .shared import Shared
from .wave import Report, Wave


class Allocation(NamedTuple):
    begin: int
    data: np.ndarray  # of bytes
    is_writable: bool


class Memory:
    """The arrays of a launch, at the addresses that they have."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []

    def add(self, begin: int, size: int, is_writable: bool) -> None:
        data = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(begin)) if size else np.empty(0, np.uint8)
        self.allocations.append(Allocation(begin, data, is_writable))

    def find(self, addresses: np.ndarray, size: int, is_store: bool) -> tuple[np.ndarray, np.ndarray]:
        """The bytes of the allocation that all addresses are in, and each address's bytes there."""
        low, high = int(addresses.min()), int(addresses.max()) + size
        for begin, data, is_writable in self.allocations:
            if begin <= low and high <= begin + data.size and (is_writable or not is_store):
                return data, (addresses - np.uint64(begin)).astype(np.int64)[:, None] + np.arange(size)
        raise LookupError

    def load(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """A row of bytes for each address. Raises Report where one is outside."""
        found = np.empty((addresses.size, size), np.uint8)
        for part, data, at in self._parts(addresses, size, False):
            found[part] = data[at]
        return found

    def store(self, addresses: np.ndarray, data: np.ndarray) -> None:
        for part, into, at in self._parts(addresses, data.shape[1], True):
            into[at] = data[part]

    def _parts(self, addresses: np.ndarray, size: int, is_store: bool):  # noqa: ANN202
        """At once where all are in one allocation, else address by address."""
        if not addresses.size:
            return
        try:
            yield slice(None), *self.find(addresses, size, is_store)
            return
        except LookupError:
            pass
        for number in range(addresses.size):
            try:
                yield slice(number, number + 1), *self.find(addresses[number : number + 1], size, is_store)
            except LookupError:
                what = "store" if is_store else "load"
                raise Report(f"{what} of {size} bytes outside: {int(addresses[number]):#x}") from None


class Form(NamedTuple):
    """What moves: bytes, where in a register, and what the rest of it becomes."""

    size: int
    is_signed: bool = False
    is_half: bool = False  # the other half of the register stays
    is_high: bool = False


_SIZES = {
    "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16, "dwordx8": 32, "dwordx16": 64, "b32": 4,
    "b64": 8, "b96": 12, "b128": 16, "b256": 32, "b512": 64, "ubyte": 1, "sbyte": 1, "byte": 1,
    "ushort": 2, "sshort": 2, "short": 2, "u8": 1, "i8": 1, "b8": 1, "u16": 2, "i16": 2, "b16": 2,
}  # fmt: skip
_FORM = re.compile(
    r"(?:_(?P<early>d16)(?P<early_hi>_hi)?)?_(?P<size>(?:dword(?:x\d+)?|[us]?(?:byte|short)|[bui]\d+))"
    r"(?:_(?P<late>d16)(?P<late_hi>_hi)?)?$"
)


def form_of(opcode: str) -> Form:
    """`buffer_load_ushort`, `ds_load_u16_d16_hi`, `global_store_d16_hi_b16`."""
    match = _FORM.search(opcode)
    if not match or match["size"] not in _SIZES:
        raise NotUnderstood(f"the access {opcode}")
    size = match["size"]
    is_half = bool(match["early"] or match["late"])
    return Form(_SIZES[size], size[0] in "si" and size != "short", is_half, bool(match["early_hi"] or match["late_hi"]))


def into_registers(wave: Wave, text: str, data: np.ndarray, form: Form, where: np.ndarray) -> None:
    """Bytes that were loaded, of the lanes `where`, as an instruction of that form puts them."""
    if form.size < 4:
        kind = np.dtype(f"{'i' if form.is_signed else 'u'}{form.size}")
        words = data.view(kind).astype(np.int64).astype(np.uint32).reshape(-1, 1)
        if form.is_half:
            old = wave.words(text)[0][where][:, None]
            half = words & np.uint32(0xFFFF)
            words = old & np.uint32(0xFFFF) | half << np.uint32(16) if form.is_high else old & np.uint32(0xFFFF0000) | half
    else:
        words = np.ascontiguousarray(data).view(np.uint32)
    wave.words(text)[: words.shape[1], where] = words.T


def from_registers(wave: Wave, text: str, form: Form, where: np.ndarray) -> np.ndarray:
    """The bytes that a store takes of each lane `where`."""
    rows = wave.words(text)[: max(form.size // 4, 1), where]
    if form.is_high:
        rows = rows >> np.uint32(16)
    return np.ascontiguousarray(rows.T).view(np.uint8)[:, : form.size]


def resource_of(wave: Wave, text: str) -> tuple[int, int, int]:
    """The base, the bounds and the stride of a buffer. gfx1250 has 57 bits of address, behind them 45 of
    bounds (LLVM's lowering of `llvm.amdgcn.make.buffer.rsrc`)."""
    low, high, third, fourth = (int(word) for word in wave.words(text))
    if wave.is_gfx1250:
        bounds = high >> 25 | third << 7 | (fourth & 0x3F) << 39
        return low | (high & 0x1FFFFFF) << 32, bounds, fourth >> 12 & 0x3FFF
    return low | (high & 0xFFFF) << 32, third, high >> 16 & 0x3FFF


def buffer_addresses(
    wave: Wave, instruction: Instruction, size: int, operands: list[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The addresses of a buffer access without a stride, and which lanes are within its bounds. Sources
    differ on what has to be: the sum of all offsets, that sum modulo 2^32, the sum without the scalar
    offset, or that against what the scalar one leaves of the bounds. A lane must be the same by each."""
    lanes, resource, scalar = operands or instruction.operands[1:4]
    base, bounds, stride = resource_of(wave, resource)
    if stride or "idxen" in instruction.modifiers:
        raise NotUnderstood(f"a buffer with a stride: {instruction}")
    own = wave.words(lanes)[0].astype(np.uint64) if "offen" in instruction.modifiers else np.zeros(wave.lanes, np.uint64)
    own, added = own + np.uint64(instruction.offset()), int(wave.scalar(scalar))
    offsets, word = own + np.uint64(added), np.uint64(0xFFFFFFFF)
    left = ((bounds - added) & 0xFFFFFFFF, own & word)
    readings = [
        at + np.uint64(size) <= np.uint64(most)
        for most, at in ((bounds, offsets), (bounds, offsets & word), (bounds, own), (bounds, own & word), left)
    ]
    for reading in readings[1:]:
        if differing := np.flatnonzero((reading != readings[0]) & wave.active).tolist():
            raise Report(f"{instruction}: bounds that one may read in more than one way, in lanes {differing}")
    return (offsets + np.uint64(base)) & np.uint64(0xFFFFFFFFFFFF), readings[0]


# Of these, the hints for caches change no result here.
_MODIFIERS = {"offen", "offset", "idxen", "lds", "scale_offset", "glc", "slc", "dlc", "sc0", "sc1", "nt", "th", "scope"}


def global_addresses(wave: Wave, instruction: Instruction, size: int, lanes: str, base: str) -> np.ndarray:
    """Addresses of `global_` accesses: of 64 bits a lane, or of 32 beside a scalar base (with a sign on
    gfx1250), in bytes or (`scale_offset`) in elements of `size`."""
    offset = np.uint64(instruction.offset() & 0xFFFFFFFFFFFFFFFF)
    own = wave.read(lanes)
    assert isinstance(own, np.ndarray)
    if wave.is_gfx1250 and base != "off":  # LLVM's hasSignedGVSOffset
        own = own.astype(np.uint32).view(np.int32).astype(np.int64).view(np.uint64)
    if "scale_offset" in instruction.modifiers:
        own = own * np.uint64(size)
    if base != "off":
        start = wave.read(base)
        assert isinstance(start, np.ndarray)
        own = own + start
    return np.broadcast_to(own, wave.lanes) + offset


def access(wave: Wave, instruction: Instruction, memory: Memory, shared: Shared) -> None:
    """A load, store or atomic of global memory, or a copy from there to shared memory."""
    if unknown := instruction.modifiers.keys() - _MODIFIERS:
        raise NotUnderstood(f"{instruction}: {', '.join(sorted(unknown))}")
    wave.num_vector += 1
    opcode, operands = instruction.base, instruction.operands
    if "atomic" in opcode:
        return atomic(wave, instruction, memory)
    if "lds" in opcode or "lds" in instruction.modifiers:
        return _copy(wave, instruction, memory, shared)
    form, where = form_of(opcode), wave.active
    if opcode.startswith("buffer_"):
        return _buffer(wave, instruction, memory, form)
    is_store = "store" in opcode
    address, data = (operands[0], operands[1]) if is_store else (operands[1], operands[0])
    at = global_addresses(wave, instruction, form.size, address, operands[2])[where]
    if is_store:
        memory.store(at, from_registers(wave, data, form, where))
    else:
        into_registers(wave, data, memory.load(at, form.size), form, where)


def _copy(wave: Wave, instruction: Instruction, memory: Memory, shared: Shared) -> None:
    """Lanes of 4 or 16 bytes one after the other, from M0 and the instruction's offset on, or where each
    lane says; buffers copy zeros from beyond their bounds. The bytes are there when the wave has waited."""
    is_async = "_async_to_lds" in instruction.base
    opcode = instruction.base.replace("_async_to_lds", "").replace("_lds", "")
    form, where, operands = form_of(opcode), wave.active, instruction.operands
    reached = where.copy()
    if instruction.base.startswith("buffer_"):
        addresses, inside = buffer_addresses(wave, instruction, form.size, operands[-3:])
        reached &= inside
    else:
        addresses = global_addresses(wave, instruction, form.size, operands[-2], operands[-1])
    found = np.zeros((wave.lanes, form.size), np.uint8)
    found[reached] = memory.load(addresses[reached], form.size)
    if is_async:
        wave.num_async += 1
        first = wave.words(operands[0])[0].astype(np.int64)
    else:
        first = wave.scalar("m0") + form.size * np.arange(wave.lanes)
    at = (first + instruction.offset()).astype(np.uint32)[where]
    number = wave.num_async if is_async else wave.num_vector
    wave.copies.append((number, lambda: shared.store(wave.number, at, found[where], instruction)))


def complete_copies(copies: list[tuple[int, Callable[[], None]]], issued: int, count: int) -> None:
    """A wait until `count` of the `issued` operations that are counted with copies are under way at most."""
    while copies and copies[0][0] <= issued - count:
        copies.pop(0)[1]()


def _buffer(wave: Wave, instruction: Instruction, memory: Memory, form: Form) -> None:
    data, where = instruction.operands[0], wave.active
    addresses, inside = buffer_addresses(wave, instruction, form.size)
    reached = where & inside
    if "store" in instruction.base:
        return memory.store(addresses[reached], from_registers(wave, data, form, reached))
    found = np.zeros((wave.lanes, form.size), np.uint8)
    found[reached] = memory.load(addresses[reached], form.size)
    into_registers(wave, data, found[where], form, where)


def scratch(wave: Wave, instruction: Instruction) -> None:
    """A lane's own memory, which spilled registers take."""
    form, where = form_of(instruction.base), wave.active
    is_store = "store" in instruction.base
    address, data = instruction.operands[:2] if is_store else instruction.operands[1::-1]
    at = np.full(wave.lanes, instruction.offset(), np.int64)
    if address != "off":
        at = at + wave.words(address)[0]
    if instruction.operands[2] != "off":
        at = at + wave.scalar(instruction.operands[2])
    if at[where].size and int(at[where].max()) + form.size > wave.scratch.shape[1]:
        raise Report(f"{instruction}: beyond {wave.scratch.shape[1]} bytes of scratch")
    places = np.arange(wave.lanes)[where][:, None], at[where][:, None] + np.arange(form.size)
    if is_store:
        wave.scratch[places] = from_registers(wave, data, form, where)
    else:
        into_registers(wave, data, wave.scratch[places], form, where)


def scalar_load(wave: Wave, instruction: Instruction, memory: Memory) -> None:
    data, base, offset = instruction.operands[:3]
    start = wave.read(base)
    assert isinstance(start, np.ndarray)
    size, own = form_of(instruction.base).size, wave.scalar(offset)
    if "scale_offset" in instruction.modifiers:
        own *= size
    found = memory.load((start + np.uint64(own + instruction.offset())) & ~np.uint64(3), size)
    words = np.ascontiguousarray(found).view(np.uint32)[0]
    wave.words(data)[:] = words


def atomic(wave: Wave, instruction: Instruction, memory: Memory) -> None:
    """One lane after the other."""
    operation = atomic_of(instruction.base.partition("atomic_")[2])
    size, operands = width_of(operation), instruction.operands
    form = Form(size * 2 if operation.startswith("cmpswap") else size)
    modifiers = instruction.modifiers
    returns = bool({"glc", "sc0"} & modifiers.keys()) or "RETURN" in modifiers.get("th", "")
    if instruction.base.startswith("buffer_"):
        (addresses, inside), data, into = buffer_addresses(wave, instruction, size), operands[0], operands[0]
    else:
        address, data, base = operands[-3:]
        addresses = global_addresses(wave, instruction, size, address, base)
        inside, into = np.ones(wave.lanes, bool), operands[0]
    given = from_registers(wave, data, form, np.ones(wave.lanes, bool))
    before = np.zeros((wave.lanes, size), np.uint8)
    for lane in np.flatnonzero(wave.active & inside):
        at = addresses[lane : lane + 1]
        before[lane] = memory.load(at, size)[0]
        memory.store(at, combined(operation, before[lane], given[lane])[None])
    if returns:
        into_registers(wave, into, before[wave.active], Form(size), wave.active)


def shared_access(wave: Wave, instruction: Instruction, shared: Shared) -> None:
    """A load, store or atomic of shared memory."""
    opcode, operands = instruction.base, instruction.operands
    pair = re.search(r"(?:2addr|read2|write2)(_?st64|_stride64)?_b(32|64)$", opcode)
    if pair:
        return _two_accesses(wave, instruction, shared, int(pair[2]) // 8, 64 if pair[1] else 1)
    if "_tr" in opcode:
        return _transposed_read(wave, instruction, shared)
    where = wave.active
    is_store = bool(re.match(r"ds_(write|store)_", opcode))
    if not is_store and not re.match(r"ds_(read|load)_", opcode):
        return _shared_atomic(wave, instruction, shared)
    form = form_of(opcode)
    at = (wave.words(operands[0] if is_store else operands[1])[0] + np.uint32(instruction.offset()))[where]
    if is_store:
        shared.store(wave.number, at, from_registers(wave, operands[1], form, where), instruction)
    else:
        into_registers(wave, operands[0], shared.load(wave.number, at, form.size, instruction), form, where)


def _transposed_read(wave: Wave, instruction: Instruction, shared: Shared) -> None:
    """Of 8 bytes a lane, 16 lanes after the other read rows of 16 elements, each row by lanes side by side
    (of ds_load_tr8_b64, by lanes four apart); of 16 bytes, 8 lanes after the other read 8 rows of 8 halves.
    Each lane gets the column of its number. (The manual has prose for the first; this is what LLVM's and
    AMD's emulation of them takes.)"""
    if not wave.active.all():
        raise Report(f"{instruction}: lanes of the wave are off")
    at = wave.words(instruction.operands[1])[0] + np.uint32(instruction.offset())
    size = 16 if instruction.base.endswith("b128") else 8
    elements = shared.load(wave.number, at, size, instruction)
    if "16" in instruction.base:
        elements = elements.view(np.uint16)
    rows = elements.shape[1]
    if instruction.base == "ds_load_tr8_b64":
        elements = elements.reshape(-1, 2, 2, 4, rows).transpose(0, 1, 3, 2, 4)
    columns = elements.reshape(-1, rows, 8 if size == 16 else 16)
    turned = np.ascontiguousarray(columns.transpose(0, 2, 1).reshape(-1, rows))
    into_registers(wave, instruction.operands[0], turned.view(np.uint8), Form(size), wave.active)


def _two_accesses(wave: Wave, instruction: Instruction, shared: Shared, size: int, stride: int) -> None:
    operands, where, form = instruction.operands, wave.active, Form(size)
    is_store = "write" in instruction.base or "store" in instruction.base
    lanes = wave.words(operands[0] if is_store else operands[1])[0]
    found = []
    for number in range(2):
        at = (lanes + np.uint32(instruction.offset(f"offset{number}") * size * stride))[where]
        if is_store:
            shared.store(wave.number, at, from_registers(wave, operands[1 + number], form, where), instruction)
        else:
            found.append(shared.load(wave.number, at, size, instruction))
    if found:
        into_registers(wave, operands[0], np.concatenate(found, axis=1), Form(2 * size), where)


def _shared_atomic(wave: Wave, instruction: Instruction, shared: Shared) -> None:
    name = instruction.base.removeprefix("ds_")
    returns, operation = "_rtn" in name, atomic_of(name.replace("_rtn", ""))
    if operation.startswith(("cmpst", "cmpstore")):
        raise NotUnderstood(f"{instruction}")
    operands = instruction.operands[1:] if returns else instruction.operands
    size, every = width_of(operation), np.ones(wave.lanes, bool)
    addresses = wave.words(operands[0])[0] + np.uint32(instruction.offset())
    given = from_registers(wave, operands[1], Form(size), every)
    before = np.zeros((wave.lanes, size), np.uint8)
    for lane in np.flatnonzero(wave.active):
        before[lane] = shared.combine(int(addresses[lane]), given[lane], operation, instruction)
    if returns:
        into_registers(wave, instruction.operands[0], before[wave.active], Form(size), wave.active)
