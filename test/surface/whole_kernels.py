"""Features that need kernels or launches of their own: decorators, signatures, descriptors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tilewright.triton as triton
import tilewright.triton.language as tl
from harness import BLOCK, check, define, feature, poisoned


def vectors(rng: np.random.Generator) -> tuple[Any, Any]:
    return rng.normal(size=BLOCK).astype(np.float32), poisoned(BLOCK, "float32")


def twice(X, Z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Z + i, 2 * tl.load(X + i, mask=i < n), mask=i < n)


def runs_twice(kernel: Any, rng: np.random.Generator, **constants: Any) -> None:
    x, z = vectors(rng)
    kernel[lambda meta: (triton.cdiv(BLOCK, meta["BLOCK"]),)](x, z, BLOCK, **constants)
    check(z, 2 * x.astype(np.float64))


@feature("dec:@triton.jit", "sig:constexpr param")
def plain(rng: np.random.Generator) -> None:
    runs_twice(triton.jit(twice), rng, BLOCK=32)


def _jit_option(name: str, **options: Any) -> None:
    @feature(f"dec:@triton.jit({name}=)")
    def program(rng: np.random.Generator) -> None:
        runs_twice(triton.jit(**options)(twice), rng, BLOCK=32)


_jit_option("do_not_specialize", do_not_specialize=["n"])
_jit_option("do_not_specialize_on_alignment", do_not_specialize_on_alignment=["X"])
_jit_option("repr", repr=lambda specialization: "named")
_jit_option("launch_metadata", launch_metadata=lambda grid, kernel, args: {"name": "named"})
_jit_option("debug", debug=True)


@feature("dec:@triton.jit(noinline=)")
def noinline(rng: np.random.Generator) -> None:
    names = define(
        "import tilewright.triton as triton\nimport tilewright.triton.language as tl\n"
        "@triton.jit(noinline=True)\ndef double(v):\n    return v * 2\n"
        "@triton.jit\ndef kernel(X, Z, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(Z + i, double(tl.load(X + i)))\n"
    )
    runs_twice(names["kernel"], rng, BLOCK=32)


CONFIGS = [triton.Config({"BLOCK": 32}, num_warps=2), triton.Config({"BLOCK": 64}, num_stages=2)]


def tuned(rng: np.random.Generator, configs: Any = None, **options: Any) -> Any:
    options = {"warmup": 1, "rep": 1, **options}
    kernel = triton.autotune(configs=configs or CONFIGS, key=["n"], **options)(triton.jit(twice))
    runs_twice(kernel, rng)
    assert kernel.best_config in (configs or CONFIGS)
    return kernel


@feature(
    "dec:@triton.autotune", "dec:@triton.autotune(key=)", "dec:@triton.autotune(configs=)",
    "dec:Config(num_warps=)", "dec:Config(num_stages=)", "dec:@triton.autotune(warmup=)",
    "dec:@triton.autotune(rep=)", "dec:@triton.autotune(None=)",
)  # fmt: skip
def autotune(rng: np.random.Generator) -> None:
    tuned(rng, **{})


@feature("dec:@triton.autotune(restore_value=)")
def restore_value(rng: np.random.Generator) -> None:
    tuned(rng, restore_value=["Z"])


@feature("dec:@triton.autotune(reset_to_zero=)")
def reset_to_zero(rng: np.random.Generator) -> None:
    tuned(rng, reset_to_zero=["Z"])


@feature("dec:@triton.autotune(prune_configs_by=)")
def prune(rng: np.random.Generator) -> None:
    early = lambda configs, arguments, **rest: configs[:1]  # noqa: E731
    kernel = tuned(rng, prune_configs_by={"early_config_prune": early})
    assert kernel.best_config is CONFIGS[0]


@feature("dec:@triton.autotune(do_bench=)")
def own_bench(rng: np.random.Generator) -> None:
    tuned(rng, do_bench=lambda run, quantiles: run() or [1.0, 1.0, 1.0])


@feature("dec:@triton.autotune(use_cuda_graph=)")
def cuda_graph(rng: np.random.Generator) -> None:
    tuned(rng, use_cuda_graph=False)


@feature("dec:@triton.autotune(pre_hook=)", "dec:@triton.autotune(post_hook=)")
def hooks(rng: np.random.Generator) -> None:
    seen: list[str] = []
    tuned(
        rng,
        pre_hook=lambda arguments, reset_only=False: seen.append("pre"),
        post_hook=lambda arguments, exception=None: seen.append("post"),
    )
    assert {*seen} == {"pre", "post"}


@feature("dec:Config(pre_hook=)")
def config_hook(rng: np.random.Generator) -> None:
    seen: list[int] = []
    tuned(rng, [triton.Config({"BLOCK": 32}, pre_hook=lambda args: seen.append(args["n"]))])
    assert seen == [BLOCK]


@feature("dec:Config(maxnreg=)")
def maxnreg(rng: np.random.Generator) -> None:
    tuned(rng, [triton.Config({"BLOCK": 32}, maxnreg=64), triton.Config({"BLOCK": 64}, maxnreg=128)])


@feature("dec:@triton.heuristics", "dec:@triton.heuristics(values=)")
def heuristics(rng: np.random.Generator) -> None:
    rule = {"BLOCK": lambda args: triton.next_power_of_2(args["n"])}
    runs_twice(triton.heuristics(values=rule)(triton.jit(twice)), rng)


@feature("dec:@triton.must_use_result")
def must_use_result(rng: np.random.Generator) -> None:
    runs_twice(triton.must_use_result(triton.jit(twice)), rng, BLOCK=32)


@triton.jit
def defaults(X, Z, n, FACTOR: tl.constexpr = 2, BLOCK: tl.constexpr = 64):
    i = tl.arange(0, BLOCK)
    tl.store(Z + i, FACTOR * tl.load(X + i))


@feature("sig:default args")
def default_arguments(rng: np.random.Generator) -> None:
    x, z = vectors(rng)
    defaults[(1,)](x, z, 3)
    check(z, 2 * x.astype(np.float64))


@triton.jit
def early(X, Z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Z + i, 2 * tl.load(X + i))
    if n > 3:
        return
    tl.store(Z + i, 0.0)


@feature("py:early return", "py:return")
def early_return(rng: np.random.Generator) -> None:
    x, z = vectors(rng)
    early[(1,)](x, z, 50, BLOCK=BLOCK)
    check(z, 2 * x.astype(np.float64))


def _annotated(row: str, annotation: str, value: Any) -> None:
    text = (
        "import torch\n" if "torch" in annotation else ""
    ) + (
        "import tilewright.triton as triton\nimport tilewright.triton.language as tl\n"
        f"@triton.jit\ndef kernel(X{': ' + annotation if value is None else ''}, Z, "
        f"n{': ' + annotation if value is not None else ''}, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n    tl.store(Z + i, tl.load(X + i) * n)\n"
    )  # fmt: skip

    @feature(row)
    def program(rng: np.random.Generator) -> None:
        x, z = vectors(rng)
        define(text)["kernel"][(1,)](x, z, 2 if value is None else value, BLOCK=BLOCK)
        check(z, (2 if value is None else value) * x.astype(np.float64))


for _name, _value in [
    ("int", 3), ("tl.int64", 1 << 33), ("tl.tensor", 3), ("tl.int32", 3), ("float", 2.5),
    ("tl.uint64", 1 << 40), ("tl.uint32", 1 << 20),
]:  # fmt: skip
    _annotated(f"sig:annot {_name}", _name, _value)
_annotated("sig:annot torch.Tensor", "torch.Tensor", None)
_annotated("sig:annot tl.const", "tl.const", None)


@feature("sig:annot tl.core.tensor_descriptor", "tl.tensor_descriptor")
def annotated_descriptor(rng: np.random.Generator) -> None:
    descriptor_program("desc.load([0, 0])", annotation=": tl.core.tensor_descriptor")(rng)


DESCRIPTOR = """
import tilewright.triton as triton
import tilewright.triton.language as tl

@triton.jit
def read(desc{annotation}):
    return {load}

@triton.jit
def kernel(X, Z, M, N, BLOCK: tl.constexpr):
    desc = tl.make_tensor_descriptor({arguments})
    out = tl.make_tensor_descriptor(Z, shape=[M, N], strides=[N, 1], block_shape=[16, 16])
    {store}
"""


def descriptor_program(load: str, arguments: str = "", store: str = "", annotation: str = "") -> Any:
    arguments = arguments or "base=X, shape=[M, N], strides=[N, 1], block_shape=[16, 16]"
    text = DESCRIPTOR.format(
        load=load, arguments=arguments, store=store or "out.store([0, 0], read(desc))", annotation=annotation
    )

    def program(rng: np.random.Generator) -> None:
        import torch

        x = torch.from_numpy(rng.normal(size=(12, 16)).astype(np.float32))
        z = torch.full((12, 16), float("nan"))
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8))
        define(text)["kernel"][(1,)](x, z, 12, 16, BLOCK=16)
        check(z.numpy(), x.numpy().astype(np.float64))

    return program


for _row in ("tl.make_tensor_descriptor", "tl.make_tensor_descriptor[block_shape=*]",
             "tl.make_tensor_descriptor[strides=*]", "tl.make_tensor_descriptor[shape=*]",
             "tl.make_tensor_descriptor[base=*]", ".store"):  # fmt: skip
    feature(_row)(descriptor_program("desc.load([0, 0])"))
feature(".block_shape")(descriptor_program("desc.load([0, desc.block_shape[0] - 16])"))
feature(".strides")(descriptor_program("desc.load([0, 0]) * desc.strides[1]"))
feature(".gather")(
    descriptor_program("desc.gather(tl.arange(0, 16), 0)", "X, [M, N], [N, 1], [1, 16]")
)
feature(".scatter")(
    descriptor_program(
        "desc.load([0, 0])",
        store="s = tl.make_tensor_descriptor(Z, [M, N], [N, 1], [1, 16]); "
        "s.scatter(read(desc), tl.arange(0, 16), 0)",
    )
)

POINTERS = """
import tilewright.triton as triton
import tilewright.triton.language as tl

@triton.jit
def kernel(X, Z, M, N, BLOCK: tl.constexpr):
    x = tl.make_block_ptr({x})
    z = tl.make_block_ptr(base=Z, shape=(M, N), strides=(N, 1), offsets=(0, 0), block_shape=(16, 8), order=(1, 0))
    for k in range(0, N, 8):
        tl.store(z, tl.load(x, {options}), boundary_check=(0, 1))
        x = tl.advance(x, (0, 8))
        z = {advance}
"""


def pointer_program(options: str = "boundary_check=(0, 1)", advance: str = "tl.advance(z, (0, 8))") -> Any:
    text = POINTERS.format(
        x="base=X, shape=(M, N), strides=(N, 1), offsets=(0, 0), block_shape=(16, 8), order=(1, 0)",
        options=options, advance=advance,
    )  # fmt: skip

    def program(rng: np.random.Generator) -> None:
        x = rng.normal(size=(12, 21)).astype(np.float32)
        z = poisoned((12, 21), "float32")
        define(text)["kernel"][(1,)](x, z, 12, 21, BLOCK=16)
        check(z, x.astype(np.float64))

    return program


for _row in ("tl.make_block_ptr", "tl.advance", "tl.load[boundary_check=*]", "tl.store[boundary_check=*]",
             *(f"tl.make_block_ptr[{part}=*]" for part in
               ("order", "base", "block_shape", "offsets", "shape", "strides"))):  # fmt: skip
    feature(_row)(pointer_program())
feature("tl.load[padding_option='zero']")(pointer_program("boundary_check=(0, 1), padding_option='zero'"))
feature("tl.load[padding_option=*]")(pointer_program("boundary_check=(0, 1), padding_option='nan'"))


@feature(".item")
def item(rng: np.random.Generator) -> None:
    names = define(
        "import tilewright.triton as triton\nimport tilewright.triton.language as tl\n"
        "@triton.jit\ndef kernel(X, Z, BLOCK: tl.constexpr):\n"
        "    one = tl.load(X + tl.arange(0, 1))\n    tl.store(Z, one.item())\n"
    )
    x, z = vectors(rng)
    names["kernel"][(1,)](x, z, BLOCK=BLOCK)
    check(z[:1], x[:1])


@feature("py:with")
def with_scope(rng: np.random.Generator) -> None:
    names = define(
        "import tilewright.triton as triton\nimport tilewright.triton.language as tl\n"
        "import tilewright.triton.profiler as proton\n"
        "@triton.jit\ndef kernel(X, Z, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    with tl.async_task([0]):\n        tl.store(Z + i, 2 * tl.load(X + i))\n"
    )
    runs_twice(names["kernel"], rng, BLOCK=32)


class Pair(NamedTuple):
    first: Any
    second: Any


@feature(".first", ".second")
def fields(rng: np.random.Generator) -> None:
    names = define(
        "import tilewright.triton as triton\nimport tilewright.triton.language as tl\n"
        "@triton.jit\ndef kernel(pair, n, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    tl.store(pair.second + i, 2 * tl.load(pair.first + i))\n"
    )
    x, z = vectors(rng)
    names["kernel"][(1,)](Pair(x, z), BLOCK, BLOCK=BLOCK)
    check(z, 2 * x.astype(np.float64))


AGGREGATE = """
import tilewright.triton as triton
import tilewright.triton.language as tl

@triton.aggregate
class Scaled:
    value: tl.tensor
    factor: tl.constexpr

    def __init__(self, value, factor):
        self.value = value
        self.factor = factor

    @staticmethod
    @triton.jit
    def create(v, factor: tl.constexpr):
        return Scaled(v, factor)

    @triton.jit
    def compute(self):
        return self.value * self.factor

@triton.jit
def kernel(X, Z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    made = Scaled.create(tl.load(X + i), 2)
    tl.store(Z + i, made.compute())
"""


@feature("dec:@staticmethod", ".compute", ".val")
def aggregate(rng: np.random.Generator) -> None:
    runs_twice(define(AGGREGATE)["kernel"], rng, BLOCK=32)


@feature("dec:@triton._filecheck.filecheck_test", is_host=True)
def absent_modules(rng: np.random.Generator) -> None:
    import importlib

    importlib.import_module("tilewright.triton._filecheck")


@feature(".get_block_shapes")
def block_shapes(rng: np.random.Generator) -> None:
    names = define(
        "import tilewright.triton as triton\nimport tilewright.triton.language as tl\n"
        "@triton.jit\ndef kernel(X, Z, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    v = tl.load(X + i)\n"
        "    tl.store(Z + i, v * (v.type.get_block_shapes()[0] // 16))\n"
    )
    runs_twice(names["kernel"], rng, BLOCK=32)
