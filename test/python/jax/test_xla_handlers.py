"""What XLA's calls of a kernel do with buffers as they come: unaligned ones, such as share memory, and
those of a GPU, on the double of libcuda."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from driver_doubles import find_double, run_with_driver
from tilewright.native import native
from xla_frames import Caller, key_of

jax: Any = pytest.importorskip("jax")

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def running(x, out, n, BLOCK: tw.constexpr):
    """Writes what it reads later, where the two arrays overlap."""
    for i in range(n):
        at = i * BLOCK + tw.arange(0, BLOCK)
        tw.store(out + at, tw.load(x + at) + 1)


def caller() -> tuple[Caller, str]:
    function = tw.jax.call(running, grid=1, out_shapes=((64,), "float32"), n=4, BLOCK=16)
    return Caller(native().xla_handlers()[0]), key_of(function, np.zeros(64, np.float32))


def memory() -> Any:
    """An array at a multiple of 64 bytes."""
    whole = np.arange(512, dtype=np.float32)
    return whole[(-whole.ctypes.data % 64) // 4 :]


@pytest.mark.parametrize(("of_x", "of_out"), [(0, 0), (1, 0), (0, 3), (5, 2)])
def test_addresses_that_are_no_multiples_of_16(of_x: int, of_out: int) -> None:
    call, key = caller()
    x, out = memory()[of_x:], np.full(256, np.nan, np.float32)
    out = out[(-out.ctypes.data % 64) // 4 + of_out :]
    assert not call([x.ctypes.data], [out.ctypes.data], key=key)
    np.testing.assert_array_equal(out[:64], x[:64] + 1)
    assert np.isnan(out[64])


def test_addresses_between_elements() -> None:
    call, key = caller()
    x = np.zeros(64 * 4 + 1, np.uint8)
    x[1:] = np.arange(64, dtype=np.float32).view(np.uint8)
    out = np.zeros(64 * 4 + 2, np.uint8)
    assert not call([x.ctypes.data + 1], [out.ctypes.data + 2], key=key)
    np.testing.assert_array_equal(out[2:].copy().view(np.float32), np.arange(64) + 1)


@pytest.mark.parametrize("distance", [0, 16, 32])
def test_buffers_that_share_memory(distance: int) -> None:
    call, key = caller()
    x = memory()
    expected = x.copy()
    for start in range(0, 64, 16):
        expected[start + distance :][:16] = expected[start:][:16] + 1
    assert not call([x.ctypes.data], [x.ctypes.data + 4 * distance], key=key)
    np.testing.assert_array_equal(x, expected)


def test_calls_that_nothing_is_known_of() -> None:
    call, key = caller()
    x = memory()
    before = x.copy()
    for arguments, attributes, words in (
        ([x.ctypes.data], {"key": "0" * 32}, "has not traced"),
        ([x.ctypes.data], {"kee": key}, "has not traced"),
        ([x.ctypes.data] * 2, {"key": key}, "another number of arrays"),
    ):
        assert words in call(arguments, [x.ctypes.data], **attributes)
    np.testing.assert_array_equal(x, before)


def test_the_version_is_the_one_that_is_asked_for() -> None:
    for handler in native().xla_handlers():
        assert Caller(handler).version() == (0, 3)


@pytest.mark.parametrize("words", ["execute=sm_80 capability=80", "execute=sm_90a capability=90"])
def test_kernels_run_on_the_stream_s_gpu(words: str, tmp_path: Path) -> None:
    here = Path(__file__).parent
    done = run_with_driver(
        [str(here / "xla_gpu_session.py")], tmp_path / "cache",
        TILEWRIGHT_CUDA_LIBRARY=find_double("libcuda_double.so"), CUDA_DOUBLE=words, JAX_PLATFORMS="cpu",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    refusal, end = done.stdout.splitlines()
    assert "TW06" in refusal or "TW04" in refusal
    assert end == "passed"


@tw.jit
def scaled(x, out, n, factor: tw.float32, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + at, factor * tw.load(x + at, mask=at < n), mask=at < n)


def test_packages_run_on_the_stream_s_gpu(tmp_path: Path) -> None:
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    double = find_double("libcuda_double.so")
    package = tw.Package("of_gpu").add(scaled, "*fp32, *fp32, i32", grid="cdiv(n, BLOCK)")
    package.as_operator("scaled", outputs={"out": "x"})
    files = package.write(tmp_path, ["nvidia:sm_80"], form="jax")
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "libcuda.so.1").symlink_to(double)  # which packages open
    done = run_with_driver(
        [str(Path(__file__).parent / "xla_package_session.py"), str(files["of_gpu.so"])],
        tmp_path / "cache", TILEWRIGHT_CUDA_LIBRARY=double,
        LD_LIBRARY_PATH=str(tmp_path / "driver"), CUDA_DOUBLE="execute=sm_80 capability=80",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    large, lacking, more, end = done.stdout.splitlines()
    assert large == "TW0822: argument 2 of scaled is a number that its type does not have"
    assert lacking == "TW0822: the call of scaled lacks the number of argument 2"
    assert more == "TW0822: scaled is called with another number of arrays" and end == "passed"
