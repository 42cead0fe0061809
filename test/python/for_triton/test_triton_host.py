"""The names of Triton's host side: compiling without a run, knobs, devices and errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl
from tilewright.launch import hooks
from tilewright.triton.runtime import compilation_hooks
from tilewright.tuning import announcements
from tilewright.triton.backends.compiler import GPUTarget
from tilewright.triton.compiler import ASTSource
from tilewright.triton.runtime import driver

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def _no_hooks() -> Iterator[None]:
    """Each test begins and ends without hooks."""
    yield
    for chain in (hooks.launch_enter, hooks.launch_exit, hooks.load_start, hooks.load_end):
        chain.calls.clear()
    for name in ("before", "after", "listener"):
        compilation_hooks.compilation.change(name, None)
    announcements.autotuning.__init__()


def scale(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 3 * tl.load(x + i, mask=i < n), mask=i < n)


@pytest.fixture
def kernel() -> Any:
    """A fresh kernel, which has compiled nothing."""
    return triton.jit(scale)


def test_warmup_takes_what_stands_for_an_array(kernel: Any) -> None:
    stand_ins = [
        torch.float32, torch.empty(64, device="meta"), triton.MockTensor(torch.float32),
        triton.MockTensor(tl.float32), triton.MockTensor.wrap_dtype(torch.float32),
        torch.empty(64),
    ]  # fmt: skip
    compiled = [kernel.warmup(x, 64, BLOCK=64, grid=(1,)) for x in stand_ins]
    assert all(one is compiled[0] for one in compiled)
    other = kernel.warmup(torch.empty(64, device="meta", dtype=torch.float16), 64, 64, grid=(1,))
    assert other is not compiled[0] and "*fp16" in other.request.describe()
    with pytest.raises(tw.LaunchError, match="MockTensor.*has no memory"):
        kernel[(1,)](triton.MockTensor(tl.float32), 64, BLOCK=64)


def test_mock_tensors_know_their_strides() -> None:
    assert triton.MockTensor(tl.int8, [2, 3, 4]).stride() == (12, 4, 1)
    assert triton.MockTensor(tl.int8).shape == [1] and triton.MockTensor.data_ptr() == 0


def test_a_compiled_kernel_is_launched_again(kernel: Any) -> None:
    x = torch.rand(64)
    expected = 9 * x.numpy().astype(np.float64)
    compiled = kernel.warmup(x, 64, BLOCK=64, grid=(1,))
    compiled._init_handles()
    compiled[(1, 1, 1)](x, 64, 64)
    compiled[lambda arguments: (arguments["n"] // 64,)](x, 64)
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)
    before = x.clone()
    compiled[(0,)](x, 64)
    assert torch.equal(x, before)


def test_a_compiled_kernel_refuses_what_it_was_not_compiled_for(kernel: Any) -> None:
    x = torch.ones(65)
    compiled = kernel.warmup(x, 64, BLOCK=64, grid=(1,))
    wrong = [
        (x.double(), 64), (x[1:], 64), (x, 63), (x, -64), (x, 64, 32), (3, 64), (x, 2.0),
        (torch.ones(65, dtype=torch.int32), 64),
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises(tw.LaunchError) as error:
            compiled[(1,)](*arguments)
        assert error.value.code == "TW0435", arguments
    with pytest.raises(tw.LaunchError, match="takes 3 arguments, 1 given"):
        compiled[(1,)](x)
    assert torch.equal(x, torch.ones(65))
    general = kernel.warmup(x[1:], 63, BLOCK=64, grid=(1,))
    general[(1,)](x, 64)  # what holds for more holds for less
    assert x[:64].eq(3).all()


@tw.jit
def shifted_sum(out, x, bias, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.load(x + i) + tl.load(x + i + 1)
    if bias is not None:
        total += tl.load(bias + i)
    tl.store(out + i, total, mask=i < n)


@pytest.mark.parametrize("name", ["cpu", "reference", "sim:sm_80"])
def test_a_compiled_kernel_is_launched_again_on_overlapping_arrays(name: str) -> None:
    x, out, bias = torch.arange(65.0), torch.zeros(65), torch.ones(65)
    with tw.device(name):
        compiled = shifted_sum[(1,)](out, x, bias, 64, BLOCK=64)
        assert compiled is not None
        expected = x[:64] + x[1:]
        for again in (compiled, compiled[(1,)](x, x, x, 64)):
            assert again is not None
            y = torch.arange(65.0)
            last = again[(1,)](y, y, out, 64, 64)
            assert torch.equal(y[:64], expected + out[:64]) and y[64] == 64
        assert last is not compiled and ":overlap" in last.request.describe()
        assert compiled[(1,)](out, torch.arange(65.0), bias, 64) is compiled
        assert torch.equal(out[:64], expected + 1)


def test_a_compiled_kernel_is_launched_again_without_its_constants() -> None:
    x, out = torch.arange(65.0), torch.zeros(65)
    compiled = shifted_sum[(1,)](out, x, None, 64, BLOCK=64)
    assert compiled is not None
    for arguments in ((out, x, None, 64, 64), (out, x, None, 64), (out, x, 64)):
        out.fill_(-1)
        assert compiled[(1,)](*arguments) is compiled
        assert torch.equal(out[:64], x[:64] + x[1:])
    with pytest.raises(tw.LaunchError) as error:
        compiled[(1,)](out, x, x, 64)  # the code for an array is not there
    assert error.value.code == "TW0435"


@pytest.mark.parametrize("name", ["cpu", "reference", "sim:sm_80"])
def test_numbers_that_scripts_divide_by_are_there(kernel: Any, name: str) -> None:
    with tw.device(name):
        compiled = kernel.warmup(torch.float32, 64, BLOCK=64, grid=(1,))
        facts = driver.active.utils.get_device_properties(driver.active.get_current_device())
    num_warps = compiled.metadata.num_warps
    occupancy = facts["max_num_regs"] // (compiled.n_regs * facts["warpSize"] * num_warps)
    assert occupancy >= 1 and facts["multiprocessor_count"] >= 1 and compiled.n_spills == 0
    if name == "sim:sm_80":
        assert facts["max_shared_mem"] == 163 * 1024 and facts["warpSize"] == 32
        assert compiled.metadata.warp_size == 32 and compiled.n_regs <= 255
    else:
        assert facts["max_shared_mem"] // compiled.metadata.shared >= 1
        assert compiled.n_regs == len(registers_named_by(kernel)) > 0


def registers_named_by(kernel: Any) -> set[str]:
    """The vector registers in a kernel's code for processors."""
    with tw.device("cpu"):
        code = kernel.warmup(torch.float32, 64, BLOCK=64, grid=(1,)).asm["asm"]
    return {register for width in "xyz" for register in re.findall(rf"%{width}mm(\d+)", code)}


def test_any_number_of_warps_runs_where_warps_change_nothing(kernel: Any) -> None:
    x = torch.ones(64)
    kernel[(1,)](x, 64, BLOCK=64, num_warps=128 // driver.active.get_current_target().warp_size)
    assert x.eq(3).all()
    with tw.device("sim:sm_80"), pytest.raises(tw.UnsupportedError) as error:
        kernel[(1,)](x, 64, BLOCK=64, num_warps=128)
    assert error.value.code == "TW0313" and isinstance(error.value, triton.OutOfResources)
    for wrong in (0, -1, 3, 1 << 40, 2.5, "4"):
        with pytest.raises(tw.LaunchError, match="num_warps"):
            kernel[(1,)](x, 64, BLOCK=64, num_warps=wrong)


def test_compile_gives_the_code_for_a_gpu(kernel: Any) -> None:
    source = ASTSource(
        fn=kernel,
        signature={"x": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        constexprs={"BLOCK": 256},
        attrs={(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]},
    )
    compiled = triton.compile(source, target=GPUTarget("cuda", 80, 32), options={"num_warps": 2})
    assert ".target sm_80" in compiled.asm["ptx"] and "define" in compiled.asm["llir"]
    assert "ld.global.v" in compiled.asm["ptx"] or "v4.b32" in compiled.asm["ptx"]
    assert compiled.metadata.num_warps == 2 and compiled.metadata.target.arch == 80
    assert compiled.asm.get("cubin", b"\x7fELF")[:4] == b"\x7fELF"
    assert compiled.src is source and compiled.hash == compiled.key
    plain = ASTSource(kernel, {"x": "*fp32", "n": "i32"}, {(2,): 256})
    assert plain.hash() != source.hash()
    scalar = triton.compile(plain, target=GPUTarget("cuda", 90, 32))
    assert "v4.b32" not in scalar.asm["ptx"] and "sm_90" in scalar.asm["ptx"]
    # Without a target it is the device of the next launch, where it can be launched.
    x = torch.ones(256)
    triton.compile(plain)[(1,)](x, 256, 256)
    assert x.eq(3).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda k: ASTSource(k, {"x": "*fp32"}, {"BLOCK": 64}), "lacks `n`"),
        (lambda k: ASTSource(k, {"y": "*fp32"}), "'y' is not a parameter"),
        (lambda k: ASTSource(k, {"x": "*fp32"}, {7: 1}), "7 is not a parameter"),
        (lambda k: "kernel.ttir", "kernel.ttir cannot be read"),
        (lambda k: 3, "only an ASTSource or an IRSource can be compiled, not 3"),
        (lambda k: ASTSource(k, {"x": "*fp32", "n": "i32"}, {"BLOCK": 1},
                             {(0,): [["tt.pointer_range", 32]]}), "pointer_range"),
    ],
)  # fmt: skip
def test_sources_that_cannot_be_compiled_are_refused(kernel: Any, make: Any, message: str) -> None:
    with pytest.raises(tw.TilewrightError, match=message) as error:
        triton.compile(make(kernel))
    assert error.value.code == "TW0434"


def test_an_amd_gpu_is_compiled_for(kernel: Any) -> None:
    source = ASTSource(kernel, {"x": "*fp32", "n": "i32"}, {"BLOCK": 64})
    compiled = triton.compile(source, target=GPUTarget("hip", "gfx942", 64))
    assert "amdgcn" in compiled.asm["asm"] and compiled.asm["hsaco"][:4] == b"\x7fELF"


@pytest.mark.parametrize("target", [GPUTarget("xpu", "x", 32), ("cuda", 80)])
def test_targets_without_a_compiler_are_refused(kernel: Any, target: Any) -> None:
    source = ASTSource(kernel, {"x": "*fp32", "n": "i32"}, {"BLOCK": 64})
    with pytest.raises(tw.TilewrightError) as error:
        triton.compile(source, target=target)
    assert error.value.code == "TW0434"
    with pytest.raises(tw.TilewrightError, match="sm_12345"):
        triton.compile(source, target=GPUTarget("cuda", 12345, 32))
    with pytest.raises(tw.TilewrightError, match="gfx12345"):
        triton.compile(source, target=GPUTarget("hip", "gfx12345", 32))




def test_kernels_tell_about_themselves(kernel: Any) -> None:
    assert kernel.src.startswith("def scale(x, n,") and kernel.constexprs == [2]
    assert [p.name for p in kernel.params] == kernel.arg_names == list(kernel.signature.parameters)
    assert kernel.params[2].is_constexpr and kernel.module == __name__

    @triton.jit(do_not_specialize=["x"], do_not_specialize_on_alignment=["y"])
    def annotated(x, y: tl.int64 = 3, *, z: tl.constexpr = None):
        pass

    facts = [
        (p.num, p.annotation, p.annotation_type, p.has_default, p.do_not_specialize,
         p.do_not_specialize_on_alignment) for p in annotated.params
    ]  # fmt: skip
    assert facts == [
        (0, "", "", False, True, False),
        (1, "i64", "i64", True, False, True),
        (2, "constexpr", "", True, False, False),
    ]
    factor = 2

    @triton.jit
    def by_factor(x):
        tl.store(x, factor)

    before = by_factor.cache_key
    assert before == by_factor.cache_key and before != kernel.cache_key
    factor = 3
    assert by_factor.cache_key != before


def test_reinterpreted_tensors_have_their_methods() -> None:
    base = torch.arange(6, dtype=torch.int8).reshape(2, 3)
    taken = triton.reinterpret(base, torch.uint8)
    assert isinstance(taken, triton.TensorWrapper) and taken.dtype == tl.uint8
    assert taken.shape == (2, 3) and taken.stride() == (3, 1) and taken.stride(0) == 3
    assert taken.data_ptr() == base.data_ptr() and taken.element_size() == 1 and taken.numel() == 6
    assert taken.device == base.device and taken.to("cpu").dtype == tl.uint8
    copy = taken.clone()
    copy.copy_(triton.reinterpret(base + 1, tl.uint8))
    assert copy.base.flatten().tolist() == [1, 2, 3, 4, 5, 6] and base[0, 1] == 1
    assert taken.new_empty((4,)).shape == (4,) and taken.cpu().base.equal(base)
    assert triton.reinterpret(taken, torch.int8) is base
    assert triton.reinterpret(taken, tl.float8e5).base is base
    assert triton.reinterpret(torch.zeros(1, dtype=torch.int8), torch.float8_e5m2).dtype == tl.float8e5
    for wrong in (3, "x", None):
        with pytest.raises(TypeError, match="cannot reinterpret"):
            triton.reinterpret(wrong, tl.int8)
    with pytest.raises(TypeError, match="complex64"):
        triton.reinterpret(base, torch.complex64)


def test_errors_are_the_ones_that_callers_of_triton_catch(kernel: Any) -> None:
    @triton.jit
    def asserts(x):
        tl.static_assert(False, "too small")

    x = torch.ones(64)
    with pytest.raises(triton.compiler.errors.CompileTimeAssertionFailure, match="too small") as error:
        asserts[(1,)](x)
    assert isinstance(error.value, triton.CompilationError)
    assert isinstance(error.value, triton.TritonError) and "too small" in error.value.error_message
    assert "too small" in str(error.value.__cause__)

    @triton.jit
    def axis(x):
        tl.store(x, tl.program_id(7))

    with pytest.raises(triton.CompilationError) as error:
        axis[(1,)](x)
    assert str(error.value.__cause__) == error.value.message

    @triton.jit
    def fails(x):
        tl.device_assert(tl.load(x) > 5, "small")

    with pytest.raises(RuntimeError, match="small") as failure:
        fails[(1,)](x, debug=True)
        tw.synchronize()
    assert isinstance(failure.value, triton.InterpreterError)


def test_too_much_shared_memory_is_out_of_resources() -> None:
    @triton.jit
    def product(x, y, out, K, N: tl.constexpr, BLOCK: tl.constexpr):
        i, k = tl.arange(0, N), tl.arange(0, BLOCK)
        acc = tl.zeros((N, N), tl.float32)
        for start in range(0, K, BLOCK):
            left = tl.load(x + i[:, None] * K + start + k[None, :])
            right = tl.load(y + (start + k[:, None]) * N + i[None, :])
            acc = tl.dot(left, right, acc)
        tl.store(out + i[:, None] * N + i[None, :], acc)

    with pytest.raises(triton.runtime.errors.OutOfResources) as error:
        types = {"x": "*fp16:16", "y": "*fp16:16", "out": "*fp32:16", "K": "i32:16"}
        product.compile(types, {"N": 128, "BLOCK": 64}, "nvidia:sm_86", num_stages=6, num_warps=8)
    assert error.value.name == "shared memory" and error.value.limit == 99 * 1024
    assert error.value.required > error.value.limit
    made = triton.OutOfResources(200, 100, "shared memory")
    assert (made.required, made.limit, made.name) == (200, 100, "shared memory")


def test_autotune_skips_optional_arrays_that_are_none() -> None:
    @triton.jit
    def add(x, extra, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        value = tl.load(x + i)
        if extra is not None:
            value += tl.load(extra + i)
        tl.store(out + i, value + tl.load(out + i))

    tuned = triton.autotune(
        [triton.Config({"BLOCK": 16}, num_warps=w) for w in (1, 2)], key=[],
        restore_value=["extra", "out"], reset_to_zero=["extra"], warmup=0, rep=0,
    )(add)  # fmt: skip
    out = torch.zeros(16)
    tuned[(1,)](torch.ones(16), None, out)
    assert out.eq(1).all()


def test_the_driver_answers_and_cannot_be_replaced() -> None:
    active = driver.active
    assert driver.default is active and active.get_active_torch_device() == torch.device("cpu")
    assert active.get_current_stream() == 0 and active.get_device_interface() is torch.cpu
    cache = active.get_empty_cache_for_benchmark()
    active.clear_cache(cache)
    assert cache.eq(0).all() and active.get_benchmarker() is triton.testing.do_bench
    driver.set_active(active)
    driver.reset_active()
    with pytest.raises(tw.UnsupportedError, match="another kind"):
        driver.set_active(object())
    with pytest.raises(AttributeError, match="triton.runtime.driver.active has no name"):
        active.launch_rocket
    with pytest.raises(tw.UnsupportedError, match="no device 3"):
        active.set_current_device(3)


def test_allocators_and_marks_are_taken() -> None:
    triton.set_allocator(lambda size, alignment, stream: None)
    with pytest.raises(TypeError):
        triton.set_allocator(3)
    assert triton.must_use_result(scale) is scale
    assert triton.must_use_result("use it")(scale) is scale


def test_numbers_of_four_bits_are_those_of_the_standard(rng: np.random.Generator) -> None:
    from tilewright.triton.tools.mxfp import MXFP4Tensor, MXScaleTensor, fp8e8m0_to_float32

    magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    codes = MXFP4Tensor(size=(500,)).random()
    assert set(codes.data.tolist()) == set(range(16))
    values = codes.to(torch.float32)
    again = MXFP4Tensor(data=values)
    assert torch.equal(again.to(torch.float32), values) and again.data.max() < 16
    drawn = torch.from_numpy(rng.normal(0, 3, (40, 51)).astype(np.float32))
    nearest = MXFP4Tensor(data=drawn).to(torch.float64).numpy()
    table = np.array([*magnitudes, *(-m for m in magnitudes)])
    best = np.abs(drawn.numpy().astype(np.float64)[..., None] - table).min(-1)
    np.testing.assert_array_equal(np.abs(nearest - drawn.numpy()), best)
    ties = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, -0.25, -5.0, 1e9, float("nan")])
    wanted = [0, 1, 1, 2, 2, 4, 4, 0, -4, 6, 6]
    assert MXFP4Tensor(data=ties).to(torch.float32).tolist() == wanted
    for dim in (0, 1):
        packed = MXFP4Tensor(data=drawn)
        bytes = packed.to_packed_tensor(dim)
        assert bytes.shape[dim] == (drawn.shape[dim] + 1) // 2 and bytes.dtype == torch.uint8
        assert torch.equal(packed.unpack_packed_tensor(bytes, dim, drawn.shape), packed.data)
    low = torch.tensor([[1.0, 6.0]])
    assert MXFP4Tensor(data=low).to_packed_tensor(1).tolist() == [[2 | 7 << 4]]

    every = torch.arange(256, dtype=torch.uint8)
    scales = fp8e8m0_to_float32(every)
    assert scales[:255].double().tolist() == [2.0 ** (k - 127) for k in range(255)]
    assert scales[255].isnan() and torch.equal(MXScaleTensor(data=scales).data, every)
    odd = torch.tensor([3.9, 4.0, 0.0, -1.0, float("inf")])
    assert MXScaleTensor(data=odd).data.tolist() == [128, 129, 255, 255, 255]
    limited = MXScaleTensor(size=(300,)).random(low=0.5, high=4.0).to(torch.float32)
    assert sorted({*limited.tolist()}) == [0.5, 1.0, 2.0, 4.0]


def test_files_are_kept_by_their_key() -> None:
    from tilewright.triton.runtime.cache import get_cache_manager, triton_key

    assert triton_key() == triton_key() and triton_key()
    cache = get_cache_manager("00ff")
    assert cache.get_file("a") is None and cache.get_group("g") is None
    path = cache.put(b"\x00\x01", "a")
    assert open(path, "rb").read() == b"\x00\x01"
    cache.put("text", "a")
    assert open(get_cache_manager("00ff").get_file("a")).read() == "text"
    assert get_cache_manager("00fe").get_file("a") is None
    cache.put_group("g", {"a": path})
    assert cache.get_group("g") == {"a": path}
    cache.put_group("g", {"a": path, "b": path + "b"})
    assert cache.get_group("g") is None


def _fails(number: int) -> None:
    import os
    import sys

    print("written", os.environ["SURFACE_TEST"], file=sys.stderr)
    raise ValueError(number)


def test_functions_run_in_processes_of_their_own() -> None:
    from tilewright.triton._internal_testing import run_in_process

    result = run_in_process(_fails, (7,), env={"SURFACE_TEST": "seen"})
    assert isinstance(result.exc, ValueError) and result.exc.args == (7,)
    assert "written seen" in result.driver_stderr_output
    assert run_in_process(len, ((),)).exc is None


def test_random_arrays_of_every_dtype_reach_kernels() -> None:
    from tilewright.triton import _internal_testing as internal

    @triton.jit
    def copy(x, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i))

    for name in internal.dtypes_with_bfloat16:
        drawn = internal.numpy_random((64,), name)
        x = internal.to_triton(drawn, device="cpu", dst_type=name)
        out = internal.to_triton(np.zeros_like(drawn), device="cpu", dst_type=name)
        copy[(1,)](x, out, BLOCK=64)
        np.testing.assert_array_equal(internal.to_numpy(out), drawn)
        assert internal.str_to_triton_dtype(name).name == name
        assert internal.torch_dtype_name(internal.unwrap_tensor(x).dtype).removeprefix("u") in (
            name.removeprefix("u"))
    assert internal.is_cpu() and not (internal.is_cuda() or internal.is_hip() or internal.is_xpu())
    with tw.device("reference"):
        assert internal.is_interpreter() and not internal.is_cpu()


def test_the_environments_debug_counts_more_than_a_launchs(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright import knobs as own

    monkeypatch.setenv("TILEWRIGHT_DEBUG", "1")
    own.reset()
    assert kernel.warmup(torch.float32, 64, BLOCK=64, debug=False).metadata.debug
    monkeypatch.delenv("TILEWRIGHT_DEBUG")
    own.reset()
    plain = triton.jit(scale)
    assert not plain.warmup(torch.float32, 64, BLOCK=64, num_warps=2).metadata.debug
    monkeypatch.setenv("TRITON_DEBUG", "1")
    own.reset()
    assert triton.jit(scale).warmup(torch.float32, 64, BLOCK=64).metadata.debug
