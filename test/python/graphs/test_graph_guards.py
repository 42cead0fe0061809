"""What torch's compiler compares before a compiled function with launches runs: what a program can change,
and nothing that belongs to Tilewright."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

from graph_kernels import add_one, tuned  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
PER_PROGRAM = 16


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def launch_by_function(x: Any, out: Any) -> None:
    n = x.numel()
    add_one[lambda a: (tw.cdiv(a["n"], PER_PROGRAM),)](out, x, n, B=16)


def launch_tuned(x: Any, out: Any) -> None:
    tuned[(1,)](out, x, x.numel())


def launch_twice(x: Any, out: Any) -> None:
    add_one[(1,)](out, x, x.numel(), B=64)
    add_one[(1,)](out, out, x.numel(), B=64)


def guards_of(function: Any) -> list[str]:
    """The guards of the one graph of a function that was compiled, as text."""
    (entry,) = torch._dynamo.eval_frame._debug_get_cache_entry_list(function.__code__)
    return [line for line in str(entry.guard_manager).splitlines() if "+- " in line]


@pytest.mark.parametrize("function", [launch_by_function, launch_tuned, launch_twice])
def test_no_guard_is_about_modules_of_the_package(function: Any) -> None:
    x, out = torch.zeros(64), torch.zeros(64)
    torch.compile(function, backend="aot_eager", fullgraph=True)(x, out)
    found = guards_of(function)
    assert any("TENSOR_MATCH" in line for line in found)
    assert any("ID_MATCH" in line and ("'add_one'" in line or "'tuned'" in line) for line in found)
    assert not [line for line in found if "__import_tilewright" in line]
    assert not [line for line in found if "__import_torch" in line or "__builtins" in line]


def test_a_number_that_a_grids_function_reads_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    x, out = torch.arange(64.0), torch.zeros(64)
    call = torch.compile(launch_by_function, backend="aot_eager", fullgraph=True)
    call(x, out)
    assert torch.equal(out, x + 1)
    monkeypatch.setitem(globals(), "PER_PROGRAM", 32)  # half of the programs
    out.zero_()
    call(x, out)
    assert torch.equal(out[:32], x[:32] + 1) and not out[32:].any()


def test_another_kernel_of_the_same_name_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    @tw.jit
    def add_two(o, x, n, B: tw.constexpr):
        i = tw.program_id(0) * B + tw.arange(0, B)
        tw.store(o + i, tw.load(x + i, mask=i < n) + 2, mask=i < n)

    x, out = torch.arange(64.0), torch.zeros(64)
    call = torch.compile(launch_by_function, backend="aot_eager", fullgraph=True)
    call(x, out)
    monkeypatch.setitem(globals(), "add_one", add_two)
    call(x, out)
    assert torch.equal(out, x + 2)
