"""Inline assembly: typical snippets against NumPy on the simulator, and refusals in words."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl

SIMULATOR = "sim:sm_80"


@tw.jit
def unary(
    x, out, N: tw.constexpr, TEXT: tw.constexpr, CONSTRAINTS: tw.constexpr, DTYPE: tw.constexpr,
    PACK: tw.constexpr,
):  # fmt: skip
    i = tl.arange(0, N)
    y = tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [tl.load(x + i)], DTYPE, True, PACK)
    tl.store(out + i, y)


@tw.jit
def binary(
    x, y, out, N: tw.constexpr, TEXT: tw.constexpr, CONSTRAINTS: tw.constexpr, DTYPE: tw.constexpr,
    PACK: tw.constexpr,
):  # fmt: skip
    i = tl.arange(0, N)
    args = [tl.load(x + i), tl.load(y + i)]
    r = tl.inline_asm_elementwise(
        asm=TEXT, constraints=CONSTRAINTS, args=args, dtype=DTYPE, is_pure=True, pack=PACK
    )
    tl.store(out + i, r)


def run_unary(x: Any, out_type: Any, text: str, constraints: str, dtype: Any, pack: int = 1) -> Any:
    out = np.full(x.shape, 77, out_type)
    with tw.device(SIMULATOR):
        unary[(1,)](x, out, x.size, text, constraints, dtype, pack)
    return out


def run_binary(x: Any, y: Any, text: str, constraints: str, dtype: Any, pack: int = 1) -> Any:
    out = np.full_like(x, 77)
    with tw.device(SIMULATOR):
        binary[(1,)](x, y, out, x.size, text, constraints, dtype, pack)
    return out


@pytest.mark.parametrize("size", [1, 8, 256, 1024])
@pytest.mark.usefixtures("compiler")
def test_bitwise_instructions_of_packed_bytes(rng: np.random.Generator, size: int) -> None:
    x = rng.integers(0, 256, size).astype(np.uint8)
    text = "lop3.b32 $0, $1, 0x0F0F0F0F, 0, 0xC0;"
    assert np.array_equal(run_unary(x, np.uint8, text, "=r,r", tl.uint8, 4), x & 15)
    shifted = run_unary(x, np.int32, "bfe.u32 $0, $1, 3, 4;", "=r,r", tl.int32)
    assert np.array_equal(shifted, x.astype(np.int32) >> 3 & 15)


@pytest.mark.usefixtures("compiler")
def test_two_results_of_different_widths_come_in_order(rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(x, wide, scaled, N: tw.constexpr):
        i = tl.arange(0, N)
        (a, b) = tl.inline_asm_elementwise(
            asm="""
            {
                .reg .b8 byte<4>;
                mov.b32 {byte0, byte1, byte2, byte3}, $8;
                cvt.u32.u8 $0, byte0;
                cvt.u32.u8 $1, byte1;
                cvt.u32.u8 $2, byte2;
                cvt.u32.u8 $3, byte3;
            }
            cvt.rn.f32.u32 $4, $0;
            cvt.rn.f32.u32 $5, $1;
            cvt.rn.f32.u32 $6, $2;
            cvt.rn.f32.u32 $7, $3;
            """,
            constraints=("=r,=r,=r,=r,=f,=f,=f,=f, r"),
            args=[tl.load(x + i)], dtype=(tl.int32, tl.float32), is_pure=True, pack=4,
        )  # fmt: skip
        tl.store(wide + i, a)
        tl.store(scaled + i, b * 0.5)

    for size in (2, 64, 512):
        x = rng.integers(0, 256, size).astype(np.uint8)
        wide, scaled = np.full(size, -1, np.int32), np.full(size, -1, np.float32)
        with tw.device(SIMULATOR):
            kernel[(1,)](x, wide, scaled, size)
        assert np.array_equal(wide, x)
        assert np.array_equal(scaled, x * np.float32(0.5))


@pytest.mark.usefixtures("compiler")
def test_bf16_pairs_are_multiplied_in_one_register(rng: np.random.Generator) -> None:
    x, y = (rng.standard_normal(128).astype(ml_dtypes.bfloat16) for _ in range(2))
    text = "{ .reg .b32 c; mov.b32 c, 0x80008000; fma.rn.bf16x2 $0, $1, $2, c; }"
    out = run_binary(x, y, text, "=r,r,r", tl.bfloat16, 2)
    expected = (x.astype(np.float32) * y.astype(np.float32)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(out, expected)


@pytest.mark.usefixtures("compiler")
def test_half_registers_and_tied_operands(rng: np.random.Generator) -> None:
    x, y = (rng.standard_normal(64).astype(np.float16) for _ in range(2))
    out = run_binary(x, y, "add.f16 $0, $1, $2;", "=h,h,h", tl.float16)
    assert np.array_equal(out, x + y)
    i, j = (rng.integers(0, 2**31, 64).astype(np.int32) for _ in range(2))
    out = run_binary(i, j, "add.u32 $0, $0, $2;", "=r,0,r", tl.int32)
    assert np.array_equal(out, i + j)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("ex2.approx.ftz.f32 $0, $1;", np.exp2),
        ("tanh.approx.f32 $0, $1;", np.tanh),
        ("rcp.approx.f32 $0, $1;", np.reciprocal),
        ("{ .reg .f32 t; mul.f32 t, $1, 0f3FB8AA3B; ex2.approx.f32 $0, t; }", np.exp),
    ],
)
@pytest.mark.usefixtures("compiler")
def test_approximate_instructions(rng: np.random.Generator, text: str, function: Any) -> None:
    x = rng.uniform(0.25, 3, 256).astype(np.float32)
    out = run_unary(x, np.float32, text, "=f,f", tl.float32)
    np.testing.assert_allclose(out, function(x.astype(np.float64)), rtol=2e-3)


@pytest.mark.usefixtures("compiler")
def test_doubles_longs_and_scalars(rng: np.random.Generator) -> None:
    x = rng.standard_normal(64)
    out = run_unary(x, np.float64, "abs.f64 $0, $1;", "=d,d", tl.float64)
    assert np.array_equal(out, np.abs(x))
    i = rng.integers(-(2**62), 2**62, 64)
    assert np.array_equal(run_unary(i, np.int64, "neg.s64 $0, $1;", "=l,l", tl.int64), -i)

    @tw.jit
    def scalar(out, n):
        y = tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,r", [n, 5], tl.int32, True, 1)
        tl.store(out, y)

    result = np.zeros(1, np.int32)
    with tw.device(SIMULATOR):
        scalar[(1,)](result, 37)
    assert result[0] == 42


@pytest.mark.usefixtures("compiler")
def test_arguments_are_broadcast_and_not_converted(rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(x, y, out, N: tw.constexpr):
        i = tl.arange(0, N)
        a = tl.load(x + i)[:, None]
        b = tl.load(y + i)[None, :]
        r = tl.inline_asm_elementwise(
            "{ .reg .f32 t; cvt.rn.f32.s32 t, $1; fma.rn.f32 $0, t, $2, $3; }",
            "=f,r,f,f", [a, b, 0.5], tl.float32, is_pure=True, pack=1,
        )  # fmt: skip
        tl.store(out + i[:, None] * N + i[None, :], r)

    x, y = rng.integers(-9, 9, 16).astype(np.int32), rng.standard_normal(16).astype(np.float32)
    out = np.full((16, 16), np.nan, np.float32)
    with tw.device(SIMULATOR):
        kernel[(1,)](x, y, out, 16)
    np.testing.assert_allclose(out, x[:, None] * y[None, :].astype(np.float64) + 0.5, rtol=1e-6)


@pytest.mark.usefixtures("compiler")
def test_text_without_arguments_yields_a_scalar() -> None:
    @tw.jit
    def kernel(out, N: tw.constexpr):
        lane = tl.inline_asm_elementwise("mov.u32 $0, %ctaid.x;", "=r", [], tl.int32, False, 1)
        tl.store(out + tl.program_id(0) * N + tl.arange(0, N), lane)

    out = np.full((3, 32), -1, np.int32)
    with tw.device(SIMULATOR):
        kernel[(3,)](out, 32)
    assert np.array_equal(out, np.repeat(np.arange(3), 32).reshape(3, 32))


@pytest.mark.usefixtures("compiler")
def test_text_with_effects_runs_once_for_each_element(rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(x, count, out, N: tw.constexpr):
        i = tl.arange(0, N)
        old = tl.inline_asm_elementwise(
            "atom.global.add.u32 $0, [$1], $2;", "=r,l,r", [count + i % 4, tl.load(x + i)],
            tl.int32, is_pure=False, pack=1,
        )  # fmt: skip
        tl.store(out + i, old)
        tl.store(out + N + i, old)

    x, count = rng.integers(1, 99, 128).astype(np.int32), np.zeros(4, np.int32)
    out = np.full(256, -1, np.int32)
    with tw.device(SIMULATOR):
        kernel[(1,)](x, count, out, 128)
    assert np.array_equal(count, [x[k::4].sum() for k in range(4)])
    assert np.array_equal(out[:128], out[128:])


def launch(text: str, constraints: str, dtype: Any, pack: int = 1, device: str = SIMULATOR) -> None:
    x, out = np.ones(64, np.float32), np.ones(64, np.float32)
    with tw.device(device):
        unary[(1,)](x, out, 64, text, constraints, dtype, pack)


@pytest.mark.parametrize(
    ("text", "constraints", "pack", "code", "words"),
    [
        ("mov.f32 $0, $1;", "=f", 1, "TW0242", "0 constraints are of sources"),
        ("mov.f32 $0, $1;", "=f,f", 2, "TW0242", "takes 2 registers"),
        ("mov.f32 $0, $1;", "=f,f,f", 1, "TW0242", "2 constraints"),
        ("mov.f32 $0, $1;", "=f,d", 1, "TW0242", "does not hold a value of 32 bits"),
        ("mov.f32 $0, $1;", "=f,h", 1, "TW0242", "does not hold a value of 32 bits"),
        ("mov.f32 $0, $1;", "=f,w", 1, "TW0242", "not a register"),
        ("mov.f32 $0, $1;", "=f;f", 1, "TW0242", "not a constraint"),
        ("mov.f32 $0, $1;", "f,=f", 1, "TW0242", "behind a source"),
        ("mov.f32 $0, $1;", "=f,1", 1, "TW0242", "names result 1 of 1"),
        ("mov.f32 $0, $1;", "", 1, "TW0242", "without constraints"),
        ("mov.f32 $0, $2;", "=f,f", 1, "TW0244", r"`\$2`"),
        ("mov.f32 $0, $x;", "=f,f", 1, "TW0244", "no register's number"),
        ("mov.f32 $0, ${1:x};", "=f,f", 1, "TW0244", "no register's number"),
        ("mov.f32 $0, $1; }", "=f,f", 1, "TW0244", "pairs"),
        ("mov.f32 $0, $1;", "=f,f", 3, "TW0120", "option 3"),
    ],
)
@pytest.mark.usefixtures("compiler")
def test_text_and_constraints_that_do_not_fit_are_refused(
    text: str, constraints: str, pack: int, code: str, words: str
) -> None:
    with pytest.raises(tw.CompileError, match=words) as caught:
        launch(text, constraints, tl.float32, pack)
    assert caught.value.code == code
    assert "inline_asm_elementwise" in str(caught.value)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.usefixtures("compiler")
def test_machines_without_such_assembly_refuse_it(device: str) -> None:
    with pytest.raises(tw.UnsupportedError, match="inline assembly is for GPUs") as caught:
        launch("mov.f32 $0, $1;", "=f,f", tl.float32, device=device)
    assert "tw.libdevice" in str(caught.value)


@pytest.mark.usefixtures("compiler")
def test_an_instruction_that_the_simulator_does_not_know_is_named() -> None:
    with pytest.raises(tw.UnsupportedError, match="no_such_instruction") as caught:
        launch("no_such_instruction.f32 $0, $1;", "=f,f", tl.float32)
    assert caught.value.code == "TW0245"


@pytest.mark.usefixtures("compiler")
def test_a_complaint_of_the_assembler_is_reported_at_the_users_line() -> None:
    constants = {
        "N": 64, "CONSTRAINTS": "=f,f", "DTYPE": tl.float32, "PACK": 1,
        "TEXT": "mov.f32 $0, $1;\nno_such_instruction.f32 $0, $1;",
    }  # fmt: skip
    try:
        code = unary.compile({"x": "*fp32", "out": "*fp32"}, constants, "nvidia:sm_80")
    except tw.CompileError as error:
        assert error.code == "TW0243"
        assert "y = tl.inline_asm_elementwise" in str(error)
        assert "no_such_instruction" in str(error)
    else:
        assert not code.asm.get("cubin")
        pytest.skip("this machine has no assembler of PTX")


@pytest.mark.usefixtures("compiler")
def test_special_registers_and_pairs_of_floats_in_one_word(rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(x, out, times, N: tw.constexpr):
        i = tl.arange(0, N)
        before = tl.inline_asm_elementwise(
            "mov.u64 $0, %globaltimer;", "=l", [], tl.int64, is_pure=False, pack=1
        )
        v = tl.load(x + i)
        packed = tl.inline_asm_elementwise(
            "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", [v], tl.bfloat16, is_pure=True, pack=2
        )
        tl.store(out + i, packed)
        sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], tl.int32, True, 1)
        tl.store(times, before + 0 * sm)

    x = rng.standard_normal(256).astype(np.float32)
    out, times = np.zeros(256, ml_dtypes.bfloat16), np.full(1, -1, np.int64)
    with tw.device(SIMULATOR):
        kernel[(1,)](x, out, times, 256)
    assert np.array_equal(out, x.astype(ml_dtypes.bfloat16))
    assert times[0] >= 0


@pytest.mark.usefixtures("compiler")
def test_float8_pairs_are_converted_where_the_gpu_can(rng: np.random.Generator) -> None:
    x = rng.standard_normal(64).astype(np.float32) * 40
    out = np.zeros(64, ml_dtypes.float8_e4m3fn)
    with tw.device("sim:sm_89"):
        text = "cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;"
        unary[(1,)](x, out, 64, text, "=h,f,f", tl.float8e4nv, 2)
    assert np.array_equal(out.view(np.uint8), x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8))


@pytest.mark.usefixtures("compiler")
def test_float4_pairs_are_converted_where_the_gpu_can(rng: np.random.Generator) -> None:
    x = rng.standard_normal(64).astype(np.float32) * 3
    x[:6] = [0.25, -0.75, 5.0, 1e9, -np.inf, 2.5]
    out = np.zeros(64, np.uint8)
    text = "{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $2, $1; mov.b16 $0, {t, t}; }"
    with tw.device("sim:sm_100a"):
        unary[(1,)](x, out, 64, text, "=h,f,f", tl.uint8, 2)
    codes = x.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
    # A thread has one element, so that a pair is an element twice.
    assert np.array_equal(out, codes * 17)
    with tw.device("sim:sm_80"), pytest.raises(tw.UnsupportedError, match="e2m1x2"):
        unary[(1,)](x, out, 64, text, "=h,f,f", tl.uint8, 2)


@tw.jit
def rounded_at_random(out, x, bits, N: tl.constexpr, TYPE: tl.constexpr, TEXT: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    pair = tl.inline_asm_elementwise(TEXT, "=r,f,f,r", [v, -v, tl.load(bits + i)], tl.int32, True, 1)
    low = pair.to(tl.int16).to(TYPE, bitcast=True)
    tl.store(out + 2 * i, low)
    tl.store(out + 2 * i + 1, (pair >> 16).to(tl.int16).to(TYPE, bitcast=True))


@pytest.mark.parametrize(("dtype", "cut"), [("float16", 13), ("bfloat16", 16)])
def test_pairs_are_rounded_by_random_bits_where_the_gpu_can(dtype: str, cut: int) -> None:
    """Each of the random bits' values once: as many go up as the value lies above the lower one."""
    torch = pytest.importorskip("torch")
    text = f"cvt.rs.{dtype.replace('loat', '')}x2.f32 $0, $1, $2, $3;"
    four = "cvt.rs.satfinite.e4m3x4.f32 $0, {$1, $2, $1, $2}, $3;"
    numbers = torch.arange(4096, dtype=torch.int32) << (cut - 12)
    value = 1 + 2.0 ** (cut - 23) * 0.3125  # 5 of 16 between two neighbours
    x = torch.full((4096,), value)
    out = torch.empty(8192, dtype=getattr(torch, dtype))
    with tw.device("sim:sm_100a"):
        rounded_at_random[(1,)](out, x, numbers | (numbers << 16), 4096, getattr(tl, dtype), text)
    assert (out[1::2] > 1).sum() == 1280 and (out[::2] < -1).sum() == 1280
    assert torch.all((out.abs() == 1) | (out.abs() == 1 + 2.0 ** (cut - 23)))
    with tw.device("sim:sm_90a"), pytest.raises(tw.UnsupportedError, match="needs sm_100"):
        rounded_at_random[(1,)](out, x, numbers, 4096, getattr(tl, dtype), text)
    with tw.device("sim:sm_100a"), pytest.raises(tw.UnsupportedError, match="e4m3x4"):
        rounded_at_random[(1,)](out, x, numbers, 4096, tl.float16, four)


@pytest.mark.usefixtures("compiler")
def test_instructions_of_one_gpu_only_are_assembled_for_it() -> None:
    constants = {
        "N": 64, "CONSTRAINTS": "=h,f,f", "DTYPE": tl.uint8, "PACK": 2,
        "TEXT": "{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $2, $1; mov.b16 $0, {t, t}; }",
    }  # fmt: skip
    signature = {"x": "*fp32", "out": "*u8"}
    try:
        code = unary.compile(signature, constants, "nvidia:sm_120").asm
    except tw.CompileError as error:
        assert "e2m1" not in str(error), error
        raise
    if not code.get("cubin"):
        pytest.skip("this machine has no assembler of PTX")
    # sm_120 itself has no such instruction: that there is machine code shows the retry as sm_120a.
    assert "e2m1x2" in code["ptx"]
    with pytest.raises(tw.CompileError, match="e2m1x2") as caught:
        unary.compile(signature, constants, "nvidia:sm_80")
    assert caught.value.code == "TW0243"
