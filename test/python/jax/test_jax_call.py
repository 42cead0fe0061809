"""tw.jax.call: kernels in programs of JAX, against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw

jax: Any = pytest.importorskip("jax")
jnp: Any = pytest.importorskip("jax.numpy")

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def add_scaled(x, y, out, n, scale, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = at < n
    tw.store(out + at, tw.load(x + at, mask) + scale * tw.load(y + at, mask), mask)


@tw.jit
def both(total, x, y, difference, n, BLOCK: tw.constexpr):
    """Results before and behind the inputs, of other types than them."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = at < n
    a, b = tw.load(x + at, mask), tw.load(y + at, mask)
    tw.store(total + at, a + b, mask)
    tw.store(difference + at, (a - b).to(tw.float32), mask)


@tw.jit
def accumulate(into, x, n, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = at < n
    tw.store(into + at, tw.load(into + at, mask) + tw.load(x + at, mask), mask)


@tw.jit
def copy(x, out, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    tw.store(out + at, tw.load(x + at))


@tw.jit
def by_pointed(x, factor, out, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    tw.store(out + at, tw.load(x + at) * tw.load(factor))


@tw.jit
def negate_rows(x, out, M, N, stride, BLOCK: tw.constexpr):
    row, at = tw.program_id(0), tw.arange(0, BLOCK)
    tw.store(out + row * N + at, -tw.load(x + row * stride + at, at < N), at < N)


@tw.jit
def checked(x, out, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    value = tw.load(x + at)
    tw.device_assert(value >= 0, "a negative number")
    tw.store(out + at, value)


@tw.jit
def by_extent(x: tw.Tensor, out: tw.Tensor, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    tw.store(out.base + at, tw.load(x.base + at) * x.shape[0])


@tw.jit
def printed(x, out, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    value = tw.load(x + at)
    tw.device_print("value", value)
    tw.store(out + at, value)


def numbers(*shape: int, seed: int = 7) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def adder(n: int, scale: float = 2.0) -> Any:
    spec = jax.ShapeDtypeStruct((n,), jnp.float32)
    return tw.jax.call(
        add_scaled, grid=(tw.cdiv(n, 64),), out_shapes=spec, n=n, scale=scale, BLOCK=64
    )


def accumulator(n: int) -> Any:
    return tw.jax.call(accumulate, grid=tw.cdiv(n, 64), in_out="into", n=n, BLOCK=64)


def expected(x: Any, y: Any, scale: float = 2.0) -> Any:
    return x.astype(np.float64) + scale * y.astype(np.float64)


@pytest.mark.parametrize("n", [1, 64, 1000])
def test_a_kernel_is_a_function_of_arrays(n: int) -> None:
    x, y = numbers(n), numbers(n, seed=8)
    function = adder(n)
    for call in (function, jax.jit(function), jax.jit(lambda a, b: function(a, b) * 1)):
        for a, b in ((x, y), (jnp.asarray(x), jnp.asarray(y))):
            found = call(a, b)
            assert isinstance(found, jax.Array) and found.shape == (n,) and found.dtype == jnp.float32
            np.testing.assert_allclose(found, expected(x, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_kernels_run_on_the_device_that_is_chosen(device: str) -> None:
    x, y = numbers(100), numbers(100, seed=8)
    with tw.device(device):
        found = jax.jit(adder(100))(x, y)
    np.testing.assert_allclose(found, expected(x, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", ["sequence", "mapping"])
def test_results_lie_anywhere_among_the_parameters(form: str) -> None:
    x, y = np.arange(70, dtype=np.int32), np.arange(70, dtype=np.int32)[::-1] * 3
    specs: Any = [((70,), "int32"), jax.ShapeDtypeStruct((70,), jnp.float32)]
    if form == "mapping":
        specs = dict(zip(("total", "difference"), specs))
    found = jax.jit(tw.jax.call(both, grid=2, out_shapes=specs, n=70, BLOCK=64))(x, y)
    total, difference = (found["total"], found["difference"]) if form == "mapping" else found
    assert total.dtype == jnp.int32 and difference.dtype == jnp.float32
    np.testing.assert_array_equal(total, x + y)
    np.testing.assert_array_equal(difference, (x - y).astype(np.float32))


def test_updated_arrays_are_results_and_inputs_stay() -> None:
    x, y = jnp.asarray(numbers(100)), jnp.asarray(numbers(100, seed=8))
    before = np.array(x)
    function = accumulator(100)
    for call in (function, jax.jit(function)):
        np.testing.assert_allclose(call(x, y), before + np.array(y), rtol=1e-6)
        np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(jax.jit(lambda a: function(a, a))(x), 2 * before, rtol=1e-6)
    np.testing.assert_array_equal(x, before)
    donated = jax.jit(function, donate_argnums=0)
    np.testing.assert_allclose(donated(jnp.array(before), y), before + np.array(y), rtol=1e-6)

    def repeated(a: Any) -> Any:
        return jax.lax.fori_loop(0, 5, lambda _, value: function(value, y), a)

    np.testing.assert_allclose(jax.jit(repeated)(x), before + 5 * np.array(y), rtol=1e-5, atol=1e-5)


def test_vmap_launches_one_after_another() -> None:
    x, y = numbers(3, 5, 40), numbers(3, 5, 40, seed=8)
    found = jax.jit(jax.vmap(jax.vmap(adder(40))))(x, y)
    np.testing.assert_allclose(found, expected(x, y), rtol=1e-5, atol=1e-6)
    shared = jax.vmap(adder(40), in_axes=(1, None), out_axes=1)(x[0].T, y[0, 0])
    np.testing.assert_allclose(shared, expected(x[0], y[0, 0]).T, rtol=1e-5, atol=1e-6)
    rows = jax.vmap(accumulator(40))(x[0], y[0])
    np.testing.assert_allclose(rows, x[0] + y[0], rtol=1e-6)


def test_custom_vjp_gives_gradients() -> None:
    plain, backward = adder(50), adder(50, scale=0.0)

    @jax.custom_vjp
    def function(x: Any, y: Any) -> Any:
        return plain(x, y)

    zero = jnp.zeros(50)
    function.defvjp(
        lambda x, y: (plain(x, y), None), lambda _, g: (backward(g, zero), 2 * backward(g, zero))
    )
    x, y, weights = numbers(50), numbers(50, seed=8), numbers(50, seed=9)

    def loss(x: Any, y: Any) -> Any:
        return (function(x, y) * weights).sum()

    for grad in (jax.grad(loss, (0, 1)), jax.jit(jax.grad(loss, (0, 1)))):
        of_x, of_y = grad(x, y)
        np.testing.assert_allclose(of_x, weights, rtol=1e-6)
        np.testing.assert_allclose(of_y, 2 * weights, rtol=1e-6)
    batched = jax.vmap(jax.grad(loss), (0, None))(np.stack([x, y]), y)
    np.testing.assert_allclose(batched, np.stack([weights] * 2), rtol=1e-6)


def test_derivatives_without_a_rule_are_refused() -> None:
    x, function = jnp.ones(20), adder(20)
    for differentiate in (
        lambda: jax.grad(lambda a: function(a, x).sum())(x),
        lambda: jax.jit(jax.grad(lambda a: function(a, x).sum()))(x),
        lambda: jax.jvp(function, (x, x), (x, x)),
        lambda: jax.linearize(function, x, x),
        lambda: jax.jacfwd(function)(x, x),
        lambda: jax.vmap(jax.grad(lambda a: function(a, a).sum()))(jnp.ones((2, 20))),
    ):
        with pytest.raises(tw.LaunchError, match="derivative of the launch of add_scaled") as error:
            differentiate()
        assert error.value.code == "TW0445" and "custom_vjp" in error.value.hint
    # The derivative of an integer is zero.
    integers = tw.jax.call(copy, grid=1, out_shapes=((16,), "int32"), BLOCK=16)
    gradient = jax.grad(lambda a: (a * integers(jnp.arange(16, dtype=jnp.int32))).sum())(jnp.ones(16))
    np.testing.assert_array_equal(gradient, np.arange(16))


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"],
)
def test_dtypes(dtype: str) -> None:
    x = jnp.asarray(np.arange(32) % 7, dtype=getattr(jnp, dtype if dtype != "bool" else "bool_"))
    found = jax.jit(tw.jax.call(copy, grid=1, out_shapes=x, BLOCK=32))(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(found).view(np.uint8), np.asarray(x).view(np.uint8))


def test_numbers_of_64_bits_need_the_setting() -> None:
    with pytest.raises(tw.LaunchError, match="of float64, which JAX takes for float32") as error:
        tw.jax.call(copy, grid=1, out_shapes=((32,), "float64"), BLOCK=32)
    assert error.value.code == "TW0444" and "jax_enable_x64" in error.value.hint
    with jax.enable_x64(True):
        x = jnp.asarray(np.arange(32.0))
        assert x.dtype == jnp.float64
        function = tw.jax.call(copy, grid=1, out_shapes=x, BLOCK=32)
        found = jax.jit(function)(x), function(x)
    np.testing.assert_array_equal(found, np.stack([np.arange(32.0)] * 2))
    for call in (function, jax.jit(function)):
        with pytest.raises(tw.LaunchError, match="of float64, which JAX takes for float32"):
            call(np.arange(32.0))


def test_arrays_without_elements_and_of_shape_nothing() -> None:
    empty = jnp.zeros(0)
    assert jax.jit(adder(0))(empty, empty).shape == (0,)
    x = numbers(16)
    scaled = tw.jax.call(by_pointed, grid=1, out_shapes=((16,), "float32"), BLOCK=16)
    found = jax.jit(lambda a: scaled(a, a.sum()))(x)
    np.testing.assert_allclose(found, x * x.sum(), rtol=1e-5)


def test_layouts_are_row_major_to_kernels() -> None:
    x = numbers(24, 40)
    rows = tw.jax.call(
        negate_rows, grid=lambda args: args["M"], out_shapes=((40, 24), "float32"), M=40, N=24, stride=24,
        BLOCK=32,
    )  # fmt: skip
    np.testing.assert_array_equal(jax.jit(lambda a: rows(a.T))(x), -x.T)


def test_numbers_go_by_position_or_by_name() -> None:
    x = numbers(100)
    function = tw.jax.call(add_scaled, grid=2, out_shapes={"out": ((100,), "float32")}, BLOCK=64)
    found = jax.jit(lambda a: function(a, a, 100, 0.5))(x)["out"]
    np.testing.assert_allclose(found, 1.5 * x, rtol=1e-6)
    found = function(x, x, np.int32(100), np.float32(3))["out"]
    np.testing.assert_allclose(found, 4 * x, rtol=1e-6)


def test_unaligned_buffers_get_a_kernel_of_their_own() -> None:
    """XLA takes memory as it is from DLPack where it is aligned enough, and copies it elsewhere."""
    whole = numbers(1001)
    x = jax.dlpack.from_dlpack(whole[1:])
    np.testing.assert_allclose(jax.jit(adder(1000))(x, x), 3 * whole[1:], rtol=1e-5)


def test_arrays_with_their_shapes() -> None:
    x = numbers(64)
    times = tw.jax.call(by_extent, grid=1, out_shapes={"out": x}, BLOCK=64)
    np.testing.assert_allclose(jax.jit(times)(x)["out"], 64 * x, rtol=1e-6)


def test_prints_of_a_run_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    found = tw.jax.call(printed, grid=1, out_shapes=((4,), "float32"), BLOCK=4)(jnp.arange(4.0))
    jax.block_until_ready(found)
    assert "value: 3.0" in "".join(capfd.readouterr())


def test_threads_call_one_function() -> None:
    function = jax.jit(adder(64))
    x = jnp.asarray(numbers(64))
    found: list[Any] = []

    def work() -> None:
        found.extend(function(x, x) for _ in range(100))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 400
    np.testing.assert_allclose(np.stack(found), np.tile(3 * np.asarray(x), (400, 1)), rtol=1e-6)


SEVERAL_DEVICES = """
import jax, numpy as np
from test_jax_call import adder, expected, numbers

assert len(jax.devices()) == 2
mesh = jax.make_mesh((2,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
spec = jax.sharding.PartitionSpec("rows")
x, y = numbers(128), numbers(128, seed=8)
shards = jax.jit(
    jax.shard_map(adder(64), mesh=mesh, in_specs=(spec, spec), out_specs=spec, check_vma=False)
)
np.testing.assert_allclose(shards(x, y), expected(x, y), rtol=1e-5, atol=1e-6)
found = jax.pmap(adder(64))(x.reshape(2, 64), y.reshape(2, 64))
np.testing.assert_allclose(found, expected(x, y).reshape(2, 64), rtol=1e-5, atol=1e-6)
"""


def test_launches_on_several_devices() -> None:
    """In a process of its own: JAX reads how many devices it has when it is first used."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL_DEVICES],
        env={**os.environ, "XLA_FLAGS": flags}, cwd=os.path.dirname(__file__),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_errors_of_a_run_are_errors_of_xla() -> None:
    checks = jax.jit(
        tw.jax.call(checked, grid=1, out_shapes=((16,), "float32"), BLOCK=16, debug=True)
    )
    np.testing.assert_array_equal(checks(np.ones(16, np.float32)), 1)
    with pytest.raises(Exception, match="TW06.*a negative number"):
        jax.block_until_ready(checks(-np.ones(16, np.float32)))
    with tw.device("reference"):
        reads = tw.jax.call(copy, grid=1, out_shapes=((16,), "float32"), BLOCK=16)
        with pytest.raises(Exception, match="TW0601: out-of-bounds load: element 15 of argument"):
            jax.block_until_ready(reads(np.ones(15, np.float32)))


def test_exported_programs_need_the_trace() -> None:
    x = jnp.ones(30)
    allowed = [jax.export.DisabledSafetyCheck.custom_call("tilewright_call")]
    exported = jax.export.export(jax.jit(adder(30)), disabled_checks=allowed)(x, x)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(again.call(x, x), np.full(30, 3.0))
    with pytest.raises(Exception, match="TW0442: this process has not traced the kernel"):
        unknown = jax.ffi.ffi_call("tilewright_call", jax.ShapeDtypeStruct((4,), jnp.float32))
        jax.block_until_ready(unknown(key="no such key"))
    size = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n"), jnp.float32)
    with pytest.raises(tw.LaunchError, match="extents have no values") as error:
        jax.export.export(jax.jit(lambda a: adder(30)(a, a)))(size)
    assert error.value.code == "TW0444"


def test_configurations_are_chosen_before() -> None:
    @tw.autotune(configs=[tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})], key=["n"])
    @tw.heuristics({"scale": lambda args: 3.0 if args["n"] == 100 else 5.0})
    @tw.jit
    def tuned(x, y, out, n, scale, BLOCK: tw.constexpr):
        at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
        mask = at < n
        tw.store(out + at, tw.load(x + at, mask) + scale * tw.load(y + at, mask), mask)

    def grid(arguments: Any) -> tuple[int]:
        return (tw.cdiv(arguments["n"], arguments["BLOCK"]),)

    x = numbers(100)
    function = tw.jax.call(tuned, grid=grid, out_shapes=((100,), "float32"), n=100)
    with pytest.raises(tw.LaunchError, match="2 configurations, none was chosen") as error:
        jax.jit(function)(x, x)
    assert error.value.code == "TW0444"
    inside = tw.jax.call(tuned.fn, grid=grid, out_shapes=((100,), "float32"), n=100, BLOCK=32)
    np.testing.assert_allclose(inside(x, x), 4 * x, rtol=1e-6)
    tuned[grid](x, x, np.empty(100, np.float32), 100)
    np.testing.assert_allclose(jax.jit(function)(x, x), 4 * x, rtol=1e-6)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_choice_of_an_earlier_process_is_found(tmp_path: Path, library: str) -> None:
    """The store is asked for what the stand-ins of JAX's arrays say; another shape has no choice."""
    times = iter((2.0, 1.0))

    def bench(launch: Any, quantiles: Any) -> float:
        launch()
        return next(times)

    def tuner() -> Any:
        configs = [tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})]
        return tw.autotune(configs, key=["n"], do_bench=bench, store=tmp_path / "store")(
            tw.jit(add_scaled.fn)
        )

    def grid(arguments: Any) -> tuple[int]:
        return (tw.cdiv(arguments["n"], arguments["BLOCK"]),)

    arrays = numbers(100), numbers(100, seed=8), np.empty(100, np.float32)
    if library == "torch":
        arrays = tuple(map(pytest.importorskip("torch").from_numpy, arrays))
    tuner()[grid](*arrays, 100, 2.0)
    later = tuner()
    x, y = numbers(100), numbers(100, seed=8)
    function = tw.jax.call(later, grid=grid, out_shapes=((100,), "float32"), n=100, scale=2.0)
    np.testing.assert_allclose(jax.jit(function)(x, y), expected(x, y), rtol=1e-6)
    assert [config.kwargs["BLOCK"] for config in later.cache.values()] == [64]
    other = tw.jax.call(later, grid=grid, out_shapes=((50,), "float32"), n=50, scale=2.0)
    with pytest.raises(tw.LaunchError, match="none was chosen"):
        jax.jit(other)(x[:50], y[:50])


def test_a_changed_kernel_is_compiled_again() -> None:
    factor = {"value": 2.0}
    source = jnp.ones(16)
    made = _scaling(factor)
    function = tw.jax.call(made, grid=1, out_shapes=((16,), "float32"), BLOCK=16)
    np.testing.assert_array_equal(function(source), 2.0)
    globals()["FACTOR"] = tw.constexpr(3.0)
    np.testing.assert_array_equal(function(source), 3.0)
    globals()["FACTOR"] = tw.constexpr(2.0)


FACTOR = tw.constexpr(2.0)


def _scaling(_: Any) -> Any:
    @tw.jit
    def by_global(x, out, BLOCK: tw.constexpr):
        at = tw.arange(0, BLOCK)
        tw.store(out + at, FACTOR * tw.load(x + at))

    return by_global


def refusals() -> list[tuple[str, Any, str]]:
    x = jnp.ones(64)
    spec, given = ((64,), "float32"), {"n": 64, "scale": 1.0, "BLOCK": 64}

    def make(kernel: Any = add_scaled, **changed: Any) -> Any:
        return tw.jax.call(kernel, **{"grid": 1, "out_shapes": spec, **given, **changed})

    return [
        ("TW0444", lambda: make(out_shapes={"x": spec})(x, x), "stores to `out`, which is not a result"),
        ("TW0444", lambda: make(out_shapes={"z": spec})(x, x), "no parameter `z`"),
        ("TW0444", lambda: make(out_shapes=())(x, x, x), "stores to `out`, which is not a result"),
        ("TW0444", lambda: make(out_shapes={"out": spec, "y": spec})(x), "`y` would be a result"),
        ("TW0444", lambda: make(out_shapes=(), in_out="out")(x, x), "no array is given for `out`"),
        ("TW0444", lambda: make(out_shapes={"out": spec}, in_out="out")(x, x), "in out_shapes and in in_out"),
        ("TW0444", lambda: make()(x, x, x, x), "3 arguments|4 arguments"),
        ("TW0444", lambda: make(n=jnp.int32(64)), "`n` is an array, and is given by name"),
        ("TW0444", lambda: make(out_shapes=64), "not a shape and dtype"),
        ("TW0444", lambda: make(out_shapes=((64,), "float99")), "JAX does not know"),
        ("TW0444", lambda: make(lambda x: x)(x), "not a kernel"),
        ("TW0444", lambda: make()((x, 2.0), x), "argument 0: an array cannot be a compile-time constant"),
        ("TW0444", lambda: make(stream=5), "stream=5 is not for programs of XLA"),
        ("TW0444", lambda: make(launch_cooperative_grid=True), "launch_cooperative_grid=True"),
        ("TW0404", lambda: make()(x), "lacks the arguments"),
        ("TW0404", lambda: make(BLOK=3)(x, x), "BLOK"),
        ("TW0402", lambda: make(grid=-1)(x, x), "negative"),
        ("TW0406", lambda: make()(x.astype(jnp.complex64), x), "complex64"),
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(18))
def test_what_is_no_function_is_refused(number: int) -> None:
    code, make, words = refusals()[number]
    with pytest.raises(tw.LaunchError, match=words) as error:
        make()
    assert error.value.code == code


def test_jax_is_imported_by_the_first_call() -> None:
    program = """
import sys
import tilewright as tw
tw.jax.call
assert not {"jax", "onnxruntime"} & {*sys.modules}
sys.modules["jax"] = None
try:
    tw.jax.call(tw.jit(lambda x: None), grid=1)
except tw.LaunchError as error:
    assert error.code == "TW0444" and error.hint == "pip install jax", error
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "refused\n", done.stderr
