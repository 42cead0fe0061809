"""Rules that change one place of the PTX of kernels whose products warpgroups compute.

A rule is a function of a text's statements that gives each changed text with the place. Most break the order
between copies, threads and products; the others change which elements a product takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from box_rules import BOX_RULES, LOADER_RULES, STORE_RULES
from cluster_rules import AXES_RULES, CLUSTER_RULES
from mutant_lines import (
    BARRIER, FENCE, WAIT, Changed, Lines, Rule, block_from, drop, move_behind_barrier, moved, places, replaced, ring_size, weaken,
)  # fmt: skip

PRODUCT = re.compile(
    r"(wgmma\.mma_async\S+ )\{([^}]*)\}, (\{[^}]*\}|\S+), (\S+), (yes|no)((?:, [01])*);"
)
COMMIT = "wgmma.commit_group.sync.aligned;"
COPY_WAIT = re.compile(r"cp\.async\.wait_group (\d+);")
COPY = re.compile(r"cp\.async\.c[ag]\.shared\.global .*")
DESCRIPTOR = re.compile(r"(or\.b64 (%rd\d+), %rd\d+, )(-?\d{15,});")
LOW_FIELDS = re.compile(r"(or\.b32 %r\d+, %r\d+, )(\d{5,});")  # where the address depends on slots or warps
ADDITION = re.compile(r"add\.rn\.f32 (%r\d+), (%r\d+), (%r\d+);")
REGISTER = re.compile(r"%[a-z]+\d+")


#---- Rules of order


def needed_lines(lines: Lines, place: int, first: int) -> list[int]:
    """The places from `first` on that compute the registers of the line at a place, in order."""
    needed, found = set(REGISTER.findall(lines[place])), [place]
    for i in range(place - 1, first - 1, -1):
        registers = REGISTER.findall(lines[i])
        if registers and registers[0] in needed and not lines[i].startswith(("@", "st.", "cp.", "wgmma")):
            needed |= set(registers[1:])
            found.append(i)
    return sorted(found)


def move_copy_before_barrier(lines: Lines) -> Changed:
    for place in places(lines, COPY):
        barriers = [i for i in places(lines, BARRIER) if i < place and place in block_from(lines, i)]
        if barriers:
            moving = needed_lines(lines, place, barriers[-1] + 1)
            rest = [line for i, line in enumerate(lines) if i not in moving]
            yield place, [*rest[: barriers[-1]], *(lines[i] for i in moving), *rest[barriers[-1] :]]


def move_behind_copies(pattern: str | re.Pattern[str]) -> Rule:
    """Barriers and waits behind the copies that follow them."""

    def rule(lines: Lines) -> Changed:
        for place in places(lines, pattern):
            block = block_from(lines, place)
            copies = [i for i in block if COPY.fullmatch(lines[i])]
            commit = next((i for i in block if copies and i > copies[0] and lines[i] == "cp.async.commit_group;"), None)
            if commit is not None:
                yield place, moved(lines, place, commit)

    return rule


def move_fence_before_copy_wait(lines: Lines) -> Changed:
    for place in places(lines, FENCE):
        wait = next((i for i in range(place - 1, place - 5, -1) if COPY_WAIT.fullmatch(lines[i])), None)
        if wait is not None:
            yield place, moved(lines, wait, place)


#---- Registers in flight


def touch(written: str, behind: str | re.Pattern[str], operand: str) -> Rule:
    """Inserts an instruction on the first register of the last product, sums or A, behind some lines."""

    def rule(lines: Lines) -> Changed:
        for place in places(lines, behind):
            products = [p for i in range(place + 1) if (p := PRODUCT.fullmatch(lines[i]))]
            if not products or (operand == "a" and not products[-1][3].startswith("{")):
                continue
            text = products[-1][2] if operand == "sums" else products[-1][3]
            register = REGISTER.findall(text)[0]
            yield place, replaced(lines, place, lines[place], written.format(register))

    return rule


def first_addition(lines: Lines, wait: int) -> int | None:
    """The place of the first addition of sums that a wait is for; other statements are comments."""
    place = next(i for i in range(wait + 1, len(lines)) if not lines[i].startswith("//"))
    return place if ADDITION.fullmatch(lines[place]) else None


def add_in_flight(lines: Lines) -> Changed:
    """Sums apart from the accumulator that are added to it before they are awaited."""
    for place in places(lines, WAIT):
        if (addition := first_addition(lines, place)) is not None:
            yield place, moved(lines, place, addition)


def touch_between(lines: Lines) -> Changed:
    """Sums written between two products that both add to them."""
    for place in places(lines, PRODUCT):
        if PRODUCT.fullmatch(lines[place + 1]):
            register = REGISTER.findall(lines[place])[0]
            yield place, replaced(lines, place, lines[place], f"mov.b32 {register}, {register};")


#---- Which elements a product takes


def products(change: Callable[[re.Match[str]], str | None]) -> Rule:
    def rule(lines: Lines) -> Changed:
        for place in places(lines, PRODUCT):
            match = PRODUCT.fullmatch(lines[place])
            assert match
            new = change(match)
            if new and new != lines[place]:
                yield place, replaced(lines, place, new)

    return rule


def lose_sum(lines: Lines) -> Changed:
    """The first of some sums apart from the accumulator that is not added to it."""
    for place in places(lines, WAIT):
        if (addition := first_addition(lines, place)) is not None:
            match = ADDITION.fullmatch(lines[addition])
            assert match
            yield addition, replaced(lines, addition, f"mov.b32 {match[1]}, {match[2]};")


def with_parts(match: re.Match[str], **parts: str) -> str:
    names = ("head", "sums", "a", "b", "scale", "rest")
    p = dict(zip(names, match.groups())) | parts
    return f"{p['head']}{{{p['sums']}}}, {p['a']}, {p['b']}, {p['scale']}{p['rest']};"


def swap(text: str, first: int, second: int) -> str:
    parts = text.strip("{}").split(", ")
    parts[first], parts[second] = parts[second], parts[first]
    return ", ".join(parts)


def swap_a(match: re.Match[str]) -> str | None:
    return with_parts(match, a="{" + swap(match[3], 0, 1) + "}") if match[3].startswith("{") else None


def turn_trans(at: int) -> Callable[[re.Match[str]], str | None]:
    """The other order of A (0) or B (-1) in shared memory."""

    def change(match: re.Match[str]) -> str | None:
        numbers = match[6].split(", ")[1:]
        if len(numbers) < (4 if at == 0 else 3):  # behind the signs of both
            return None
        place = 2 if at == 0 else len(numbers) - 1
        numbers[place] = str(1 - int(numbers[place]))
        return with_parts(match, rest="".join(f", {number}" for number in numbers))

    return change


def exchange_operands(match: re.Match[str]) -> str | None:
    return None if match[3].startswith("{") else with_parts(match, a=match[4], b=match[3])


def fields(change: Callable[[int], int]) -> Rule:
    """Descriptors whose bits above the address are others."""

    def rule(lines: Lines) -> Changed:
        for place in places(lines, DESCRIPTOR):
            match = DESCRIPTOR.fullmatch(lines[place])
            assert match
            bits = int(match[3]) % (1 << 64)
            new = change(bits) % (1 << 64)
            if new != bits:
                yield place, replaced(lines, place, f"{match[1]}{new - (1 << 64) if new >> 63 else new};")

    return rule


def low_fields(change: Callable[[int], int]) -> Rule:
    """Descriptors whose bits above the address are others, also where their lower words are computed first."""
    of_whole = fields(change)

    def rule(lines: Lines) -> Changed:
        yield from of_whole(lines)
        for place in places(lines, LOW_FIELDS):
            match = LOW_FIELDS.fullmatch(lines[place])
            assert match
            bits = int(match[2])
            if bits % 65536 == 0 and change(bits) != bits:
                yield place, replaced(lines, place, f"{match[1]}{change(bits)};")

    return rule


def multiply_field(bits: int, first: int, factor: int) -> int:
    """A descriptor with its stride or leading offset multiplied."""
    value = bits >> first & 0x3FFF
    return bits & ~(0x3FFF << first) | ((value * factor) & 0x3FFF) << first


def row_bytes(bits: int) -> int:
    return {0: 16, 1: 128, 2: 64, 3: 32}[bits >> 62]


def shift_start(bytes_of: Callable[[int], int]) -> Rule:
    """Descriptors whose operand begins some bytes, which depend on its rows', later."""

    def rule(lines: Lines) -> Changed:
        for place in places(lines, DESCRIPTOR):
            match = DESCRIPTOR.fullmatch(lines[place])
            assert match
            by = bytes_of(row_bytes(int(match[3]) % (1 << 64))) >> 4
            yield place, replaced(lines, place, lines[place], f"add.s64 {match[2]}, {match[2]}, {by};")

    return rule


def shift_step(by: int) -> Rule:
    """Steps along k within a product that are longer."""
    step = re.compile(r"(?:add\.s64 [ab]\d+, %rd\d+|add\.u32 low, low), (\d+);")

    def rule(lines: Lines) -> Changed:
        for place in places(lines, step):
            head, _, number = lines[place].rstrip(";").rpartition(" ")
            yield place, replaced(lines, place, f"{head} {int(number) + by};")

    return rule


#---- Slots


def ring_of(lines: Lines) -> set[str]:
    """The registers that hold numbers of slots."""
    turn = re.compile(r"selp\.b32 (%r\d+), 0, %r\d+, %p\d+;")
    ring = {m[1] for line in lines if (m := turn.fullmatch(line))}
    copy = re.compile(r"mov\.b32 (%r\d+), (%r\d+);")
    for _ in range(4):
        ring |= {m[1] for line in lines if (m := copy.fullmatch(line)) and m[2] in ring}
    return ring


def another_slot(lines: Lines) -> Changed:
    """Addresses of slots computed from the number of another step's."""
    ring = ring_of(lines)
    shift = re.compile(r"shl\.b32 (%r\d+), (%r\d+), (\d+);")
    for place in places(lines, shift):
        match = shift.fullmatch(lines[place])
        assert match
        if match[2] in ring:
            for other in sorted(ring - {match[2]}):
                yield place, replaced(lines, place, f"shl.b32 {match[1]}, {other}, {match[3]};")


def first_slot(lines: Lines) -> Changed:
    """Slots that begin half a slot later, in bytes or in the units of 16 of descriptors."""
    ring = ring_of(lines)
    base = re.compile(r"shl\.b32 (%r\d+), (%r\d+), (1[123]|[789]);")
    for place in places(lines, base):
        match = base.fullmatch(lines[place])
        assert match
        is_of_bytes = int(match[3]) > 10
        if not is_of_bytes and match[2] not in ring:
            continue
        by = 2048 if is_of_bytes else 128
        yield place, replaced(lines, place, lines[place], f"add.s32 {match[1]}, {match[1]}, {by};")


ORDER_RULES: dict[str, Rule] = {
    "proxy fence dropped": drop(FENCE),
    "proxy fence before the wait for copies": move_fence_before_copy_wait,
    "proxy fence behind the barrier": move_behind_barrier(FENCE),
    "product fence dropped": drop("wgmma.fence.sync.aligned;"),
    "products not committed": drop(COMMIT),
    "products not awaited": drop(WAIT),
    "one group of products fewer awaited": weaken(WAIT, 1),
    "two groups of products fewer awaited": weaken(WAIT, 2),
    "products awaited behind the barrier": move_behind_barrier(WAIT),
    "products awaited behind the copies": move_behind_copies(WAIT),
    "copies not committed": drop("cp.async.commit_group;"),
    "copies not awaited": drop(COPY_WAIT),
    "one group of copies fewer awaited": weaken(COPY_WAIT, 1),
    "two groups of copies fewer awaited": weaken(COPY_WAIT, 2),
    "copies awaited behind the barrier": move_behind_barrier(COPY_WAIT),
    "barrier dropped": drop(BARRIER),
    "barrier behind the copies": move_behind_copies(BARRIER),
    "copy in front of the barrier": move_copy_before_barrier,
    "copy dropped": drop(COPY),
    "sums in flight read": touch("mov.b32 %mine, {0};", COMMIT, "sums"),
    "sums in flight read behind a wait": touch("mov.b32 %mine, {0};", re.compile(WAIT.pattern.replace(r"(\d+)", "[1-9]")), "sums"),
    "sums in flight copied to themselves": touch("mov.b32 {0}, {0};", COMMIT, "sums"),
    "sums in flight overwritten": touch("mov.b32 {0}, 1065353216;", COMMIT, "sums"),
    "sums in flight added": add_in_flight,
    "sums written between products": touch_between,
    "A in flight read": touch("mov.b32 %mine, {0};", COMMIT, "a"),
    "A in flight overwritten": touch("mov.b32 {0}, 0;", COMMIT, "a"),
}  # fmt: skip

ELEMENT_RULES: dict[str, Rule] = {
    "sums exchanged": products(lambda m: with_parts(m, sums=swap(m[2], 0, 1))),
    "sums of other rows exchanged": products(lambda m: with_parts(m, sums=swap(m[2], 0, -1))),
    "registers of A exchanged": products(swap_a),
    "sum not added": lose_sum,
    "sums begun or not": products(lambda m: with_parts(m, scale="no" if m[5] == "yes" else "yes")),
    "A in the other order": products(turn_trans(0)),
    "B in the other order": products(turn_trans(-1)),
    "operands exchanged": products(exchange_operands),
    "another swizzle": fields(lambda bits: bits ^ 1 << 62),
    "the next swizzle": fields(lambda bits: bits ^ 1 << 63),
    "no swizzle": fields(lambda bits: bits & (1 << 62) - 1),
    "stride doubled": fields(lambda bits: multiply_field(bits, 32, 2)),
    "stride lost": fields(lambda bits: multiply_field(bits, 32, 0)),
    "leading offset doubled": low_fields(lambda bits: multiply_field(bits, 16, 2)),
    "leading offset lost": low_fields(lambda bits: multiply_field(bits, 16, 0)),
    "operand 16 bytes later": shift_start(lambda _: 16),
    "operand a row group later": shift_start(lambda row: 8 * row),
    "operand a slab later": shift_start(lambda row: 64 * row),
    "step of k 16 bytes longer": shift_step(1),
    "step of k 512 bytes longer": shift_step(32),
    "a slot fewer": ring_size(-1),
    "a slot more": ring_size(1),
    "slot of another step": another_slot,
    "slot half a slot later": first_slot,
}  # fmt: skip

RULES = {
    "all": ORDER_RULES | ELEMENT_RULES, "order": ORDER_RULES, "elements": ELEMENT_RULES,
    "boxes": ORDER_RULES | BOX_RULES, "loader": ORDER_RULES | BOX_RULES | LOADER_RULES,
    "stores": ORDER_RULES | STORE_RULES, "cluster": CLUSTER_RULES, "axes": CLUSTER_RULES | AXES_RULES,
}  # fmt: skip

# Rules whose every mutant touches what a product in flight has: a run that reports nothing is a miss, whatever
# its numbers are.
ALWAYS_WRONG = {name for name in ORDER_RULES if "in flight" in name} | {"sums written between products"}
