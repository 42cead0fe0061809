"""Block pointers and tensor descriptors of the fuzzer: blocks that reach outside of their arrays."""

from __future__ import annotations

from kernel_text import Array, KernelText, Value
import memory


def number(k: KernelText, value: int) -> str:
    return k.scalar(value).text if value >= 0 and k.rng.random() < 0.4 else str(value)


def listed(k: KernelText, values: list[int]) -> str:
    return f"({', '.join(number(k, value) for value in values)},)"


def described(k: KernelText, array: Array, block: tuple[int, ...], is_injective: bool) -> str:
    """Base, shape and strides of an array around a block, whose memory grows to hold it."""
    shape = [max(1, e + k.rng.choice([0, 0, 3, -1, -e // 2])) for e in block]
    strides = memory.strides_of(k, tuple(shape), is_injective)
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


def load_block(k: KernelText, array: Array, block: tuple[int, ...]) -> Value:
    check = f"boundary_check={tuple(range(len(block)))}"
    name = block_pointer(k, array, block, is_injective=False)
    return k.define(f"tw.load({name}, {check})", array.dtype, block, array.bound)


def store_block(k: KernelText, array: Array, v: Value) -> None:
    check = f"boundary_check={tuple(range(len(v.shape)))}"
    name = block_pointer(k, array, v.shape, is_injective=True)
    k.emit(f"tw.store({name}, {v.text}, {check})")
