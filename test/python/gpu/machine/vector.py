"""Instructions of vector units: operands with their modifiers, and the manual's pseudo-code."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

from . import exchange
from .decode import Instruction
from .semantics import Constant, Execution, Lanes, NotUnderstood, execute, odd_sum
from .values import Value, floating, integer, mask_of, of_bits
from .wave import EXEC, VCC, Place, Wave

_CARRIES_OUT = re.compile(r"v_(add|sub|subrev|addc|subb|subbrev)_co|v_div_scale|v_mad_(co_)?[ui]64_")
_CHOICES = ("v_cndmask_b16", "v_cndmask_b32")
_CARRIES_IN = re.compile(r"v_(addc|subb|subbrev)_co|v_\w+_co_ci_")
_PACKED = re.compile(r"v_pk_\w+_[fuib]16$")
_PACKED_PAIRS = re.compile(r"v_pk_(\w+_f32|mov_b32)$")
_MIXED = re.compile(r"v_(fma|mad)_mix")
_SELECTED = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8), "WORD_0": (0, 16),
             "WORD_1": (16, 16), "DWORD": (0, 32)}  # fmt: skip
# What pseudo-code's text leaves to prose, or writes with arrays.
_ONE = np.uint64(1)


class Unit:
    """Vector instructions of a generation (`cdna`, `rdna3`, `rdna4`)."""

    def __init__(self, generation: str, is_ieee: bool) -> None:
        self.generation = generation
        self.always = {"WAVE_MODE.IEEE": integer("u", 1, is_ieee)}

    def run(self, wave: Wave, instruction: Instruction) -> None:
        """Both halves of a pair read before one writes."""
        writes = [self.compute(wave, half) for half in instruction.halves]
        for half, (names, where) in zip(instruction.halves, writes):
            self.write(wave, half, names, where)

    def compute(self, wave: Wave, instruction: Instruction) -> tuple[Execution, np.ndarray]:
        sources, where = self.sources(wave, instruction)
        opcode = instruction.base
        if _MIXED.match(opcode):
            return self.mixed(instruction, sources), where
        if opcode == "v_dot4_i32_iu8":
            return self.dot_of_bytes(instruction, sources), where
        if opcode in ("v_cvt_pk_f16_f32", "v_cvt_pk_bf16_f32"):
            return self.pair_of_halves(sources, np.float16 if "_f16_" in opcode else ml_dtypes.bfloat16), where
        if opcode == "v_pk_mov_b32":
            return self.pair_of_words(sources), where
        if opcode.startswith("v_bitop"):
            return self.any_of_bits(instruction, sources), where
        names = {**self.always, **{f"S{place}": each for place, each in enumerate(sources)}}
        self.add_masks(wave, instruction, names)
        target = instruction.operands[0].removesuffix(".l").removesuffix(".h")
        if not opcode.startswith("v_cmp"):
            old = wave.read(target)
            assert isinstance(old, np.ndarray)
            names["D0"] = of_bits("b", 64, old >> np.uint64(16) if instruction.operands[0].endswith(".h") else old)
        if re.match(r"v_mad_(co_)?[ui]64_", opcode):
            return self.wide_product(opcode, names), where
        if re.match(r"v_(fmaak|fmamk|madak|madmk)_", opcode):
            constant = names.pop("S2" if "ak_" in opcode else "S1")
            names |= {"SIMM32": constant} | ({"S1": names.pop("S2")} if "mk_" in opcode else {})
        return execute(self.generation, opcode, names), where

    def sources(self, wave: Wave, instruction: Instruction) -> tuple[list[Value | Constant], np.ndarray]:
        """The sources as pseudo-code sees them, and the lanes that take part."""
        is_exec = instruction.base.startswith("v_cmpx_") and self.generation != "cdna"
        texts = instruction.operands if is_exec else instruction.operands[1:]
        if _CARRIES_OUT.match(instruction.base):
            texts = texts[1:]
        if (_CARRIES_IN.match(instruction.base) or instruction.base in _CHOICES) and len(texts) == 3:
            texts = texts[:2]
        where = wave.active
        found: list[Value | Constant] = []
        for number, text in enumerate(texts):
            value = self.source(wave, instruction, text, number)
            if number == 0 and exchange.is_dpp(instruction):
                value, where = exchange.moved(wave, instruction, value)
            found.append(value)
        return found, where

    def source(self, wave: Wave, instruction: Instruction, text: str, number: int) -> Value | Constant:
        plain = re.sub(r"^sext\((.*)\)$|^-?\|(.*)\|$|^-(?=[vsa|])(.*)$", lambda m: m[1] or m[2] or m[3], text)
        half = re.search(r"\.[lh]$", plain)
        raw = wave.read(plain[:-2] if half else plain)
        if half and isinstance(raw, np.ndarray):
            raw = raw >> np.uint64(16) if half[0] == ".h" else raw
        else:  # a half that is named has its bit of `op_sel` as well
            raw = self.selected(instruction, raw, number, text.startswith("sext"))
        raw = self.packed(instruction, raw, number)
        if isinstance(raw, Constant):
            return raw if text == plain else self.signed(instruction, raw.seen_as("f", 32).raw, text, plain)
        return self.signed(instruction, raw, text, plain)

    def signed(self, instruction: Instruction, raw: np.ndarray, text: str, plain: str) -> Value:
        """Applies -x and |x|, which change a float's sign bit."""
        is_mixed = bool(_MIXED.match(instruction.base))  # whose signs are those of what is made wider
        if text != plain and not text.startswith("sext") and not is_mixed:
            kinds = re.findall(r"_[fuib](16|32|64)", instruction.base)
            sign = _ONE << np.uint64(int(kinds[-1]) - 1 if kinds else 31)
            raw = raw & ~sign if "|" in text else raw
            raw = raw ^ sign if text.startswith("-") else raw
        return of_bits("b", 64, raw)

    def selected(
        self, instruction: Instruction, raw: np.ndarray | Constant, number: int, extends: bool
    ) -> np.ndarray | Constant:
        """The part of a source that SDWA or `op_sel` names."""
        if isinstance(raw, Constant):
            return raw
        if part := instruction.modifiers.get(f"src{number}_sel"):
            shift, bits = _SELECTED[part]
            chosen = integer("i", bits, raw >> np.uint64(shift))
            return chosen.signed.view(np.uint64) & mask_of(32) if extends else chosen.raw
        chosen = instruction.numbers("op_sel", [])
        is_plain = not (_PACKED.match(instruction.base) or _PACKED_PAIRS.match(instruction.base)
                        or _MIXED.match(instruction.base) or instruction.base.startswith("v_dot"))  # fmt: skip
        return raw >> np.uint64(16) if is_plain and number < len(chosen) and chosen[number] else raw

    def packed(self, instruction: Instruction, raw: np.ndarray | Constant, number: int) -> np.ndarray | Constant:
        """A source of two halves, each of which names its half."""
        bits = 16 if _PACKED.match(instruction.base) else 32 if _PACKED_PAIRS.match(instruction.base) else 0
        if not bits:
            return raw
        kind = re.findall(r"_([fuib])(?:16|32)$", instruction.base)[0]
        if isinstance(raw, Constant):
            raw = raw.seen_as("f" if kind == "f" else "u", bits).raw
            raw = raw | raw << np.uint64(32) if bits == 32 else raw
        low = instruction.numbers("op_sel", [0, 0, 0])[number]
        high = instruction.numbers("op_sel_hi", [1, 1, 1])[number]
        halves = [raw >> np.uint64(bits * half) & mask_of(bits) for half in (low, high)]
        for half, name in enumerate(("neg_lo", "neg_hi")):
            if instruction.numbers(name, [0, 0, 0])[number]:
                halves[half] = halves[half] ^ _ONE << np.uint64(bits - 1)
        return halves[0] | halves[1] << np.uint64(bits)

    def add_masks(self, wave: Wave, instruction: Instruction, names: dict) -> None:
        """VCC and EXEC, or the registers that stand for VCC."""
        count = wave.lanes // 32
        first = VCC
        is_carry = _CARRIES_IN.match(instruction.base) or instruction.base in _CHOICES
        if is_carry and len(instruction.operands) > 3 + bool(_CARRIES_OUT.match(instruction.base)):
            first = Place(instruction.operands[-1]).first
        names["VCC"] = Lanes(wave.mask(first, count))
        names["EXEC"] = Lanes(wave.active)
        names["laneId"] = integer("u", 32, np.arange(wave.lanes))

    def mixed(self, instruction: Instruction, sources: list) -> Execution:
        """`v_fma_mix`: each source is a float of 32 bits, or one half of a register."""
        low, high = instruction.numbers("op_sel", [0, 0, 0]), instruction.numbers("op_sel_hi", [0, 0, 0])
        parts = []
        for number, source in enumerate(sources):
            if isinstance(source, Constant):
                parts.append(source.seen_as("f", 16 if high[number] else 32).number.astype(np.float64))
            elif high[number]:
                parts.append(of_bits("f", 16, source.raw >> np.uint64(16 * low[number])).data.astype(np.float64))
            else:
                parts.append(of_bits("f", 32, source.raw).data.astype(np.float64))
            text = instruction.operands[1 + number]
            if "|" in text:
                parts[-1] = np.abs(parts[-1])
            if re.match(r"-[vsa|]", text):
                parts[-1] = -parts[-1]
        done = floating(32, odd_sum(parts[0] * parts[1], parts[2]))
        execution = Execution(self.generation, {"D0": done})
        if "mix_f32" not in instruction.base:
            execution.names["D0"] = floating(16, done.data)
        return execution

    def dot_of_bytes(self, instruction: Instruction, sources: list) -> Execution:
        signs = instruction.numbers("neg_lo", [0, 0, 0])
        total = self.bits_of(sources[2], "i")
        for byte in range(4):
            parts = [
                integer("i" if signs[n] else "u", 8, self.bits_of(sources[n], "u") >> np.uint64(8 * byte)) for n in (0, 1)
            ]
            total = total + (parts[0].number.astype(np.int64) * parts[1].number.astype(np.int64)).view(np.uint64)
        return Execution(self.generation, {"D0": integer("i", 32, total)})

    def pair_of_halves(self, sources: list, kind: Any) -> Execution:
        """Rounded to the nearest, as the mode of our kernels says."""
        with np.errstate(over="ignore"):
            low, high = (
                self.bits_of(each, "f").astype(np.uint32).view(np.float32).astype(kind).view(np.uint16).astype(np.uint64)
                for each in sources[:2]
            )
        return Execution(self.generation, {"D0": of_bits("b", 32, low | high << np.uint64(16))})

    def pair_of_words(self, sources: list) -> Execution:
        """The words that `op_sel` names, which are the lower halves here."""
        low, high = (each.raw & mask_of(32) for each in sources)
        return Execution(self.generation, {"D0": of_bits("b", 64, low | high << np.uint64(32))})

    def any_of_bits(self, instruction: Instruction, sources: list) -> Execution:
        """A function of three bits: bit 4 a + 2 b + c of the modifier is its value for a, b and c. Of two: c is 0."""
        table = int(instruction.modifiers["bitop3"], 0)
        sources = [*sources, Constant("0")][:3]
        given = [self.bits_of(source, "u") & np.uint64(0xFFFFFFFF) for source in sources]
        result = np.zeros_like(given[0] | given[1] | given[2])
        for number in range(8):
            if table >> number & 1:
                each = [bits if number >> place & 1 else ~bits for bits, place in zip(given, (2, 1, 0))]
                result |= each[0] & each[1] & each[2]
        bits = 16 if instruction.base.endswith("b16") else 32
        return Execution(self.generation, {"D0": of_bits("b", bits, result & mask_of(bits))})

    @staticmethod
    def bits_of(source: Value | Constant, kind: str) -> np.ndarray:
        return (source.seen_as(kind, 32) if isinstance(source, Constant) else source).raw

    def wide_product(self, opcode: str, names: dict) -> Execution:
        """The sum has 65 bits, and the last is the carry."""
        kind = re.search(r"_([ui])64_", opcode)[1]  # type: ignore[index]
        parts = [
            (each.seen_as(kind, bits) if isinstance(each, Constant) else of_bits(kind, bits, each.raw)).number
            for each, bits in ((names["S0"], 32), (names["S1"], 32), (names["S2"], 64))
        ]
        lanes = max(part.size for part in parts)
        exact = [int(a) * int(b) + int(c) for a, b, c in zip(*(np.broadcast_to(part, lanes) for part in parts))]
        low = np.array([each & 0xFFFFFFFFFFFFFFFF for each in exact], np.uint64)
        carry = np.array([bool(each >> 64 & 1) for each in exact])
        return Execution(self.generation, {"D0": of_bits("b", 64, low), "VCC": Lanes(carry)})

    def write(self, wave: Wave, instruction: Instruction, done: Execution, where: np.ndarray) -> None:
        opcode, target = instruction.base, instruction.operands[0]
        count = wave.lanes // 32
        if opcode.startswith("v_cmp"):
            return self.write_comparison(wave, instruction, done, where)
        if _CARRIES_OUT.match(opcode) and instruction.operands[1] != "null":
            carry = done.names["VCC"].bits & where
            place = Place(instruction.operands[1])
            wave.set_mask(place.first, carry | wave.mask(place.first, count) & ~where, count)
        value = self.limited(instruction, done)
        target, words = self.placed(wave, instruction, value, done.written.get("D0", value.bits))
        wave.write_lanes(target, words, where)

    def write_comparison(self, wave: Wave, instruction: Instruction, done: Execution, where: np.ndarray) -> None:
        """Lanes that take no part get 0."""
        count = wave.lanes // 32
        is_exec = instruction.base.startswith("v_cmpx")
        result = done.names["D0"] if isinstance(done.names.get("D0"), Lanes) else done.names["EXEC"]
        bits = np.broadcast_to(result.bits, wave.lanes) & where
        if not is_exec or self.generation == "cdna":
            wave.set_mask(Place(instruction.operands[0]).first, bits, count)
        if is_exec:
            wave.set_mask(EXEC, bits, count)

    def limited(self, instruction: Instruction, done: Execution) -> Value:
        """Applies `mul:2`, `div:2` and `clamp` to a float; a difference from 0 on with `clamp` ends there."""
        value = done.names["D0"]
        factor = {"mul": {"2": 2.0, "4": 4.0}, "div": {"2": 0.5}}
        named = [factor[name][instruction.modifiers[name]] for name in factor if name in instruction.modifiers]
        if not named and "clamp" not in instruction.modifiers:
            return value
        if re.match(r"v_sub_(nc_)?u32", instruction.base):
            a, b = (self.bits_of(done.names[name], "u") for name in ("S0", "S1"))
            return integer("u", 32, np.where(a < b, np.uint64(0), value.raw))
        bits = re.search(r"_f(16|32|64)(?:_|$)", instruction.base)
        if not bits or instruction.base.startswith("v_pk_"):
            raise NotUnderstood(f"{instruction}")
        data = of_bits("f", int(bits[1]), value.raw).data
        for each in named:
            data = data * data.dtype.type(each)
        if "clamp" in instruction.modifiers:
            data = np.nan_to_num(np.clip(data, 0, 1), nan=0.0)
        return floating(int(bits[1]), data)

    def placed(
        self, wave: Wave, instruction: Instruction, value: Value, bits: int
    ) -> tuple[str, list[np.ndarray]]:
        """The registers to write. Sixteen bits leave the other half as it is, but on CDNA make it 0."""
        target, raw = instruction.operands[0], value.raw
        is_high = target.endswith(".h") or instruction.base.endswith(("mixhi_f16",))
        chosen = instruction.numbers("op_sel", [])
        is_high |= len(chosen) == len(instruction.operands) and bool(chosen[-1]) and bits <= 16
        target = target.removesuffix(".l").removesuffix(".h")
        part = instruction.modifiers.get("dst_sel", "DWORD")
        if part != "DWORD":
            return target, [self.into_part(wave, instruction, part, raw)]
        keeps = self.generation != "cdna" or "mixlo" in instruction.base or is_high
        if bits <= 16 and keeps:
            old = wave.words(target)[0]
            half = raw & np.uint64(0xFFFF)
            joined = old & np.uint64(0xFFFF) | half << np.uint64(16) if is_high else old & np.uint64(0xFFFF0000) | half
            return target, [joined]
        raw = raw & mask_of(bits) if bits <= 16 else raw
        return target, [raw >> np.uint64(32 * n) & mask_of(32) for n in range(Place(target).count)]

    @staticmethod
    def into_part(wave: Wave, instruction: Instruction, part: str, raw: np.ndarray) -> np.ndarray:
        shift, bits = _SELECTED[part]
        new = (raw & mask_of(bits)) << np.uint64(shift)
        unused = instruction.modifiers.get("dst_unused", "UNUSED_PAD")
        if unused == "UNUSED_SEXT":
            raise NotUnderstood(f"{instruction}")
        old = wave.words(instruction.operands[0])[0].astype(np.uint64)
        return new | (old & ~(mask_of(bits) << np.uint64(shift)) if unused == "UNUSED_PRESERVE" else np.uint64(0))
