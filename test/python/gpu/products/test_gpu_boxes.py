"""On sm_90a the operands of pipelined products are copied as boxes by tensor maps: TMA."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gpu.launching import BOX_SETTINGS, Setting
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel
from tilewright.native import knobs

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]


def copies(compiled: CompiledKernel) -> int:
    """Copies of boxes in the code; those of single threads are none then in the pipelined loop."""
    return len(re.findall(r"cp\.async\.bulk\.tensor\.\dd\.shared::cluster", compiled.asm["ptx"]))


def maps(compiled: CompiledKernel) -> list[str]:
    first, _, _ = compiled.asm["scheduled"].partition("tile.target")
    return first.split("#simt.tensor_map<")[1:]


def mapped(compiled: CompiledKernel) -> set[str]:
    """The numbers of the arguments that have maps."""
    return {text.partition(" ")[0] for text in maps(compiled)}


def reasons(compiled: CompiledKernel) -> set[str]:
    """Why threads copy tiles."""
    assert copies(compiled) == 0
    found = [r["message"] for r in compiled.remarks if r["code"] == "TW0368" and "loop" in r["message"]]
    return {message.partition(": ")[2] for message in found}


@tw.jit
def batched(
    a, b, c, M, N, K, a_batch, a_row, b_batch, b_row, c_batch,
    FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c[i] = a[i] @ b[i], whose rows are masked or not, with addresses of several forms."""
    z = tw.program_id(1)
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n, k = tw.arange(0, BN), tw.arange(0, BK)
    total = tw.zeros((BM, BN), tw.float32)
    left = a + z * a_batch + m[:, None] * a_row + k[None, :]
    for start in range(0, K, BK):
        if FORM == "rows":
            x = tw.load(left + start, mask=m[:, None] < M, other=0.0)
        elif FORM == "rows and columns":
            inside = (m[:, None] < M) & (start + k[None, :] < K)
            x = tw.load(left + start, mask=inside, other=0.0)
        elif FORM == "advanced":
            x = tw.load(left)
            left += BK
        else:
            x = tw.load(a + z * a_batch + m[:, None] * a_row + (start + k)[None, :])
        if FORM == "transposed":
            y = tw.load(b + z * b_batch + (start + k)[None, :] * b_row + n[:, None]).T
        else:
            y = tw.load(b + z * b_batch + (start + k)[:, None] * b_row + n[None, :])
        total = tw.dot(x, y, total)
    tw.store(c + z * c_batch + m[:, None] * N + n[None, :], total, mask=m[:, None] < M)


FORMS = ["plain", "rows", "rows and columns", "advanced", "transposed"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", BOX_SETTINGS)
def test_boxes_of_matrices(form: str, setting: Setting, rng: np.random.Generator) -> None:
    """A batch is a dimension of its own; what masks exclude is outside of the array."""
    BM = 16 * setting[0]
    rows = 2 * BM if form in ("plain", "advanced", "transposed") else BM + 24
    K = 192 + (16 if form == "rows and columns" else 0)
    a, b, c = integers(rng, 3, rows, K), integers(rng, 3, 256, 64), poisoned(3, rows, 64)
    compiled = launch(
        batched, (2, 3), a, b, c, rows, 64, K, a.stride(0), K, b.stride(0), 64, c.stride(0),
        FORM=form, BM=BM, BN=64, BK=64, setting=setting,
    )  # fmt: skip
    assert_equal(c, a.double() @ b[:, :K].double())
    assert copies(compiled) > 0
    assert mapped(compiled) == {"0", "1", "2"}
    assert "box[64, " in maps(compiled)[0]


def test_a_batch_is_a_dimension(rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 2, 64, 64), integers(rng, 2, 64, 64), poisoned(2, 64, 64)
    compiled = launch(
        batched, (1, 2), a, b, c, 64, 64, 64, 4096, 64, 4096, 64, 4096,
        FORM="rows", BM=64, BN=64, BK=32, setting=(4, 2, "late"),
    )  # fmt: skip
    first, second, third = maps(compiled)
    # Extents: all columns, the rows of the mask (argument 3), all matrices.
    assert re.search(r"extents\[<\d+>, <1 of ?\[3\]>, <\d+>\]", first), first
    assert re.search(r"strides\[<1 of ?\[7\]>, <1 of ?\[6\]>\] box\[32, 64, 1\] span 64", first), first
    assert "box[64, 32, 1] span 128" in second
    assert "box[32, 64, 2, 1] span 128" in third  # c, of f32: two slabs at once


@tw.jit
def odd(a, b, c, rows, K, stride, FORM: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """Products of 64 rows whose loads are not boxes of an array."""
    m, n, k = tw.arange(0, 64), tw.arange(0, N), tw.arange(0, BK)
    total = tw.zeros((64, N), tw.float32)
    for start in range(0, K, BK):
        if FORM == "gathered":
            at = tw.load(rows + m)[:, None] * stride
        elif FORM == "from the end":
            at = (63 - m)[:, None] * stride
        elif FORM == "wrapped":
            at = (m % 48)[:, None] * stride
        else:
            at = m[:, None] * stride
        if FORM == "below":
            inside = (m[:, None] < 40) & (m[:, None] >= 8)
            x = tw.load(a + at + (start + k)[None, :], mask=inside, other=0.0)
        elif FORM == "before":
            x = tw.load(a + at + (start + k)[None, :] - 64 * stride + 64 * stride - 8)
        else:
            x = tw.load(a + at + (start + k)[None, :])
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
    tw.store(c + m[:, None] * N + n[None, :], total)


ODD = {
    "gathered": "its addresses are not sums of multiples along the tile's dimensions",
    "from the end": "a launch does not give the strides of its array",
    "wrapped": "its indices begin again at an extent, beyond which results may be used",
    "below": "its mask is more than comparisons of indices with the array's extents",
    "before": "its indices are not known to be from 0 on",
}


def launch_odd(form: str, rng: np.random.Generator) -> CompiledKernel:
    """The launched kernel, whose result is right."""
    K = 128
    a, b, c = integers(rng, 65, K), integers(rng, K, 64), poisoned(64, 64)
    rows = torch.from_numpy(rng.permutation(64).astype(np.int32))
    compiled = launch(
        odd, (1,), a[1:], b, c, rows, K, K, FORM=form, N=64, BK=32, setting=(4, 3, "late")
    )
    left, m = a[1:].double(), torch.arange(64)
    if form == "gathered":
        left = left[rows.long()]
    elif form == "from the end":
        left = left.flip(0)
    elif form == "wrapped":
        left = left[m % 48]
    elif form == "below":
        left = torch.where((m[:, None] < 40) & (m[:, None] >= 8), left, 0.0)
    elif form == "before":
        left = a.double().flatten()[K - 8 : -8].reshape(64, K)
    assert_equal(c, left @ b.double())
    return compiled


@pytest.mark.parametrize("form", ODD)
def test_what_is_no_box(form: str, rng: np.random.Generator) -> None:
    """Threads copy what no tensor map describes, and a remark says at the load why."""
    assert reasons(launch_odd(form, rng)) == {ODD[form]}


@tw.jit
def beginning_again(
    a, b, c, sums, M, N, K,
    FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """Rows and columns beyond the end are read as the first ones, and not stored, or are by FORM."""
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    x_at = a + (rows % M)[:, None] * K + k[None, :]
    y_at = b + k[:, None] * N + (columns % N)[None, :]
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, tw.cdiv(K, BK)):
        x = tw.load(x_at, mask=k[None, :] < K - start * BK, other=0.0)
        y = tw.load(y_at, mask=k[:, None] < K - start * BK, other=0.0)
        total = tw.dot(x, y, total)
        x_at += BK
        y_at += BK * N
    if FORM == "scaled":
        total = total * 2 + rows[:, None]
    if FORM == "summed along rows":
        tw.store(sums + rows, tw.sum(tw.abs(total), 1), mask=rows < M)
    elif FORM == "summed along columns":
        tw.store(sums + columns, tw.sum(tw.abs(total), 0), mask=columns < N)
    at = c + rows[:, None] * N + columns[None, :]
    limit = M + 1 if FORM == "stored beyond" else M
    tw.store(at, total, mask=(rows[:, None] < limit) & (columns[None, :] < N))


# Of each form whether the rows of A, the columns of B are unused beyond the end.
BEGINNING_AGAIN = {
    "plain": {"0", "1"}, "scaled": {"0", "1"}, "summed along rows": set(), "summed along columns": set(),
    "stored beyond": set(),
}  # fmt: skip


def launch_beginning_again(form: str, rng: np.random.Generator) -> CompiledKernel:
    """The launched kernel, whose result is right."""
    M, N, K = 80, 96, 160
    a, b, c = integers(rng, M, K), integers(rng, K, N), poisoned(M + 1, N)
    sums = torch.full((max(M, N),), 7.0)
    compiled = launch(
        beginning_again, (1, 1), a, b, c, sums, M, N, K,
        FORM=form, BM=128, BN=128, BK=32, setting=(4, 3, "late"),
    )  # fmt: skip
    product = a.double() @ b.double()
    expected = product * 2 + torch.arange(M)[:, None] if form == "scaled" else product
    assert_equal(c[:M], expected)
    if form == "stored beyond":
        assert_equal(c[M:], product[:1])
    return compiled


@pytest.mark.parametrize("form", BEGINNING_AGAIN)
def test_rows_that_begin_again(form: str, rng: np.random.Generator) -> None:
    """They are filled where nobody uses their results; sums over them are such a use."""
    assert mapped(launch_beginning_again(form, rng)) == BEGINNING_AGAIN[form]


@tw.jit
def deceptive(
    a, b, c, M, layer, layer_stride,
    FORM: tw.constexpr, K: tw.constexpr, BM: tw.constexpr, N: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """A product whose loads or stores look like those of boxes, and are others."""
    rows, n, k = tw.arange(0, BM), tw.arange(0, N), tw.arange(0, BK)
    at, inside = rows, (rows >= 0)[:, None]
    stored = (rows < M)[:, None]
    if FORM == "far away":
        a += layer.to(tw.int64) * layer_stride
    elif FORM == "far rows":
        a += layer.to(tw.int64) * (64 * K)
    elif FORM == "unsigned":
        inside = ((rows - 8).to(tw.uint32) < M.to(tw.uint32) - 8)[:, None]
    else:
        at = rows % M
    if FORM == "unsigned store":
        stored = ((rows - 8).to(tw.uint32) < M.to(tw.uint32) - 8)[:, None]
    elif FORM == "other dimension":
        stored = ((n < M) & (n % 8 != 3))[None, :]
    total = tw.zeros((BM, N), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + at[:, None] * K + (start + k)[None, :], mask=inside, other=0.0)
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
    tw.store(c + rows[:, None] * N + n[None, :], total, mask=stored)


DECEPTIVE = ["far away", "far rows", "unsigned", "unsigned store", "other dimension"]


def launch_deceptive(form: str, rng: np.random.Generator) -> CompiledKernel:
    """The launched kernel, whose result is right."""
    M, K = 4 if form == "unsigned store" else 40, 128
    a, b, c = integers(rng, 192, K), integers(rng, K, 64), poisoned(64, 64)
    row, column = torch.arange(64)[:, None], torch.arange(64)[None, :]
    left, stored, expected = a[:64].double(), (row < M).expand(64, 64), c.double()
    compiled = launch(
        deceptive, (1,), a, b, c, M, 2, 64 * K,
        FORM=form, K=K, BM=64, N=64, BK=32, setting=(4, 3, "late"),
    )  # fmt: skip
    if form.startswith("far"):
        left = a[128:].double()
    elif form == "unsigned":
        left = torch.where((row >= 8) & (row < M), left, 0.0)
    else:
        left = left[torch.arange(64) % M]
    if form == "unsigned store":
        stored = ((row < M) | (row >= 8)).expand(64, 64)  # M - 8 is 2**32 - 4
    elif form == "other dimension":
        stored = ((column < M) & (column % 8 != 3)).expand(64, 64)
    assert_equal(c, torch.where(stored, left @ b.double(), expected))
    return compiled


@pytest.mark.parametrize("form", DECEPTIVE)
def test_what_looks_like_a_box(form: str, rng: np.random.Generator) -> None:
    """Offsets may need more than 32 bits, unsigned numbers are not below 0, and limits may be those
    of another dimension."""
    assert len(reasons(launch_deceptive(form, rng))) == 1


@tw.jit
def late(a, b, c, M, TRIPS, K: tw.constexpr, BM: tw.constexpr):
    """Each product is stored by the next iteration, under its mask."""
    m, n, k = tw.arange(0, BM), tw.arange(0, 64), tw.arange(0, K)
    previous = tw.zeros((BM, 64), tw.float32)
    for trip in range(0, TRIPS):
        rows = (trip * 2 + 2) % TRIPS * BM + m
        x = tw.load(a + (rows % M)[:, None] * K + k[None, :])
        tw.store(c + rows[:, None] * 64 + n[None, :], previous, mask=rows[:, None] < M)
        previous = tw.dot(x, tw.load(b + k[:, None] * 64 + n[None, :]))


def test_results_under_the_mask_of_a_later_iteration(rng: np.random.Generator) -> None:
    M, trips, K = 150, 3, 64
    a, b, c = integers(rng, M, K), integers(rng, K, 64), poisoned(192, 64)
    expected, previous = c.double(), torch.zeros(64, 64).double()
    for trip in range(trips):
        rows = (trip * 2 + 2) % trips * 64 + torch.arange(64)
        expected[rows[rows < M]] = previous[rows < M]
        previous = a.double()[rows % M] @ b.double()
    compiled = launch(late, (1,), a, b, c, M, trips, K=K, BM=64, setting=(4, 3, "late"))
    assert_equal(c, expected)
    assert reasons(compiled)


@tw.jit
def acquiring(flag, a, b, c, FORM: tw.constexpr, K: tw.constexpr, BK: tw.constexpr):
    """A product of what other programs have written before they set a flag."""
    m, n, k = tw.arange(0, 64), tw.arange(0, 64), tw.arange(0, BK)
    if FORM == "volatile":
        while tw.load(flag, volatile=True) == 0:
            pass
    elif FORM == "tile":
        seen = tw.atomic_add(flag + tw.arange(0, 32) * 0, 0, sem="acquire")
        tw.store(flag + 1 + tw.arange(0, 32), seen)
    total = tw.zeros((64, 64), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * 64 + n[None, :]), total)
    tw.store(c + m[:, None] * 64 + n[None, :], total)


@pytest.mark.parametrize("form", ["volatile", "tile"])
def test_copies_of_boxes_are_not_ordered_behind_flags(form: str, rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 128), integers(rng, 128, 64), poisoned(64, 64)
    flag = torch.ones(33, dtype=torch.int32)
    compiled = launch(
        acquiring, (1,), flag, a, b, c, FORM=form, K=128, BK=32, setting=(4, 3, "late")
    )
    assert_equal(c, a.double() @ b.double())
    assert any("may write what is read" in reason for reason in reasons(compiled))


@tw.jit
def described(
    a, b, c, M, N, K,
    FORM: tw.constexpr, ROW: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """C = A B by descriptors or block pointers of any extents. ROW is the stride of A's rows."""
    m, n = tw.program_id(0) * BM, tw.program_id(1) * BN
    total = tw.zeros((BM, BN), tw.float32)
    if FORM != "block pointers":
        row = ROW if FORM == "constant stride" else K
        left = tw.make_tensor_descriptor(a, [M, K], [row, 1], [BM, BK])
        right = tw.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
        for start in range(0, K, BK):
            total = tw.dot(left.load([m, start]), right.load([start, n]), total)
    else:
        left = tw.make_block_ptr(a, (M, K), (K, 1), (m, 0), (BM, BK), (1, 0))
        right = tw.make_block_ptr(b, (K, N), (N, 1), (0, n), (BK, BN), (1, 0))
        for start in range(0, K, BK):
            x = tw.load(left, boundary_check=(0, 1), padding_option="zero")
            y = tw.load(right, boundary_check=(0, 1), padding_option="zero")
            total = tw.dot(x, y, total)
            left, right = tw.advance(left, (0, BK)), tw.advance(right, (BK, 0))
    rows, columns = m + tw.arange(0, BM), n + tw.arange(0, BN)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


@pytest.mark.parametrize("form", ["descriptors", "constant stride", "block pointers"])
@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize(("N", "arrays"), [(80, "012"), (72, "01"), (101, "")])
def test_descriptors_and_block_pointers(
    form: str, setting: Setting, N: int, arrays: str, rng: np.random.Generator
) -> None:
    """Strides need not be multiples of 16 elements, but of 16 bytes: a launch looks at those of loads."""
    M, K = 144, 208
    a, b, c = integers(rng, M, K), integers(rng, K, N), poisoned(M, N)
    compiled = launch(
        described, (2, 2), a, b, c, M, N, K, FORM=form, ROW=K, BM=128, BN=64, BK=32, setting=setting
    )
    assert_equal(c, a.double() @ b.double())
    assert mapped(compiled) == {*arrays}


@tw.jit
def rewritten(a, b, c, K, N: tw.constexpr, BK: tw.constexpr):
    """A product whose left operand the kernel has just written."""
    m, n, k = tw.arange(0, 64), tw.arange(0, N), tw.arange(0, BK)
    tw.store(a + m[:, None] * K + k[None, :], (m[:, None] + k[None, :]).to(tw.float16))
    total = tw.zeros((64, N), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
    tw.store(c + m[:, None] * N + n[None, :], total)


def test_what_the_kernel_writes_is_copied_by_threads(rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 128), integers(rng, 128, 64), poisoned(64, 64)
    compiled = launch(rewritten, (1,), a, b, c, 128, N=64, BK=64, setting=(4, 2, "late"))
    assert_equal(c, a.double() @ b.double())
    assert a[3, 5] == 8
    assert any("may write what is read" in reason for reason in reasons(compiled))


@pytest.mark.parametrize("what", ["stride", "extent", "base"])
def test_arrays_that_no_map_describes(what: str, rng: np.random.Generator) -> None:
    """Such a launch runs code without tensor maps; the next one with others has them again."""

    def run(a: Any, b: Any, rows: int, a_row: int) -> CompiledKernel:
        c = poisoned(64, 64)
        compiled = launch(
            batched, (1, 1), a, b, c, rows, 64, 128, 64 * 128, a_row, 128 * 64, 64, 64 * 64,
            FORM="rows", BM=64, BN=64, BK=64, setting=(4, 2, "late"),
        )  # fmt: skip
        left = a.as_strided((64, 128), (a_row, 1)).double()
        expected = torch.where(torch.arange(64)[:, None] < rows, left @ b.double(), c.double())
        assert_equal(c, expected)
        return compiled

    a, b = integers(rng, 64, 128), integers(rng, 128, 64)
    assert copies(run(a, b, 64, 128)) > 0
    if what == "stride":
        assert copies(run(a, b, 64, 0)) == 0
    elif what == "extent":
        assert copies(run(a, b, 0, 128)) == 0
    else:
        # Its address is not known to be one of pieces, so that no map is made in the first place.
        shifted = integers(rng, 64 * 128 + 1).flatten()[1:].reshape(64, 128)
        run(shifted, b, 64, 128)
    assert copies(run(a, b, 40, 128)) > 0


def test_a_launch_without_maps_may_have_to_be_prepared(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing may be compiled, the error says what to prepare; where remarks are shown, one says
    which array no map describes."""
    arguments = (integers(rng, 64, 128), integers(rng, 128, 64), poisoned(64, 64))
    options = {"FORM": "advanced", "BM": 64, "BN": 64, "BK": 64, "num_stages": 3}
    numbers = (64, 64, 128, 64 * 128, 128, 128 * 64, 64, 64 * 64)
    refused = (64, 64, 128, 64 * 128, 0, 128 * 64, 64, 64 * 64)
    with tw.device("sim:sm_90a"):
        compiled = batched[(1, 1)](*arguments, *numbers, **options)
        assert copies(compiled) > 0
        monkeypatch.setenv("TILEWRIGHT_JIT", "deny")
        knobs.reset()
        with pytest.raises(tw.LaunchError, match="was not prepared") as error:
            compiled[(1, 1)](*arguments, *refused)
        assert error.value.code == "TW0408" and "tensor_maps=False" in error.value.hint
        monkeypatch.delenv("TILEWRIGHT_JIT")
        monkeypatch.setenv("TILEWRIGHT_REMARKS", "1")
        knobs.reset()
        ran = compiled[(1, 1)](*arguments, *refused)
    knobs.reset()
    assert ran and copies(ran) == 0
    told = capsys.readouterr().err
    assert "TW0420" in told and "array `a`" in told
    assert "(guard a.stride[1]) is 2 * a_row, where a_row is 0, and has to be a multiple" in told


def test_guards_have_names(rng: np.random.Generator) -> None:
    """Those of tensor maps are what a launch is refused by; code without maps has none of them."""
    arguments = (integers(rng, 64, 128), integers(rng, 128, 64), poisoned(64, 64))
    options = {"FORM": "rows", "BM": 64, "BN": 64, "BK": 64, "num_stages": 3}
    with tw.device("sim:sm_90a"):
        kernels = [
            batched[(1, 1)](
                *arguments, 64, 64, 128, 64 * 128, row, 128 * 64, 64, 64 * 64, **options
            ) for row in (128, 0)
        ]  # fmt: skip
    with_maps, without = ({str(guard) for guard in kernel.guards} for kernel in kernels)
    of_maps = {
        "a.address: a is a multiple of 16, not 0",
        "a.extent[1]: M is from 1 to 2^32",
        "a.stride[1]: 2 * a_row is a multiple of 16, from 16 to below 2^40",
    }
    assert of_maps <= with_maps and not of_maps & without
    assert "K.value: K is a multiple of 16" in with_maps and without < with_maps


def test_maps_can_be_switched_off(rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 1, 64, 128), integers(rng, 1, 128, 64), poisoned(1, 64, 64)
    signature = (a, b, c, 64, 64, 128, 64 * 128, 128, 128 * 64, 64, 0)
    with tw.device("sim:sm_90a"):
        compiled = batched[(1, 1)](
            *signature, FORM="plain", BM=64, BN=64, BK=64, num_stages=2, tensor_maps=False
        )
    assert_equal(c, a.double() @ b.double())
    assert copies(compiled) == 0 and "cp.async.cg" in compiled.asm["ptx"]
