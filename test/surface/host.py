"""Features of the host side: a name that scripts import or use, found and, where it can be, tried."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import subprocess
import tempfile
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import tilewright.triton as triton
import tilewright.triton.language as tl
import tilewright.triton.profiler.language as pl
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


@triton.jit
def _five():
    # CHECK-LABEL: @_five
    # CHECK: arith.constant 5 : i32
    # CHECK: tile.print
    tl.device_print("", tl.program_id(0) + 5)


@triton.jit
def _six():
    # CHECK: arith.constant 6 : i32
    tl.device_print("", tl.program_id(0) + 5)


def _raises(run: Callable[[], Any]) -> bool:
    """Whether FileCheck finds that the IR is not as the directives say."""
    try:
        run()
    except ValueError as error:
        return "expected string not found" in str(error)
    return False


def _matches(value: Callable[[Any], Callable[[], None]]) -> bool:
    value(_five)()
    return _raises(value(_six))


def _text_matches(value: Callable[[str, str, str], None]) -> bool:
    value("", "one\ntwo", "CHECK: one\nCHECK-NEXT: two")
    return _raises(lambda: value("", "one\ntwo", "CHECK: three"))


@triton.jit
def _double(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    with pl.scope("all"):
        pl.enter_scope("load")
        v = tl.load(x + i)
        pl.exit_scope("load")
        tl.store(y + i, v * 2)


def _doubles(launch: Any) -> bool:
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    launch[(1,)](x, y, *(() if launch is not _double else (8,)))
    return bool((y == 2 * x).all())


def _records(proton: Any) -> bool:
    """The tree and the counts of what was launched, and nothing of what was not."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/profile"
        session = proton.start(path)
        with proton.scope("here", {"bytes": 7}):
            _doubles(_double)
            _doubles(_double)
        proton.deactivate(session)
        _doubles(_double)
        proton.finalize(session)
        root = json.loads(pathlib.Path(f"{path}.hatchet").read_text())[0]
    (here,) = root["children"]
    (kernel,) = here["children"]
    metrics = kernel["metrics"]
    return (
        here["metrics"] == {"bytes": 7}
        and kernel["frame"]["name"] == "_double"
        and metrics["count"] == 2
        and metrics["time (ns)"] > 0
    )


def _shows(viewer: Any) -> bool:
    proton = find("triton.profiler")
    with tempfile.TemporaryDirectory() as folder:
        session = proton.start(f"{folder}/profile")
        for _ in range(3):
            _doubles(_double)
        proton.finalize(session)
        tree, columns = viewer.parse(["count", "time/ms"], f"{folder}/profile.hatchet")
    return tree.values[columns[0]] == 3 and tree.values[columns[1]] > 0


def _keeps_elsewhere(value: Any) -> bool:
    kept: dict[str, bytes] = {}

    class Elsewhere:
        def __init__(self, key: str) -> None:
            self.key = key

        def get(self, names: list[str]) -> dict[str, bytes]:
            return {n: kept[self.key + n] for n in names if self.key + n in kept}

        def put(self, name: str, data: bytes) -> None:
            kept[self.key + name] = data

    old = triton.knobs.cache.remote_manager_class
    triton.knobs.cache.remote_manager_class = Elsewhere
    try:
        value("surface").put(b"bytes", "file")
        path = value("surface").get_file("file")
        return kept == {"surfacefile": b"bytes"} and pathlib.Path(path).read_bytes() == b"bytes" and (
            value("surface").get_file("other") is None)  # fmt: skip
    finally:
        triton.knobs.cache.remote_manager_class = old


def _compiles_text(value: Any) -> bool:
    text = _double.compile({"x": "*fp32", "y": "*fp32"}, {"B": 8}, device="cpu").asm["tile"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "double.mlir"
        path.write_text(text)
        return _doubles(triton.compile(value(str(path))))


def _compiles_to_c(value: Callable[[Any], Any]) -> bool:
    """The files of a kernel, built and called by a program in C where there is a compiler."""
    arguments = find("triton.tools.compile.CompileArgs")
    text = "import tilewright.triton as triton, tilewright.triton.language as tl\n" + inspect.getsource(_two)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "two.py"
        path.write_text(text)
        name, files = value(arguments(
            path=str(path), kernel_name="_two", signature="*fp32:16, i32, 8", grid="n / 8, 1, 1",
            target="cpu:x86-64-v2:1", out_path=path))  # fmt: skip
        main = pathlib.Path(folder) / "main.c"
        main.write_text(
            f'#include "{name}.h"\nint main(void) {{ _Alignas(16) float x[16] = {{0}};\n'
            f"return {name}(x, 16, 0, 0) || x[0] != 2 || x[15] != 2; }}\n"
        )
        code = next(str(file) for file in files if file.suffix == ".c")
        program = f"{folder}/main"
        subprocess.run(["cc", "-o", program, str(main), code, "-lm", "-ldl", "-lpthread"], check=True)
        return subprocess.run([program], check=False).returncode == 0


@triton.jit
def _two(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, 2.0, mask=i < n)


def _multiplies(value: Callable[[], Any]) -> bool:
    torch = importlib.import_module("torch")
    a, b = torch.rand(3, 5), torch.rand(4, 5)
    c = torch.full((3, 4), float("nan"))
    value().matmul(a, b, c)
    return bool(torch.allclose(c, a @ b.T))


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
    "triton.profiler": _records,
    "triton.profiler.viewer": _shows,
    "triton.profiler.language": lambda v: v is pl and _doubles(_double),
    "triton.profiler.mode.Default": lambda v: v(granularity="cta").name == "default",
    "filecheck_test": _matches,
    "run_filecheck": _text_matches,
    "run_filecheck_test": lambda v: v(_five) is None and _raises(lambda: v(_six)),
    "run_parser": lambda v: "tile.print" in v(_five).str_nodebug(),
    "RemoteCacheManager": _keeps_elsewhere,
    "IRSource": _compiles_text,
    "cublas": _multiplies,
    "CompileArgs": lambda v: v(path="k.py").num_warps == 1,
    "compile_kernel": _compiles_to_c,
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
        name = row.removesuffix(ROW_END).removeprefix("import ").removeprefix("dec:@")
        value = find(name)
        question = QUESTIONS.get(name, QUESTIONS.get(name.rpartition(".")[2]))
        assert question is None or question(value), f"{name} gives something else"
