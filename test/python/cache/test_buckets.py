"""Constants that follow an argument in steps: `tw.bucket`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def total(out, x, n, BLOCK: tw.constexpr = tw.bucket("n")):
    i = tw.arange(0, BLOCK)
    tw.store(out, tw.sum(tw.load(x + i, mask=i < n, other=0.0)))
    tw.store(out + 1, BLOCK)


@tw.jit
def stepped(out, x, n, BLOCK: tw.constexpr = tw.bucket("n", (64, 16, 256))):
    i = tw.arange(0, BLOCK)
    tw.store(out, tw.sum(tw.load(x + i, mask=i < n, other=0.0)))
    tw.store(out + 1, BLOCK)


def sums(kernel: Any, n: int, **given: Any) -> tuple[int, Any]:
    x, out = np.ones(1000, np.float32), np.zeros(2, np.float32)
    compiled = kernel[lambda meta: (meta["BLOCK"] // meta["BLOCK"],)](out, x, n, **given)
    assert out[0] == n
    return int(out[1]), compiled


def test_a_bucket_has_one_binary(device: str) -> None:
    found = [sums(total, n) for n in (1, 2, 33, 63, 64, 65)]
    assert [size for size, _ in found] == [1, 2, 64, 64, 64, 128]
    assert sums(total, 35)[1] is sums(total, 63)[1]
    assert sums(total, 5, BLOCK=32)[0] == 32, "what the launch gives"
    assert [sums(stepped, n)[0] for n in (1, 16, 17, 100)] == [16, 16, 64, 256]


def test_what_no_bucket_takes_is_refused() -> None:
    with pytest.raises(tw.LaunchError, match="300 is more than the largest size, 256") as caught:
        sums(stepped, 300)
    assert caught.value.code == "TW0405" and "`BLOCK`" in str(caught.value)
    with pytest.raises(tw.LaunchError, match="2.5 is not an integer"):
        sums(stepped, 2.5)  # pyright: ignore
    other = tw.jit(stepped.fn)
    assert other.compile({"out": "*fp32", "x": "*fp32", "n": "i32"}, {"BLOCK": 64})
    with pytest.raises(tw.LaunchError, match="lacks|BLOCK"):
        other.compile({"out": "*fp32", "x": "*fp32", "n": "i32"})
    with pytest.raises(ValueError, match="no sizes"):
        tw.bucket("n", ())
    with pytest.raises(TypeError, match="name of a parameter"):
        tw.bucket(7)  # pyright: ignore
    with pytest.raises(TypeError, match="positive integers"):
        tw.bucket("n", "abc")  # pyright: ignore
    with pytest.raises(TypeError, match="positive integers"):
        tw.bucket("n", (64, "a"))  # pyright: ignore


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        (lambda n: n // 64 * 64, "64 is less than 100"),
        (lambda n: float(n), "give 100.0"),
        (lambda n: [][n], "IndexError"),
        (lambda n: n + None, "TypeError"),
    ],
)
def test_a_function_that_gives_no_size_is_named(sizes: Any, problem: str) -> None:
    def kernel(out, x, n, BLOCK: tw.constexpr = tw.bucket("n", sizes)):
        tw.store(out, BLOCK)

    with pytest.raises(tw.LaunchError, match=problem) as caught:
        sums(tw.jit(kernel), 100)
    assert caught.value.code == "TW0405" and "`BLOCK`" in str(caught.value)


def test_a_bucket_is_for_a_constant_and_follows_an_earlier_parameter() -> None:
    def late(out, x, BLOCK: tw.constexpr = tw.bucket("n"), n=1):
        tw.store(out, BLOCK)

    def plain(out, x, n, block=tw.bucket("n")):
        tw.store(out, block)

    for function, reason in ((late, "has no parameter `n` before it"), (plain, "is not a tw.constexpr")):
        with pytest.raises(tw.LaunchError, match=reason) as caught:
            sums(tw.jit(function), 3)
        assert caught.value.code == "TW0405"
