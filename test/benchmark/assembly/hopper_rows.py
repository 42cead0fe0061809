"""The rows of generated_hopper.py: what is compiled, the goals, and what is known of other programs.

Goals and the literature's figures are instructions of one warp, in one step of 64 along K (128 of bytes) or
one block of keys; `a + b` are those of the loop that multiplies and of the loop that copies. Those of
CUTLASS, DeepGEMM and FlashAttention-3 were read from their machine code by the same rules; they are cited,
not measured by `make bench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FORMS = {
    "tilewright": ("pointers", "descriptors"),
    "triton": ("pointers", "descriptors", "roles"),
    "cutile": ("tiles",),
}


@dataclass(frozen=True)
class Row:
    """One kernel with its tiles, of which every compiler compiles its forms."""

    name: str
    kernel: str  # "matmul", "attention", or "summed_attention" with pointers alone
    dtype: str  # of the operands: fp16, bf16, fp8e4nv
    constants: dict[str, Any]
    num_warps: int
    num_stages: int
    goal: int  # instructions of the loop of products, without masks
    loader_goal: int = 0
    diagonal_goal: int = 0  # of the loop with causal masks
    literature: str = ""
    arch: str = "90a"

    def forms_of(self, language: str) -> tuple[str, ...]:
        if self.kernel == "summed_attention":
            return tuple(form for form in FORMS[language] if form in ("pointers", "tiles"))
        return FORMS[language]


# Of a tile of 64x256 that a warpgroup stores as halves: the goal, and others' code.
EPILOGUES = 180, "572 (scaled by alpha), 258"


def _matmul(dtype: str, m: int, n: int, k: int, warps: int, *goals: int, literature: str = "") -> Row:
    constants = {"BM": m, "BN": n, "BK": k, "GROUP": 8, "MOST": None}
    name = f"{dtype} {m}x{n}x{k}, {warps} warps"
    return Row(name, "matmul", dtype, constants, warps, 3, *goals, literature=literature)


def _attention(m: int, n: int, d: int, warps: int, goal: int, diagonal: int = 0, literature: str = "") -> Row:
    constants = {"BM": m, "BN": n, "D": d, "CAUSAL": diagonal > 0}
    kind = "causal: below / on the diagonal" if diagonal else "full"
    name = f"attention {m}x{n}, head {d}, {warps} warps, {kind}"
    stages = 2 if d == 128 else 3  # as many as fit in shared memory
    return Row(
        name, "attention", "fp16", constants, warps, stages, goal,
        diagonal_goal=diagonal, literature=literature,
    )  # fmt: skip


ROWS = [
    *(
        row
        for dtype in ("fp16", "bf16")
        for row in (
            _matmul(dtype, 128, 128, 32, 4, 85),
            _matmul(dtype, 128, 128, 64, 4, 55, 32, literature="CUTLASS 59 + 41"),
            _matmul(dtype, 128, 128, 64, 8, 76),
            _matmul(dtype, 128, 256, 64, 8, 48, 32, literature="CUTLASS 49 + 41, DeepGEMM 44 + 29.5"),
        )
    ),
    _matmul("fp8e4nv", 128, 256, 128, 8, 48, 32, literature="CUTLASS 49 + 41"),
    _attention(128, 64, 64, 4, 500),
    _attention(128, 128, 64, 8, 430, literature="FlashAttention-3 433"),
    _attention(128, 128, 64, 8, 430, 570, literature="FlashAttention-3 433 / 579"),
    _attention(128, 128, 128, 8, 465, literature="FlashAttention-3 471"),
    _attention(128, 128, 128, 8, 465, 610, literature="FlashAttention-3 471 / 618"),
    Row(
        "attention 128x64, head 64, 4 warps, as users write it, sm_80",
        "summed_attention", "fp16", {"BM": 128, "BN": 64, "D": 64}, 4, 3, 640, arch="80",
    ),
]  # fmt: skip
