"""The benchmark's arithmetic on made-up times, and one short run of the whole program."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("torch")

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmark"
sys.path += [str(FOLDER), str(FOLDER / "assembly")]  # behind the tests: `gpu` is a package of theirs

import amdgcn  # noqa: E402
import cycles  # noqa: E402
import assemblers  # noqa: E402
import generated  # noqa: E402
import generated_amd  # noqa: E402
import generated_hopper  # noqa: E402
import hopper_rows  # noqa: E402
import peaks  # noqa: E402
import releases  # noqa: E402
import report  # noqa: E402
import sass  # noqa: E402
from peaks import Peak  # noqa: E402
from workloads import Goal  # noqa: E402


def row(ours: list[float], theirs: list[float], goal: float | None) -> report.Row:
    times = {report.OURS: ours, "torch": theirs}
    return report.Row("work", "GB/s", 2.0, Goal(goal), 100, milliseconds=times)


def test_ratio_is_the_peers_time_over_ours_round_by_round() -> None:
    assert report.ratios(row([1.0, 2.0, 4.0], [2.0, 2.0, 2.0], None), "torch") == [2.0, 1.0, 0.5]


@pytest.mark.parametrize(("goal", "verdict"), [(1.0, "torch 1 met"), (1.01, "torch 1.01 NOT MET")])
def test_goal_is_met_by_the_median_ratio(goal: float, verdict: str) -> None:
    table = report.speed_table([row([1.0, 2.0, 4.0], [2.0, 2.0, 2.0], goal)], ["torch"])
    (line,) = table.splitlines()[2:]
    assert verdict in line and "1000.0 GB/s" in line and "1.00 (0.50-2.00)" in line


def test_absent_peer_is_named_with_its_reason() -> None:
    with_absent = row([1.0], [1.0], None)
    with_absent.absent["torch.compile"] = "RuntimeError: no compiler"
    table = report.speed_table([with_absent], ["torch", "torch.compile"])
    assert table.splitlines()[-1] == "torch.compile: RuntimeError: no compiler"


def test_the_goal_counts_beside_torch() -> None:
    slower = row([1.0], [2.0], 1.5)
    slower.beside_torch = ([2.0, 2.0, 2.0], [2.0, 2.2, 9.0])
    line = report.speed_table([slower], ["torch"]).splitlines()[2]
    assert line.split()[-8:-1] == ["2.000", "1.10", "-", "torch", "1.5", "NOT", "MET"]


def test_medians_are_written_for_the_tables_of_pages(tmp_path: pathlib.Path) -> None:
    beside = row([1.0], [1.0], None)
    beside.beside_torch = ([2.0, 4.0, 8.0], [8.0, 8.0, 8.0])
    report.write_results(str(tmp_path / "cpu.json"), {"cpu": "one"}, [beside, beside])
    document = json.loads((tmp_path / "cpu.json").read_text())
    expected = {"name": "work", "unit": "GB/s", "ms": 4.0, "rate": 500.0, "vs_torch": 2.0}
    assert document == {"machine": {"cpu": "one"}, "rows": [expected, expected]}


def goals(goal: Goal, ours: float, **others: float) -> str:
    """What the table says of goals, of a row of 100 GFLOP beside a peak of 100 TFLOP/s."""
    times = {report.OURS: [ours], **{name.replace("_", "."): [ms] for name, ms in others.items()}}
    one = report.Row("work", "GFLOP/s", 100.0, goal, 1, Peak(100e3, "fma"), milliseconds=times)
    text: str = report._goal(one)
    return text


def test_a_product_reaches_torch_and_its_share_of_the_peak() -> None:
    both = Goal(1.0, share=0.8)
    assert goals(both, 1.2, torch=1.3) == "torch 1 peak 0.8 met"
    assert goals(both, 1.3, torch=1.4) == "torch 1 peak 0.8 NOT MET"
    assert goals(both, 1.2, torch=1.1) == "torch 1 peak 0.8 NOT MET"


def test_what_memory_gives_is_enough_where_that_is_the_goal() -> None:
    streamed = Goal(1.2, compiled=1.0, share=0.95, is_share_enough=True)
    assert goals(streamed, 1.04, torch=1.1).endswith(" met")
    assert goals(streamed, 1.1, torch=1.2) == "torch 1.2 peak 0.95 NOT MET"
    assert goals(streamed, 2.0, torch=2.5, torch_compile=2.1).endswith(" met")
    assert goals(streamed, 2.0, torch=2.5, torch_compile=1.9).endswith("peak 0.95 NOT MET")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the loops are for x86-64")
def test_peaks_are_measured_where_a_compiler_is() -> None:
    if "fma" not in peaks.features() or not shutil.which("gcc"):
        pytest.skip("no loop runs here")
    assert not peaks.absence()
    product, copied = peaks.measure("fp32", 1), peaks.measure("copy", 1)
    assert product is not None and product.rate > 1 and product.loop.startswith("fma")
    assert copied is not None and 0.1 < copied.rate < 10_000


@pytest.mark.parametrize(
    ("peak", "text", "expected"),
    [
        ("fp32", "vfmadd231ps a\nvfmadd213ps b\nvmulps c", "vfmaddps"),
        ("bf16", "vdpbf16ps a\nvfmadd231ps b\nvdpbf16ps c", "vdpbf16ps"),
        ("int8", "vpdpbusd a", "vpdpbusd"),
        ("copy", "vfmadd231ps a", ""),
    ],
)
def test_the_instruction_that_multiplies_is_named(peak: str, text: str, expected: str) -> None:
    assert report.product_instruction(peak, text) == expected


def test_too_much_code_and_a_missed_cache_are_not_met() -> None:
    large = row([1.0], [1.0], None)
    large.code_bytes = 20_001
    assert "20001 NOT MET" in report.speed_table([large], ["torch"])
    start = report.Start("add", 5.0, 14.0, {"llvm": 10.0}, 1.0, "compiled", 100)
    line = report.start_table([start]).splitlines()[2]
    assert "15 met" in line and "1.0 (compiled)" in line and "5 NOT MET" in line


def test_benchmark_runs_and_writes_json(tmp_path: pathlib.Path) -> None:
    result = subprocess.run(
        [sys.executable, str(FOLDER / "run.py"), "--quick", "--rounds", "2"]
        + ["--only", "matmul 512 fp32", "--json", str(tmp_path / "out.json")],
        env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    document = json.loads((tmp_path / "out.json").read_text())
    (speed,) = document["speed"]
    installed = {"numba", "JAX"}  # where `make bench` was run
    assert set(speed["milliseconds"]) - installed == {"tilewright", "torch", "NumPy"}
    mine, theirs = speed["beside_torch"]
    assert len(mine) == len(theirs) >= 5
    (start,) = document["start"]
    assert start["second_origin"] == "disk" and start["first_ms"] > 0


def code(to_ptx_ms: float, loops: list[int], registers: int) -> generated.Code:
    return generated.Code(to_ptx_ms, {"llvm": 1.0}, 100, loops, registers, 0)


def test_results_have_a_line_for_each_side() -> None:
    document = {"sm": {"versions": {"a": "1"}, "kernels": {"add": {"loops": [1, 2], "ms": {"llvm": 1.0}}}}}
    text = generated.in_lines(document)
    assert json.loads(text) == document
    assert '    "add": {"loops": [1, 2], "ms": {"llvm": 1.0}}' not in text  # three levels, then one line
    assert '   "add": {"loops": [1, 2], "ms": {"llvm": 1.0}}' in text.splitlines()


def test_generated_code_meets_each_goal_by_itself() -> None:
    rows = generated.rows_of("layer_norm", code(4.0, [10, 21], 44), code(10.0, [10, 20], 40))
    outcomes = {row[1]: row[4] for row in rows}
    assert outcomes["ms to PTX"] == "0.40 met"
    assert outcomes["instructions"] == "1.00"  # no goal where loops have one
    assert outcomes["in loop 1"] == "1.00 met" and outcomes["in loop 2"] == "1.05 NOT MET"
    assert outcomes["registers"] == "1.10 met"
    (slow, *_) = generated.rows_of("add", code(4.1, [], 1), code(10.0, [], 1))
    assert slow[4] == "0.41 NOT MET"


def test_absent_triton_is_replaced_by_labelled_figures() -> None:
    known = generated.figures(80)
    registers = known["add"].registers
    table = generated.table({"add": {"tilewright": code(1.0, [], registers)}}, "Triton (figures)", known)
    assert "Triton (figures)" in table and f"| {registers} | {registers} | 1.00 met |" in table
    assert generated.figures(75) == {}


def test_sass_is_counted_by_loop_without_the_padding() -> None:
    text = """
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   FADD.FTZ R2, R2, R3 ;
        /*0020*/              @!P0 FADD R2, R2, R3 ;
        /*0030*/               @P1 BRA `(.L_x_1) ;
        /*0040*/                   EXIT ;
.L_x_2:
        /*0050*/                   BRA `(.L_x_2);
        /*0060*/                   NOP;
"""
    instructions, (loop,) = sass.parse(text)
    assert len(instructions) == 5
    assert (loop.first, loop.last, loop.opcodes["FADD"]) == (1, 3, 2)


WAITS = """
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R5 ;
        /*0020*/              @!P0 BRA `(.L_x_3) ;
.L_x_2:
        /*0030*/                   HGMMA.64x256x16.F32 R24, gdesc[UR8], R24 ;
        /*0040*/              @!P1 BRA `(.L_x_1) ;
        /*0050*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0060*/                   F2FP.F16.F32.PACK_AB R24, R25, R24 ;
        /*0070*/               @P2 BRA `(.L_x_4) ;
        /*0080*/                   STG.E desc[UR4][R2.64], R24 ;
.L_x_4:
        /*0090*/                   EXIT ;
.L_x_3:
        /*00a0*/                   SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R5 ;
        /*00b0*/              @!P0 BRA `(.L_x_3) ;
        /*00c0*/                   BRA `(.L_x_2) ;
.L_x_5:
        /*00d0*/                   BRA `(.L_x_5);
"""


def test_a_wait_behind_the_end_is_no_part_of_a_loop() -> None:
    _, (loop,) = sass.parse(WAITS)
    assert (loop.first, loop.last) == (1, 4)
    assert loop.opcodes == {"SYNCS": 1, "BRA": 2, "HGMMA": 1}


def test_a_loop_of_products_counts_without_what_it_branches_around() -> None:
    masks = "/*0034*/ @P5 BRA `(.L_x_6) ;\n" + 3 * "/*0035*/ FSEL R24, R24, R25, P1 ;\n" + ".L_x_6:\n"
    either = "/*0036*/ @P4 BRA `(.L_x_7) ;\n" + WAITS.splitlines()[6] + "\n.L_x_7:\n /*0038*/ NOP ;\n"
    branch = "        /*0040*/"
    _, (loop,) = sass.parse(WAITS.replace(branch, masks + either + branch))
    assert loop.opcodes == {"SYNCS": 1, "BRA": 4, "HGMMA": 2, "NOP": 1}
    _, (loop,) = sass.parse(WAITS.replace(branch, masks + branch).replace("HGMMA", "FADD"))
    assert loop.opcodes["FSEL"] == 3


def test_a_loop_within_a_loop_is_counted_in_both() -> None:
    back = ".L_x_4:\n /*0088*/ @P3 BRA `(.L_x_0) ;\n"
    inner, outer = sass.parse(".L_x_0:\n" + WAITS.replace(".L_x_4:\n", back))[1]
    assert inner.is_innermost and not outer.is_innermost
    assert inner.opcodes.total() == 4 and outer.opcodes.total() == 10


def test_the_epilogue_lies_between_the_last_product_and_the_last_store() -> None:
    assert sass.instructions_behind_products(WAITS) == 3
    assert sass.instructions_behind_products(WAITS.replace("STG", "LDG")) == 0


def hopper_code(*loops: int, loader: int = 0) -> generated_hopper.Code:
    return generated_hopper.Code(10.0, 20.0, loops, loader, 100, 168, 0, 0)


def test_rows_of_hopper_are_compared_with_each_goal() -> None:
    product = next(row for row in hopper_rows.ROWS if row.loader_goal)
    goal, copies = product.goal, product.loader_goal
    assert generated_hopper.outcome(product, hopper_code(goal, loader=copies)) == "met"
    assert generated_hopper.outcome(product, hopper_code(goal + 1, loader=copies)) == "NOT MET"
    assert generated_hopper.outcome(product, hopper_code(goal, loader=copies + 1)) == "NOT MET"
    causal = next(row for row in hopper_rows.ROWS if row.diagonal_goal)
    assert generated_hopper.outcome(causal, hopper_code(causal.goal, causal.diagonal_goal)) == "met"
    assert generated_hopper.outcome(causal, hopper_code(causal.goal, 9999)) == "NOT MET"
    assert generated_hopper.loops_cell(causal, "tilewright", hopper_code(4, 7, loader=3)) == "4 / 7 + 3"
    assert generated_hopper.loops_cell(product, "tilewright", hopper_code(4, 7)) == "4"


def test_absent_and_refusing_peers_of_hopper_have_no_numbers() -> None:
    name = hopper_rows.ROWS[0].name
    refused = generated_hopper.Code(error="SomeError: no such instruction")
    codes = {name: {"tilewright": {"pointers": hopper_code(5)}, "cutile": {"tiles": refused}}}
    text = generated_hopper.text_of(codes, {"tilewright": "1", "cutile": "2"})
    assert "Triton is not installed: its columns are empty" in text
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {name} | 5 ")]
    assert line.split(" | ")[3:7] == ["", "", "", "refused: SomeError: no such instruction"]


def test_code_for_hopper_is_compiled_and_read() -> None:
    pytest.importorskip("tilewright._native", reason="the native module is not built")
    if not assemblers.pin() or sass.find_nvdisasm() is None:
        pytest.skip("the assemblers and the disassembler of the tests are not installed")
    codes, versions = generated_hopper.measure(["tilewright"], 1, "fp16 128x256x64")
    (sides,) = codes.values()
    assert versions["assembler"] == f"ptxas {assemblers.releases()[0]}"
    for code in sides["tilewright"].values():
        assert code.loops[0] <= 48 and 0 < code.loader <= 48 and 64 < code.epilogue <= 300
        assert code.warnings == code.spilled_bytes == 0 and 0 < code.ptx_ms < code.whole_ms


def test_the_page_about_gpu_code_has_the_numbers_of_the_last_run() -> None:
    rows = json.loads(generated_hopper.RESULTS.read_text())["rows"]
    page = generated_hopper.SUMMARY.read_text()
    for row in hopper_rows.ROWS:
        if row.dtype != "bf16" and row.arch == "90a":
            code = rows[row.name]["tilewright"]["pointers"]
            shown = generated_hopper.loops_cell(row, "tilewright", generated_hopper.Code(**code))
            assert f"| {row.name} | {shown} |" in page


def test_generated_code_is_compiled_and_read(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("tilewright._native", reason="the native module is not built")
    if not assemblers.pin() or sass.find_nvdisasm() is None:
        pytest.skip("the assemblers and the disassembler of the tests are not installed")
    result = generated.run_side("tilewright", 80, 1, str(tmp_path))
    assert set(result["kernels"]) == {*generated.figures(80)}
    assert {run["assembler"] for runs in result["kernels"].values() for run in runs} == {
        f"ptxas {assemblers.releases()[0]}"
    }
    found = sass.read(tmp_path / "layer_norm.cubin", "layer_norm")
    assert len(found.loops) == 3 and found.registers > 0 and found.local_accesses == 0


def test_releases_of_assemblers_are_compared(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not assemblers.pin() or sass.find_nvdisasm() is None:
        pytest.skip("the assemblers and the disassembler of the tests are not installed")
    shift = ".version 8.0\n.target sm_80\n.visible .entry k() { .reg .b32 %r; mov.b32 %r, %tid.x; ret; }"
    (tmp_path / "01-ptx.ptx").write_text(shift)
    (tmp_path / "02.ptx").write_text(shift.replace(".visible", "junk"))
    releases.main(str(tmp_path), *map(str, map(assemblers.path_of, assemblers.releases())))
    out = capsys.readouterr().out
    assert "1 kernels, and 1 that some assembler refused" in out
    assert out.count("| 1.000 | 1.000 | 1.000 | 0 |") == 2


AMD_TEXT = """
f:
	s_mov_b32 s0, 0
.LBB0_1:                                ; outer
	v_mov_b32_e32 v0, 0
.LBB0_2:
	v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
	v_dual_mov_b32 v0, 0 :: v_dual_mov_b32 v1, 0
	s_cbranch_scc1 .LBB0_2
	s_cbranch_scc0 .LBB0_1
	s_endpgm
	s_code_end
    .vgpr_count:     40
    .vgpr_spill_count: 3
"""


def test_assembly_of_amd_is_counted() -> None:
    found = amdgcn.parse(AMD_TEXT)
    assert found == amdgcn.Assembly(7, [3], [1], 40, 3)
    row = generated_amd.rows_of("add", {"tilewright": generated_amd.Code(2.0, found)})
    assert row == ["add", "2.0", "7", "3 (1)", "40", "3", "", "", "", ""]
    pair = {"tilewright": generated_amd.Code(2.0, found), "triton": generated_amd.Code(10.0, found)}
    assert generated_amd.rows_of("add", pair)[-1] == "ms 0.20 met, instructions 1.00 NOT MET"


READS_FIRST = """
ds_read_b128 v[0:3], v40
s_waitcnt lgkmcnt(0)
v_mfma_f32_32x32x8_f16 v[8:23], v[0:1], v[2:3], v[8:23]
v_add_u32_e32 v41, 1, v41
s_cbranch_scc1 .LBB0_2
"""


def test_cycles_of_a_loop_are_estimated() -> None:
    loop = READS_FIRST.split("\n")[1:-1]
    found = cycles.estimate("gfx942", loop)
    # 1024 bytes are 8 cycles of the unit's memory, which four SIMDs share. The wave issues the read in
    # 4 cycles and stands at the wait for the rest of 8 + 128, for 16 of which the product before runs.
    assert found == cycles.Cycles(matrix=32, shared=32, vector=4, waits=132 - 16, total=136 + 4 * 4)
    # A wave that has something to multiply meanwhile waits less. One that needs the sum stands until it
    # is there, and no product runs when the next read is waited for.
    late = cycles.estimate("gfx942", [loop[0], *[loop[2]] * 4, loop[1], *loop[3:]])
    assert late == cycles.Cycles(matrix=4 * 32, shared=32, vector=4, waits=136 - 132, total=136 + 3 * 4)
    needs = cycles.estimate("gfx942", [*loop[:3], "v_mov_b32_e32 v50, v8", loop[4]])
    assert needs == cycles.Cycles(matrix=32, shared=32, vector=4, waits=132, total=152 + 28)
    assert cycles.estimate("gfx1250", loop) is None


def test_cycles_of_waves_that_take_turns() -> None:
    """Two waves that read and multiply at the same time leave the matrix unit idle while they read. A
    barrier between both, which one of them is behind, fills it."""
    reads = [f"ds_read_b128 v[{n}:{n + 3}], v200" for n in range(0, 32, 4)]
    products = ["v_mfma_f32_32x32x8_f16 v[64:79], v[0:1], v[2:3], v[64:79]"] * 16
    memory = [*reads, "s_waitcnt lgkmcnt(0)"]
    at_once = ["s_barrier", *memory, *products]
    in_turn = ["s_barrier", *memory, "s_barrier", "s_setprio 1", *products, "s_setprio 0"]
    alone = cycles.estimate("gfx942", at_once)
    assert alone and alone.matrix == 512
    together, turns = (cycles.estimate_together("gfx942", loop, 2, 8) for loop in (at_once, in_turn))
    assert together and turns
    # While both read, 2 * 256 cycles of their SIMD's share of the memory pass, and the latency.
    assert 1024 <= turns < 1024 + 64 and 1024 + 512 < together < 1024 + 512 + 128
    # Waves of two programs do not wait for each other.
    apart = cycles.estimate_together("gfx942", at_once, 2, 4)
    assert apart and 1024 <= apart <= together
    assert cycles.estimate_together("gfx942", at_once, 1, 4) == alone.total
    assert cycles.estimate_together("gfx1250", at_once, 2, 8) is None


@pytest.mark.parametrize(
    ("arch", "line", "expected"),
    [
        ("gfx942", "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]", 16),
        ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[4:5], v[6:7], v[0:15]", 32),
        ("gfx950", "v_mfma_f32_32x32x16_f16 v[0:15], v[4:7], v[6:9], v[0:15]", 32),
        ("gfx950", "v_mfma_f32_32x32x16_fp8_fp8 v[0:15], v[4:5], v[6:7], v[0:15]", 32),
        ("gfx950", "v_mfma_i32_16x16x64_i8 v[0:3], v[4:7], v[8:11], v[0:3]", 16),
        ("gfx950", "v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[4:11], v[6:13], v[0:15]", 64),
        ("gfx1100", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", 32),
        ("gfx1201", "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[0:7]", 16),
        ("gfx1201", "v_wmma_f32_16x16x16_fp8_fp8 v[0:7], v[8:9], v[16:17], v[0:7]", 8),
        ("gfx1100", "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[16:19], v[0:7]", 32),
    ],
)
def test_cycles_of_matrix_instructions(arch: str, line: str, expected: int) -> None:
    assert cycles.matrix_cycles(cycles.MACHINES[arch], line) == expected


def test_waves_are_limited_by_registers_or_shared_memory() -> None:
    assert cycles.waves_of("gfx942", 134, 16384, 4) == 3  # 512 registers for 136 each
    assert cycles.waves_of("gfx942", 134, 32768, 4) == 2
    assert cycles.waves_of("gfx942", 140, 32768, 8) == 2  # a program is two waves of each SIMD
    assert cycles.waves_of("gfx1201", 190, 16384, 4) == 8
    assert cycles.waves_of("gfx1201", 20, 0, 1) == 16
    assert cycles.waves_of("gfx1250", 20, 0, 1) is None


def test_steps_of_loops_unrolled_otherwise_are_compared() -> None:
    assembly = amdgcn.Assembly(7, [3], [1], 40, 0)
    twice = cycles.Cycles(64, 20, 10, 6, 100)
    once = cycles.Cycles(32, 12, 5, 2, 45)
    sides = {"tilewright": generated_amd.Code(1.0, assembly, 3, twice)}
    sides["triton"] = generated_amd.Code(1.0, assembly, 4, once)
    assert generated_amd.rows_of("add", sides)[6:8] == ["3 / 4", "50 (32, 10, 5, 3) / 45 (32, 12, 5, 2)"]


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_code_for_amd_is_compiled_and_read(arch: str, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("tilewright._native", reason="the native module is not built")
    result = generated.run_side("tilewright", arch, 1, str(tmp_path))
    assert all(run["cpu"] > 0 for runs in result["kernels"].values() for run in runs)
    found = amdgcn.parse((tmp_path / "matmul.s").read_text())
    assert any(found.matrix) and found.registers > 0 and found.spills == 0
