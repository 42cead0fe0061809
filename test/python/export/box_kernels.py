"""A product whose operands are copied as boxes by tensor maps on sm_90a, for packages."""

from __future__ import annotations

import tilewright as tw

_TYPES = "a=*fp16:16, b=*fp16:16, c=*fp32:16, M=i32, a_row=i32:16, b_row=i64:16"
_ANY_ADDRESS = "a=*fp16, b=*fp16, c=*fp32, M=i32, a_row=i32, b_row=i64"
_TILES = {"BM": 64, "BN": 128, "BK": 64}  # rows of b have two slabs


@tw.jit
def product(
    K: tw.constexpr, a, b, c, M, a_row, b_row,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c = a @ b for M rows of a and BN columns of b. Launches pass K, and code has it as a
    constant: the arguments of a launch have other numbers than the parameters of the code."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n, k = tw.arange(0, BN), tw.arange(0, BK)
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * a_row + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tw.load(b + (start + k)[:, None] * b_row + n[None, :])
        total = tw.dot(x, y, total)
    tw.store(c + m[:, None] * BN + n[None, :], total, mask=m[:, None] < M)


def made(name: str, **options: int) -> tw.Package:
    """The product, for aligned arrays and for any."""
    package = tw.Package(name)
    for types in (_TYPES, _ANY_ADDRESS):
        package.add(
            product, types, _TILES, shapes=[{"K": 128}], grid="cdiv(M, BM)", num_stages=3, **options
        )
    return package


package = made("boxes")
plain = made("boxes", tensor_maps=False)
early = made("boxes", launch_pdl=True)
clustered = made("boxes", num_ctas=2)
