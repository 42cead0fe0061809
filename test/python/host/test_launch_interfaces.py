"""Arrays that say of themselves where they are: `__array_interface__`, `__cuda_array_interface__`,
DLPack, arrays of the array API, and JAX's, which never change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.launch.arguments import ArgumentProblem, memory_of, read_argument

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def double(x, out, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    tw.store(out + at, 2 * tw.load(x + at))


class Described:
    """An object that says where its memory is, and keeps it."""

    def __init__(self, array: Any, **changed: Any) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, **changed}


class OfGpu:
    """The same of a GPU."""

    def __init__(self, **said: Any) -> None:
        said = {"shape": (4,), "typestr": "<f4", "version": 3, "data": (4096, False), **said}
        self.__cuda_array_interface__ = said


class OfArrayApi:
    """An array with nothing but the array API's methods for its exchange."""

    def __init__(self, array: Any, takes_version: bool = True) -> None:
        self.array, self.takes_version = array, takes_version
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack__(self, **options: Any) -> Any:
        if options and not self.takes_version:
            raise TypeError("unexpected keyword")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def numbers(dtype: str = "float32") -> Any:
    return (np.random.default_rng(3).standard_normal(16) * 9).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint16", "int64"])
def test_objects_with_an_array_interface_go_where_they_lie(dtype: str) -> None:
    x, out = numbers(dtype), np.full(16, 77, dtype)
    double[1](Described(x), Described(out), BLOCK=16)
    np.testing.assert_array_equal(out, 2 * x)


def test_the_interface_may_name_a_buffer() -> None:
    x, out = numbers(), bytearray(80)
    double[1](Described(x, data=x), Described(x, data=memoryview(out), offset=16), BLOCK=16)
    np.testing.assert_array_equal(np.frombuffer(out, np.float32)[4:], 2 * x)


def test_memory_of_strided_objects_is_what_they_reach() -> None:
    backwards = numbers()[::-2]
    base, size, is_read_only = memory_of(Described(backwards), read_argument(Described(backwards))[1])
    assert (base, size, is_read_only) == (backwards.ctypes.data - 14 * 4, 15 * 4, False)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_store_to_what_says_that_it_is_read_only_is_refused(device: str) -> None:
    x = numbers()
    frozen = x.copy()
    frozen.flags.writeable = False
    address = x.ctypes.data, True
    with tw.device(device):
        for out in (Described(x, data=address), frozen, OfArrayApi(frozen)):
            before = x.copy()
            with pytest.raises(tw.LaunchError, match="stores to `out`.*read-only") as error:
                double[1](numbers(), out, BLOCK=16)
            assert error.value.code == "TW0403" and "copy()" in error.value.hint
            np.testing.assert_array_equal(x, before)
            double[1](out, np.empty(16, np.float32), BLOCK=16)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"typestr": ">f4"}, "TW0406"), ({"typestr": "<c8"}, "TW0406"), ({"typestr": "|V4"}, "TW0406"),
        ({"mask": np.zeros(16, bool)}, "TW0405"), ({"data": (0, False)}, "TW0409"),
        ({"data": bytearray(63)}, "TW0405"),
    ],
)  # fmt: skip
def test_what_no_kernel_can_read_is_refused(changed: dict[str, Any], code: str) -> None:
    with pytest.raises(tw.LaunchError, match="argument `x` of double") as error:
        double[1](Described(numbers(), **changed), np.empty(16, np.float32), BLOCK=16)
    assert error.value.code == code


def test_no_mapping_is_no_interface() -> None:
    described = Described(numbers())
    described.__array_interface__ = {"shape": (4,)}
    with pytest.raises(tw.LaunchError, match="not a mapping with a shape and a typestr"):
        double[1](described, np.empty(16, np.float32), BLOCK=16)


@pytest.mark.parametrize("takes_version", [True, False])
def test_arrays_of_the_array_api_go_where_they_lie(takes_version: bool) -> None:
    x, out = numbers(), np.full(16, np.nan, np.float32)
    double[1](OfArrayApi(x, takes_version), OfArrayApi(out, takes_version), BLOCK=16)
    np.testing.assert_array_equal(out, 2 * x)


class Gpus:
    """Stands for the native module where GPUs are asked for."""

    def __init__(self, module: Any, *names: str) -> None:
        self._module, self._names, self.waited = module, names, list[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def gpus(self, opens: bool) -> list[str]:
        return [*self._names]

    def synchronize(self, name: str) -> None:
        self.waited.append(name)


@pytest.fixture
def with_gpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    from tilewright import native

    def make(*names: str) -> Gpus:
        made = Gpus(native.native(), *names)
        monkeypatch.setattr(native, "_module", made)
        return made

    return make


def test_arrays_of_the_only_gpu_are_on_it(with_gpus: Any) -> None:
    made = with_gpus("cuda:0")
    facts, address = read_argument(OfGpu())
    assert facts.place == "cuda:0" and address == 4096 and facts.divisibility == 16
    assert read_argument(OfGpu(data=(4096, True)))[0].is_read_only
    assert read_argument(OfGpu(data=(4100, False)))[0].divisibility == 1
    assert not made.waited


def test_an_array_on_one_of_several_gpus_has_to_tell(with_gpus: Any) -> None:
    with_gpus("cuda:0", "cuda:1")
    array = OfGpu()
    with pytest.raises(ArgumentProblem, match="on which of the 2") as error:
        read_argument(array)
    assert error.value.code == "TW0409"
    array.device = type("Device", (), {"id": 1})()  # type: ignore[attr-defined]
    assert read_argument(array)[0].place == "cuda:1"


def test_the_array_s_stream_is_waited_for(with_gpus: Any) -> None:
    made = with_gpus("cuda:0")
    for stream, waits in ((None, 0), (1, 0), (2, 1), (0x7F00, 2)):
        read_argument(OfGpu(stream=stream))
        assert len(made.waited) == waits


def test_jax_arrays_are_read_and_never_written() -> None:
    jax = pytest.importorskip("jax")
    x, out = jax.numpy.asarray(numbers()), np.empty(16, np.float32)
    before = np.array(x)
    double[1](x, out, BLOCK=16)
    np.testing.assert_array_equal(out, 2 * before)
    with pytest.raises(tw.LaunchError, match="stores to `out`") as error:
        double[1](before, x, BLOCK=16)
    assert error.value.code == "TW0403" and "tw.jax.call" in error.value.hint
    with pytest.raises(tw.LaunchError, match="stores to `out`"):
        double[1](before, tw.reinterpret(x, tw.float32), BLOCK=16)
    np.testing.assert_array_equal(x, before)
    x.delete()
    for gone in (x, jax.random.key(0)):
        with pytest.raises(tw.LaunchError, match="no memory for a kernel") as error:
            double[1](gone, out, BLOCK=16)
        assert error.value.code == "TW0409"


def test_a_launch_while_jax_traces_says_what_to_do() -> None:
    jax = pytest.importorskip("jax")
    out = np.empty(16, np.float32)
    with pytest.raises(tw.LaunchError, match="no values while JAX traces") as error:
        jax.jit(lambda x: double[1](x, out, BLOCK=16))(numbers())
    assert error.value.code == "TW0405" and "tw.jax.call" in error.value.hint
