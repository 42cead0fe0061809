"""The examples of the language reference: each function has one, it runs, and the page tells what it
becomes on each target."""

from __future__ import annotations

import importlib
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "tutorials/site/examples"))
import cases  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

MODULES = (
    "tile", "memory", "elementwise", "math", "library", "sorting", "random", "scaled",
    "descriptors", "aggregates", "target_info", "dtypes",
)  # fmt: skip
# Names on the page of descriptors that are types.
TYPES = {"tensor_descriptor", "tensor_descriptor_type"}
RUNS = [
    (module, name, device)
    for module in MODULES
    for name, found in cases.examples_of(module).items()
    for device in found.devices
]


@pytest.mark.parametrize(("module", "name", "device"), RUNS)
def test_an_example_leaves_what_its_text_says(module: str, name: str, device: str) -> None:
    cases.run(cases.examples_of(module)[name], device)


def test_an_example_with_a_wrong_text_fails() -> None:
    found = cases.examples_of("library")["flip"]
    with pytest.raises(AssertionError):
        cases.run(found._replace(expected="rows"), "reference")
    with pytest.raises(AssertionError):
        cases.run(found._replace(expected="result > 1"), "reference")


def test_each_function_has_an_example_on_its_page_or_on_another() -> None:
    known = {name for module in MODULES for name in cases.examples_of(module)}
    for module in MODULES:
        source = importlib.import_module(f"tilewright.language.{module}")
        public = {n for n in source.__all__ if inspect.getdoc(getattr(source, n))}
        functions = {n for n in public if callable(getattr(source, n))} - TYPES
        if module == "dtypes":  # others are types
            functions = {n for n in functions if inspect.isroutine(getattr(source, n))}
        assert functions <= known, module
        assert cases.examples_of(module).keys() <= {*source.__all__}


@pytest.mark.parametrize(
    ("module", "name", "target", "instruction", "count"),
    [
        ("elementwise", "sqrt", "nvidia:sm_80", "sqrt.rn.f32", 1),
        ("elementwise", "sqrt", "cpu:x86-64-v4", "vsqrtps", 2),
        ("tile", "dot", "nvidia:sm_90a", "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", 4),
        ("library", "sum", "nvidia:sm_80", "shfl.sync.bfly.b32", 3),
        ("memory", "store", "amd:gfx942", "buffer_store_dword", 1),
        ("memory", "atomic_add", "amd:gfx942", "global_atomic_add", 1),
    ],
)
def test_the_page_tells_what_a_function_becomes(
    module: str, name: str, target: str, instruction: str, count: int
) -> None:
    code, error = cases.code_of(module, name, target)
    assert not error
    assert [found.name for found in code].count(instruction) == count
    assert f"`{instruction}`" in "\n".join(cases.page_part(module, name))


def test_a_target_without_a_function_is_told_with_the_code() -> None:
    code, error = cases.code_of("tile", "device_print", "amd:gfx942")
    assert not code and error == "TW0312"
    assert "[TW0312](project:codes.md#tw0312)" in cases.summary(code, error)


def test_examples_have_a_result_that_poison_is_not() -> None:
    for module in MODULES:
        for found in cases.examples_of(module).values():
            expected = cases.expectation(found)
            if expected is not None and not found.is_kernel and expected.size > 1:
                assert not np.array_equal(expected, cases.output(found)), found.name
