"""Packages for JAX: a library, and a module of functions of JAX's arrays."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import exported
import framework_kernels as kernels
import numpy as np
import pytest
import tilewright as tw

jax: Any = pytest.importorskip("jax")
jnp: Any = pytest.importorskip("jax.numpy")

pytestmark = pytest.mark.usefixtures("compiler")
CPU = ["cpu:x86-64-v2"]


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_made: list[Any] = []  # one package for all tests


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory, compiler: None) -> Any:
    if _made:
        return _made[0]
    exported.compiler("cc")
    files = kernels.package("for_jax").write(tmp_path_factory.mktemp("jax"), CPU, form="jax")
    assert {*files} == {"for_jax.h", "for_jax.so", "for_jax_jax.py", "for_jax.json"}
    _made.append(loaded(files["for_jax_jax.py"]))
    return _made[0]


def numbers(*shape: int, seed: int = 7) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_kernels_are_functions_of_arrays(made: Any) -> None:
    x = numbers(100)
    for call in (made.scaled, jax.jit(made.scaled, static_argnums=(1, 2))):
        np.testing.assert_allclose(call(x, 100, 3.0), 3 * x, rtol=1e-6)
    assert made.scaled.__doc__ == 'x times a "number".'
    rows = numbers(10, 7)
    first, last = jax.jit(lambda a: made.row_ends(a, M=10, N=7))(rows)
    np.testing.assert_array_equal(first, rows[:, 0])
    np.testing.assert_array_equal(last, rows[:, -1])
    half = jnp.asarray(numbers(40), jnp.bfloat16)
    np.testing.assert_array_equal(made.checked(half, 40), half)


def test_numbers_of_every_kind(made: Any) -> None:
    x, y = np.arange(70, dtype=np.int32), np.arange(70, dtype=np.int32) * -5
    flags = np.arange(70) % 3 == 0
    with pytest.raises(TypeError, match="TW0822.*int64.*jax_enable_x64"):
        made.selected(x, flags, y, 70, 0.5, True)
    with jax.enable_x64(True):
        for negates in (True, False):
            found = made.selected(x, flags, y, 70, 1e10, negates)
            expected = (np.where(flags, x, y) + 1e10).astype(np.int64)
            np.testing.assert_array_equal(found, -expected if negates else expected)


def test_a_call_may_give_the_grid(made: Any) -> None:
    x = numbers(128)
    found = np.asarray(made.scaled(x, 128, 2.0, grid=1))
    np.testing.assert_allclose(found[:64], 2 * x[:64], rtol=1e-6)
    np.testing.assert_allclose(made.scaled(x, 128, 2.0, grid=(2,)), 2 * x, rtol=1e-6)
    for grid in (-1, (1, 1, 1, 1)):
        with pytest.raises(ValueError, match="TW0818"):
            made.scaled(x, 128, 2.0, grid=grid)


def test_transforms(made: Any) -> None:
    x, weights = numbers(3, 50), numbers(50, seed=8)

    def loss(a: Any) -> Any:
        return (made.scaled(a, 50, 3.0) * weights).sum()

    np.testing.assert_allclose(jax.vmap(lambda a: made.scaled(a, 50, 2.0))(x), 2 * x, rtol=1e-6)
    for grad in (jax.grad(loss), jax.jit(jax.grad(loss))):
        np.testing.assert_allclose(grad(x[0]), 3 * weights, rtol=1e-6)
    batched = jax.jit(jax.vmap(jax.grad(loss)))(x)
    np.testing.assert_allclose(batched, np.stack([3 * weights] * 3), rtol=1e-6)


def test_derivatives_without_a_rule_are_refused(made: Any) -> None:
    x = jnp.ones((4, 4))
    for differentiate in (
        lambda: jax.grad(lambda a: made.row_ends(a, 4, 4)[0].sum())(x),
        lambda: jax.jvp(lambda a: made.row_ends(a, 4, 4), (x,), (x,)),
        lambda: jax.grad(lambda a: jax.grad(lambda b: made.scaled(b, 4, 2.0).sum())(a).sum())(x[0]),
    ):
        with pytest.raises(NotImplementedError, match="TW0445: this derivative of (row_ends|scaled)"):
            differentiate()
    with pytest.raises(TypeError, match="forward-mode|custom_vjp"):
        jax.jvp(lambda a: made.scaled(a, 4, 2.0), (x[0],), (x[0],))


def test_wrong_calls_are_refused(made: Any) -> None:
    x = numbers(8)
    with pytest.raises(TypeError, match="TW0822: the argument `x` of scaled is of int32"):
        made.scaled(x.astype(np.int32), 8, 1.0)
    with pytest.raises(OverflowError, match="TW0822: the argument `n`"):
        made.scaled(x, 1 << 31, 1.0)
    with pytest.raises(OverflowError, match="TW0822: the argument `n`"):
        made.checked(jnp.zeros(8, jnp.bfloat16), -1)
    with pytest.raises(ValueError, match="TW0822: the argument `x` of row_ends has 1 dimensions, not 2"):
        made.row_ends(x, 8, 1)


@pytest.mark.parametrize("number", range(6))
def test_what_has_no_schema_is_refused(number: int, tmp_path: Path) -> None:
    package, words = kernels.refused()[number]
    with pytest.raises(tw.UnsupportedError, match=words) as error:
        package.write(tmp_path / "out", CPU, form="jax")
    assert error.value.code == "TW0803" and not (tmp_path / "out").exists()


def test_the_command_writes_a_module(tmp_path: Path) -> None:
    kernel = f"{kernels.__file__}:scaled"
    rules = ["--signature", "*fp32, *fp32, i32", "--grid", "cdiv(n, BLOCK)", "--outputs", "out=x"]
    done = exported.export(
        tmp_path / "out", CPU[0], "--form", "jax", *rules, "--package", "by_command", kernel=kernel
    )
    assert done.returncode == 0, done.stderr
    module = loaded(tmp_path / "out" / "by_command_jax.py")
    x = numbers(30)
    np.testing.assert_allclose(module.scaled(x, 30, 0.5), x / 2, rtol=1e-6)
