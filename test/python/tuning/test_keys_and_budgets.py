"""Which launches share a choice of autotune, and how candidates share its seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def waits(x, out, n, F: tw.constexpr):
    """Copies x, by F detours, and for ever where F is negative."""
    i = tw.arange(0, 64)
    while F < 0 and tw.load(x, volatile=True) < 2:
        pass
    v = tw.load(x + i, mask=i < n)
    for _ in range(F):
        v += tw.load(x + i, mask=i < n) * 0
    tw.store(out + i, v, mask=i < n)


def test_candidates_that_hang_leave_time_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker runs them first; each has its part of the budget."""
    monkeypatch.setenv("TILEWRIGHT_TUNE_WORKERS", "1")
    tuned = tw.autotune([tw.Config({"F": f}) for f in (-1, -2, 1, 2)], ["n"], budget=8)(waits)
    x, out = np.random.default_rng(3).random(64, np.float32), np.zeros(64, np.float32)
    tuned[(1,)](x, out, 64)
    assert tuned.best_config.kwargs["F"] > 0 and (out == x).all()
    assert [row.state for row in tuned.report.rows][:2] == ["late", "late"]
    assert {row.code for row in tuned.report.rows[:2]} == {"TW0447"}


@pytest.mark.parametrize("budget", [1e-6, 0.02, 0.2])
@pytest.mark.parametrize("do_bench", [False, True])
def test_a_budget_that_is_too_small_for_one_candidate_still_launches(budget: float, do_bench: bool) -> None:
    def bench(call: Any, quantiles: Any = None) -> list[float]:
        call()
        return [1.0, 1.0, 1.0]

    for _ in range(2):  # the second time binaries are in the cache
        tuned = tw.autotune(
            [tw.Config({"F": f}) for f in (1, 2, 3)], ["n"], budget=budget, do_bench=bench if do_bench else None
        )(waits)
        x, out = np.random.default_rng(4).random(64, np.float32), np.zeros(64, np.float32)
        tuned[(1,)](x, out, 64)
        assert (out == x).all()


@pytest.mark.parametrize("bucket", [None, lambda n: n // 100])
def test_integers_of_numpy_count_as_those_of_python(bucket: Any) -> None:
    tuned = tw.autotune([tw.Config({"F": f}) for f in (1, 2)], ["n"], bucket=bucket)(waits)
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    for n in (60, np.int64(60), np.int32(60)):
        tuned[(1,)](x, out, n)
    assert len(tuned.cache) == 1


def test_hooks_that_give_each_configuration_other_arrays() -> None:
    """No configuration runs in a worker on what the hook of another one has left."""

    def bounds(arguments: dict[str, Any], **_: Any) -> None:
        arguments["ends"][:] = 64 if arguments["F"] == 1 else 1 << 40

    @tw.jit
    def limited(ends, x, out, F: tw.constexpr):
        i = tw.arange(0, 64)
        at = i + (0 if F == 2 else tw.load(ends) - 64)
        tw.store(out + i, tw.load(x + at))

    tuned = tw.autotune([tw.Config({"F": f}, pre_hook=bounds) for f in (1, 2)], [])(limited)
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    tuned[(1,)](np.array([64]), x, out)
    assert (out == x).all() and not tuned.report.left_out


@pytest.mark.parametrize("place", ["tuner", "configuration"])
def test_what_crashes_on_what_its_hook_has_left_is_left_out(place: str) -> None:
    """The first run is in a worker with hooks, too, after the hook and on its arrays."""
    events: list[tuple[str, int]] = []

    def bounds(arguments: dict[str, Any], **_: Any) -> None:
        events.append(("before", arguments["F"]))
        arguments["ends"][:] = 1 << 40 if arguments["F"] == 2 else 64

    def after(arguments: dict[str, Any], exception: Exception | None) -> None:
        events.append(("failed" if exception else "after", arguments["F"]))

    @tw.jit
    def shifted(ends, x, out, F: tw.constexpr):
        i = tw.arange(0, 64)
        tw.store(out + i, tw.load(x + i + tw.load(ends) - 64) + 0 * F)

    hook = {"pre_hook": bounds}
    configs = [tw.Config({"F": f}, **(hook if place == "configuration" else {})) for f in (1, 2, 3)]
    given = hook if place == "tuner" else {}
    tuned = tw.autotune(configs, [], post_hook=after, **given)(shifted)
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    tuned[(1,)](np.array([64]), x, out)
    assert (out == x).all() and tuned.best_config.kwargs["F"] != 2
    assert [(row.config.kwargs["F"], row.code) for row in tuned.report.left_out] == [(2, "TW0446")]
    assert events[:6] == [
        (what, f) for f in (1, 2, 3) for what in ("before", "after") if (what, f) != ("after", 2)
    ] + [("failed", 2)]
