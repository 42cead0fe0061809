"""Block pointers and tensor descriptors of the fuzzer: blocks that reach outside of their arrays."""

from __future__ import annotations

from kernel_text import Array, KernelText, Value
import memory


def number(k: KernelText, value: int) -> str:
    return k.scalar(value).text if value >= 0 and k.rng.random() < 0.4 else str(value)


def listed(k: KernelText, values: list[int]) -> str:
    return f"({', '.join(number(k, value) for value in values)},)"


def described(
    k: KernelText, array: Array, block: tuple[int, ...], is_injective: bool, is_contiguous: bool = False
) -> str:
    """Base, shape and strides of an array around a block, whose memory grows to hold it."""
    shape = [max(1, e + k.rng.choice([0, 0, 3, -1, -e // 2])) for e in block]
    strides = memory.strides_of(k, tuple(shape), is_injective)
    if is_contiguous:
        strides = memory.rows_of(k, tuple(shape))
    low = sum(min(0, s * (e - 1)) for s, e in zip(strides, shape))
    high = sum(max(0, s * (e - 1)) for s, e in zip(strides, shape))
    memory.claim(array, high - low + 1)
    return f"{memory.pointer(k, array, str(-low))}, {listed(k, shape)}, {listed(k, strides)}"


def places(k: KernelText, block: tuple[int, ...]) -> list[int]:
    return [k.rng.choice([0, 0, 0, 1, -1, e // 2, -e - 1, e + 5]) for e in block]


def block_pointer(k: KernelText, array: Array, block: tuple[int, ...], is_injective: bool) -> str:
    """A name for a block pointer, moved or not."""
    order = list(reversed(range(len(block))))
    name = k.name("b")
    where = f"{described(k, array, block, is_injective)}, {listed(k, places(k, block))}"
    k.emit(f"{name} = tw.make_block_ptr({where}, {block}, {tuple(order)})")
    if k.rng.random() < 0.4:
        k.emit(f"{name} = tw.advance({name}, {listed(k, places(k, block))})")
    return name


def descriptor(k: KernelText, array: Array, block: tuple[int, ...], is_injective: bool) -> str:
    """A name for a tensor descriptor; its last dimension is contiguous."""
    name = k.name("d")
    k.emit(f"{name} = tw.make_tensor_descriptor({described(k, array, block, is_injective, True)}, {block})")
    return name


def load_by_descriptor(k: KernelText, array: Array, block: tuple[int, ...]) -> Value:
    name = descriptor(k, array, block, is_injective=False)
    return k.define(f"{name}.load({listed(k, places(k, block))})", array.dtype, block, array.bound)


def gather_rows(k: KernelText, array: Array, block: tuple[int, int]) -> Value:
    """Rows in any order, some of them outside of the array."""
    name = descriptor(k, array, (1, block[1]), is_injective=False)
    rows = f"tw.arange(0, {block[0]}) * {k.rng.choice([1, 2, 3, -1])} + {k.rng.choice([0, 0, 1, -2])}"
    column = number(k, places(k, block)[1])
    return k.define(f"{name}.gather({rows}, {column})", array.dtype, block, array.bound)


def store_by_descriptor(k: KernelText, array: Array, v: Value) -> None:
    name = descriptor(k, array, v.shape, is_injective=True)
    if array.dtype in ("int32", "uint32", "int64", "uint64") and k.rng.random() < 0.3:
        kind = k.rng.choice(["add", "and", "or", "xor", "max", "min"])
        k.emit(f"{name}.atomic_{kind}({listed(k, places(k, v.shape))}, {v.text})")
    else:
        k.emit(f"{name}.store({listed(k, places(k, v.shape))}, {v.text})")


def load_block(k: KernelText, array: Array, block: tuple[int, ...]) -> Value:
    if k.rng.random() < 0.5:
        if len(block) == 2 and block[0] > 1 and k.rng.random() < 0.3:
            return gather_rows(k, array, block)
        return load_by_descriptor(k, array, block)
    check = f"boundary_check={tuple(range(len(block)))}"
    name = block_pointer(k, array, block, is_injective=False)
    return k.define(f"tw.load({name}, {check})", array.dtype, block, array.bound)


def store_block(k: KernelText, array: Array, v: Value) -> None:
    if k.rng.random() < 0.5:
        return store_by_descriptor(k, array, v)
    check = f"boundary_check={tuple(range(len(v.shape)))}"
    name = block_pointer(k, array, v.shape, is_injective=True)
    k.emit(f"tw.store({name}, {v.text}, {check})")
