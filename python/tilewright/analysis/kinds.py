"""Kinds of machine instructions by their names: what each accesses, and how wide."""

from __future__ import annotations

import re
from typing import NamedTuple


class Kind(NamedTuple):
    """The kind of an instruction: a word of `ORDER`, the bytes of a lane where it accesses memory, and
    the form of a matrix instruction or the width of a vector."""

    word: str
    bytes: int = 0
    form: str = ""


ORDER = (
    "global load", "global store", "atomic", "async copy", "box copy", "shared load", "shared store",
    "matrix", "barrier", "wait", "shuffle", "stack load", "stack store", "load", "store", "gather",
    "vector", "branch", "call", "other",
)  # fmt: skip
OTHER = Kind("other")


def kind_of_ptx(name: str, operands: str) -> Kind:
    """The kind of an instruction of PTX."""
    parts = name.split(".")
    if parts[0] in ("ld", "st", "ldu"):
        return _ptx_access(parts)
    if name.startswith("cp.async.bulk.tensor"):
        return Kind("box copy")
    if name.startswith(("cp.async.ca", "cp.async.cg")):
        size = re.search(r"\],\s*\[[^\]]*\],\s*(\d+)", operands)
        return Kind("async copy", int(size[1]) if size else 0)
    if parts[0] in ("ldmatrix", "stmatrix"):
        count = re.search(r"\.x(\d)", name)
        word = "shared load" if parts[0] == "ldmatrix" else "shared store"
        return Kind(word, 4 * int(count[1] if count else 1), parts[0])
    if parts[0] in ("mma", "wgmma", "tcgen05") and re.search(r"m\d+n\d+k\d+|\.mma", name):
        if shape := re.search(r"m\d+n\d+k\d+", name):
            return Kind("matrix", 0, name[shape.start() :])
        return Kind("matrix", 0, name)
    if "wait" in name:
        return Kind("barrier" if parts[0] == "mbarrier" else "wait")
    words = {"bar": "barrier", "barrier": "barrier", "atom": "atomic", "red": "atomic"}
    words |= {"shfl": "shuffle", "bra": "branch", "call": "call"}
    return Kind(words.get(parts[0], "other"))


def _ptx_access(parts: list[str]) -> Kind:
    bits = next((int(p[1:]) for p in parts if re.fullmatch(r"[bsuf]\d+", p)), 0)
    vector = next((int(p[1:]) for p in parts if re.fullmatch(r"v\d", p)), 1)
    verb = "store" if parts[0] == "st" else "load"
    spaces = {"global": "global", "shared": "shared", "local": "stack"}
    space = next((spaces[p.partition(":")[0]] for p in parts if p.partition(":")[0] in spaces), "")
    if not space:  # of parameters
        return OTHER
    return Kind(f"{space} {verb}", bits * vector // 8)


# The words of NVIDIA's machine code, by the beginnings of their names; the first that fits counts.
_SASS = (
    ("LDGSTS", "async copy"), ("LDGDEPBAR", "wait"), ("LDG", "global load"), ("STG", "global store"),
    ("LDSM", "shared load"), ("LDS", "shared load"), ("STSM", "shared store"), ("STS", "shared store"),
    ("LDL", "stack load"), ("STL", "stack store"), ("UTMALDG", "box copy"), ("UTMASTG", "box copy"),
    ("ATOM", "atomic"), ("RED", "atomic"), ("UBLKRED", "atomic"), ("BAR", "barrier"),
    ("UCGABAR", "barrier"), ("SYNCS", "barrier"), ("DEPBAR", "wait"), ("UTMACMDFLUSH", "wait"),
    ("SHFL", "shuffle"), ("BRA", "branch"), ("BRX", "branch"), ("CALL", "call"),
)  # fmt: skip
_SASS_BYTES = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


def kind_of_sass(name: str, operands: str) -> Kind:
    """The kind of an instruction of NVIDIA's machine code."""
    del operands
    opcode, *parts = name.split(".")
    if opcode.endswith("MMA") and opcode != "FMMA":
        return Kind("matrix", 0, name)
    if opcode == "WARPGROUP":
        return Kind("wait") if parts[:1] == ["DEPBAR"] else OTHER
    word = next((word for start, word in _SASS if opcode.startswith(start)), "other")
    if not word.endswith(("load", "store", "async copy")):
        return Kind(word)
    if opcode in ("LDSM", "STSM"):
        return Kind(word, 4 * int(parts[-1] if parts[-1].isdigit() else 1), opcode)
    return Kind(word, next((_SASS_BYTES[part] for part in parts if part in _SASS_BYTES), 4))


_AMD_WIDTHS = {
    "ubyte": 1, "sbyte": 1, "byte": 1, "ushort": 2, "sshort": 2, "short": 2, "dword": 4,
    "dwordx2": 8, "dwordx3": 12, "dwordx4": 16,
}  # fmt: skip


def kind_of_amd(name: str, operands: str) -> Kind:
    """The kind of an instruction of AMD's GPUs."""
    if access := re.match(
        r"(global|buffer|flat|scratch|ds)_(load|store|read|write|atomic)\w*", name
    ):
        space, verb = access[1], access[2]
        if verb == "atomic":
            return Kind("atomic")
        verb = {"read": "load", "write": "store"}.get(verb, verb)
        where = {"ds": "shared", "scratch": "stack"}.get(space, "global")
        if where == "global" and re.search(r"\blds\b", operands):
            return Kind("async copy", _amd_bytes(name))
        return Kind(f"{where} {verb}", _amd_bytes(name))
    if matrix := re.match(r"v_(?:s?mfma|s?wmma)\w*", name):
        return Kind("matrix", 0, matrix[0][2:])
    if name.startswith(("s_barrier", "s_wait")):
        return Kind("barrier" if name.startswith("s_barrier") else "wait")
    if name.startswith(("ds_bpermute", "ds_permute", "ds_swizzle", "v_permlane")) or name.endswith(
        "_dpp"
    ):
        return Kind("shuffle")
    return Kind("branch") if name.startswith(("s_cbranch", "s_branch")) else OTHER


def _amd_bytes(name: str) -> int:
    if width := re.search(r"_(?:[biu]|u?)(\d+)(?:_|$)", name):
        twice = 2 if re.search(r"(?:read|write|load|store)(?:_?2)(?:st64)?_", name) else 1
        return twice * int(width[1]) // 8
    word = re.search(r"_(ubyte|sbyte|byte|ushort|sshort|short|dwordx?\d?)", name)
    return _AMD_WIDTHS.get(word[1], 0) if word else 0


_REGISTER_BYTES = {"zmm": 64, "ymm": 32, "xmm": 16}


def kind_of_x86(name: str, operands: str) -> Kind:
    """The kind of an instruction of x86-64 in the AT&T form: the last operand is the result."""
    if name.startswith("j"):
        return Kind("branch")
    if name.startswith("call"):
        return Kind("call")
    if name.startswith(("tdp", "tcmm", "tmm", "tile")):
        return Kind("matrix", 0, name) if name.startswith(("tdp", "tcmm", "tmm")) else OTHER
    widths = [_REGISTER_BYTES[width] for width in re.findall(r"%([xyz]mm)\d+", operands)]
    is_scalar = _is_scalar(name)
    width = 0 if is_scalar or not widths else max(widths)
    form = (f"{width} bytes" if width else "scalar") + (" masked" if "{%k" in operands else "")
    if name.startswith(("vgather", "vpgather", "vscatter", "vpscatter")):
        return Kind("gather", width, form)
    memory = re.search(r"(?:^|[\s,])(?:-?\w+)?\(([^)]*)\)(\s*\{[^}]*\})*\s*$", operands)
    anywhere = memory or re.search(r"\(([^)]*)\)", operands)
    if not anywhere or name.startswith(("lea", "nop", "prefetch")):
        return Kind("vector", width, form) if width else OTHER
    is_stack = anywhere[1].startswith(("%rsp", "%rbp"))
    is_store = memory is not None and not name.startswith(("cmp", "test", "push"))
    word = ("stack " if is_stack else "") + ("store" if is_store else "load")
    return Kind(word, width, form)


def _is_scalar(name: str) -> bool:
    """Tell whether an instruction of vector registers works on one element."""
    return name.endswith(("ss", "sd", "sh")) or name.removeprefix("v") in ("movd", "movq")
