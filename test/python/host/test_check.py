"""`tw.testing.check` and the command `check`: bugs of kernels that they find, and kernels without one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
import tilewright as tw
from tilewright.native import native
from tilewright.testing import check
from tilewright.testing.bisection import Trials, find_pass
from tilewright.testing.check_runs import Launch, Way
from tilewright.testing.differences import Tolerance, difference, values_of
from tilewright.testing.examples import make_array, read_example
from tilewright.tools import cli

pytestmark = pytest.mark.usefixtures("compiler")
ROWS = {"out": "*fp32", "x": "*fp32", "n": "i32"}
FOLLOWING: dict[str, Any] = {"example": {"out": "n", "x": "n", "n": 300}, "grid": "cdiv(n, BLOCK)"}

# Kernels of test/kernels are imported by the tests that check them: reproducers load this file by itself.


@tw.jit
def double(out, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) * 2, mask=i < n)


@tw.jit
def reads_one_too_many(out, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i <= n) * 2, mask=i < n)


@tw.jit
def stores_without_mask(out, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n))


@tw.jit
def adds_without_order(out, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out, tw.load(out) + tw.sum(tw.load(x + i, mask=i < n, other=0.0), axis=0))


@tw.jit
def adds_in_order(out, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.atomic_add(out, tw.sum(tw.load(x + i, mask=i < n, other=0.0), axis=0))


@tw.jit
def forgets_the_rest(out, x, n, BLOCK: tw.constexpr):
    for k in range(n // BLOCK):
        i = k * BLOCK + tw.arange(0, BLOCK)
        tw.store(out + i, tw.load(x + i) * 2)


@tw.jit
def asserts(out, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.device_assert(n < 65, "too many")
    tw.store(out + i, tw.load(x + i, mask=i < n), mask=i < n)


@tw.jit
def differs_on_gpus(out, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n)
    if tw.target_info.is_cuda():
        value = tw.where(i == 70, value + 1, value)
    tw.store(out + i, value, mask=i < n)


@tw.jit
def rows_of(out, table, index, T, V, D, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    row = tw.load(index + tw.program_id(0))
    tw.store(out + tw.program_id(0) * D + i, tw.load(table + row * D + i, mask=i < D), mask=i < D)


@tw.jit
def softmax_of_rows(out, x, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=float("-inf"))
    value = tw.exp(value - tw.max(value, axis=0))
    tw.store(out + i, value / tw.sum(value, axis=0), mask=i < n)


def doubled(x: Any, **_: Any) -> dict[str, Any]:
    return {"out": x * 2}


def line_of(kernel: Any, text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"def {kernel.fn.__name__}("))
    return next(i for i, line in enumerate(lines, 1) if i > start and text in line)


def test_nothing_is_found_in_a_kernel_that_is_right() -> None:
    result = check(double, ROWS, {"BLOCK": 64}, **FOLLOWING, expected=doubled)
    assert result and not result.findings and "nothing found" in str(result)
    # n = 0, 1, 63, 64, 65, 300 and one of several tiles; each on eight ways and `reference` twice.
    assert result.cases == 7 and result.launches == 7 * 10


@pytest.mark.parametrize("type", ["fp32", "fp16", "bf16"])
def test_products_and_their_sums_may_be_reordered(type: str) -> None:
    from masked_kernels import matmul

    signature = {"c": "*fp32", "a": f"*{type}", "b": f"*{type}", "M": "i32", "N": "i32", "K": "i32"}
    example = {"c": "M*N", "a": "M*K", "b": "K*N", "M": 33, "N": 48, "K": 65}
    grid = ("cdiv(M, BM)", "cdiv(N, BN)")
    assert check(matmul, signature, dict.fromkeys(("BM", "BN", "BK"), 16), example=example, grid=grid, cases=8)


def test_sums_of_many_elements_may_be_reordered() -> None:
    from masked_kernels import matmul

    signature = {"c": "*fp32", "a": "*fp32", "b": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    example = {"c": "M*N", "a": "M*K", "b": "K*N", "M": 32, "N": 48, "K": 500}
    tiles = {"BM": 64, "BN": 64, "BK": 32}
    assert check(matmul, signature, tiles, example=example, grid=("cdiv(M, BM)", "cdiv(N, BN)"), cases=1)


def test_nothing_is_found_in_a_softmax() -> None:
    from masked_kernels import softmax

    signature = {"out": "*fp32", "x": "*fp32", "columns": "i32"}
    # The block holds a row: sizes of arrays that name no number keep numbers at most at the example's.
    example = {"out": 192, "x": 192, "columns": 64}
    assert check(softmax, signature, {"BLOCK": 64}, example=example, grid=(3,))


def test_integers_are_below_the_limit_of_their_entry(tmp_path: Path) -> None:
    signature = {"out": "*fp32", "table": "*fp32", "index": "*i64", "T": "i32", "V": "i32", "D": "i32"}
    example = {"out": "T*D", "table": "V*D", "index": "T < V", "T": 9, "V": 5, "D": 30}
    assert check(rows_of, signature, {"BLOCK": 128}, example=example, grid="T", cases=12)
    script = tmp_path / "shows.py"
    beyond = {**example, "index": "T < V + 1"}
    result = check(
        rows_of, signature, {"BLOCK": 64}, example=beyond, grid="T", raises=False, reproducer=script, cases=1
    )
    assert [found.kind for found in result.findings] == ["bounds"], "a row behind the last one"
    assert "'index': '9 < 6'" in script.read_text()


def test_a_mask_that_is_off_by_one_is_out_of_bounds_beside_the_tiles() -> None:
    result = check(reads_one_too_many, ROWS, {"BLOCK": 64}, **FOLLOWING, raises=False)
    (found,) = result.findings
    assert (found.kind, found.line) == ("bounds", line_of(reads_one_too_many, "i <= n"))
    assert found.arguments["n"] == 1 and "sim:gfx942" in found.devices and "element 1 of argument 'x'" in str(found)
    whole = {**FOLLOWING, "example": {"out": "n", "x": "n", "n": 128}}
    assert check(reads_one_too_many, ROWS, {"BLOCK": 64}, **whole, cases=1), "multiples of the tile are right"


def test_a_store_without_mask_is_found_at_its_line() -> None:
    with pytest.raises(AssertionError, match="access out of bounds") as caught:
        check(stores_without_mask, ROWS, {"BLOCK": 64}, example={"out": 200, "x": 200, "n": 200}, grid=(4,))
    assert f"at line {line_of(stores_without_mask, 'tw.store')}" in str(caught.value)


def test_programs_that_add_without_order_race() -> None:
    example = {"out": 1, "x": "n", "n": 512}
    result = check(adds_without_order, ROWS, {"BLOCK": 64}, example=example, grid=(8,), updated=["out"], raises=False)
    (found,) = result.findings
    assert (found.kind, found.grid) == ("race", (2,)), "two programs are enough"
    assert set(found.devices) == {"sim:gfx942", "sim:sm_80", "sim:sm_90a"} and found.line
    assert check(adds_in_order, ROWS, {"BLOCK": 64}, example=example, grid=(8,), updated=["out"])


def test_an_output_that_adds_to_what_it_held_is_found() -> None:
    example = {"out": 1, "x": "n", "n": 64}
    result = check(adds_in_order, ROWS, {"BLOCK": 64}, example=example, grid=(1,), raises=False)
    (found,) = result.findings
    assert (found.kind, found.line) == ("uninitialized", line_of(adds_in_order, "atomic_add"))
    assert "named in `updated`" in found.message


def test_results_for_multiples_of_the_block_only_are_not_the_expected_ones() -> None:
    result = check(forgets_the_rest, ROWS, {"BLOCK": 64}, **FOLLOWING, expected=doubled, raises=False)
    (found,) = result.findings
    assert found.kind == "expected" and found.arguments["n"] == 1
    assert "1 of 1 elements differ" in found.message and "nan instead of" in found.message


def test_an_assertion_that_fails_is_one_finding_of_all_devices() -> None:
    result = check(asserts, ROWS, {"BLOCK": 64}, **FOLLOWING, debug=True, raises=False)
    (found,) = result.findings
    assert (found.kind, found.line) == ("assertion", line_of(asserts, "device_assert"))
    assert found.arguments["n"] == 65 and len(found.devices) == 4


def test_what_cannot_be_launched_is_refused() -> None:
    with pytest.raises(ValueError, match="the example is not a launch: the grid .* is too large"):
        check(double, ROWS, {"BLOCK": 64}, example=FOLLOWING["example"], grid=1 << 40)
    with pytest.raises(ValueError, match="3 is not a kernel"):
        check(3, ROWS, {"BLOCK": 64}, **FOLLOWING)
    with pytest.raises(ValueError, match="ways are pairs of round-robin, .* not .'late', 'greedy'."):
        check(double, ROWS, {"BLOCK": 64}, **FOLLOWING, ways=[("late", "greedy")])


def test_a_device_that_differs_is_named_with_the_line_of_its_store() -> None:
    result = check(differs_on_gpus, ROWS, {"BLOCK": 64}, **FOLLOWING, raises=False)
    assert [(one.kind, one.way.device) for one in result.findings] == [
        ("difference", "sim:sm_80"), ("difference", "sim:sm_90a"),
    ]  # fmt: skip
    for found in result.findings:
        assert found.line == line_of(differs_on_gpus, "tw.store")
        assert found.arguments["n"] == 71 and "element 70" in found.message


@pytest.mark.parametrize("type", ["fp16", "bf16", "fp8e5", "fp8e4nv", "fp8e4b15", "i8", "i1", "i64"])
def test_differences_of_all_types_are_seen(type: str) -> None:
    array = make_array(type, 50, 50, 1)
    values = numpy.array(values_of(array, type))
    assert difference(values, values, {"x": type}, "x", Tolerance(None, None), 50) is None
    other = values.copy()
    other[7] = not other[7] if type == "i1" else other[7] + 31
    index, text = difference(values, other, {"x": type}, "x", Tolerance(None, None), 50) or (None, "")
    assert index == 7 and "1 of 50 elements" in text


def test_the_words_of_bf16_are_decoded() -> None:
    words = numpy.array([0x3F80, 0xC040, 0x0001, 0x8000], "uint16")
    assert list(values_of(words, "bf16")) == [1.0, -3.0, 2.0**-133, 0.0]


def test_a_race_is_found_in_the_ways_that_are_chosen(tmp_path: Path) -> None:
    example, script = {"out": 1, "x": "n", "n": 512}, tmp_path / "shows.py"
    chosen: dict[str, Any] = {"example": example, "grid": 8, "updated": ["out"], "ways": [("reverse", "early")]}
    result = check(adds_without_order, ROWS, {"BLOCK": 64}, **chosen, raises=False, reproducer=script)
    assert str(result.findings[0].way) == "sim:gfx942 (reverse, early)"
    assert "ways=(('reverse', 'early'),)" in script.read_text()


def test_a_script_shows_the_smallest_case(tmp_path: Path) -> None:
    script = tmp_path / "shows.py"
    check(stores_without_mask, ROWS, {"BLOCK": 64}, **FOLLOWING, raises=False, reproducer=script)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ran.returncode == 1 and "n=1, out: 1 x fp32" in ran.stdout, ran.stderr


COMMAND = ["--signature", "*fp32, *fp32, i32", "--constexpr", "BLOCK=64", "--grid", "cdiv(n, BLOCK)"]


def test_the_command_exits_with_1_for_findings(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*COMMAND, "--example", "out=n, x=300, n=300"]
    assert cli.main(["check", f"{__file__}:double", *words]) == 0
    assert "nothing found in 7 cases" in capsys.readouterr().out
    assert cli.main(["check", f"{__file__}:forgets_the_rest", *words, "--expected", f"{__file__}:doubled"]) == 1
    assert "results are not the expected ones" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--example 'out=ELEMENTS (*fp32), x=ELEMENTS (*fp32), n=VALUE (i32)'"),
        (["--example", "out=n, x=n"], "--example 'n=VALUE (i32)'"),
        (["--example", "out=m, x=n, n=8"], "'m' is not a size"),
        (["--example", "out=n, x=n, n=8, y=1"], "no argument of the launch: y"),
        (["--example", "out=x, x=out, n=8"], "name each other: out, x"),
        (["--example", "out=n, x=-1, n=8"], "elements of the array x, not -1"),
        (["--example", "out=n, x=__import__('os'), n=8"], "is not a size"),
        (["--example", "out=n, x=n, n=8", "--grid", "1,1,1,1"], "one to three whole numbers"),
        (["--example", "out=n, x=n, n=8", "--devices", "sim:sm_1"], "sim:sm_1"),
        (["--example", "out=n, x=n, n=8", "--updated", "y"], "the launch has no argument y"),
        (["--example", "out=n, x=n, n=8", "--cases", "0"], "cases is 1 or more"),
        (["--signature", "*fp32"], "the types of x, n: --signature 'NAME=*fp32, NAME=i32'"),
        (["--constexpr", ""], "the values of BLOCK: --constexpr 'NAME=VALUE'"),
    ],
)
def test_wrong_usage_exits_with_2(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", f"{__file__}:double", *COMMAND, *words]) == 2
    assert message in capsys.readouterr().err


def test_a_script_cannot_import_a_function_of_a_body(tmp_path: Path) -> None:
    @tw.jit
    def inner(out, x, n, BLOCK: tw.constexpr):
        tw.store(out, tw.load(x))

    with pytest.raises(ValueError, match="a script cannot import"):
        check(inner, ROWS, {"BLOCK": 64}, **FOLLOWING, reproducer=tmp_path / "shows.py")


def test_a_folder_has_all_that_shows_the_smallest_case(tmp_path: Path) -> None:
    folder = tmp_path / "found\nimport os"  # as text of a script it would be a line of code
    check(stores_without_mask, ROWS, {"BLOCK": 64}, **FOLLOWING, raises=False, reproducer=folder)
    assert (folder / "kernel.py").read_text() == Path(__file__).read_text()
    report, script = (folder / "report.txt").read_text(), (folder / "reproduce.py").read_text()
    assert "access out of bounds at line" in report and "BLOCK=2;" in report, "a tile of two is enough"
    assert "# To run it again: python '" in script and "'seed'" not in script and "seed=2026" in script
    moved = folder.rename(tmp_path / "moved")
    ran = subprocess.run([sys.executable, str(moved / "reproduce.py")], capture_output=True, text=True)
    assert ran.returncode == 1 and "n=1, out: 1 x fp32" in ran.stdout, ran.stderr


@dataclass
class Found:
    """A finding, as far as a search for its pass asks."""

    case: Any
    way: Way
    is_in_shared: bool = False


def searched(kernel: Any, shows: Any, device: str = "sim:sm_80", is_in_shared: bool = False) -> tuple[Any, list[str], int]:
    """The pass that a search finds, its lines, and the number of optional passes."""
    request = kernel.request(ROWS, {"BLOCK": 64}, device="reference")
    case = read_example(request, {"out": 300, "x": 300, "n": 300}, (5,))
    lines: list[str] = []
    launch = Launch(kernel, {}, frozenset({"out"}), 1)
    trials = Trials(shows, lambda folder: None, lambda folder: None)
    found = find_pass(launch, Found(case, Way(device), is_in_shared), trials, lines.append)
    count = sum(flag for _, flag in native().passes_of(device, request._replace(device=device).specialization()))
    return found, lines, count


def test_a_search_takes_about_the_logarithm_of_the_passes() -> None:
    found, lines, count = searched(double, lambda limit: limit >= 4)
    assert (found.name, found.number) == ("combine-ops", 5) and found.is_sure, "the fourth that is optional"
    assert len(lines) <= 2 + count.bit_length() and lines[0] == f"with 0 of {count} optional passes: right"


def test_a_search_goes_on_in_the_passes_of_llvm() -> None:
    count = searched(double, lambda limit: True)[2]
    found, lines, _ = searched(double, lambda limit: limit >= count + 17)
    assert found.is_of_llvm and found.number == 17 and found.name.endswith("Pass")
    assert str(found) == f"pass '{found.name}' of LLVM, number 17 of its optional ones as they run"
    assert "with all optional passes and 32 of LLVM's: wrong" in lines
    assert searched(double, lambda limit: False)[0] is None, "a fault that comes and goes"


def test_a_pass_before_which_nothing_compiles_is_not_sure() -> None:
    found, _, _ = searched(double, lambda limit: None if limit < 9 else True)
    assert not found.is_sure and "or one before it" in str(found)


def test_a_fault_in_shared_memory_is_of_passes_from_the_first_buffer_on() -> None:
    found, lines, _ = searched(softmax_of_rows, lambda limit: True, is_in_shared=True)
    assert found.candidates[:3] == ("stage-through-shared", "allocate-shared", "insert-barriers")
    assert "in one of stage-through-shared, " in str(found) and lines[-1].endswith("nothing is told")


def test_with_ever_fewer_passes_kernels_compute_the_same() -> None:
    for device in ("cpu", "sim:sm_80", "sim:sm_90a", "sim:gfx942"):
        count = searched(softmax_of_rows, lambda limit: True, device)[2]
        assert count > 12
        for limit in (*range(0, count + 1, 3), count + 20):
            found = check(
                softmax_of_rows, ROWS, {"BLOCK": 64}, example={"out": "n", "x": "n", "n": 50}, devices=[device],
                cases=1, pass_limit=limit,
            )  # fmt: skip
            assert not found.notes, (device, limit)


def test_with_ever_fewer_passes_products_compute_the_same() -> None:
    from masked_kernels import matmul

    signature = {"c": "*fp32", "a": "*fp16", "b": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
    example = {"c": "M*N", "a": "M*K", "b": "K*N", "M": 64, "N": 64, "K": 80}
    tiles = {"BM": 64, "BN": 64, "BK": 32}
    count = searched(double, lambda limit: True, "sim:sm_90a")[2]
    for limit in range(0, count + 1, 4):
        found = check(matmul, signature, tiles, example=example, devices=["sim:sm_90a"], cases=1, pass_limit=limit)
        assert not found.notes, limit


def test_the_limit_is_part_of_the_key() -> None:
    x, out = numpy.ones(64, "float32"), numpy.zeros(64, "float32")
    keys = {
        limit: double[(1,)](out, x, 64, BLOCK=64, pass_limit=limit).key for limit in (None, 0, 1, 17)
    }
    assert len(set(keys.values())) == 4
    assert double[(1,)](out, x, 64, BLOCK=64).key == keys[None]


def test_a_kernel_that_asks_for_its_device_is_no_wrong_pass() -> None:
    result = check(differs_on_gpus, ROWS, {"BLOCK": 64}, **FOLLOWING, devices=["sim:sm_80"], raises=False)
    assert "wrong before the first pass: the kernel asks for the device" in str(result)


@pytest.mark.parametrize("device", ["cpu", "sim:sm_80"])
def test_the_limit_goes_on_into_the_passes_of_llvm(device: str) -> None:
    count = searched(double, lambda limit: True, device)[2]
    limits = (None, 1 << 20, *range(count, count + 40, 3))
    texts = [double.compile(ROWS, {"BLOCK": 64}, device, pass_limit=limit).asm["llvm"] for limit in limits]
    assert texts[0] == texts[1], "none is left out"
    assert len(set(texts)) > 2, "all are, some are, none is"
