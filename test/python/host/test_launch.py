"""Launches: binding, grids, specialization keys, warm-ups. Without a compiler."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import tilewright as tw
from fake_native import FakeNative
from tilewright import knobs

SCALE = 3


@tw.jit
def add(out, x, n, BLOCK: tw.constexpr = 64):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n), mask=i < n)


@tw.jit
def scaled(out, n: "tw.int64", x: tw.float16, y, *, BLOCK: "tw.constexpr[int]"):
    tw.store(out, x * n * SCALE + y)


@tw.jit
def nothing():
    pass


@pytest.fixture
def kernel(fake: FakeNative) -> Any:
    """`add` as if it had never been launched."""
    return tw.jit(add.fn)


def arrays(count: int = 64) -> tuple[Any, Any]:
    return numpy.full(count, numpy.nan, numpy.float32), numpy.arange(count, dtype=numpy.float32)


def code_of(error: pytest.ExceptionInfo[tw.TilewrightError]) -> str:
    assert error.value.code in error.value.rendered and error.value.message in str(error.value)
    return error.value.code


def test_arguments_reach_the_kernel_in_the_order_of_its_parameters(
    fake: FakeNative, kernel: Any
) -> None:
    out, x = arrays()
    kernel[(4, 2)](out, BLOCK=32, n=60, x=x)
    _, grid, values, _ = fake.launches[-1]
    assert grid == (4, 2, 1)
    assert values == (out.ctypes.data, x.ctypes.data, 60)


def test_defaults_and_constants_are_compiled_in(fake: FakeNative, kernel: Any) -> None:
    kernel[4](*arrays(), 60)
    spec = fake.last["BLOCK"]
    assert spec.kind == "constexpr" and spec.facts["json"] == '{"k":"int","v":"64"}'
    kernel[4](*arrays(), 60, 128)
    assert fake.last["BLOCK"].facts["json"] == '{"k":"int","v":"128"}'


def test_a_warm_launch_compiles_nothing(fake: FakeNative, kernel: Any) -> None:
    for _ in range(3):
        kernel[4](*arrays(), 60)
    assert len(fake.compilations) == 1 and len(fake.launches) == 3


def test_a_different_fact_is_another_specialization(fake: FakeNative, kernel: Any) -> None:
    out, x = arrays()
    for n in (60, 61, 64, 1, 1 << 40, -60, -64):
        kernel[4](out, x, n)
    facts = [c[1].arguments[2].facts for c in fake.compilations]
    names = ("type", "divisibility", "is_one", "is_non_negative")
    assert facts == [
        dict(zip(names, values))
        for values in (
            ("i32", 1, False, True), ("i32", 16, False, True), ("i32", 1, True, True),
            ("i64", 16, False, True), ("i32", 1, False, False), ("i32", 16, False, False),
        )
    ]  # fmt: skip


def test_a_number_equal_to_one_is_not_passed(fake: FakeNative, kernel: Any) -> None:
    out, x = arrays()
    kernel[4](out, x, 1)
    assert fake.launches[-1][2] == (out.ctypes.data, x.ctypes.data)


@pytest.mark.parametrize("other", [True, 1.0, "1", None])
def test_constants_that_compare_equal_are_kept_apart(
    fake: FakeNative, kernel: Any, other: object
) -> None:
    kernel[4](*arrays(), 60, 1)
    kernel[4](*arrays(), 60, other)
    assert len(fake.compilations) == 2
    kernel[4](*arrays(), 60, 0.0)
    kernel[4](*arrays(), 60, -0.0)
    assert len(fake.compilations) == 4


def test_options_are_part_of_the_specialization(fake: FakeNative, kernel: Any) -> None:
    kernel[4](*arrays(), 60, num_warps=8, num_stages=2, num_ctas=1, maxnreg=128, debug=True)
    assert fake.compilations[-1][1].options == (4, 3, True, "")  # those that count on CPUs
    kernel[4](*arrays(), 60)
    assert fake.compilations[-1][1].options == (4, 3, False, "")


def test_specialize_none_gives_one_binary_for_all(fake: FakeNative) -> None:
    kernel = tw.jit(add.fn, specialize="none")
    out, x = arrays(65)
    for n in (1, 16, 61):
        kernel[4](out, x, n)
        kernel[4](out[1:], x[1:], n)
    assert len(fake.compilations) == 1
    assert fake.last["out"].facts["divisibility"] == 1


def test_single_parameters_are_left_unspecialized(fake: FakeNative) -> None:
    kernel = tw.jit(add.fn, do_not_specialize=["n"], do_not_specialize_on_alignment=[0])
    kernel[4](*arrays(), 1)
    kernel[4](*arrays(), 64)
    assert len(fake.compilations) == 1
    assert fake.last["out"].facts["divisibility"] == 1
    assert fake.last["x"].facts["divisibility"] == 16


def test_annotated_numbers_have_their_type(fake: FakeNative) -> None:
    kernel = tw.jit(scaled.fn)
    kernel[1](arrays()[0], 3, 1.0, 2.5, BLOCK=4)
    assert fake.last["n"].facts["type"] == "i64" and fake.last["x"].facts["type"] == "fp16"
    assert fake.last["y"].facts["type"] == "fp32" and fake.last["BLOCK"].kind == "constexpr"
    assert fake.launches[-1][2][1:] == (3, 0x3C00, 2.5)


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1.0, 0x3F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (-0.0, 0x8000),
     (1e39, 0x7F80), (float("inf"), 0x7F80), (3.3895e38, 0x7F7F), (3.4e38, 0x7F80)],
)  # fmt: skip
def test_bfloat16_numbers_round_to_nearest_even(value: float, bits: int) -> None:
    from tilewright.launch.parameters import _half_bits

    assert _half_bits(value, tw.bfloat16) == bits


def test_annotated_numbers_outside_of_their_type_are_refused(fake: FakeNative) -> None:
    kernel = tw.jit(scaled.fn)
    with pytest.raises(tw.LaunchError, match="`n`") as error:
        kernel[1](arrays()[0], 1 << 63, 1.0, 2.5, BLOCK=4)
    assert code_of(error) == "TW0407"
    with pytest.raises(tw.LaunchError) as error:
        kernel[1](arrays()[0], 0.5, 1.0, 2.5, BLOCK=4)
    assert code_of(error) == "TW0407"


def test_a_kernel_without_parameters(fake: FakeNative) -> None:
    tw.jit(nothing.fn)[(3,)]()
    assert fake.launches[-1][1:] == ((3, 1, 1), (), None)


def test_a_grid_may_be_computed_from_the_arguments(fake: FakeNative, kernel: Any) -> None:
    def grid(arguments: dict[str, Any]) -> tuple[int, int]:
        return tw.cdiv(arguments["n"], arguments["BLOCK"]), arguments["num_warps"]

    kernel[grid](*arrays(), 60, BLOCK=16, num_warps=8)
    assert fake.launches[-1][1] == (4, 8, 1)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("BLOCKS", "did you mean `BLOCK`?"), ("rows", "it may ask for `out`, `x`, `n`, `BLOCK`")],
)
def test_a_grid_asks_for_arguments_of_the_launch(
    fake: FakeNative, kernel: Any, name: str, hint: str
) -> None:
    with pytest.raises(tw.LaunchError, match=f"asks for `{name}`") as error:
        kernel[lambda meta: (meta[name],)](*arrays(), 60)
    assert code_of(error) == "TW0402" and hint in str(error.value)
    assert isinstance(error.value, KeyError)  # as Triton raises
    kernel[lambda meta: (meta.get(name, 3),)](*arrays(), 60)
    assert fake.launches[-1][1] == (3, 1, 1)


class Holder:
    @tw.jit
    def scale(self, out, x):
        tw.store(out, x)


def test_a_kernel_in_a_class_is_given_no_self() -> None:
    with pytest.raises(tw.LaunchError, match="lacks the arguments `x`") as error:
        Holder().scale[(1,)](*arrays())
    assert code_of(error) == "TW0404" and "put @staticmethod above @tw.jit" in str(error.value)


@pytest.mark.parametrize("grid", [0, (0,), (4, 0), (4, 4, 0), lambda arguments: (0,)])
def test_zero_programs_run_nothing(fake: FakeNative, kernel: Any, grid: Any) -> None:
    assert kernel[grid](*arrays(), 60) is None
    assert not fake.launches and not fake.compilations


@pytest.mark.parametrize(
    "grid", [-1, (4, -1), (1 << 31,), (1, 1, 1, 1), (), 1.5, (1.5,), "4", None, lambda _: -3]
)
def test_grids_that_cannot_be_launched(fake: FakeNative, kernel: Any, grid: Any) -> None:
    with pytest.raises(tw.LaunchError) as error:
        kernel[grid](*arrays(), 60)
    assert code_of(error) == "TW0402"
    assert not fake.launches


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((), {}, "lacks the arguments `out`, `x`, `n`"),
        ((0, 1, 2, 3, 4), {}, "takes 4 positional arguments, 5 given"),
        ((0, 1, 2), {"x": 3}, "`x` twice"),
        ((0, 1, 2), {"BLOK": 3}, "did you mean `BLOCK`"),
        ((0, 1), {"m": 3}, "'m' is not a parameter"),
    ],
)
def test_arguments_that_do_not_fit(
    fake: FakeNative, kernel: Any, arguments: tuple[int, ...], options: dict[str, int], text: str
) -> None:
    with pytest.raises(tw.LaunchError) as error:
        kernel[1](*arguments, **options)
    assert code_of(error) == "TW0404"
    assert text in str(error.value)


def test_keyword_only_parameters_are_not_positional(fake: FakeNative) -> None:
    with pytest.raises(tw.LaunchError, match="takes 4 positional"):
        tw.jit(scaled.fn)[1](arrays()[0], 3, 1.0, 2.5, 4)


def test_a_kernel_is_not_called_like_a_function(kernel: Any) -> None:
    with pytest.raises(tw.LaunchError, match=r"add\[grid\]\(...\)"):
        kernel(1, 2)


@pytest.mark.parametrize("options", [{"num_warps": 3}, {"num_warps": "4"}, {"num_stages": -1}])
def test_impossible_options_are_refused(fake: FakeNative, kernel: Any, options: Any) -> None:
    with pytest.raises(tw.LaunchError) as error:
        kernel[1](*arrays(), 60, **options)
    assert code_of(error) == "TW0410"


def test_a_changed_global_is_compiled_again(
    fake: FakeNative, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tw.jit(scaled.fn)
    launch = lambda: kernel[1](arrays()[0], 3, 1.0, 2.5, BLOCK=4)  # noqa: E731
    launch()
    launch()
    assert len(fake.compilations) == 1
    monkeypatch.setitem(globals(), "SCALE", 4)
    launch()
    launch()
    assert len(fake.compilations) == 2
    first, second = (c[0].json for c in fake.compilations)
    assert first != second and '"v":"4"' in second


def double(x):
    return x * 2


@tw.jit
def apply(out, FUNCTION: tw.constexpr):
    tw.store(out, FUNCTION(tw.load(out)))


def test_functions_as_constants_are_captured(fake: FakeNative) -> None:
    kernel = tw.jit(apply.fn)
    out, _ = arrays()
    kernel[1](out, FUNCTION=double)
    source, specialization, *_ = fake.compilations[-1]
    assert '"name":"double"' in source.json
    assert '"k":"jit"' in specialization.arguments[1].facts["json"]
    kernel[1](out, FUNCTION=double)
    assert len(fake.compilations) == 1
    kernel[1](out, FUNCTION=tw.exp)
    assert '"k":"builtin"' in fake.last["FUNCTION"].facts["json"]


def test_warmup_compiles_without_running(fake: FakeNative, kernel: Any) -> None:
    torch = pytest.importorskip("torch")
    compiled = kernel.warmup(torch.float32, torch.float32, 64, BLOCK=32, grid=(1,))
    assert not fake.launches and compiled.parameters[0][1] == "*fp32"
    kernel[2](torch.zeros(64), torch.zeros(64), 64, 32)
    assert len(fake.compilations) == 1


def test_run_is_a_launch_with_the_grid_as_an_argument(fake: FakeNative, kernel: Any) -> None:
    kernel.run(*arrays(), 60, grid=(5,))
    assert fake.launches[-1][1] == (5, 1, 1)
    kernel.run(*arrays(), 61, grid=(5,), warmup=True)
    assert len(fake.launches) == 1


def test_denied_compilation_names_what_is_missing(
    fake: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_JIT", "deny")
    knobs.reset()
    out, x = arrays()
    kernel.warmup(out, x, 60)
    kernel[1](out, x, 62)
    with pytest.raises(tw.LaunchError, match=r"n: i32:16:nonneg, BLOCK=64 on cpu") as error:
        kernel[1](out, x, 64)
    assert code_of(error) == "TW0408"
    assert len(fake.compilations) == 1


def test_the_device_is_part_of_the_key(fake: FakeNative, kernel: Any) -> None:
    kernel[1](*arrays(), 60)
    with tw.device("reference"):
        assert tw.current_device() == "reference"
        kernel[1](*arrays(), 60)
    assert [c[2] for c in fake.compilations] == ["cpu", "reference"]
    assert tw.current_device() == "cpu"


def test_an_unknown_device_is_refused(
    fake: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(tw.LaunchError, match="'refrence'") as error:
        with tw.device("refrence"):
            pass
    assert code_of(error) == "TW0401" and "'reference'" in error.value.hint
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "gpu")
    knobs.reset()
    with pytest.raises(tw.LaunchError, match="'gpu'"):
        kernel[1](*arrays(), 60)


def test_a_compiled_kernel_describes_itself(fake: FakeNative, kernel: Any) -> None:
    compiled = kernel[1](*arrays(), 60)
    assert compiled.asm["tile"].startswith("tile of") and "llvm" in compiled.asm
    assert compiled.asm["object"] == b"binary"
    stages = ["tile", "tile-passes", "lowered", "llvm-dialect", "llvm", "asm", "object"]
    assert list(compiled.asm) == stages
    with pytest.raises(KeyError, match="lowered"):
        compiled.asm["ptx"]
    assert compiled.metadata.num_warps == 4 and compiled.metadata.target == "cpu"
    assert (compiled.n_spills, compiled.shared) == (0, 1)  # callers divide by the latter
    assert not hasattr(compiled, "n_regs")  # the text of this fake code names no registers
    assert compiled.milliseconds == {"frontend": 1.0} and compiled.origin == "compiled"


def test_stages_are_written_where_the_knob_says(
    fake: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP", str(tmp_path / "stages"))
    knobs.reset()
    kernel[1](*arrays(), 60)
    names = sorted(path.suffix for path in (tmp_path / "stages").iterdir())
    stages = [".asm", ".json", ".json", ".llvm", ".llvm-dialect", ".lowered", ".tile", ".tile-passes"]
    assert names == stages


def test_compiling_from_a_signature(fake: FakeNative, kernel: Any) -> None:
    compiled = kernel.compile(
        {"out": "*fp32:16", "x": "*fp32", "n": "i32:16"}, {"BLOCK": 32}, device="reference"
    )
    assert compiled.native.target == "reference"
    assert fake.last["x"].facts == {
        "type": "*fp32", "divisibility": 1, "is_streaming": False, "is_disjoint": True,
        "is_large": False, "is_zero_dim": False,
    }  # fmt: skip
    with pytest.raises(tw.LaunchError, match="`x`"):
        kernel.compile({"out": "*fp32", "n": "i32"})
    with pytest.raises(ValueError, match="i32:3"):
        kernel.compile({"out": "*fp32", "x": "*fp32", "n": "i32:3"})


def test_star_parameters_are_refused(fake: FakeNative) -> None:
    @tw.jit
    def kernel(out, *rest):
        tw.store(out, 1)

    with pytest.raises(tw.UnsupportedError, match=r"\*rest") as error:
        kernel[1](arrays()[0])
    assert code_of(error) == "TW0413"


def test_a_kernel_without_source_is_refused(fake: FakeNative) -> None:
    namespace: dict[str, Any] = {}
    # No variable or constant holds the whole text.
    exec("\n".join(["def kernel(x):", "    pass"]), namespace)
    with pytest.raises(tw.CompileError, match="linecache") as error:
        tw.jit(namespace["kernel"])[1](1)
    assert code_of(error) == "TW0412"


@pytest.mark.parametrize("thing", [3, "text", print, tw.Config])
def test_only_functions_can_be_decorated(thing: Any) -> None:
    with pytest.raises(TypeError, match="decorates functions"):
        tw.jit(thing)


def test_the_decorator_keeps_name_and_documentation() -> None:
    @tw.jit(version=2, noinline=True, repr=lambda _: "name", launch_metadata=None)
    def kernel(x):
        """What it does."""

    assert (kernel.__name__, kernel.__doc__) == ("kernel", "What it does.")
    assert kernel.version == 2 and kernel.noinline and "kernel" in repr(kernel)
    with pytest.raises(ValueError, match="specialize"):
        tw.jit(specialize="shapes")(kernel.fn)
