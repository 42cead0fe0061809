"""Options of the simulator: when asynchronous copies arrive, and how matrix products round."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tilewright as tw

SIM = "sim:sm_80"


@tw.jit
def double(out, x, BLOCK: tw.constexpr):
    index = tw.arange(0, BLOCK)
    tw.store(out + index, tw.load(x + index) * 2)


@pytest.mark.parametrize("completion", tw.simulation.COMPLETIONS)
@pytest.mark.parametrize("arithmetic", tw.simulation.ARITHMETICS)
def test_kernels_run_with_every_option(completion: str, arithmetic: str) -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.full_like(x, np.nan)
    with (
        tw.device(SIM),
        tw.simulation.simulate(SIM, completion=completion, arithmetic=arithmetic, seed=3),
    ):
        double[(1,)](out, x, BLOCK=64)
    np.testing.assert_array_equal(out, 2 * x)
    assert tw.simulation.last_report(SIM).statistics["async_copies"] == 0


@pytest.mark.parametrize("option", ["schedule", "completion", "arithmetic"])
def test_an_unknown_word_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"no {option} 'quick'"):
        with tw.simulation.simulate(SIM, **{option: "quick"}):
            pass


def test_a_block_of_options_chooses_the_device() -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with tw.device("sim:gfx942"):
        double[(1,)](out, x, BLOCK=64)
    with tw.simulation.simulate(SIM, schedule="reverse"):
        assert double[(1,)](out, x, BLOCK=64).request.device == SIM
        with tw.device("cpu"):
            assert double[(1,)](out, x, BLOCK=64).request.device == "cpu"
        with tw.simulation.simulate("sim:gfx942"):
            assert double[(1,)](out, x, BLOCK=64).request.device == "sim:gfx942"
        assert double[(1,)](out, x, BLOCK=64).request.device == SIM
    assert double[(1,)](out, x, BLOCK=64).request.device == "cpu"
    report = tw.simulation.last_report()  # outside of every block: that of the last simulated launch
    assert report == tw.simulation.last_report(SIM)
    assert report.statistics != tw.simulation.last_report("sim:gfx942").statistics


def test_the_options_of_a_block_come_back_behind_one_within_it() -> None:
    out = np.full(4, -1, np.int32)
    with tw.simulation.simulate(SIM, programs=[1]):
        with pytest.raises(KeyError), tw.simulation.simulate(SIM, programs=[2]):
            number[(4,)](out)
            raise KeyError
        np.testing.assert_array_equal(out, [-1, -1, 2, -1])
        number[(4,)](out)
    np.testing.assert_array_equal(out, [-1, 1, 2, -1])


def test_options_are_those_of_a_task_or_thread() -> None:
    def launch(program: int | None) -> list[int]:
        out = np.full(4, -1, np.int32)
        if program is None:
            with tw.device(SIM):
                number[(4,)](out)
        else:
            number[(4,)](out)
        return out.tolist()

    async def simulate(program: int) -> list[int]:
        with tw.simulation.simulate(SIM, programs=[program]):
            await asyncio.sleep(0)  # the others enter their blocks
            return launch(program)

    async def simulate_all() -> list[list[int]]:
        return await asyncio.gather(*map(simulate, range(4)))

    for program, out in enumerate(asyncio.run(simulate_all())):
        assert out == [program if i == program else -1 for i in range(4)]
    with tw.simulation.simulate(SIM, programs=[3]), ThreadPoolExecutor(1) as threads:
        assert threads.submit(launch, None).result() == [0, 1, 2, 3]


@pytest.mark.parametrize("device", ["cpu", "nvidia:sm_80"])
def test_what_is_not_simulated_is_refused(device: str) -> None:
    with pytest.raises(ValueError, match=f"'{device}' is not a simulated device"):
        with tw.simulation.simulate(device):
            pass


@tw.jit
def number(out):
    tw.store(out + tw.program_id(0), tw.program_id(0))


def test_a_chosen_program_outside_of_the_grid_is_refused() -> None:
    out = np.zeros(4, np.int32)
    with tw.device(SIM), tw.simulation.simulate(SIM, programs=[1, 99]):
        with pytest.raises(tw.LaunchError, match="program 99 .* has 4") as caught:
            number[(4,)](out)
    assert caught.value.code == "TW0402"
    np.testing.assert_array_equal(out, 0)


@tw.jit
def await_flag(flag, out):
    count = 0
    while tw.atomic_add(flag, 0) == 0:  # by one warp; the others wait for its word
        count += 1
    tw.store(out, count)


@pytest.mark.parametrize("grid", [1, 20])
def test_an_endless_loop_ends_at_the_limit(grid: int) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    with tw.device(SIM), tw.simulation.simulate(SIM, max_steps=20_000):
        with pytest.raises(tw.DeviceError, match="the warp has run 20000 instructions"):
            await_flag[(grid,)](flag, out)
    findings = tw.simulation.last_report(SIM).findings
    assert {finding["kind"] for finding in findings} == {"step-limit"}
    with tw.device(SIM):
        await_flag[(grid,)](np.ones(1, np.int32), out)


@pytest.mark.parametrize(
    ("option", "who"), [("max_steps_per_program", "CTA"), ("max_steps_per_launch", "launch")]
)
def test_programs_and_launches_have_limits_of_their_own(option: str, who: str) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    with tw.device(SIM), tw.simulation.simulate(SIM, **{option: 5_000}):
        with pytest.raises(tw.DeviceError, match=f"the {who} has run 5000 instructions"):
            await_flag[(3,)](flag, out)
    with tw.device(SIM):
        await_flag[(3,)](np.ones(1, np.int32), out)


LIMITS = ["max_steps", "max_steps_per_program", "max_steps_per_launch"]


@pytest.mark.parametrize("option", LIMITS)
@pytest.mark.parametrize("steps", [0, -1, 1 << 63])
def test_a_limit_out_of_range_is_refused(option: str, steps: int) -> None:
    with pytest.raises(ValueError, match=f"^{option} .* {steps}"):
        with tw.simulation.simulate(SIM, **{option: steps}):
            pass


@tw.jit
def add_by_address(table, sizes, out, BLOCK: tw.constexpr):
    """Adds the array that each address of a table leads to, and writes 1 behind what it read."""
    group = tw.program_id(0)
    at = tw.arange(0, BLOCK)
    part = tw.load(table + group).to(tw.pointer_type(tw.float32))
    size = tw.load(sizes + group)
    tw.store(out + group, tw.sum(tw.load(part + at, mask=at < size, other=0.0)))
    tw.store(part + size, 1.0)


@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx942", "sim:gfx1100"])
def test_arrays_that_loaded_addresses_lead_to(device: str, rng: np.random.Generator) -> None:
    parts = [rng.standard_normal(n).astype(np.float32) for n in (4, 31, 1)]
    sums = [part[:-1].sum(dtype=np.float64) for part in parts]
    table = np.array([part.ctypes.data for part in parts])
    sizes, out = np.array([3, 30, 0], np.int32), np.full(3, np.nan, np.float32)
    with tw.device(device):
        with tw.simulation.simulate(device, arrays=parts):
            add_by_address[(3,)](table, sizes, out, BLOCK=32)
            np.testing.assert_allclose(out, sums, rtol=1e-5, atol=1e-6)
            assert [part[-1] for part in parts] == [1, 1, 1]
            sizes += 1  # the store is outside
            with pytest.raises(tw.DeviceError, match=r"write of 4 bytes at offset .* of `arrays\[\d\]`"):
                add_by_address[(3,)](table, sizes, out, BLOCK=32)
        with pytest.raises(tw.DeviceError, match=r"simulate\(device, arrays=\[\.\.\.\]\)"):
            add_by_address[(3,)](table, sizes, out, BLOCK=32)


def test_an_array_that_is_read_only_is_not_written() -> None:
    part = np.zeros(4, np.float32)
    part.flags.writeable = False
    table, size, out = np.array([part.ctypes.data]), np.array([3], np.int32), np.zeros(1, np.float32)
    with tw.device(SIM), tw.simulation.simulate(SIM, arrays=[part]):
        with pytest.raises(tw.DeviceError, match="read-only"):
            add_by_address[(1,)](table, size, out, BLOCK=4)
    assert part[3] == 0


@pytest.mark.parametrize("wrong", [3, [1, 2], "x", None])
def test_only_arrays_are_reached(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"arrays\[1\]"):
        with tw.simulation.simulate(SIM, arrays=[np.zeros(1), wrong]):
            pass
