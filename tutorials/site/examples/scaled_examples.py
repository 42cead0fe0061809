"""Examples of tutorials/site/reference/language/scaled.md."""

import numpy as np
import tilewright as tw
from cases import example

ONE, TWO = 0x38, 128  # 1.0 as an 8-bit float, and the scale 2 ** (128 - 127)


@example(
    "2 * np.ones((64, 64)) @ b",
    num_warps=4,
    a=np.full((64, 64), ONE, np.uint8),
    scale=np.full((64, 2), TWO, np.uint8),
)
def dot_scaled(a, scale, b):
    return tw.dot_scaled(a, scale, "e4m3", b, None, "fp16")
