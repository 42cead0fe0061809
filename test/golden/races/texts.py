"""Small kernels in one notation, as PTX and as LLVM IR for AMD's GPUs.

A kernel has 64 threads in each program and the arrays `data`, `sync` and `out` of 4096 bytes (zeros)
beside `shared`. Programs do what the lines of their number say:

    st u32 data.own        weak store of the thread's number; `v4` for four words
    ld u32 data.far        weak load of what the same thread of the other warp owns
    st.release u32 sync.one 1     by the first thread; so are all accesses of `.one`
    red.relaxed u32 data.one+4    an addition without a result; `atom` has one, `cas` compares with 0
    await.acquire u32 sync.one 1  loads until the value is there; `awaitadd` adds 0, `awaitcas` fails;
                           in `awaitbar` all threads go round, told by the first through `shared`
    fence.acq_rel, bar, warpbar, raw (a barrier without fences), copy data.own, commit, wait

Orders take a scope (`red.relaxed.cta`), `gpu` by default. A place is `own`, `far`, `all` (one word for
all threads) or `one`, and an offset in bytes.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

ARRAYS = ("data", "sync", "out")
BITS = {"u16": 16, "u32": 32, "u64": 64, "f16": 16, "f16x2": 32, "v4": 32}
SCOPES = {"gpu": "agent", "cta": "workgroup"}
LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-"
    "p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-"
    "v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)


class Line(NamedTuple):
    op: str
    order: str
    scope: str
    type: str
    array: str
    place: str
    offset: int
    value: str

    @property
    def is_one(self) -> bool:
        return self.place == "one"


def read(text: str) -> Line:
    words = text.split()
    op, order, scope = (*words[0].split("."), "", "")[:3]
    kind, where, value = (*words[1:], "", "", "")[:3]
    if op == "copy":
        kind, where = "u32", kind
    array, _, place = where.partition(".")
    place, _, offset = place.partition("+")
    return Line(op, order, scope or "gpu", kind, array, place, int(offset or 0), value)


Programs = dict[int, str]  # by number, lines separated by ";"; -1: all others


def lines_of(programs: Programs) -> dict[int, list[Line]]:
    return {n: [read(line) for line in text.split(";")] for n, text in programs.items()}


class Ptx:
    def __init__(self, arch: str, programs: Programs) -> None:
        self.count = itertools.count(10)
        self.body: list[str] = []
        for number, lines in lines_of(programs).items():
            end = f"END{next(self.count)}"
            if number >= 0:
                self.add(f"setp.ne.u32 %p1, %r1, {number};", f"@%p1 bra {end};")
            for line in lines:
                self.emit(line)
            self.add("ret;", f"{end}:")
        self.text = "\n".join([
            ".version 8.7", f".target {arch}", ".address_size 64",
            ".shared .align 16 .b8 shared_memory[4096];",
            f".visible .entry k({', '.join(f'.param .u64 {array}' for array in ARRAYS)})", "{",
            ".reg .pred %p<4>;", ".reg .b16 %h<999>;", ".reg .b32 %r<999>;", ".reg .b64 %rd<999>;",
            *(f"ld.param.u64 %rd{i}, [{array}];" for i, array in enumerate(ARRAYS)),
            "mov.u32 %r0, %tid.x;", "mov.u32 %r1, %ctaid.x;", "setp.eq.u32 %p0, %r0, 0;",
            "shl.b32 %r2, %r0, 4;", "xor.b32 %r3, %r2, 512;", "mov.b32 %r4, 0;",
            *self.body, "ret;", "}", "",
        ])  # fmt: skip

    def add(self, *lines: str) -> None:
        self.body += lines

    def address(self, line: Line) -> str:
        offset = {"own": "%r2", "far": "%r3"}.get(line.place, "%r4")
        n = next(self.count)
        if line.array == "shared":
            self.add(f"mov.u32 %r{n}, shared_memory;", f"add.u32 %r{n}, %r{n}, {offset};")
            return f"[%r{n}+{line.offset}]"
        base = ARRAYS.index(line.array)
        self.add(f"cvt.u64.u32 %rd{n}, {offset};", f"add.u64 %rd{n}, %rd{n}, %rd{base};")
        return f"[%rd{n}+{line.offset}]"

    def emit(self, line: Line) -> None:
        words = {
            "bar": "bar.sync 0;", "raw": "bar.sync 0;", "warpbar": "bar.warp.sync -1;",
            "commit": "cp.async.commit_group;", "wait": "cp.async.wait_group 0;",
            "fence": f"fence.{line.order}.{line.scope};",
        }  # fmt: skip
        if line.op in words:
            return self.add(words[line.op])
        at = self.address(line)
        if line.op == "copy":
            to = self.address(line._replace(array="shared"))
            return self.add(f"cp.async.ca.shared.global {to}, {at}, 4;")
        guard = "@%p0 " if line.is_one else ""
        space = "shared" if line.array == "shared" else "global"
        order = f".{line.order}.{line.scope}" if line.order and line.order != "nc" else ""
        size = {"v4": "v4.u32"}.get(line.type, line.type)
        n = next(self.count)
        prefix = {16: "%h", 32: "%r", 64: "%rd"}[BITS[line.type]]
        value = self.value(line, prefix, n)
        if line.op == "st":
            many = f"{{{value}, {value}, {value}, {value}}}" if line.type == "v4" else value
            self.add(f"{guard}st{order}.{space}.{size} {at}, {many};")
        elif line.op == "ld":
            results = [f"{prefix}{next(self.count)}" for _ in range(4)]
            many = f"{{{', '.join(results)}}}" if line.type == "v4" else results[0]
            cache = ".nc" if line.order == "nc" else ""
            self.add(f"{guard}ld{order}.{space}{cache}.{size} {many}, {at};")
        elif line.op == "ldmatrix":
            self.add(f"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r{n + 1}}}, {at};")
            next(self.count)
        elif line.op in ("red", "atom"):
            add = "add.noftz" if line.type.startswith("f") else "add"
            result = f"{prefix}{next(self.count)}, " if line.op == "atom" else ""
            self.add(f"{guard}{line.op}{order}.{space}.{add}.{size} {result}{at}, {value};")
        elif line.op == "cas":
            bits = f"b{BITS[line.type]}"
            result = f"{prefix}{next(self.count)}"
            self.add(f"{guard}atom{order}.{space}.cas.{bits} {result}, {at}, 0, {value};")
        else:
            self.await_value(line, space, order, at)

    def value(self, line: Line, prefix: str, n: int) -> str:
        if prefix == "%r":
            self.add(f"mov.u32 %r{n}, {line.value or '%r0'};")
        elif prefix == "%rd":
            self.add(f"cvt.u64.u32 %rd{n}, %r0;")
        else:
            self.add(f"mov.b16 %h{n}, 15360;")
        return f"{prefix}{n}"

    def await_value(self, line: Line, space: str, order: str, at: str) -> None:
        label, n = f"AWAIT{next(self.count)}", next(self.count)
        if line.op == "awaitbar":
            return self.add(f"{label}:", f"@%p0 ld{order}.{space}.u32 %r{n}, {at};",
                            f"@%p0 st.shared.u32 [shared_memory+2048], %r{n};", "bar.sync 0;",
                            f"ld.shared.u32 %r{n}, [shared_memory+2048];", "bar.sync 0;",
                            f"setp.ne.u32 %p2, %r{n}, {line.value};", f"@%p2 bra {label};")  # fmt: skip
        read = {
            "await": f"ld{order}.{space}.u32 %r{n}, {at};",
            "awaitadd": f"atom{order}.{space}.add.u32 %r{n}, {at}, 0;",
            "awaitcas": f"atom{order}.{space}.cas.b32 %r{n}, {at}, 99, 99;",
        }[line.op]
        self.add(f"@!%p0 bra {label}_DONE;", f"{label}:", read,
                 f"setp.ne.u32 %p2, %r{n}, {line.value};", f"@%p2 bra {label};",
                 f"{label}_DONE:")  # fmt: skip


class Amdgcn:
    """LLVM IR as the compiler leaves it to LLVM's back end."""

    def __init__(self, arch: str, programs: Programs) -> None:
        self.arch, self.count = arch, itertools.count(10)
        self.body: list[str] = []
        for number, lines in lines_of(programs).items():
            skip, begin = f"skip{next(self.count)}", f"begin{next(self.count)}"
            test = f"icmp eq i32 %program, {number}" if number >= 0 else "icmp eq i32 0, 0"
            self.add(f"%is{skip} = {test}", f"br i1 %is{skip}, label %{begin}, label %{skip}",
                     f"{begin}:")  # fmt: skip
            for line in lines:
                self.emit(line)
            self.add("ret void", f"{skip}:")
        parameters = ", ".join(f"ptr addrspace(1) %{array}" for array in ARRAYS)
        self.text = "\n".join([
            'target triple = "amdgcn-amd-amdhsa"', f'target datalayout = "{LAYOUT}"',
            "@lds = external addrspace(3) global [0 x i32], align 16",
            f"define amdgpu_kernel void @k({parameters}) {{", "entry:",
            "%tid = call i32 @llvm.amdgcn.workitem.id.x()",
            "%program = call i32 @llvm.amdgcn.workgroup.id.x()",
            "%isone = icmp eq i32 %tid, 0", "%own = shl i32 %tid, 4", "%far = xor i32 %own, 512",
            *self.body, "ret void", "}", "",
        ])  # fmt: skip

    def add(self, *lines: str) -> None:
        self.body += lines

    def name(self) -> str:
        return f"%v{next(self.count)}"

    def address(self, line: Line) -> str:
        base = "ptr addrspace(3) @lds" if line.array == "shared" else f"ptr addrspace(1) %{line.array}"
        offset, at = {"own": "%own", "far": "%far"}.get(line.place, "0"), self.name()
        total = self.name()
        self.add(f"{total} = add i32 {offset}, {line.offset}",
                 f"{at} = getelementptr i8, {base}, i32 {total}")  # fmt: skip
        return f"{base.rpartition(' ')[0]} {at}"

    def emit(self, line: Line) -> None:
        barrier = "call void @llvm.amdgcn.s.barrier()"
        release, acquire = (f'fence syncscope("workgroup") {o}' for o in ("release", "acquire"))
        wave = [f'fence syncscope("wavefront") {o}' for o in ("release", "acquire")]
        words = {
            "bar": [release, barrier, acquire], "raw": [barrier], "warpbar": wave, "commit": [],
            "wait": ["call void @llvm.amdgcn.s.waitcnt(i32 3952)"],
            "fence": [f'fence syncscope("{SCOPES[line.scope]}") {line.order}'],
        }  # fmt: skip
        if line.op in words:
            return self.add(*words[line.op])
        at = self.address(line)
        if line.op.startswith("await"):
            return self.await_value(line, at)
        label = f"one{next(self.count)}"
        if line.is_one:
            self.add(f"br i1 %isone, label %{label}, label %{label}done", f"{label}:")
        self.access(line, at)
        if line.is_one:
            self.add(f"br label %{label}done", f"{label}done:")

    def access(self, line: Line, at: str) -> None:
        bits = BITS[line.type]
        kind = {"v4": "<4 x i32>", "f16": "half", "f16x2": "<2 x half>"}.get(line.type, f"i{bits}")
        order = {"relaxed": "monotonic"}.get(line.order, line.order)
        scope = f'syncscope("{SCOPES[line.scope]}")'
        align = f"align {16 if line.type == 'v4' else bits // 8}"
        atomic, tail = ("atomic ", f" {scope} {order}") if order else ("", "")
        value = self.value(line, kind)
        if line.op == "st":
            self.add(f"store {atomic}{kind} {value}, {at}{tail}, {align}")
        elif line.op == "ld":
            self.add(f"{self.name()} = load {atomic}{kind}, {at}{tail}, {align}")
        elif line.op in ("red", "atom"):
            add = "fadd" if line.type.startswith("f") else "add"
            self.add(f"{self.name()} = atomicrmw {add} {at}, {kind} {value}{tail}")
        else:
            weaker = {"acq_rel": "acquire", "release": "monotonic"}.get(order, order)
            self.add(f"{self.name()} = cmpxchg {at}, {kind} 0, {kind} {value}{tail} {weaker}")

    def value(self, line: Line, kind: str) -> str:
        if line.type == "f16":
            return "1.0"
        if line.type == "f16x2":
            return "<half 1.0, half 1.0>"
        number = line.value or "%tid"
        if line.type == "v4":
            name = self.name()
            self.add(f"{name} = insertelement <4 x i32> zeroinitializer, i32 {number}, i32 0")
            return name
        if kind in ("i32",) or not number.startswith("%"):
            return number
        name = self.name()
        self.add(f"{name} = {'zext' if kind == 'i64' else 'trunc'} i32 {number} to {kind}")
        return name

    def await_value(self, line: Line, at: str) -> None:
        label, got, value = f"await{next(self.count)}", self.name(), self.name()
        order = {"relaxed": "monotonic"}.get(line.order, line.order)
        how = f'syncscope("{SCOPES[line.scope]}") {order}'
        if line.op == "awaitbar":
            return self.await_together(label, f"load atomic i32, {at} {how}, align 4", line.value)
        weaker = {"acq_rel": "acquire"}.get(order, order)
        reads = {
            "await": [f"{value} = load atomic i32, {at} {how}, align 4"],
            "awaitadd": [f"{value} = atomicrmw add {at}, i32 0 {how}"],
            "awaitcas": [f"{got} = cmpxchg {at}, i32 99, i32 99 {how} {weaker}",
                         f"{value} = extractvalue {{ i32, i1 }} {got}, 0"],
        }[line.op]  # fmt: skip
        self.add(f"br i1 %isone, label %{label}, label %{label}done", f"{label}:", *reads,
                 f"{value}is = icmp eq i32 {value}, {line.value}",
                 f"br i1 {value}is, label %{label}done, label %{label}", f"{label}done:")  # fmt: skip

    def await_together(self, label: str, load: str, value: str) -> None:
        word, got, told = (self.name() for _ in range(3))
        self.add(f"br label %{label}", f"{label}:",
                 f"{word} = getelementptr i8, ptr addrspace(3) @lds, i32 2048",
                 f"br i1 %isone, label %{label}read, label %{label}told", f"{label}read:",
                 f"{got} = {load}", f"store i32 {got}, ptr addrspace(3) {word}, align 4",
                 f"br label %{label}told", f"{label}told:")  # fmt: skip
        self.emit(read("bar"))
        self.add(f"{told} = load i32, ptr addrspace(3) {word}, align 4")
        self.emit(read("bar"))
        self.add(f"{told}is = icmp eq i32 {told}, {value}",
                 f"br i1 {told}is, label %{label}done, label %{label}", f"{label}done:")  # fmt: skip


def kernel_text(arch: str, programs: Programs) -> str:
    return (Ptx if arch.startswith("sm_") else Amdgcn)(arch, programs).text
