"""Launches of the kernels in warpgroup_kernels.py: what each computes, and how."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[3]
sys.path.insert(0, str(ROOT / "test/golden/ptx"))

from launches import Golden, request  # noqa: E402
from warpsim_command import COMMAND  # noqa: E402

KERNELS = "test/python/fuzz/mutants/warpgroup_kernels.py"
Answer = Callable[[list[np.ndarray]], np.ndarray]


class Case(NamedTuple):
    """A launch, what is right of its last array, and which rules make mutants of its kernel: "all", or those
    of "order", of the "elements" that products take, of copies of "boxes", which others do not have, of
    a "loader", which copies boxes for the other warps, of "stores" of boxes, or of a "cluster" of one axis or of
    two "axes", whose programs copy for one another."""

    name: str
    golden: Golden
    answer: Answer
    rules: str = "all"

    @property
    def has_boxes(self) -> bool:
        return self.rules in ("boxes", "loader", "stores", "cluster", "axes")

    @property
    def cluster(self) -> tuple[int, int, int]:
        """The programs of a cluster: those of the grid, or one."""
        x, y = map(int, f"{self.golden.grid},1".split(",")[:2])
        return (x, y, 1) if self.rules in ("cluster", "axes") else (1, 1, 1)


class Text(NamedTuple):
    ptx: str
    shared_bytes: int
    maps: tuple[str, ...]  # the tensor maps, as `warpsim run` takes them


class Run(NamedTuple):
    """The findings of a launch, and the numbers that it leaves in each array."""

    kinds: frozenset[str]
    numbers: list[str]


def loader_of(rules: str) -> str:
    return f"LOADER={int(rules in ('loader', 'stores', 'cluster', 'axes'))}"


def product(
    name: str, tiles: tuple[int, int, int], K: int, *, orders: str = "nn", warps: int = 4,
    stages: int = 3, dtype: str = "fp16", sums: str = "f32", left: str = "loaded", most: int = 1 << 30,
    rules: str = "all",
) -> Case:  # fmt: skip
    """`orders` says of A and B whether each is given transposed: its elements along m or k, and
    k or n, are the neighbours in memory."""
    M, N, BK = tiles
    a_strides = ("i32:16", "1", K, 1) if orders[0] == "n" else ("1", "i32:16", 1, M)
    b_strides = ("i32:16", "1", N, 1) if orders[1] == "n" else ("1", "i32:16", 1, K)
    signature = [f"*{dtype}:16"] * 2 + [f"*{dict(f16='fp16', f32='fp32', i32='i32')[sums]}:16", "i32:16"]
    signature += [*a_strides[:2], *b_strides[:2]]
    word = {"fp16": "f16", "fp8e4nv": "e4m3", "fp8e5": "e5m2", "u8": "i8"}.get(dtype, dtype)
    fill = {"i8": "random:7", "u8": "random:256"}.get(dtype, "random")
    arguments = [f"const {word}[{M * K}]={fill}", f"const {word}[{K * N}]={fill}", f"{sums}[{M * N}]=zeros", f"i32={K}"]
    for kind, value in zip((*a_strides[:2], *b_strides[:2]), (*a_strides[2:], *b_strides[2:])):
        if kind != "1":
            arguments.append(f"i32={value}")
    golden = Golden(
        f"{KERNELS}:product", ",".join(signature), f"BM={M},BN={N},BK={BK},SUMS='{sums}',LEFT='{left}',MOST={most},{loader_of(rules)}",
        "1", tuple(arguments), warps, stages,
    )  # fmt: skip

    def answer(arrays: list[np.ndarray]) -> np.ndarray:
        a = arrays[0].reshape(M, K) if orders[0] == "n" else arrays[0].reshape(K, M).T
        b = arrays[1].reshape(K, N) if orders[1] == "n" else arrays[1].reshape(N, K).T
        if dtype == "u8":
            a, b = a % 256, b % 256
        return a @ b * (2 if left == "computed" else 1)

    return Case(name, golden, answer, rules)


def masked(name: str, extents: tuple[int, int, int], stages: int, rules: str = "all") -> Case:
    M, N, K = extents
    golden = Golden(
        f"{KERNELS}:masked_product", "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16",
        f"BM=64,BN=64,BK=32,{loader_of(rules)}", "1",
        (f"const f16[{M * K}]=random", f"const f16[{K * N}]=random", f"f32[{M * N}]=zeros",
         f"i32={M}", f"i32={N}", f"i32={K}"), 4, stages,
    )  # fmt: skip
    return Case(name, golden, lambda arrays: arrays[0].reshape(M, K) @ arrays[1].reshape(K, N), rules)


def attention(name: str, length: int, stages: int, rules: str = "all") -> Case:
    rows, warps = 64, 4
    golden = Golden(
        f"{KERNELS}:attention", "*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16",
        f"BM={rows},BN=32,D=64,{loader_of(rules)}", "1",
        (f"const f16[{rows * 64}]=random", f"const f16[{length * 64}]=random", f"const f16[{length * 64}]=random",
         f"f32[{rows * 64}]=zeros", f"i32={length}"), warps, stages,
    )  # fmt: skip

    def answer(arrays: list[np.ndarray]) -> np.ndarray:
        q, k, v = (array.reshape(-1, 64) for array in arrays[:3])
        score = q @ k.T
        p = np.exp2(score - score.max(1, keepdims=True))
        return p @ v / p.sum(1, keepdims=True)

    return Case(name, golden, answer, rules)


def stored(
    name: str, extents: tuple[int, int, int], tiles: tuple[int, int, int], step: int, warps: int,
    stages: int = 2, rules: str = "stores",
) -> Case:  # fmt: skip
    (M, N, K), (BM, BN, BK) = extents, tiles
    golden = Golden(
        f"{KERNELS}:stored_product", "*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16",
        f"STEP={step},BM={BM},BN={BN},BK={BK},{loader_of(rules)}", "1",
        (f"const f16[{M * K}]=random", f"const f16[{K * N}]=random", f"f16[{M * N}]=zeros",
         f"i32={M}", f"i32={N}", f"i32={K}"), warps, stages,
    )  # fmt: skip
    return Case(name, golden, lambda arrays: arrays[0].reshape(M, K) @ arrays[1].reshape(K, N), rules)


def clustered(
    name: str, tiles: tuple[int, int, int], K: int, stages: int, columns: int = 1, rules: str = "cluster"
) -> Case:
    """A cluster of two rows of programs, and of `columns`."""
    BM, BN, BK = tiles
    M, N = 2 * BM, columns * BN
    golden = Golden(
        f"{KERNELS}:clustered_product", "*fp16:16,*fp16:16,*fp32:16,i32:16",
        f"N={N},BM={BM},BN={BN},BK={BK},{loader_of(rules)}", "2" if columns == 1 else f"2,{columns}",
        (f"const f16[{M * K}]=random", f"const f16[{K * N}]=random", f"f32[{M * N}]=zeros", f"i32={K}"),
        4, stages,
    )  # fmt: skip
    return Case(name, golden, lambda arrays: arrays[0].reshape(M, K) @ arrays[1].reshape(K, N), rules)


CASES = {
    case.name: case
    for case in (
        product("rows, 1 stage", (64, 64, 32), 96, stages=1),
        product("rows, 2 stages", (64, 64, 32), 128, stages=2, rules="order"),
        product("rows, 3 stages", (64, 64, 32), 160, stages=3),
        product("rows, 4 stages, 8 warps", (128, 64, 32), 160, warps=8, stages=4, rules="order"),
        product("columns of A, bf16", (64, 64, 32), 128, orders="tn", dtype="bf16"),
        product("columns of A, rows of B", (128, 64, 16), 80, orders="tt", warps=8, stages=2),
        product("rows of B", (64, 64, 64), 256, orders="nt"),
        product("bytes", (64, 64, 64), 256, orders="nt", dtype="i8", sums="i32"),
        product("unsigned bytes", (64, 64, 64), 256, orders="nt", dtype="u8", sums="i32", rules="elements"),
        product("sums apart", (64, 64, 64), 320, orders="nt", dtype="fp8e4nv", most=32),
        product("sums apart, 8 warps", (128, 128, 64), 256, orders="nt", dtype="fp8e5", most=32, warps=8, stages=2, rules="order"),
        product("sums of halves", (64, 64, 32), 160, sums="f16", rules="order"),
        product("A computed", (64, 64, 32), 160, left="computed"),
        product("A computed, 8 warps", (128, 64, 32), 128, left="computed", warps=8, stages=2, rules="order"),
        masked("masked", (48, 48, 144), 3),
        product("two slabs of B", (64, 128, 32), 96, stages=2, rules="elements"),
        attention("attention", 144, 3),
        attention("attention, 2 stages", 112, 2, rules="order"),
        product("boxes, 2 stages", (64, 64, 32), 160, stages=2, rules="boxes"),
        product("boxes, 3 stages", (64, 64, 64), 320, rules="boxes"),
        product("boxes along n, 8 warps", (128, 128, 32), 160, orders="nt", warps=8, stages=4, rules="boxes"),
        masked("masked boxes", (48, 48, 144), 3, rules="boxes"),
        attention("boxes of attention", 144, 2, rules="boxes"),
        product("loader, 2 stages", (64, 64, 32), 160, stages=2, rules="loader"),
        product("loader, 8 warps", (128, 128, 32), 160, orders="nt", warps=8, stages=3, rules="loader"),
        product("slabs, with a loader", (64, 128, 32), 160, rules="loader"),
        product("sums apart, with a loader", (64, 64, 64), 320, orders="nt", dtype="fp8e4nv", most=32, rules="loader"),
        masked("masked, with a loader", (48, 48, 144), 3, rules="loader"),
        attention("loader of attention", 144, 2, rules="loader"),
        clustered("cluster, 2 stages", (64, 64, 32), 160, 2),
        clustered("cluster, 3 stages", (64, 128, 64), 320, 3),
        clustered("cluster of two axes", (64, 64, 32), 256, 3, columns=2, rules="axes"),
        stored("stores", (112, 48, 160), (64, 64, 32), step=64, warps=4),
        stored("stores of the same rows, 8 warps", (144, 112, 160), (128, 128, 32), step=64, warps=8),
        stored("ring of tiles", (176, 48, 160), (64, 64, 32), step=64, warps=4, stages=3, rules="loader"),
    )
}


MAP = re.compile(r"#simt\.tensor_map<(\d+) of (\w+) extents\[(.*?)\] strides\[(.*?)\] box\[(.*?)\] span (\d+)>")


def maps_of(scheduled: str, golden: Golden) -> tuple[str, ...]:
    """The tensor maps that a launch passes, from the kernel's text and its arguments."""

    def numbers(products: str, scale: int = 1) -> str:
        values = []
        for factor, arguments in re.findall(r"<(\d+)(?: of\(([\d, ]+)\))?>", products):
            values.append(int(factor) * scale)
            for number in arguments.split(", ") if arguments else []:
                values[-1] *= int(golden.arguments[int(number)].rpartition("=")[2])
        return ",".join(map(str, values))

    found = []
    for argument, element, extents, strides, box, span in MAP.findall(nested(scheduled)):
        size = 4 if element == "f32" else 2 if element in ("f16", "bf16") else 1
        swizzle = int(span) if int(span) >= 32 else 0
        found.append(
            f"map={argument},{size};{numbers(extents)};{numbers(strides, size)};{box.replace(' ', '')};{swizzle}"
        )
    return tuple(found)


def nested(text: str) -> str:
    """A text whose brackets of arguments do not end lists."""
    return re.sub(r"of\[([\d, ]+)\]>", r"of(\1)>", text)


@cache
def compiled(name: str) -> Text:
    """Compile a case's kernel for sm_90a, once in a process."""
    from tilewright.compile import compile_request

    case = CASES[name]
    made = request(case.golden, "sim:sm_90a")
    program = compile_request(made._replace(
        options=made.options._replace(tensor_maps=case.has_boxes, cluster_dims=case.cluster)
    ))
    return Text(program.asm["ptx"], program.shared, maps_of(program.asm["scheduled"], case.golden))


def simulate(name: str, text: str, completion: str, schedule: str) -> Run | None:
    """The launch of a case with another text of its kernel; None where it is not valid PTX."""
    golden = CASES[name].golden
    arguments = [word for argument in (*golden.arguments, *compiled(name).maps) for word in ("--arg", argument)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "k.ptx"
        path.write_text(text)
        command = [COMMAND, "run", path, "--grid", golden.grid, "--smem", str(compiled(name).shared_bytes),
                   "--completion", completion, "--sched", schedule, "--max-steps", "20000", "--threads", "1",
                   "--print", "100000", "--json", *arguments]  # fmt: skip
        run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == 2:
        return None
    assert run.returncode in (0, 1), run.stderr
    report, end = json.JSONDecoder().raw_decode(run.stdout)
    kinds = frozenset(finding["kind"] for finding in report["findings"] if finding["isError"])
    return Run(kinds, [line.split(":")[1] for line in run.stdout[end:].split("\n") if line])


def arrays_of(run: Run) -> list[np.ndarray[Any, Any]]:
    return [np.array([float(number) for number in array.split()]) for array in run.numbers]
