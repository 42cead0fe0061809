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


# Triton's own insides, removed modules and other projects' plugins: what imports them is a part of
# Triton or of a fork. They are refused in words; test_triton_scripts.py has those of 3.9.
INTERNALS = {
    "triton._C": "Triton's native module",
    "triton.backends.triton_shared": "a plugin of another project",
    "triton.backends.driver": "the insides of Triton's drivers",
    "triton.common": "removed from Triton before 3.0",
    "triton.ops": "removed from Triton before 3.0",
    "triton.compiler.code_generator": "the insides of Triton's compiler",
    "triton.compiler.make_launcher": "the insides of Triton's compiler",
    "triton.runtime.interpreter": "the insides of Triton's interpreter",
    "triton.runtime.driver.DriverBase": "the base of a plugin's driver",
    "triton.runtime.errors.IntelGPUError": "a fork's name",
    "tl.extra.hip": "for AMD's GPUs only",
    "tl.extra.intel": "for Intel's GPUs only",
    "tl.extra.cpu": "a fork's name",
    "tl.extract_slice": "a fork's name",
    "tl.dot[trans_a=True]": "an option that Triton 2.0 removed",
    "tl.dot[trans_b=True]": "an option that Triton 2.0 removed",
    "triton.tools.experimental_descriptor": "an experiment that Triton removed",
    "tl.extra.cuda.experimental_device_tensormap_create2d": "an experiment that Triton removed",
    "tl.extra.cuda.experimental_tensormap_fenceproxy_acquire": "an experiment that Triton removed",
}


def register(rows: list[tuple[int, str, str]]) -> None:
    """Mark the rows without a program that are not features."""
    for _, category, feature in rows:
        name = feature.removeprefix("import ").removesuffix(" (files)")
        for prefix, reason in INTERNALS.items():
            if name == prefix or name.startswith((f"{prefix}.", f"{prefix}[")):
                NOT_FEATURES[feature] = reason
        if feature in PROGRAMS:
            continue
        for prefix, reason in OTHER_PROJECTS.items():
            if feature == prefix or feature.startswith(f"{prefix}("):
                NOT_FEATURES[feature] = reason
        if category == "tensor_attr":
            NOT_FEATURES[feature] = "an attribute of a class that a kernel's author defined"
