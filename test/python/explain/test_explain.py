"""What is in the way of a kernel stands on the first screen of its explanation, on every target."""

import re
import slow_kernels as kernels
import pytest

import tilewright as tw
from tilewright.explain.facts import Explanation

GPUS = ("nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942", "sim:sm_80")
ALL = (*GPUS, "cpu", "amd:gfx1100", "nvidia:sm_120")
F32, F16, I32 = "*fp32:16", "*fp16:16", "i32:16"
SCREEN = 40


def first_screen(found):
    return " ".join(" ".join(str(found).splitlines()[:SCREEN]).split())


def line_of(found, text):
    return next(n for n, row in enumerate(found.source, found.first_line) if text in row)


@pytest.mark.parametrize("device", ALL)
def test_strided_loads_are_named_with_their_stride(device):
    types = {"out": F32, "x": F32, "n": "i32", "stride": "i32"}
    for block in (256, 1024):
        found = kernels.strided.explain(types, {"BLOCK": block}, device)
        screen = first_screen(found)
        assert f"line {line_of(found, 'tw.load')}" in screen
        assert "they lie stride elements apart" in screen


def test_columns_that_vectors_of_rows_gather_are_named():
    types = {"out": F32, "x": F32, "y": F32, "n": "i32", "stride": "i32"}
    found = kernels.added_to_columns.explain(types, {"BLOCK": 64}, "cpu:x86-64-v4")
    line = line_of(found, "turned = tw.load")
    said = [(f.line, f.message) for f in found.findings if "gathered" in f.message]
    assert [at for at, _ in said] == [line], said
    assert said[0][1].startswith("elements of x are gathered")
    assert f"line {line}" in first_screen(found)
    assert "they lie stride elements apart" in first_screen(found)


@pytest.mark.parametrize("device", ALL)
def test_loads_through_indices_are_named(device):
    types = {"out": F32, "x": F32, "rows": "*i32:16", "n": I32}
    found = kernels.gathered.explain(types, {"BLOCK": 1024}, device)
    bad = [f for f in found.findings if f.line == line_of(found, "tw.load(x + row)") and f.rank < 9]
    assert any("not known" in f.message or "nothing is known" in f.message for f in bad)
    assert bad[0].message[:40] in first_screen(found)


@pytest.mark.parametrize("device", (*ALL, "spirv:generic16"))
def test_loads_through_indices_that_a_loop_carries_are_named(device):
    types = {"out": F32, "links": "*i32:16", "values": F32, "n": "i32"}
    found = kernels.linked.explain(types, {"BLOCK": 256}, device)
    for text in ("tw.load(links + node)", "tw.load(values + node)"):
        said = [f.message for f in found.findings if f.line == line_of(found, text) and f.rank < 9]
        assert any("not known" in m or "nothing is known" in m for m in said), (text, said)
        assert f"line {line_of(found, text)}" in first_screen(found)
    straight = kernels.row_sums.explain({"out": F32, "x": F32, "n": I32}, {"BLOCK": 1024}, device)
    assert all("nothing is known" not in f.message for f in straight.findings)


@pytest.mark.parametrize("device", (*ALL, "spirv:generic16"))
def test_loops_that_end_by_a_condition_count_with_what_follows_them(device):
    found = kernels.until_large.explain({"out": F32, "x": F32, "n": "i32"}, {"BLOCK": 256}, device)
    line = line_of(found, "while row")
    screen = first_screen(found)
    assert f"a program loads 1024 * (trips of line {line}) bytes, stores 1024 bytes" in screen
    if device != "cpu":
        assert f"line {line}: this loop is not pipelined: only operands of matrix" in screen


@pytest.mark.parametrize("device", ("amd:gfx1100", "nvidia:sm_80"))
def test_spills_are_named_with_their_bytes(device):
    if device.startswith("nvidia") and not tw.native.native().assembler_of(device):
        pytest.skip("no assembler of PTX")
    types = {"c": F32, "a": F16, "b": F16, "k": I32}
    found = kernels.large_sums.explain(types, {"BLOCK": 128}, device, num_warps=2)
    spilled = found.resources["spill_bytes"]
    assert spilled > 0
    assert "TW0358" in first_screen(found) and f"{spilled} bytes spilled" in first_screen(found)


@pytest.mark.parametrize("device", GPUS)
def test_bank_conflicts_are_named(device):
    types = {"out": F32, "x": F32, "index": "*i32:16"}
    found = kernels.table.explain(types, {"BLOCK": 64}, device)
    assert "bank conflicts" in first_screen(found) and "TW0372" in first_screen(found)
    assert f"line {line_of(found, 'tw.gather')}" in first_screen(found)


@pytest.mark.parametrize("device", GPUS)
def test_loops_that_are_not_pipelined_say_why(device):
    found = kernels.row_sums.explain({"out": F32, "x": F32, "n": I32}, {"BLOCK": 1024}, device)
    said = f"line {line_of(found, 'for start')}: this loop is not pipelined: only operands of matrix"
    assert said in first_screen(found)
    types = {"c": F16, "a": F16, "b": F16, "m": I32, "n": I32, "k": I32}
    blocks = {"BM": 64, "BN": 64, "BK": 32}
    found = kernels.matmul.explain(types, blocks, device, num_stages=1)
    assert "this loop is not pipelined: num_stages=1 asks for no copies" in first_screen(found)
    found = kernels.matmul.explain(types, blocks, device, num_stages=3)
    assert "not pipelined" not in str(found) and "pipelined: the copies of 2 loads" in str(found)


@pytest.mark.parametrize("device", GPUS)
def test_loads_that_stay_in_their_iteration_say_why(device):
    types = {"c": F32, "a": F16, "b": F16, "k": I32, "n": "i32"}
    found = kernels.ones_outside.explain(types, {"BLOCK": 64}, device)
    line = line_of(found, "left = tw.load")
    narrow = [f for f in found.findings if f.line == line and f.code == "TW0350"]
    assert narrow and "n is not known to be divisible by 16" in narrow[0].message
    assert "n is not known to be divisible by 16" in first_screen(found)


def test_work_is_formulas_of_the_arguments():
    types = {"c": F16, "a": F16, "b": F16, "m": I32, "n": I32, "k": I32}
    found = kernels.matmul.explain(types, {"BM": 64, "BN": 128, "BK": 32}, "nvidia:sm_80")
    plan = found.plan
    assert str(plan.bytes(False)) == f"{(64 + 128) * 32 * 2} * cdiv(k, 32)"
    assert str(plan.bytes(True)) == str(64 * 128 * 2)
    assert str(plan.operations) == f"{2 * 64 * 128 * 32} * cdiv(k, 32)"
    assert plan.intensity == 2 * 64 * 128 * 32 / ((64 + 128) * 32 * 2)
    assert found.roofline.bound == "memory" and found.roofline.balance > 100


def test_instructions_are_counted_by_line():
    types = {"c": F16, "a": F16, "b": F16, "m": I32, "n": I32, "k": I32}
    # NVIDIA's by the disassembler where it is installed, else by PTX.
    units = (("nvidia:sm_80", r"m16n8k16|HMMA\.16816"), ("amd:gfx942", "mfma_f32"), ("cpu", "bytes"))
    for device, unit in units:
        found = kernels.matmul.explain(types, {"BM": 64, "BN": 64, "BK": 32}, device)
        dot = found.lines[line_of(found, "tw.dot")]
        assert any(re.search(unit, kind.form) for kind in dot.kinds), dot
        assert dot.in_loops > 0
        counted = sum(facts.total for facts in found.lines.values())
        assert counted <= len(found.code.instructions)
        assert counted >= 0.8 * len(found.code.instructions)


def test_metadata_behind_the_code_is_not_instructions():
    types = {"c": F16, "a": F16, "b": F16, "m": I32, "n": I32, "k": I32}
    found = kernels.matmul.explain(types, {"BM": 64, "BN": 64, "BK": 32}, "amd:gfx942")
    assert not [i.name for i in found.code.instructions if not re.match(r"[a-z]+_\w+$", i.name)]


@pytest.mark.parametrize("device", ("nvidia:sm_80", "amd:gfx942"))
def test_occupancy_names_its_limit(device):
    types = {"c": F16, "a": F16, "b": F16, "m": I32, "n": I32, "k": I32}
    small = kernels.matmul.explain(types, {"BM": 64, "BN": 64, "BK": 32}, device)
    large = kernels.matmul.explain(types, {"BM": 64, "BN": 64, "BK": 128}, device, num_stages=3)
    assert small.occupancy.programs > large.occupancy.programs
    assert large.occupancy.limited_by == ["shared memory"]
    assert large.resources["shared_bytes"] == max(b.offset + b.bytes for b in large.shared)


def test_a_kernel_that_does_not_compile_shows_how_far_it_got():
    types = {"c": F32, "a": F16, "b": F16, "k": I32}
    found = kernels.large_sums.explain(types, {"BLOCK": 1024}, "nvidia:sm_80")
    assert found.error and found.reached
    text = str(found)
    assert "does not compile; the last step that was reached: " in text
    assert "sums = tw.zeros" in text and "error[TW" in text


def test_a_kernel_that_the_frontend_refuses_shows_the_error():
    @tw.jit
    def wrong(x, BLOCK: tw.constexpr):
        tw.store(x + tw.arange(0, BLOCK), tw.zeros((BLOCK + 1,), tw.float32))

    found = wrong.explain({"x": F32}, {"BLOCK": 16}, "cpu")
    assert "error[TW" in str(found) and "the source" in str(found)


def test_a_compiled_kernel_explains_itself():
    types = {"out": F32, "x": F32, "n": I32}
    compiled = kernels.row_sums.compile(types, {"BLOCK": 256}, "nvidia:sm_90a")
    found = tw.explain(compiled)
    assert isinstance(found, Explanation)
    assert str(found) == str(kernels.row_sums.explain(types, {"BLOCK": 256}, "nvidia:sm_90a"))
    with pytest.raises(TypeError, match="already"):
        tw.explain(compiled, types)
    with pytest.raises(TypeError, match="kernel"):
        tw.explain(42)


def test_the_reference_interpreter_has_a_plan_and_no_code():
    found = kernels.row_sums.explain({"out": F32, "x": F32, "n": I32}, {"BLOCK": 256}, "reference")
    assert found.code is None and not found.error
    assert "row_sums" in str(found)


@pytest.mark.parametrize("device", ("nvidia:sm_80", "amd:gfx942", "cpu"))
def test_functions_that_a_kernel_calls_are_shown_behind_it(device):
    types = {"out": F32, "x": F32, "stride": "i32"}
    found = tw.explain(kernels.calling, types, {"BLOCK": 128}, device)
    call = line_of(found, "scaled(x, i, stride)")
    assert f"line {call}: elements of x are loaded" in first_screen(found)
    assert "they lie stride elements apart" in first_screen(found)
    load = next(n for n, row in found.rows() if "return tw.load(x + i * stride)" in row)
    assert load < call and found.lines[load].total > 0
    assert "return tw.load(x + i * stride)" in str(found)


def test_copies_of_boxes_and_their_barriers_are_counted():
    types = {"c": F16, "a": F16, "b": F16, "m": I32, "n": I32, "k": I32}
    found = kernels.matmul.explain(types, {"BM": 64, "BN": 64, "BK": 64}, "nvidia:sm_90a")
    words = {i.kind.word for i in found.code.instructions}
    assert {"box copy", "barrier", "matrix"} <= words
    forms = [i.kind.form for i in found.code.instructions if i.kind.word == "matrix"]
    assert all(re.match(r"m64n64k16|HGMMA\.64x64x16", form) for form in forms)
