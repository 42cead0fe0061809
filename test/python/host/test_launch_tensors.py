"""Tensors and arrays without memory of their own, or with other numbers than their memory holds: the
kernel gets the right numbers, or the launch says why not, naming the argument."""

from __future__ import annotations

import ctypes
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def copy(out, x, n, BLOCK: tw.constexpr = 16):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n), mask=i < n)


@tw.jit
def double(x, n, BLOCK: tw.constexpr = 16):
    i = tw.arange(0, BLOCK)
    tw.store(x + i, tw.load(x + i, mask=i < n) * 2, mask=i < n)


def resized() -> Any:
    tensor = torch.ones(4)
    tensor.untyped_storage().resize_(0)
    return tensor


def fake() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(4)


def fake_on_a_gpu() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(4, device="cuda")


def wrapper() -> Any:
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, (4,), dtype=torch.float32)

        @classmethod
        def __torch_dispatch__(cls, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise NotImplementedError

    return Wrapper()


def nested(layout: torch.layout) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of its prototype
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)


WITHOUT_MEMORY: list[tuple[str, Callable[[], Any], str]] = [
    ("a FakeTensor", fake, "FakeTensor"),
    ("a FakeTensor of a GPU", fake_on_a_gpu, "FakeTensor"),
    ("meta", lambda: torch.ones(4, device="meta"), "meta"),
    ("functional", lambda: torch._to_functional_tensor(torch.ones(4)), "functional"),
    ("zerotensor", lambda: torch._efficientzerotensor(4), "zeros are not stored"),
    ("jagged", lambda: nested(torch.jagged), r"tensor.values\(\)"),
    ("nested and strided", lambda: nested(torch.strided), r"tensor.values\(\)"),
    ("sparse", lambda: torch.ones(4).to_sparse(), "to_dense"),
    ("compressed", lambda: torch.ones(4, 4).to_sparse_csr(), "to_dense"),
    ("mkldnn", lambda: torch.ones(4).to_mkldnn(), "to_dense"),
    ("a wrapper", wrapper, "tensors that it wraps"),
    ("an emptied storage", resized, "storage is empty"),
]


@pytest.mark.parametrize(("make", "text"), [row[1:] for row in WITHOUT_MEMORY],
                         ids=[row[0] for row in WITHOUT_MEMORY])  # fmt: skip
def test_tensors_without_memory_are_refused(make: Callable[[], Any], text: str) -> None:
    tensor = make()
    for arguments, name in (((torch.ones(16), tensor), "x"), ((tensor, torch.ones(16)), "out")):
        with pytest.raises(tw.LaunchError, match=f"argument `{name}` of copy") as error:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # torch warns of a FakeTensor's address
                copy[1](*arguments, 4)
        assert error.value.code == "TW0409"

        assert re.search(text, str(error.value))


@pytest.mark.parametrize("transform", ["vmap", "grad"])
def test_a_launch_within_a_transform_is_refused(transform: str) -> None:
    seen: list[str] = []

    def launching(x: Any) -> Any:
        with pytest.raises(tw.LaunchError, match="argument `(x|out)` of copy.*torch.func") as error:
            copy[1](torch.zeros(16), x, 4)
        seen.append(error.value.code)
        return x.sum()

    getattr(torch.func, transform)(launching)(torch.ones(3, 4) if transform == "vmap" else torch.ones(4))
    assert seen == ["TW0409"]


def test_a_launch_that_torch_compile_traces_is_right_or_refused() -> None:
    def forward(x: Any) -> Any:
        out = torch.zeros(16)
        copy[1](out, x + 1, 16)
        return out * 2

    x = torch.ones(16)
    compiled = torch.compile(forward, backend="eager")
    try:
        result = compiled(x)
    except Exception as error:
        assert "TW0409" in str(error)
    else:
        assert torch.equal(result, torch.full((16,), 4.0))


@pytest.mark.parametrize("kind", ["quantized", "conjugate", "masked tensor", "masked array",
                                  "swapped", "object", "structured"])  # fmt: skip
def test_numbers_that_are_not_what_memory_holds_are_refused(kind: str) -> None:
    made: dict[str, Callable[[], Any]] = {
        "quantized": lambda: torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8),
        "conjugate": lambda: torch.ones(4, dtype=torch.complex64).conj(),
        "masked tensor": lambda: torch.masked.masked_tensor(torch.ones(4), torch.ones(4).bool()),
        "masked array": lambda: np.ma.masked_array(np.ones(4, np.float32), mask=[1, 0, 0, 0]),
        "swapped": lambda: np.ones(4, ">f4"),
        "object": lambda: np.array([1, "a"], object),
        "structured": lambda: np.zeros(4, [("a", "f4")]),
    }
    with pytest.raises(tw.LaunchError, match="argument `x` of copy") as error:
        copy[1](np.zeros(16, np.float32), made[kind](), 4)
    assert error.value.code in ("TW0405", "TW0406", "TW0409")


def test_a_negated_view_is_refused_and_its_copy_is_right() -> None:
    view = torch.tensor([1 + 2j, 3 + 4j]).conj().imag
    with pytest.raises(tw.LaunchError, match="resolve_neg"):
        copy[1](torch.zeros(16), view, 2)
    out = torch.zeros(16)
    copy[1](out, view.resolve_neg(), 2)
    assert out[:2].tolist() == [-2.0, -4.0]


def test_foreign_arrays_with_a_null_address_are_refused() -> None:
    class Null:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **options: Any) -> Any:
            shape = (ctypes.c_int64 * 1)(4)
            tensor = (ctypes.c_uint64 * 9)()  # DLTensor, then the context and the deleter
            tensor[0] = 0
            tensor[1] = 1  # cpu
            tensor[2] = 1 | 2 << 32 | 32 << 40 | 1 << 48  # rank 1, float, 32 bits, 1 lane
            tensor[3] = ctypes.addressof(shape)
            self.kept = shape, tensor
            new = ctypes.pythonapi.PyCapsule_New
            new.restype = ctypes.py_object
            new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            return new(ctypes.addressof(tensor), b"dltensor", None)

    with pytest.raises(tw.LaunchError, match="argument `x` of copy.*null") as error:
        copy[1](np.zeros(16, np.float32), Null(), 4)
    assert error.value.code == "TW0409"


@pytest.mark.parametrize("empty", [torch.zeros(0), np.zeros(0, np.float32), resized()[:0]])
def test_arrays_without_elements_have_nothing_to_be_refused_for(device: str, empty: Any) -> None:
    copy[1](empty, empty, 0)
    copy[0](empty, empty, 0)


@pytest.mark.parametrize("make", [
    lambda: torch.ones(4, requires_grad=True), lambda: torch.nn.Parameter(torch.ones(4)),
    lambda: torch.ones(2, 4).t()[0:4, 0], lambda: torch._lazy_clone(torch.ones(4)),
    lambda: torch.ones(4).as_subclass(type("Named", (torch.Tensor,), {})),
])  # fmt: skip
def test_tensors_with_memory_are_read(make: Callable[[], Any]) -> None:
    out = torch.zeros(16)
    copy[1](out, make(), 2)
    assert out[:3].tolist() == [1.0, 1.0, 0.0]


def test_a_backward_pass_sees_that_a_kernel_changed_what_it_saved() -> None:
    weight = torch.ones(4, requires_grad=True)
    x = torch.full((4,), 3.0)
    loss = (weight * x).sum()  # saves x
    double[1](x, 4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_backward_pass_may_use_what_a_kernel_only_read() -> None:
    weight, x = torch.ones(4, requires_grad=True), torch.full((4,), 3.0)
    loss = (weight * x).sum()
    before = x._version
    copy[1](torch.zeros(16), x, 4)
    assert x._version == before
    loss.backward()
    assert weight.grad is not None and weight.grad.tolist() == [3.0] * 4


@pytest.mark.parametrize("reinterpreted", [False, True])
def test_a_kernel_counts_as_a_write_to_its_outputs(reinterpreted: bool) -> None:
    out, x = torch.zeros(16), torch.ones(16)
    view, before = out[2:], out._version
    given = tw.reinterpret(view, tw.int32) if reinterpreted else view
    copy[1](given, x, 4)
    assert out._version > before and view._version == out._version  # views share it


def test_tensors_of_inference_mode_are_written() -> None:
    with torch.inference_mode():
        x = torch.ones(4)
    double[1](x, 4)
    assert x.tolist() == [2.0] * 4


def test_a_leaf_is_updated_in_place_as_an_optimizer_does() -> None:
    weight = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        double[1](weight, 4)
    assert weight.detach().tolist() == [2.0] * 4 and weight.grad_fn is None


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, 2**64 - 1, -(2**63)])
def test_integers_of_64_bits_arrive(device: str, value: int) -> None:
    out = np.zeros(1, np.uint64)
    store_number[1](out, value)
    assert int(out[0]) == value % 2**64


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**30])
def test_integers_beyond_64_bits_are_refused(value: int) -> None:
    with pytest.raises(tw.LaunchError, match="argument `value` of store_number.*64 bits") as error:
        store_number[1](np.zeros(1, np.uint64), value)
    assert error.value.code == "TW0407"


@tw.jit
def store_number(out, value):
    tw.store(out, value.to(tw.uint64))


@tw.jit
def fill_all(x, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(x + i, 1.0, mask=i < n)


@pytest.mark.parametrize("name", ["cpu", "reference", "sim:sm_80"])
def test_tensors_that_reach_beyond_their_storage_are_refused(compiler: None, name: str) -> None:
    class OwnTensor(torch.Tensor): ...  # which Python reads, at every launch

    with tw.device(name):
        whole = torch.zeros(100)
        views = [whole[50:], whole.view(10, 10).T, whole[10:60:3]]
        for view in views:  # read once while the storage has them all
            fill_all[(1,)](view, 4, BLOCK=16)
        whole.untyped_storage().resize_(160)
        for view in (*views, whole.as_subclass(OwnTensor)):
            with pytest.raises(tw.LaunchError, match="`x`.*reaches to byte .* 160 bytes") as error:
                fill_all[(1,)](view, 4, BLOCK=16)
            assert error.value.code == "TW0405" and "resize" in (error.value.hint or "")
        whole.untyped_storage().resize_(400)
        fill_all[(1,)](whole[50:], 4, BLOCK=16)
        assert whole[50:54].tolist() == [1, 1, 1, 1]
        fill_all[(1,)](torch.empty(0), 0, BLOCK=16)


def test_strides_are_integers_whatever_equal_numbers_came_before() -> None:
    class Strided:
        """A tensor as to what it has, with strides of a type of its own."""

        def __init__(self, array: Any, stride: tuple[Any, ...]) -> None:
            self.array, self.shape, self.dtype, self._stride = array, array.shape, tw.float32, stride

        def data_ptr(self) -> int:
            return self.array.ctypes.data

        def stride(self) -> tuple[Any, ...]:
            return self._stride

    @tw.jit
    def strides_of(out, x: tw.Tensor):
        tw.store(out, x.stride[0] * 10 + x.stride[1])

    out = np.zeros(1, np.int64)
    for stride in ((57, True), (57.0, 1.0), (57, 1), (np.int64(57), np.uint8(1))):
        strides_of[(1,)](out, Strided(np.zeros((3, 57), np.float32), stride))
        assert out[0] == 571


@pytest.mark.parametrize("address", [-8, 1 << 64, 1.5, None])
def test_what_is_no_address_is_refused(address: Any) -> None:
    class Addressed:
        dtype = tw.float32

        def data_ptr(self) -> Any:
            return address

    with pytest.raises(tw.LaunchError, match="argument `x` of copy: .*no address"):
        copy[(1,)](np.zeros(16, np.float32), Addressed(), 16)
