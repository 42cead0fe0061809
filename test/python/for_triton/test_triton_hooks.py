"""The names of Triton's host side: hooks around launches, compilations and loading."""

from __future__ import annotations

from typing import Any

import pytest
import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl
from test_triton_host import _no_hooks, kernel, scale  # noqa: F401

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("compiler")


def test_launch_hooks_see_each_launch(kernel: Any) -> None:
    facts = triton.jit(
        scale, launch_metadata=lambda grid, metadata, args: {"bytes": 4 * args["n"], "grid": grid}
    )
    seen: list[Any] = []
    triton.knobs.runtime.launch_enter_hook.add(lambda data: seen.append(("enter", data.get())))
    triton.knobs.runtime.launch_exit_hook = lambda data: seen.append(("exit", data.get()))
    x = torch.ones(64)
    facts[(1,)](x, 64, BLOCK=64)
    assert [when for when, _ in seen] == ["enter", "exit"]
    assert seen[0][1]["name"] == "scale" and seen[0][1]["bytes"] == 256
    assert seen[0][1]["grid"] == (1, 1, 1)
    kernel.warmup(x, 64, BLOCK=64, grid=(1,))
    kernel[(0,)](x, 64, BLOCK=64)
    assert len(seen) == 2
    kernel.warmup(x, 64, BLOCK=64, grid=(1,))[(1,)](x, 64)
    assert len(seen) == 4 and x.eq(9).all()
    triton.knobs.runtime.launch_exit_hook = None
    triton.knobs.runtime.launch_enter_hook.calls.clear()
    kernel[(1,)](x, 64, BLOCK=64)
    assert len(seen) == 4


def test_chained_hooks_run_in_order_and_back() -> None:
    seen: list[int] = []
    first, second = (lambda: seen.append(1)), (lambda: seen.append(2))
    for chain in (triton.knobs.HookChain(), triton.knobs.HookChain(reversed=True)):
        for hook in (first, second, first):
            chain.add(hook)
        chain()
    assert seen == [1, 2, 2, 1]
    chain.remove(first)
    chain.remove(first)
    chain()
    assert seen[4:] == [2]


def test_pre_run_hooks_get_the_arguments(kernel: Any) -> None:
    seen: list[Any] = []
    kernel.add_pre_run_hook(lambda *args, **kwargs: seen.append((len(args), kwargs)))
    kernel[(1,)](torch.ones(64), 64, BLOCK=64)
    assert seen == [(2, {"BLOCK": 64})]
    with pytest.raises(TypeError, match="a hook is a function"):
        kernel.add_pre_run_hook(3)


def test_compilation_hooks_see_and_forbid_compilations(kernel: Any) -> None:
    seen: list[dict[str, Any]] = []
    triton.knobs.runtime.jit_cache_hook = lambda **facts: bool(seen.append(facts))
    finished: list[dict[str, Any]] = []
    triton.knobs.runtime.jit_post_compile_hook = lambda **facts: finished.append(facts)
    x = torch.ones(64)
    for _ in range(2):
        kernel[(1,)](x, 64, BLOCK=64)
    kernel.warmup(x, 64, BLOCK=128, grid=(1,))
    assert [facts["is_manual_warmup"] for facts in seen] == [False, True] and len(finished) == 2
    assert seen[0]["fn"].jit_function is kernel and seen[0]["fn"].name == "scale"
    assert seen[0]["compile"]["constants"] == {"BLOCK": 64} and "scale(" in seen[0]["repr"]
    assert seen[0]["compile"]["signature"]["x"] == "*fp32:16"

    triton.knobs.runtime.jit_cache_hook = lambda **facts: True
    assert kernel[(1,)](x, 64, BLOCK=256) is None
    assert kernel.warmup(x, 64, BLOCK=256, grid=(1,)) is None and x.eq(9).all()
    kernel[(1,)](x, 64, BLOCK=64)
    assert x.eq(27).all() and len(finished) == 2


def test_hooks_around_loading_get_the_hash_of_the_kernel(kernel: Any) -> None:
    seen: list[tuple[Any, ...]] = []
    triton.knobs.runtime.kernel_load_start_hook = lambda *facts: seen.append(("start", *facts))
    triton.knobs.runtime.kernel_load_end_hook = lambda *facts: seen.append(("end", *facts))
    compiled = kernel[(1,)](torch.ones(64), 64, BLOCK=64)
    assert [(event, hash) for event, *_, hash in seen] == [("start", compiled.hash), ("end", compiled.hash)]
    assert len(compiled.hash) == 64 and seen[0][3] == "scale"


@tw.jit
def multiply_add(out, a, b, c):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.load(a + i) * tl.load(b + i) + tl.load(c + i))


def test_the_default_of_fusion_counts_for_kernels_that_were_launched() -> None:
    arrays = [torch.zeros(32) for _ in range(4)]

    def fuses(**options: Any) -> bool:
        compiled = multiply_add[(1,)](*arrays, **options)
        assert compiled is not None
        return "fma" in compiled.asm["ptx"]

    with tw.device("sim:sm_80"):
        assert fuses() and fuses() and triton.knobs.language.default_fp_fusion is True
        with triton.knobs.language.scope():
            triton.knobs.language.default_fp_fusion = False
            assert not fuses() and not fuses(num_warps=2) and not fuses(enable_fp_fusion=None)
            assert fuses(enable_fp_fusion=True)
        assert fuses() and not fuses(enable_fp_fusion=False)


def test_preload_compiles_what_a_hook_wrote_down(kernel: Any) -> None:
    seen: list[str] = []
    triton.knobs.runtime.jit_cache_hook = lambda **facts: bool(
        seen.append(facts["compile"]["specialization_data"])
    )
    first = kernel[(1,)](torch.ones(64), 64, BLOCK=64, num_warps=8)
    triton.knobs.runtime.jit_cache_hook = None
    again = triton.jit(scale)
    loaded = again.preload(seen[0])
    assert loaded.key == first.key and loaded.metadata.num_warps == 8
    assert again[(1,)](torch.ones(64), 64, BLOCK=64, num_warps=8) is loaded
    other = triton.jit(lambda x: x)
    with pytest.raises(tw.LaunchError, match="not of") as error:
        other.preload(seen[0])
    assert error.value.code == "TW0436"


def test_knobs_do_what_they_say_or_refuse(monkeypatch: pytest.MonkeyPatch, kernel: Any) -> None:
    from tilewright import knobs as own

    monkeypatch.delenv("TILEWRIGHT_DEVICE", raising=False)
    own.reset()
    runtime = triton.knobs.runtime
    with runtime.scope():
        runtime.interpret = True
        assert kernel[(1,)](torch.ones(64), 64, BLOCK=64).request.device == "reference"
    assert not runtime.interpret and tw.current_device() == "cpu"
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.always_compile = True
        assert not own.settings().is_cache_enabled
    assert own.settings().is_cache_enabled
    triton.knobs.nvidia.ptxas_options = None  # the default
    with pytest.raises(tw.UnsupportedError, match="ptxas_options") as error:
        triton.knobs.nvidia.ptxas_options = "-O1"
    assert error.value.code == "TW0433"
    for use in (lambda: runtime.nothing, lambda: setattr(runtime, "nothing", 1)):
        with pytest.raises(AttributeError, match="triton.knobs.runtime has no name 'nothing'"):
            use()
    for group in ("build", "redis", "cache", "compilation", "autotuning", "runtime", "language",
                  "nvidia", "amd", "proton"):  # fmt: skip
        assert getattr(triton.knobs, group).knobs


def test_a_listener_is_told_of_each_compilation() -> None:
    def increased(x, BLOCK: tl.constexpr):  # which no other test has compiled
        i = tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i) + 77)

    told: list[dict[str, Any]] = []
    with triton.knobs.compilation.scope():
        triton.knobs.compilation.listener = lambda **facts: told.append(facts)
        for _ in range(2):
            triton.jit(increased)[(1,)](torch.ones(64), BLOCK=64)
    assert [facts["cache_hit"] for facts in told] == [False, True]
    times = told[0]["times"]
    assert isinstance(times, triton.knobs.CompileTimes)
    assert times.ir_initialization > 0 and times.total_lowering > 0
    assert times.total == times.ir_initialization + sum(time for _, time in times.lowering_stages)
    assert told[0]["metadata"]["name"] == "increased" and told[0]["src"].constants["BLOCK"] == 64
    triton.jit(increased)[(1,)](torch.ones(32), BLOCK=32)
    assert len(told) == 2 and triton.knobs.compilation.listener is None


def test_autotuning_tells_its_choice(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[dict[str, Any]] = []
    triton.knobs.autotuning.listener = lambda **facts: told.append(facts)
    triton.knobs.autotuning.print = True
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    tuned = triton.autotune(configs, key=["n"], do_bench=lambda run, quantiles: run() or 1.0)(
        triton.jit(scale)
    )
    assert isinstance(tuned, triton.KernelInterface) and tuned.base_fn is scale
    tuned[(1,)](torch.ones(64), 64)
    assert told[0]["best_config"] is configs[0] and told[0]["fn"] is tuned
    assert "the best is BLOCK: 64" in capsys.readouterr().out
    tuned[(1,)](torch.ones(64), 64)
    assert len(told) == 1
