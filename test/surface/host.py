"""Features of the host side: a name that scripts import or use, found and, where it can be, tried."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tilewright.triton as triton
import tilewright.triton.language as tl
from harness import feature

ROW_END = " (files)"


def find(name: str) -> Any:
    """What a script gets for `triton.a.b`, `tl.c` or `import triton.a.b`. Raises as its import would."""
    parts = name.removeprefix("import ").split(".")
    if parts[0] in ("tl", "libdevice"):
        parts = [*{"tl": "triton.language", "libdevice": "triton.language.extra.libdevice"}[parts[0]]
                 .split("."), *parts[1:]]  # fmt: skip
    value: Any = importlib.import_module("tilewright.triton")
    for index, part in enumerate(parts[1:], 2):
        if isinstance(value, types.ModuleType):
            # As `from module import part`, which takes a module where there is no attribute.
            names: dict[str, Any] = {}
            path = ".".join(["tilewright", *parts[: index - 1]])
            exec(f"from {path} import {part} as found", names)
            value = names["found"]
        else:
            value = getattr(value, part)
    return value


def _constexpr_function(value: Any) -> bool:
    return value(lambda a: a + 1)(tl.constexpr(2)) == 3


def _runs(fn: Callable[..., Any]) -> bool:
    return fn(lambda: None, warmup=0, rep=1) >= 0 if fn is triton.testing.do_bench else (
        fn(lambda: None, rep=1) >= 0)  # fmt: skip


def _close(value: Callable[..., Any]) -> bool:
    value(np.ones(3), np.ones(3))
    try:
        value(np.ones(3), np.zeros(3))
    except AssertionError:
        return True
    return False


def _builtin(value: Any) -> bool:
    return callable(value)


# The end of a name -> a question that its value must answer with True.
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "cdiv": lambda v: v(7, 2) == 4,
    "next_power_of_2": lambda v: v(5) == 8,
    "constexpr": lambda v: v(3) + 1 == 4,
    "constexpr_function": _constexpr_function,
    "Config": lambda v: v({"BLOCK": 1}, num_warps=2).all_kwargs()["num_warps"] == 2,
    "__version__": lambda v: v.split(".")[:2] == ["3", "9"],
    "do_bench": _runs,
    "do_bench_cudagraph": _runs,
    "assert_close": _close,
    "Benchmark": lambda v: isinstance(v, type),
    "perf_report": lambda v: callable(v([])(len).run),
    "GPUTarget": lambda v: v("cuda", 80, 32).arch == 80,
    "MockTensor": lambda v: v(tl.float32, [2, 3]).stride() == (3, 1),
    "ASTSource": lambda v: v(triton.jit(_builtin), {"value": "i32"}).hash(),
    "dtype": lambda v: v("fp32") == tl.float32,
    "pointer_type": lambda v: v(tl.float32).element_ty == tl.float32,
    "driver": lambda v: v.active.get_current_target().backend,
    "set_allocator": lambda v: v(lambda *_: None) is None,
    "get_int_dtype": lambda v: v(32, True) == tl.int32,
    "TensorWrapper": lambda v: v(np.zeros(2, np.int8), tl.uint8).dtype == tl.uint8,
    "numpy_random": lambda v: v((3,), "int32").shape == (3,),
    "to_numpy": lambda v: v(find("triton._internal_testing.to_triton")(np.ones(2), "cpu")).sum() == 2,
    "str_to_triton_dtype": lambda v: v("float32") == tl.float32,
    "torch_dtype_name": lambda v: v(tl.float32) == "float32",
    "OutOfResources": lambda v: v(2, 1, "threads").required == 2,
}
for _name in ("is_cuda", "is_hip", "is_xpu", "is_cpu", "is_interpreter", "is_hopper", "is_blackwell"):
    QUESTIONS[_name] = lambda v: v() in (True, False)
for _name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
              "uint32", "uint64", "bfloat16", "int1"):  # fmt: skip
    QUESTIONS[_name] = lambda v, n=_name: v.name == n and isinstance(v, tl.dtype)


def register(row: str) -> None:
    """Make the program of a row of the host."""

    @feature(row, is_host=True)
    def program(rng: np.random.Generator) -> None:
        name = row.removesuffix(ROW_END)
        value = find(name)
        question = QUESTIONS.get(name.rpartition(".")[2])
        assert question is None or question(value), f"{name} gives something else"
