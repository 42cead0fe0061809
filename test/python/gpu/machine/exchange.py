"""Instructions that move values between lanes."""

from __future__ import annotations

import re

import numpy as np

from .decode import Instruction
from .semantics import Constant, NotUnderstood
from .values import Value, of_bits
from .wave import Report, Wave

_DPP = ("quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "row_half_mirror", "row_bcast",
        "row_newbcast", "row_share", "row_xmask", "dpp8")  # fmt: skip


def is_dpp(instruction: Instruction) -> bool:
    return any(name in instruction.modifiers for name in _DPP)


def source_lanes(instruction: Instruction, lanes: int) -> np.ndarray:
    """The lane that each takes its value from; -1 for none."""
    lane = np.arange(lanes)
    row, inside = lane & ~15, lane & 15
    for name in _DPP:
        if name in instruction.modifiers:
            break
    number = int(re.findall(r"\d+", instruction.modifiers[name] + " 0")[0])
    if name in ("quad_perm", "dpp8"):
        order = np.array(instruction.numbers(name, []))
        return lane // order.size * order.size + order[lane % order.size]
    if name in ("row_shl", "row_shr"):
        at = inside + number if name == "row_shl" else inside - number
        return np.where((at >= 0) & (at < 16), row + at, -1)
    if name == "row_bcast":  # the last lane of a row, or of two, to the next
        span = number + 1
        return np.where(lane // span % 2 == 1, lane // span * span - 1, -1)
    moved = {
        "row_ror": (inside - number) % 16, "row_mirror": 15 - inside, "row_half_mirror": inside ^ 7,
        "row_newbcast": inside * 0 + number, "row_share": inside * 0 + number, "row_xmask": inside ^ number,
    }  # fmt: skip
    return row + moved[name]


def moved(wave: Wave, instruction: Instruction, value: Value | Constant) -> tuple[Value, np.ndarray]:
    """A source that comes from other lanes, and the lanes that are written."""
    assert isinstance(value, Value)
    lanes, active = source_lanes(instruction, wave.lanes), wave.active
    reached = (lanes >= 0) & (active[lanes] | ("fi" in instruction.modifiers))
    fills = instruction.modifiers.get("bound_ctrl") is not None
    taken = np.where(reached, np.broadcast_to(value.raw, wave.lanes)[lanes], np.uint64(0))
    lane = np.arange(wave.lanes)
    rows, banks = (
        instruction.offset(name) if name in instruction.modifiers else 0xF for name in ("row_mask", "bank_mask")
    )
    kept = (rows >> lane // 16 & 1).astype(bool) & (banks >> lane // 4 % 4 & 1).astype(bool)
    return of_bits("b", 64, taken), active & kept & (reached | fills)


def through_memory(wave: Wave, instruction: Instruction) -> None:
    """`ds_bpermute`, `ds_permute` and `ds_swizzle`, which use no memory."""
    target, *sources = instruction.operands
    active = wave.active
    lane = np.arange(wave.lanes)
    if instruction.base == "ds_swizzle_b32":
        lanes, data = swizzled(instruction.modifiers["offset"], lane), wave.words(sources[0])[0]
    elif instruction.base == "ds_bpermute_b32":
        offset = np.uint32(instruction.offset())
        lanes = ((wave.words(sources[0])[0] + offset) // 4).astype(int) % wave.lanes
        data = wave.words(sources[1])[0]
    else:
        raise NotUnderstood(f"{instruction}")
    found = np.where(active[lanes], data[lanes], np.uint32(0))
    wave.write_lanes(target, [found], active)


def swizzled(text: str, lane: np.ndarray) -> np.ndarray:
    """`swizzle(SWAP,16)`, `swizzle(BROADCAST,32,0)`, `swizzle(BITMASK_PERM,"00p11")`."""
    kind, *parts = re.findall(r"[\w]+", text)[1:]
    if kind == "SWAP":
        return lane ^ int(parts[0])
    if kind == "REVERSE":
        return lane ^ (int(parts[0]) - 1)
    if kind == "BROADCAST":
        return lane & ~(int(parts[0]) - 1) | int(parts[1])
    if kind == "QUAD_PERM":
        return lane & ~3 | np.array([int(part) for part in parts])[lane & 3]
    raise NotUnderstood(f"the pattern {text}")


def swap_blocks(wave: Wave, instruction: Instruction) -> None:
    """`v_permlane32_swap`: odd blocks of so many lanes of the first register change places with even ones of the
    second."""
    if not wave.active.all():
        raise Report(f"{instruction}: lanes of the wave are off")
    width = int(instruction.base.removeprefix("v_permlane").partition("_")[0])
    first, second = (wave.words(text)[0] for text in instruction.operands)
    odd = np.arange(wave.lanes) & width != 0
    first[odd], second[~odd] = second[~odd].copy(), first[odd].copy()


def across_rows(wave: Wave, instruction: Instruction) -> None:
    """`v_permlanex16_b32`: each lane takes one of the other row of 16, which scalars name."""
    target, source, low, high = instruction.operands[:4]
    choice = wave.scalar(low) | wave.scalar(high) << 32
    inside = np.array([choice >> 4 * n & 15 for n in range(16)])
    lane = np.arange(wave.lanes)
    row = lane & ~15 if "permlane16" in instruction.base else (lane & ~15) ^ 16
    lanes, active = row + inside[lane & 15], wave.active
    chosen = instruction.numbers("op_sel", [0, 0])
    reached = active[lanes] | bool(chosen[0])
    data = np.where(reached, wave.words(source)[0][lanes], np.uint32(0))
    wave.write_lanes(target, [data], active & (reached | bool(chosen[1])))


def count_below(wave: Wave, instruction: Instruction) -> None:
    """`v_mbcnt`: bits of a mask below the lane, in the lower or upper 32."""
    target, mask, start = instruction.operands
    bits = [wave.scalar(mask) >> n & 1 for n in range(32)]
    below = np.concatenate([[0], np.cumsum(bits)])
    first = 32 if "_hi_" in instruction.base else 0
    counted = below[np.clip(np.arange(wave.lanes) - first, 0, 32)]
    before = wave.read(start)
    before = before.seen_as("u", 32).raw if isinstance(before, Constant) else before
    wave.write_lanes(target, [counted.astype(np.uint64) + before], wave.active)


def one_lane(wave: Wave, instruction: Instruction) -> None:
    """`v_readfirstlane`, `v_readlane`, `v_writelane`."""
    target, source, *rest = instruction.operands
    if instruction.base == "v_writelane_b32":
        only = np.arange(wave.lanes) == wave.scalar(rest[0]) % wave.lanes
        return wave.write_lanes(target, [np.array([wave.scalar(source)], np.uint32)], only)
    active = np.flatnonzero(wave.active)
    lane = wave.scalar(rest[0]) % wave.lanes if rest else int(active[0]) if active.size else 0
    if not source.startswith("v"):
        raise Report(f"{instruction}: not a register of lanes")
    wave.write_scalar(target, int(wave.words(source)[0][lane]))
