"""Bugs that are seeded in machine code are reported, or make wrong numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gpu.generated.test_wait_counts import weaken
from gpu.generated.wait_counts import Key, Machine, State, access_of, issue, wait
from gpu.machine.cases import CASES
from gpu.machine.decode import CodeObject, Instruction
from gpu.machine.run import missing, on_machine
from gpu.machine.semantics import NotUnderstood
from gpu.machine.waits import UnderWay
from gpu.machine.wave import Report

pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(bool(missing()), reason=missing() or ""),
]

ARCHS = {"gfx942": 9, "gfx1100": 11, "gfx1201": 12, "gfx1250": 12}
Edit = Callable[[str], str | None]  # the text of an instruction to another, None where it does not apply


def replaced(code: CodeObject, place: int, text: str) -> None:
    code.at[place] = Instruction(text, place, code.at[place].words)


def outcome(name: str, arch: str, change: Callable[[CodeObject], None]) -> str | None:
    """What gives the change away; None for nothing."""
    try:
        with on_machine(arch, change):
            CASES[name](np.random.default_rng(5))
    except Report as report:
        return str(report)
    except AssertionError:
        return "wrong numbers"
    return None


def instructions(name: str, arch: str) -> list[Instruction]:
    """Those that are executed at least once, in order of their places."""
    found: dict[int, Instruction] = {}

    class Watched(dict[int, Instruction]):
        def get(self, place: int, default: Any = None) -> Any:
            found[place] = self[place]
            return found[place]

    def watch(code: CodeObject) -> None:
        code.at = Watched(code.at)

    assert outcome(name, arch, watch) is None
    return [found[place] for place in sorted(found)]


def mutants(
    name: str, arch: str, edit: Edit, most: int, step: int = 1, within: set[int] | None = None
) -> list[tuple[str, str | None]]:
    """Each of the first places that an edit applies to, or one in `step` of them, alone: its text, and
    what gave it away. Of the places `within`, if they are given."""
    asked = [each for each in instructions(name, arch) if within is None or each.place in within]
    texts = [(each, edit(each.text)) for each in asked]
    changed = [(each, text) for each, text in texts if text is not None and text != each.text][::step]
    return [
        (each.text, outcome(name, arch, lambda code: replaced(code, each.place, str(text))))
        for each, text in changed[:most]
    ]


def dropped(pattern: str) -> Edit:
    return lambda text: "s_nop 0" if re.match(pattern, text) else None


def rewritten(pattern: str, by: str) -> Edit:
    return lambda text: re.sub(pattern, by, text, count=1) if re.search(pattern, text) else None


def shifted_lanes(text: str) -> str | None:
    """An exchange across rows, with the next lane."""
    if text.startswith("ds_bpermute"):
        return f"{text} offset:4"
    return text.replace("0xfedcba98", "0xedcba98f") if "permlanex16" in text else None


def narrowed_bounds(text: str) -> str | None:
    """Leaves 32 of 2^31 bytes, and none on gfx1250, whose word counts 128 bytes."""
    match = re.fullmatch(r"s_(?:brev_b32 (s\d+), 1|mov_b32 (s\d+), 0x1000000)", text)
    return f"s_mov_b32 {match[1]}, 0x20" if match and match[1] else f"s_mov_b32 {match[2]}, 0" if match else None


SEEDED: dict[str, tuple[str, Edit]] = {
    "no barrier": ("layer_norm", dropped("s_barrier")),
    "all lanes": ("histogram_by_atomics", dropped(r"(s_and_saveexec|v_cmpx)")),
    "lanes of a group": ("layer_norm", rewritten(r"(_add_f32_dpp.*)quad_perm:\[1,0,3,2\]", r"\1quad_perm:[0,0,0,0]")),
    "lanes of a row": ("layer_norm", rewritten(r"(_add_f32_dpp.*)(row_half_mirror|row_xmask:4)", r"\1row_mirror")),
    "rows that an exchange writes": ("layer_norm", rewritten(r"(_add_f32_dpp.* row_mask):0xf", r"\1:0x0")),
    "lanes of a wave": ("sort", shifted_lanes),
    "operands of a product": ("product_f16", rewritten(r"(v_(?:mfma|wmma)\w+ \S+) (\S+) (\S+,)", r"\1 \3 \2")),
    "type of a product": ("product_i8", rewritten(r"neg_lo:\[1,1,0\]|i32_(\w+)_i8", r"f32_\1_fp8_fp8")),
    "place in shared memory": ("transpose", rewritten(r"^(ds_(write|store)_b\d+ \S+, \S+)$", r"\1 offset:16")),
    "place of an argument": ("layer_norm", rewritten(r"^(s_load_\w+ .*), 0x[1-9a-f]\w*$", r"\1, 0x0")),
    "place in global memory": ("transpose", rewritten(r"^(buffer_store.*)$", r"\1 offset:4")),
    "order of a comparison": ("masks", rewritten(r"v_cmp_(gt|lt)_i32", "v_cmp_le_i32")),
    "bounds of a buffer": ("masks", narrowed_bounds),
    "kind of an atomic": ("histogram_by_atomics", rewritten(r"atomic_add", "atomic_sub")),
}  # fmt: skip


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", SEEDED)
def test_a_seeded_bug_is_found(kind: str, arch: str) -> None:
    name, edit = SEEDED[kind]
    found = mutants(name, arch, edit, 3)
    assert found and all(what for _, what in found), found


COPIES_OF_ROWS: dict[str, Edit] = {
    "not awaited": dropped("s_wait_tensorcnt"),
    "awaited too late": rewritten(r"^(s_wait_tensorcnt).*$", r"\1 0x3f"),
    "not copied": dropped("tensor_load_to_lds"),
    "another type": lambda text: re.sub(
        r"^(s_bitset1_b32 .*, )31$", r"\g<1>30", re.sub(r"^(s_\w+ .*, )0x80000000$", r"\g<1>0x40000000", text)
    ),
}


@pytest.mark.parametrize("kind", COPIES_OF_ROWS)
@pytest.mark.parametrize("name", ["product_f16_of_large_tiles", "attention"])
def test_a_seeded_bug_in_copies_of_rows_is_found(name: str, kind: str) -> None:
    """Copies that no path of this launch needs may go: of iterations that do not exist, whose descriptors nobody
    looks at."""
    found = mutants(name, "gfx1250", COPIES_OF_ROWS[kind], 6)
    least = 1 if kind == "another type" else len(found) - 2
    assert found and sum(bool(what) for _, what in found) >= max(1, least), found


@pytest.mark.parametrize("moved", ["behind the signal", "before the wait"])
def test_an_access_on_the_wrong_side_of_a_half_barrier_is_found(moved: str) -> None:
    """RDNA 4's waves signal at a barrier, go on with what needs no other wave, and wait: what they did to
    shared memory before the signal, and what they do behind the wait, may change places with neither."""
    name, arch = "product_f16_of_large_tiles", "gfx1201"
    code = [each for each in instructions(name, arch) if not re.match("s_(wait_|delay|nop|clause)", each.text)]
    at = {what: [n for n, each in enumerate(code) if each.opcode == what] for what in ("s_barrier_signal", "s_barrier_wait")}
    apart = [(signal, wait) for signal, wait in zip(*at.values()) if wait > signal + 1]
    found = []
    for signal, wait in apart:
        if moved == "behind the signal":
            places = next(n for n in range(signal, 0, -1) if code[n].text.startswith("ds_")), signal
        else:
            places = wait, next((n for n in range(wait, len(code)) if code[n].text.startswith("ds_")), wait)
        one, other = (code[n] for n in places)

        def exchange(of: CodeObject, one: Instruction = one, other: Instruction = other) -> None:
            replaced(of, one.place, other.text)
            replaced(of, other.place, one.text)

        found.append((one.text, other.text, outcome(name, arch, exchange)))
    assert len(found) > 2 and all(what for *_, what in found), found


class Ended(UnderWay):
    """What waits have ended that nothing has used since, as if it were under way still. A wait is needed
    that something used is here because of: all others repeat what the next one waits for."""

    def __init__(self, generation: int) -> None:
        super().__init__(generation)
        self.by: dict[Key, int] = {}  # the place of the wait

    def add(self, ended: State, place: int) -> None:
        self.state |= ended
        self.by |= dict.fromkeys(ended, place)

    def pass_by(self, instruction: Instruction) -> set[int]:
        """Goes over an instruction that is next; the waits that it needs."""
        access = access_of(instruction.line, Machine(self.generation))
        early = set(self._early(instruction, access))
        needed = {self.by[key] for key in self.state if key[2] in early}
        for counter, count in Machine(self.generation).waits_of(instruction.line).items():
            wait(self.state, counter, count)
        if access:
            own = set(self.state)
            issue(self.state, access)
            for key in set(self.state) - own | {key for key in own if key[2] in access.fills}:
                del self.state[key]  # under way itself
        return needed


def needed_waits(name: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Places of waits without which something would have been used too early. The others may go: where
    a wait stands beside a barrier's fence, one before it may be for a path that is not taken."""
    found: set[int] = set()
    ended: dict[UnderWay, Ended] = {}
    step = UnderWay.step

    def watched(self: UnderWay, instruction: Instruction) -> list[str]:
        shadow = ended.setdefault(self, Ended(self.generation))
        found.update(shadow.pass_by(instruction))
        before = dict(self.state)
        early = step(self, instruction)
        if Machine(self.generation).waits_of(instruction.line):
            shadow.add({key: before[key] for key in before.keys() - self.state.keys()}, instruction.place)
        return early

    with monkeypatch.context() as patch:
        patch.setattr(UnderWay, "step", watched)
        assert outcome(name, arch, lambda code: None) is None
    return found


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("how", ["dropped", "weakened"])
@pytest.mark.parametrize(("name", "step"), [("layer_norm", 1), ("product_f16", 3), ("attention", 6)])
def test_every_wait_that_is_missing_or_too_weak_is_found(
    name: str, step: int, how: str, arch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(ARCHS[arch])
    needed = needed_waits(name, arch, monkeypatch)

    def edit(text: str) -> str | None:
        if not machine.waits_of(Instruction(text, 0, [0]).line) or re.search("vscnt|storecnt", text):
            return None
        return "s_nop 0" if how == "dropped" else weaken(text)

    found = mutants(name, arch, edit, 100, step, needed)
    assert len(found) > (6 if step == 1 else 3) and all("not waited for" in str(what) for _, what in found), found


def test_what_the_interpreter_does_not_know_is_named() -> None:
    with pytest.raises(NotUnderstood, match=r"v_interp_p1_f32"):
        with on_machine("gfx942", lambda code: replaced(code, code.descriptor.entry, "v_interp_p1_f32 v0, v1, attr0.x")):
            CASES["masks"](np.random.default_rng(5))
