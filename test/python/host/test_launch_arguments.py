"""How launch arguments are read: tensors, arrays, buffers and numbers. Without a compiler."""

from __future__ import annotations

import array
import ctypes
import enum
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import tilewright as tw
from fake_native import FakeNative
from tilewright.compile.facts import Fact, Facts, fact_rows, parse_facts
from tilewright.launch.arguments import memory_of, read_argument
from tilewright.launch.overlap import mark_overlaps
from tilewright.native import native

torch = pytest.importorskip("torch")

NUMPY_TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float16": "fp16", "float32": "fp32",
    "float64": "fp64",
}  # fmt: skip


class Module(FakeNative):
    """Reads buffers with Python's means."""

    def describe_buffer(self, view: memoryview) -> tuple[int, int, int, str, bool]:
        address = numpy.asarray(view).__array_interface__["data"][0]
        return address, address, view.nbytes, view.format, view.readonly


@tw.jit
def write(out, x):
    tw.store(out, x)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Module:
    from tilewright import native

    module = Module()
    monkeypatch.setattr(native, "_module", module)
    write._loaded.clear()
    return module


def facts_of(value: Any) -> Facts:
    return read_argument(value)[0]


@pytest.mark.parametrize(("name", "type_name"), NUMPY_TYPES.items())
def test_element_types_of_numpy_and_torch(name: str, type_name: str) -> None:
    for value in (numpy.zeros(4, name), torch.zeros(4, dtype=getattr(torch, name))):
        facts, address = read_argument(value)
        assert facts.is_pointer and facts.type == type_name
        assert address == (value.ctypes.data if hasattr(value, "ctypes") else value.data_ptr())


def test_bfloat16_tensors() -> None:
    assert facts_of(torch.zeros(4, dtype=torch.bfloat16)).type == "bf16"


def test_equal_facts_are_one_object() -> None:
    assert facts_of(torch.zeros(64)) is facts_of(numpy.zeros(64, numpy.float32))


def test_alignment_is_that_of_the_address() -> None:
    x = torch.zeros(64)
    assert (facts_of(x).divisibility, facts_of(x[1:]).divisibility) == (16, 1)
    y = x.numpy()
    assert (facts_of(y).divisibility, facts_of(y[4:]).divisibility) == (16, 16)
    assert facts_of(y[3:]).divisibility == 1


def test_large_arrays_are_streaming() -> None:
    size = native().streaming_bytes() // 4
    assert not facts_of(torch.empty(size - 1)).is_streaming
    assert facts_of(torch.empty(size)).is_streaming
    assert facts_of(numpy.empty(size, numpy.float32)).is_streaming


@pytest.mark.parametrize(
    ("value", "type_name", "divisibility", "is_one"),
    [
        (0, "i32", 16, False), (1, "i32", 1, True), (48, "i32", 16, False), (-16, "i32", 16, False),
        (2**31 - 1, "i32", 1, False), (2**31, "i64", 16, False), (-(2**31), "i32", 16, False),
        (-(2**31) - 1, "i64", 1, False), (2**63 - 1, "i64", 1, False), (2**63, "u64", 16, False),
        (2**64 - 1, "u64", 1, False), (True, "i1", 1, False), (False, "i1", 1, False),
        (1.0, "fp32", 1, False), (numpy.int64(1), "i32", 1, True),
        (numpy.uint8(32), "i32", 16, False), (numpy.float64(1), "fp32", 1, False),
        (numpy.float16(1), "fp32", 1, False),
        (numpy.bool_(True), "i1", 1, False),
        (enum.IntEnum("Color", "RED BLUE").BLUE, "i32", 1, False),
    ],
)  # fmt: skip
def test_numbers(value: Any, type_name: str, divisibility: int, is_one: bool) -> None:
    facts = facts_of(value)
    assert not facts.is_pointer
    assert (facts.type, facts.divisibility, facts.is_one) == (type_name, divisibility, is_one)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_integers_that_do_not_fit(module: Module, value: int) -> None:
    with pytest.raises(tw.LaunchError, match="argument `x` of write") as error:
        write[1](numpy.zeros(4), value)
    assert error.value.code == "TW0407"


@pytest.mark.parametrize(
    "value",
    [None, "relu", tw.float32, (1, 2.0), namedtuple("Pair", "a b")(1, 2), tw.constexpr(3), tw.exp,
     write, len, tw.dtype("int8")],
)  # fmt: skip
def test_values_without_a_run_time_form_are_constants(module: Module, value: Any) -> None:
    write[1](numpy.zeros(4), value)
    assert module.last["x"].kind == "constexpr"
    write[1](numpy.zeros(4), value)
    assert len(module.compilations) == 1


@pytest.mark.parametrize("value", [{"a": 1}, object(), 1j, {1, 2}, numpy.complex64(1)])
def test_values_that_cannot_be_passed(module: Module, value: Any) -> None:
    with pytest.raises(tw.LaunchError, match="argument `x`") as error:
        write[1](numpy.zeros(4), value)
    assert error.value.code in ("TW0405", "TW0406")
    assert not module.launches


def test_arrays_in_a_tuple_for_a_constexpr_are_refused(module: Module) -> None:
    @tw.jit
    def constant(x, n: tw.constexpr):
        tw.store(x, 1)

    with pytest.raises(tw.LaunchError) as error:
        constant[1](numpy.zeros(4), (torch.zeros(4), 1))
    assert error.value.code == "TW0405"


@pytest.mark.parametrize(
    "value",
    [
        numpy.zeros(4, numpy.complex64), numpy.zeros(4, ">f4"), numpy.zeros(4, object),
        numpy.zeros(4, [("a", "f4")]), torch.zeros(4, dtype=torch.complex64),
        numpy.zeros(4, "datetime64[s]"),
    ],
)  # fmt: skip
def test_element_types_that_kernels_do_not_have(module: Module, value: Any) -> None:
    with pytest.raises(tw.LaunchError, match="argument `x` of write: arrays of") as error:
        write[1](numpy.zeros(4), value)
    assert error.value.code == "TW0406"


def test_tensors_without_memory_here_are_refused(module: Module) -> None:
    for tensor in (torch.zeros(4, device="meta"), torch.eye(4).to_sparse()):
        with pytest.raises(tw.LaunchError, match="argument `x`") as error:
            write[1](numpy.zeros(4), tensor)
        assert error.value.code == "TW0409"


def test_lazy_negations_are_refused(module: Module) -> None:
    tensor = torch.conj(torch.zeros(4, dtype=torch.complex64)).imag
    assert tensor.is_neg()
    with pytest.raises(tw.LaunchError, match="resolve_neg"):
        write[1](numpy.zeros(4), tensor)


def test_tensor_subclasses_are_tensors() -> None:
    assert facts_of(torch.nn.Parameter(torch.zeros(4))).type == "fp32"
    assert facts_of(numpy.zeros(4, numpy.float64).view(numpy.recarray)).type == "fp64"


def test_a_store_to_a_read_only_array_is_refused(module: Module) -> None:
    frozen = numpy.zeros(4, numpy.float32)
    frozen.flags.writeable = False
    write[1](numpy.zeros(4, numpy.float32), frozen)
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match="stores to `out`") as error:
            write[1](frozen, 1)
        assert error.value.code == "TW0403"
    assert len(module.launches) == 1


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (array.array("f", [1, 2]), "fp32"), (array.array("l", [1]), "i64"), (bytearray(4), "u8"),
        ((ctypes.c_double * 4)(), "fp64"), (memoryview(bytearray(8)).cast("H"), "u16"),
    ],
)  # fmt: skip
def test_the_buffer_protocol(module: Module, value: Any, type_name: str) -> None:
    write[1](value, 3)
    assert module.last["out"].facts["type"] == "*" + type_name
    with pytest.raises(tw.LaunchError, match="read-only"):
        write[1](bytes(4), 3)


def test_buffers_cannot_be_resized_during_a_launch(module: Module) -> None:
    _, address = read_argument(bytearray(4))
    assert isinstance(address.owner, memoryview)


def test_reinterpreted_arrays(module: Module) -> None:
    x = numpy.zeros(4, numpy.int8)
    write[1](tw.reinterpret(x, tw.int1), 3)
    assert module.last["out"].facts["type"] == "*i1"
    assert module.launches[-1][2][0] == x.ctypes.data
    with pytest.raises(tw.LaunchError, match="sizes differ"):
        write[1](tw.reinterpret(x, tw.float32), 3)


def test_memory_of_views_is_that_of_their_owner() -> None:
    owner = numpy.arange(64, dtype=numpy.float32).reshape(8, 8)
    span = (owner.ctypes.data, 256, False)
    strided = numpy.lib.stride_tricks.as_strided(owner, (4,), (8,))
    for view in (owner, owner[2:, ::2], owner.T, owner[::-1, ::-1], owner[7, 7:], strided):
        assert memory_of(view, 0) == span
    tensor = torch.arange(64.0).reshape(8, 8)
    for view in (tensor, tensor[3:].T, tensor[:, ::2], torch.nn.Parameter(tensor)):
        assert memory_of(view, 0) == (tensor.data_ptr(), 256, False)
    frozen = numpy.broadcast_to(owner[0], (4, 8))
    assert memory_of(frozen, 0) == (*span[:2], True)
    assert memory_of(numpy.zeros(0), 0)[1] == 0
    assert memory_of(3, 3) == (0, 0, False)


class Described:
    """An object that NumPy makes arrays of by what it says of itself."""

    def __init__(self, **said: Any) -> None:
        self.__array_interface__ = {"typestr": "<f4", "version": 3, **said}


@pytest.mark.parametrize("kind", ["shape", "type", "offset", "of bytes", "strides", "backwards"])
def test_arrays_that_reach_beyond_what_they_were_made_from_are_refused(
    kind: str, module: Module
) -> None:
    owner = numpy.arange(16, dtype=numpy.float32)
    strided = numpy.lib.stride_tricks.as_strided
    made: dict[str, Callable[[], Any]] = {
        "shape": lambda: numpy.asarray(Described(shape=(1000,), data=owner)),
        "type": lambda: numpy.asarray(Described(shape=(16,), data=owner, typestr="<f8")),
        "offset": lambda: numpy.asarray(Described(shape=(8,), data=owner, offset=40)),
        "of bytes": lambda: numpy.asarray(Described(shape=(17,), data=bytearray(64))),
        "strides": lambda: strided(owner[4:], (4,), (32,)),
        "backwards": lambda: strided(owner[4:], (8,), (-4,)),
    }
    array = made[kind]()
    with pytest.raises(tw.LaunchError, match="argument `out` of write.* of memory that has 64") as error:
        write[1](array, 3)
    assert error.value.code == "TW0405"
    with pytest.raises(tw.LaunchError, match=r"argument `out` of write.* of memory that has 64"):
        write[1](tw.reinterpret(array, tw.uint64 if kind == "type" else tw.int32), 3)
    with pytest.raises(tw.LaunchError, match=r"argument `x\[0\]` of write.* of memory that has 64"):
        write[1](owner, (array,))


def test_arrays_within_what_they_were_made_from_are_taken(module: Module) -> None:
    owner, bytes_ = numpy.arange(16, dtype=numpy.float32), bytearray(64)
    strided = numpy.lib.stride_tricks.as_strided
    for array in (
        numpy.asarray(Described(shape=(16,), data=owner)),
        numpy.asarray(Described(shape=(8,), data=bytes_, offset=32)),
        numpy.frombuffer(bytes_, numpy.float32)[3:],
        numpy.ndarray((2, 4), numpy.float32, bytes_, offset=16)[::-1],
        strided(owner[4:], (3,), (16,)),
        strided(owner[4:], (5,), (-4,)),
        torch.zeros(4).numpy()[2:],
        owner[16:],
    ):
        write[1](array, 3)
    write[1](owner, (numpy.broadcast_to(owner[15:], (8,)),))


def test_what_a_subclass_says_of_its_memory_is_not_believed() -> None:
    class Liar(numpy.ndarray):
        __array_interface__ = property(lambda self: {"data": (64, False), "typestr": "<f8"})

    owner = numpy.arange(4, dtype=numpy.float32)
    assert read_argument(owner.view(Liar))[1] == owner.ctypes.data
    assert facts_of(owner.view(Liar)) is facts_of(owner)


def test_arrays_of_negative_strides_begin_at_their_lowest_byte() -> None:
    backwards = numpy.arange(8, dtype=numpy.int16)[::-1].copy()[::-1]
    base, size, _ = memory_of(backwards, 0)
    assert base == backwards.ctypes.data - 14 and size == 16


def test_the_memory_is_told_to_checking_devices_only(module: Module) -> None:
    out, x = numpy.zeros(4, numpy.float32), 3
    write[1](out, x)
    assert module.launches[-1][3] is None
    with tw.device("reference"):
        write[1](out[1:], x)
    assert module.launches[-1][3] == ((out.ctypes.data, 16, False, 0), (0, 0, False, 0))


def overlapping(*values: Any) -> list[bool]:
    readings = [read_argument(value) for value in values]
    facts = [reading[0] for reading in readings]
    mark_overlaps(facts, values, [reading[1] for reading in readings])
    return [not fact.is_disjoint for fact in facts if isinstance(fact, Facts) and fact.is_pointer]


def test_arrays_of_one_allocation_overlap() -> None:
    x, y = torch.zeros(64), torch.zeros(64)
    a, b = numpy.zeros(64), numpy.zeros(64)
    assert overlapping(x, 3, y, "text", a, b) == [False] * 4
    assert overlapping(x, x, y) == [True, True, False]
    assert overlapping(x[:8], y, x[32:]) == [True, False, True]
    assert overlapping(x[:8], x[:4]) == overlapping(x[8:12], x[20:24]) == [True, True]
    assert overlapping(x.reshape(8, 8).T, x[:1]) == overlapping(x[::2], x[1::2]) == [True, True]
    assert overlapping(a[:8], b, a[32:]) == overlapping(a, b, a[::-1]) == [True, False, True]
    assert overlapping(x.numpy(), x[:2], a) == [True, True, False]
    assert overlapping(torch.from_numpy(a), a[60:], torch.nn.Parameter(y)) == [True, True, False]
    assert overlapping(tw.reinterpret(x, tw.int32), x) == [True, True]
    whole, rest = torch.zeros(256), torch.zeros(4)
    assert overlapping(whole, whole[8:9], whole[128:129], rest) == [True, True, True, False]


def test_empty_arrays_overlap_nothing_that_has_elements() -> None:
    x = numpy.zeros(4)
    assert overlapping(x, numpy.zeros(0))[0] is False


def test_overlap_is_part_of_the_specialization(module: Module) -> None:
    x = numpy.zeros(8, numpy.float32)
    write[1](x, numpy.zeros(8, numpy.float32))
    assert module.last["out"].facts["is_disjoint"] and module.last["x"].facts["is_disjoint"]
    write[1](x[:4], x[4:])
    assert not module.last["out"].facts["is_disjoint"] and not module.last["x"].facts["is_disjoint"]
    assert len(module.compilations) == 2
    assert str(parse_facts("*fp32:16:overlap")) == "*fp32:16:overlap"


@pytest.mark.parametrize("fact", fact_rows(), ids=lambda fact: fact.name)
def test_facts_have_words_and_decide_what_a_binary_may_be_given(fact: Fact) -> None:
    usual = parse_facts("*fp32" if fact.of_pointers else "i32")
    other = usual.but(**{fact.name: not fact.usual})
    assert str(other) == f"{usual}:{fact.text}" == str(parse_facts(str(other)))
    false, true = (other, usual) if fact.usual else (usual, other)
    assert false.admits(true) == (fact.use != "provided")
    assert true.admits(false) == (fact.use != "assumed")
    if fact.of_pointers:
        for compiled, given in ((false, true), (true, false)):
            assert compiled.with_memory_of(given).admits(given)
        assert (true.with_memory_of(false) is true) == (fact.use != "assumed")
    with pytest.raises(TypeError, match="is_new"):
        usual.but(is_new=True)


def test_launch_keys_hold_no_arrays(module: Module) -> None:
    import gc
    import weakref

    out = numpy.zeros(4, numpy.float32)
    gone = weakref.ref(out)
    write[1](out, 3)
    module.launches.clear()
    del out
    gc.collect()
    assert gone() is None
