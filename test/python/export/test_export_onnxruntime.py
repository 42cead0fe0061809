"""Packages for ONNX Runtime: models with kernels as operators, run by onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import exported
import framework_kernels as kernels
import numpy as np
import pytest
import tilewright as tw

onnx: Any = pytest.importorskip("onnx")
onnxruntime: Any = pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.usefixtures("compiler")
CPU = ["cpu:x86-64-v2"]
DOMAIN = "for_onnx"
TYPES = onnx.TensorProto
_libraries: list[Path] = []  # one for all tests


@pytest.fixture
def library(tmp_path_factory: pytest.TempPathFactory, compiler: None) -> Path:
    if not _libraries:
        exported.compiler("cc")
        files = kernels.package(DOMAIN).write(tmp_path_factory.mktemp("onnx"), CPU, form="onnxruntime")
        assert {*files} == {"for_onnx.h", "for_onnx.so", "for_onnx.json"}
        _libraries.append(files["for_onnx.so"])
    return _libraries[0]


def numbers(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def model(
    nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], domain: str = DOMAIN
) -> bytes:
    """A model of nodes; inputs and outputs are (element type, shape)."""
    helper = onnx.helper
    graph = helper.make_graph(
        nodes, "graph",
        [helper.make_tensor_value_info(name, *value) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, *value) for name, value in outputs.items()],
    )  # fmt: skip
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9).SerializeToString()


def node(kind: str, inputs: list[str], outputs: list[str], **options: Any) -> Any:
    return onnx.helper.make_node(kind, inputs, outputs, **options)


def constant(name: str, value: Any) -> Any:
    return node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.asarray(value)))


def session(library: Path, serialized: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])


def doubling() -> bytes:
    """relu(3 x), for arrays of any length."""
    nodes = [
        node("Size", ["x"], ["n"]), constant("factor", np.float32(3)),
        node("scaled", ["x", "n", "factor"], ["y"], domain=DOMAIN), node("Relu", ["y"], ["z"]),
    ]  # fmt: skip
    return model(nodes, {"x": (TYPES.FLOAT, ["n"])}, {"z": (TYPES.FLOAT, ["n"])})


def test_a_model_with_an_operator(library: Path) -> None:
    run = session(library, doubling())
    for n in (1, 64, 1000, 0):
        x = numbers(n)
        (found,) = run.run(None, {"x": x})
        assert found.shape == (n,)
        np.testing.assert_allclose(found, np.maximum(3 * x, 0), rtol=1e-6)


def test_sessions_share_the_library(library: Path) -> None:
    runs = [session(library, doubling()) for _ in range(3)]
    x = numbers(100)
    for run in (*runs, *runs):
        np.testing.assert_allclose(run.run(None, {"x": x})[0], np.maximum(3 * x, 0), rtol=1e-6)


def test_strides_and_several_results(library: Path) -> None:
    nodes = [
        node("Shape", ["x"], ["shape"]), constant("zero", np.int64(0)), constant("one", np.int64(1)),
        node("Gather", ["shape", "zero"], ["M"]), node("Gather", ["shape", "one"], ["N"]),
        node("row_ends", ["x", "M", "N"], ["first", "last"], domain=DOMAIN),
    ]  # fmt: skip
    ends = {name: (TYPES.FLOAT, ["M"]) for name in ("first", "last")}
    run = session(library, model(nodes, {"x": (TYPES.FLOAT, None)}, ends))
    x = numbers(10, 7)
    first, last = run.run(None, {"x": x})
    np.testing.assert_array_equal(first, x[:, 0])
    np.testing.assert_array_equal(last, x[:, -1])
    with pytest.raises(Exception, match="TW0822: the argument `x` of row_ends has 3 dimensions, not 2"):
        run.run(None, {"x": numbers(10, 7, 1)})


def test_arrays_and_numbers_of_every_kind(library: Path) -> None:
    names = ["x", "flags", "y", "n", "shift", "negates"]
    types = [TYPES.INT32, TYPES.BOOL, TYPES.INT32, TYPES.INT64, TYPES.DOUBLE, TYPES.BOOL]
    shapes: list[Any] = [["n"], ["n"], ["n"], [], [1], []]
    nodes = [node("selected", names, ["out"], domain=DOMAIN)]
    inputs = dict(zip(names, zip(types, shapes)))
    run = session(library, model(nodes, inputs, {"out": (TYPES.INT64, ["n"])}))
    x, y = np.arange(70, dtype=np.int32), np.arange(70, dtype=np.int32) * -5
    flags = np.arange(70) % 3 == 0
    for negates in (True, False):
        values = (x, flags, y, np.int64(70), np.array([1e10]), np.bool_(negates))
        (found,) = run.run(None, dict(zip(names, map(np.asarray, values))))
        expected = (np.where(flags, x, y) + 1e10).astype(np.int64)
        np.testing.assert_array_equal(found, -expected if negates else expected)


def test_errors_of_a_launch_are_errors_of_the_session(library: Path) -> None:
    nodes = [node("scaled", ["x", "n", "factor"], ["y"], domain=DOMAIN)]
    inputs: dict[str, Any] = {
        "x": (TYPES.FLOAT, ["k"]), "n": (TYPES.INT64, None), "factor": (TYPES.FLOAT, []),
    }  # fmt: skip
    run = session(library, model(nodes, inputs, {"y": (TYPES.FLOAT, ["k"])}))
    x, factor = numbers(64), np.float32(2)
    np.testing.assert_allclose(
        run.run(None, {"x": x, "n": np.array(64), "factor": np.array(factor)})[0], 2 * x, rtol=1e-6
    )
    for n, words in (
        (np.array(1 << 31), "TW0822: the argument `n` of scaled is a number that its type does not have"),
        (np.array([1, 2]), "TW0822: the argument `n` of scaled is a number, and has 2 elements"),
    ):
        with pytest.raises(Exception, match=words):
            run.run(None, {"x": x, "n": n, "factor": np.array(factor)})


def test_negative_extents_of_results_are_refused(library: Path) -> None:
    nodes = [node("checked", ["x", "n"], ["y"], domain=DOMAIN)]
    inputs: dict[str, Any] = {"x": (TYPES.FLOAT, ["k"]), "n": (TYPES.INT64, [])}
    cast = [node("Cast", ["x"], ["half"], to=TYPES.BFLOAT16), node("Cast", ["z"], ["y"], to=TYPES.FLOAT)]
    nodes = [cast[0], node("checked", ["half", "n"], ["z"], domain=DOMAIN), cast[1]]
    run = session(library, model(nodes, inputs, {"y": (TYPES.FLOAT, ["k"])}))
    x = np.arange(40, dtype=np.float32)
    np.testing.assert_array_equal(run.run(None, {"x": x, "n": np.array(40)})[0], x)
    with pytest.raises(Exception, match="TW0822"):
        run.run(None, {"x": x, "n": np.array(-1)})


def test_models_of_other_types_are_refused_when_they_load(library: Path) -> None:
    nodes = [node("scaled", ["x", "n", "factor"], ["y"], domain=DOMAIN)]
    inputs: dict[str, Any] = {
        "x": (TYPES.INT32, ["k"]), "n": (TYPES.INT64, []), "factor": (TYPES.FLOAT, []),
    }  # fmt: skip
    with pytest.raises(Exception, match="[Tt]ype"):
        session(library, model(nodes, inputs, {"y": (TYPES.INT32, ["k"])}))


def test_the_same_kernels_give_the_same_bytes(library: Path, tmp_path: Path) -> None:
    again = kernels.package(DOMAIN).write(tmp_path / "again", CPU, form="onnxruntime")
    assert again["for_onnx.so"].read_bytes() == library.read_bytes()


def test_packages_that_no_processor_runs_are_refused(tmp_path: Path) -> None:
    package = tw.Package("of_gpus").add(kernels.scaled, "*fp32, *fp32, i32", grid="cdiv(n, BLOCK)")
    package.as_operator("scaled", outputs={"out": "x"})
    with pytest.raises(tw.UnsupportedError, match="no code for processors") as error:
        package.write(tmp_path / "out", ["nvidia:sm_80"], form="onnxruntime")
    assert error.value.code == "TW0803"
    package = tw.Package("no_grid").add(kernels.scaled, "*fp32, *fp32, i32")
    package.as_operator("scaled", outputs={"out": "x"})
    with pytest.raises(tw.UnsupportedError, match="over which grid") as error:
        package.write(tmp_path / "out", CPU, form="onnxruntime")
    assert error.value.code == "TW0803" and not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", range(6))
def test_what_has_no_schema_is_refused(number: int, tmp_path: Path) -> None:
    package, words = kernels.refused()[number]
    with pytest.raises(tw.UnsupportedError, match=words) as error:
        package.write(tmp_path / "out", CPU, form="onnxruntime")
    assert error.value.code == "TW0803" and not (tmp_path / "out").exists()


def test_the_command_writes_a_library(tmp_path: Path) -> None:
    kernel = f"{kernels.__file__}:scaled"
    rules = ["--signature", "*fp32, *fp32, i32", "--grid", "cdiv(n, BLOCK)", "--outputs", "out=x"]
    done = exported.export(
        tmp_path / "out", CPU[0], "--form", "onnxruntime", *rules, "--package", DOMAIN, kernel=kernel
    )
    assert done.returncode == 0, done.stderr
    x = numbers(30)
    (found,) = session(tmp_path / "out" / f"{DOMAIN}.so", doubling()).run(None, {"x": x})
    np.testing.assert_allclose(found, np.maximum(3 * x, 0), rtol=1e-6)
