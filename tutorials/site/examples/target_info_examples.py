"""Examples of tutorials/site/reference/language/target_info.md: what they give on a CPU."""

import tilewright as tw
from cases import example


@example("x")
def cuda_capability_geq(x):
    return x + 1 if tw.target_info.cuda_capability_geq(8, 0) else x


@example("x")
def current_target(x):
    return x + 1 if tw.target_info.current_target().backend == "cuda" else x


@example("x")
def is_cuda(x):
    return x + 1 if tw.target_info.is_cuda() else x


@example("x")
def is_hip(x):
    return x + 1 if tw.target_info.is_hip() else x


@example("x")
def is_hip_cdna3(x):
    return x + 1 if tw.target_info.is_hip_cdna3() else x


@example("x")
def is_hip_cdna4(x):
    return x + 1 if tw.target_info.is_hip_cdna4() else x


@example("x")
def is_hip_gfx1250(x):
    return x + 1 if tw.target_info.is_hip_gfx1250() else x
