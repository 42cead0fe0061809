"""Rows that are not features of the language: names of other projects and of single kernels."""

from __future__ import annotations

from harness import NOT_FEATURES, PROGRAMS

OTHER_PROJECTS = {
    "dec:@libtuner": "a decorator of FlagGems, which wraps triton.autotune",
    "dec:@pointwise": "a decorator of torch._inductor's generated code",
    "dec:@triton_autotune": "a decorator of a library of its own, which wraps triton.autotune",
    "dec:@doesnt_compile": "a decorator of a test suite",
    "dec:@use_tl_extra": "a decorator of FlagGems",
    "dec:@annotated_function": "a decorator of a test suite",
    "dec:@cached_triton_kernel": "a decorator of a library of its own",
    "triton_helpers.maximum": "a helper of torch._inductor, written in the language",
}


def register(rows: list[tuple[int, str, str]]) -> None:
    """Mark the rows without a program that are no features."""
    for _, category, feature in rows:
        if feature in PROGRAMS:
            continue
        for prefix, reason in OTHER_PROJECTS.items():
            if feature == prefix or feature.startswith(f"{prefix}("):
                NOT_FEATURES[feature] = reason
        if category == "tensor_attr":
            NOT_FEATURES[feature] = "an attribute of a class that a kernel's author defined"
