"""The native reader of arguments says what Python's own readers say, and leaves the rest to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler", "known_to_the_reader")


@pytest.fixture(params=["lent", "by attributes"])
def known_to_the_reader(
    compiler: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """torch may have been made known to what stands for the native module in another test. One without
    DLPack's C interface tells about tensors by their attributes."""
    from tilewright.arrays import torch as reading

    with monkeypatch.context() as patch:
        if request.param != "lent":
            patch.delattr(torch.Tensor, "__dlpack_c_exchange_api__", raising=False)
        reading.register({})
    yield
    reading.register({})


@tw.jit
def three(x, y, n):
    tw.store(x, n)


@tw.jit
def typed(x, y: tw.constexpr, n: "i64"):  # noqa: F821
    tw.store(x, n)


class OwnTensor(torch.Tensor):
    """A type that may compute in its own way."""


ALIGNED = torch.zeros(64)
BASE = torch.zeros(64, dtype=torch.float16)


@pytest.mark.parametrize("value", [0, 1, 3, 16, -1, -16, 2**31 - 1, -(2**31), 2**31, -(2**63), True, 1.5, None, "text"])
@pytest.mark.parametrize(
    "tensor",
    [
        ALIGNED, ALIGNED[1:5], ALIGNED.reshape(8, 8).T, BASE[::2], torch.zeros(3, dtype=torch.int8),
        torch.zeros(4, requires_grad=True), torch.tensor(2.0), torch.zeros(3, 1, 5).transpose(0, 1),
        torch.zeros(4, 1)[:, ::2], torch.zeros(2, dtype=torch.bool), torch.zeros(1 << 23),
        torch.nn.Parameter(torch.zeros(4)), torch.nn.Parameter(BASE[4:9], requires_grad=False),
    ],
)  # fmt: skip
def test_both_readers_agree(tensor: object, value: object) -> None:
    other = torch.ones(7, dtype=torch.bfloat16)
    three._read_all((tensor, other, value))  # makes torch known
    warm = three._read_warm((tensor, other, value))
    assert warm == three._read_all((tensor, other, value))
    assert type(warm[1][2]) is type(value)
    if isinstance(value, int):
        converted = (tensor, 5, value)
        assert typed._read_warm(converted) == typed._read_all(converted)


@pytest.mark.parametrize(
    "arguments",
    [
        (ALIGNED, ALIGNED, 1),
        (ALIGNED[:40], ALIGNED[30:], 1),
        (ALIGNED, np.zeros(4, np.float32), 1),
        (torch.zeros(4).as_subclass(OwnTensor), torch.zeros(4), 1),
        (torch.zeros(0), torch.zeros(4), 1),
        (torch.zeros(4), torch.zeros(4), 2**64),
        (torch.zeros(4), (torch.zeros(4), 3), 1),
        (torch.zeros(4, device="meta"), torch.zeros(4), 1),
        (torch.zeros(4), torch.zeros(4), np.int64(3)),
        (torch.zeros(4), torch.zeros(4)),
    ],
    ids=range(10),
)
def test_what_needs_more_care_is_left_to_python(arguments: tuple[object, ...]) -> None:
    three._read_all((torch.zeros(4), torch.zeros(4), 1))
    assert three._read_warm(arguments) is None


@pytest.mark.parametrize("size", [0x7FFF0000, 0x7FFF0001])
def test_what_offsets_of_bytes_do_not_reach_is_left_to_python(size: int) -> None:
    three._read_all((torch.zeros(4), torch.zeros(4), 1))
    untouched = torch.empty(size, dtype=torch.int8)
    assert (three._read_warm((untouched, torch.zeros(4), 1)) is None) == (size > 0x7FFF0000)


def test_errors_are_those_of_the_slow_way() -> None:
    with pytest.raises(tw.LaunchError, match="lazy negation"):
        three[1](torch.zeros(4, dtype=torch.complex64).conj().imag, torch.zeros(4), 1)


def test_references_are_balanced() -> None:
    import sys

    tensor, other, number = torch.zeros(4), torch.zeros(4), 123456789
    three._read_all((tensor, other, number))
    facts = three._read_warm((tensor, other, number))[0][0]
    counts = [sys.getrefcount(value) for value in (tensor, other, number, facts)]
    for _ in range(100):
        three._read_warm((tensor, other, number))
        three._read_warm((tensor, tensor, number))
        three._read_warm((tensor, other, object()))
    assert [sys.getrefcount(value) for value in (tensor, other, number, facts)] == counts


@pytest.mark.parametrize("name", ["uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"])  # fmt: skip
def test_both_readers_agree_on_element_types(name: str) -> None:
    values = torch.zeros(16, dtype=getattr(torch, name)), ALIGNED, 3
    assert three._read_warm(values) == three._read_all(values)


def test_a_lazy_clone_gets_memory_of_its_own_first() -> None:
    x = torch.zeros(4)
    clone = torch._lazy_clone(x)
    three[1](clone, ALIGNED, 7)
    three[1](clone, ALIGNED, 7)
    assert clone[0] == 7 and x[0] == 0
