"""Layouts in explanations: where elements are, what changes of layout move, and the drawing."""

import itertools
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import slow_kernels as kernels

import tilewright as tw
from tilewright.explain.drawing import script
from tilewright.explain.layouts import Layout, drawings_of, moved, moves_of
from tilewright.explain.locations import Line

MATMUL = {"c": "*fp16:16", "a": "*fp16:16", "b": "*fp16:16"} | dict.fromkeys("mnk", "i32:16")
BLOCKS = {"BM": 64, "BN": 64, "BK": 32}
MMA_A = (
    "%1 = simt.mma %a, %b, %c by #mma : tensor<16x16xf16, #tile.layout<[16, 16] register = "
    "[[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = []>>"
)


def places(layout):
    """Element -> its places, by going through all numbers."""
    found = {}
    counts = [range(1 << len(bases)) for _, bases in layout.bases]
    for place in itertools.product(*reversed(counts)):
        place = place[::-1]
        element = 0
        for number, (_, bases) in zip(place, layout.bases):
            for bit, basis in enumerate(bases):
                element ^= basis * (number >> bit & 1)
        found.setdefault(element, []).append(place)
    return found


def test_an_operand_lies_as_the_instruction_set_says():
    (drawing,) = drawings_of([Line(MMA_A, 7)])
    assert (drawing.line, drawing.role) == (7, "operand A")
    assert drawing.layout.shape == (16, 16) and drawing.layout.bits == 16
    at = places(drawing.layout)
    # PTX ISA, mma.m16n8k16: row = lane / 4 (+ 8 for a2, a3, a6, a7), and column = lane % 4 * 2 + i % 2
    # (+ 8 from a4).
    for lane, i in itertools.product(range(32), range(8)):
        row = lane // 4 + (8 if i % 4 >= 2 else 0)
        column = lane % 4 * 2 + i % 2 + (8 if i >= 4 else 0)
        assert at[row * 16 + column] == [(i, lane, 0)]


def random_layout(rng, elements, lanes, warps):
    """A layout of a vector: a random order of the bits, and some that hold copies."""
    bits = [1 << bit for bit in range(elements)]
    bases = [*rng.permutation(bits), *[0] * rng.integers(0, 3)]
    mixed = [int(basis) for basis in rng.permutation(bases)]
    mixed += [0] * max(0, lanes + warps - len(mixed))
    registers = len(mixed) - lanes - warps
    parts = (mixed[:registers], mixed[registers : registers + lanes], mixed[registers + lanes :])
    return Layout((1 << elements,), "f32", tuple(zip(("register", "lane", "warp"), map(tuple, parts))))


@pytest.mark.parametrize("seed", range(40))
def test_what_moves_is_what_counting_finds(seed):
    rng = np.random.default_rng(seed)
    elements, lanes, warps = rng.integers(3, 9), rng.integers(1, 4), rng.integers(0, 3)
    before = random_layout(rng, elements, lanes, warps)
    after = random_layout(rng, elements, lanes, warps)
    held = places(before)
    needs = {(e, lane, warp) for e, all_of in places(after).items() for _, lane, warp in all_of}
    lanes_of = {e: {place[1:] for place in all_of} for e, all_of in held.items()}
    warps_of = {e: {place[2] for place in all_of} for e, all_of in held.items()}
    far = sum(warp not in warps_of[e] for e, _, warp in needs)
    away = sum((lane, warp) not in lanes_of[e] for e, lane, warp in needs)
    assert moved(before, after) == (away - far, far, len(needs))


def test_changes_of_layout_of_masks_and_pointers_are_counted():
    layouts = (
        "[64] lane = [[1], [2], [4], [8], [16]] warp = [[32]]",
        "[64] lane = [[2], [1], [4], [8], [16]] warp = [[32]]",
    )
    for element in ("f32", "i1", "!tile.ptr<f16>"):
        before, after = (f"tensor<64x{element}, #tile.layout<{layout}>>" for layout in layouts)
        line = Line(f"    %2 = simt.convert_layout %1 : {before} -> {after}", 3)
        assert list(moves_of([line])) == [(3, 32, 0, 64, False)]
        assert len(drawings_of([line])) == (2 if element == "f32" else 0)


@pytest.mark.parametrize("device", ["nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942"])
def test_the_page_has_the_layouts_of_each_line(device):
    found = kernels.matmul.explain(MATMUL, BLOCKS, device)
    text = found.to_html()
    drawn = json.loads(re.search(r"const drawn=(.*?});const", text)[1])
    dot = next(n for n, row in enumerate(found.source, found.first_line) if "tw.dot" in row)
    roles = {shown[0]: shown for shown in drawn[str(dot)]}
    assert re.search(rf"const first={dot};", text)
    assert roles["operand A"][1:3] == [[64, 32], "f16"]
    assert roles["accumulator"][1:3] == [[64, 64], "f32"]
    buffers = 0
    for own in drawn.values():
        for role, shape, _, _, bases in own:
            layout = Layout(tuple(shape), "f32", tuple((n, tuple(b)) for n, b in bases.items()))
            at = places(layout)
            assert at.keys() == {*range(np.prod(shape))}, role  # each element is somewhere
            buffers += "offset" in bases
            if "offset" in bases:
                assert all(len(all_of) == 1 for all_of in at.values()), role
    assert buffers >= 2
    assert "from another warp" in str(found)
    moves = json.loads(found.to_json())["moves"]
    assert moves and all(move["lanes"] + move["warps"] <= move["elements"] for move in moves)


def test_a_page_of_a_processor_has_no_layouts():
    text = kernels.matmul.explain(MATMUL, BLOCKS, "cpu").to_html()
    assert "const drawn" not in text and 'id="tiles"' not in text


def test_names_of_buffers_cannot_end_the_script():
    role = '%1 = simt.alloc_shared "</script><b>\x1b" at 0 : <[4], f16, <[4] offset = [[1], [2]]>>'
    text = script(drawings_of([Line(role, 1)]), "banks = 32, bank_bytes = 4")
    assert "</script>" not in text and "\x1b" not in text and "banks=[32, 4]" in text


def test_the_browser_draws_the_first_tile(tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no browser")
    page = tmp_path / "page.html"
    page.write_text(kernels.matmul.explain(MATMUL, BLOCKS, "nvidia:sm_80").to_html())
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    command = [browser, *options, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if not done.stdout:
        pytest.skip("the browser does not run here")
    drawing = done.stdout.partition('id="tiles"')[2].partition("</svg>")[0]
    assert drawing.count("<rect") == 32 * 32 and "operand A: f16[64, 32]" in done.stdout
    # The first row of a warp's 16 x 16: two elements for each of four lanes, twice.
    numbers = re.findall(r"<text[^>]*>(\d+)</text>", drawing)[:16]
    assert numbers == ["0", "0", "1", "1", "2", "2", "3", "3"] * 2
