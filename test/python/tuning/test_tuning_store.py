"""What autotuning keeps on disk: records, files of them, and which of them launches use."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.native.errors import TilewrightWarning
from tilewright.tools import cli
from tilewright.tuning.kept import recall, store
from tilewright.tuning.kept.records import Record, Trial, Unreadable, fastest, record_of

TRIALS = [Trial({"BLOCK": 32}, 2.0), Trial({"BLOCK": 64}, 1.0, spread=0.02)]


def record(**fields: Any) -> Record:
    known: dict[str, Any] = {
        "kernel": "add", "meaning": "aa", "candidates": "bb", "key": {"n": 512}, "types": ["float32"],
        "device": "a processor", "target": "cpu", "build": "cc", "best": {"BLOCK": 64}, "trials": TRIALS,
    }  # fmt: skip
    return Record(**{**known, **fields})


def add(out, x, n, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + at, tw.load(x + at, mask=at < n) + 1, mask=at < n)


def blocks(*sizes: int) -> list[tw.Config]:
    return [tw.Config({"BLOCK": size}) for size in sizes]


class Clock:
    """Measures by a list of times instead of by a clock."""

    def __init__(self, *times: float) -> None:
        self.times: Iterator[float] = itertools.cycle(times)
        self.calls = 0

    def __call__(self, launch: Any, quantiles: Any) -> float:
        self.calls += 1
        launch()
        return next(self.times)


def launch(clock: Clock, configs: list[tw.Config], n: int = 100, **options: Any) -> Any:
    """Launches `add` under an autotuner of its own, as a second process would."""
    kernel = tw.autotune(configs, key=["n"], do_bench=clock, cache_results=True, **options)(tw.jit(add))
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    kernel[lambda a: (tw.cdiv(n, a["BLOCK"]),)](out, x, n)
    assert (out == x + 1).all()
    return kernel


def test_a_record_is_a_line_that_is_read_back() -> None:
    assert record_of(record().line()) == record()
    fields = json.loads(record().line())
    assert fields["kernel"] == "add" and fields["key"] == {"n": 512} and fields["best"] == {"BLOCK": 64}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line.replace('"BLOCK":64', '"BLOCK":32'), "does not have the digest"),
        (lambda line: line[:-20], "not JSON"),
        (lambda line: line.replace('"format":1', '"format":2'), "format is 2 and this Tilewright reads 1"),
        (lambda line: "[1, 2]", "not a record"),
        (lambda line: record(best=["BLOCK"]).line(), "does not have the fields"),
        (lambda line: record(trials=[Trial({}, float("nan"))]).line(), "does not have the fields"),
    ],
)
def test_a_line_that_was_changed_is_refused(change: Callable[[str], str], words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        record_of(change(record().line()))


def test_equally_fast_configurations_are_chosen_by_what_they_are() -> None:
    for configs in itertools.permutations(blocks(128, 64, 256)):
        assert fastest(configs, dict.fromkeys(configs, 1.0)).kwargs == {"BLOCK": 64}
        assert fastest(configs, {c: float(c.kwargs["BLOCK"] == 64) for c in configs}).kwargs == {"BLOCK": 128}


def test_equal_measurements_make_equal_files_in_any_order(tmp_path: Path) -> None:
    slow = record(best={"BLOCK": 32}, trials=[Trial({"BLOCK": 32}, 4.0)])
    every = [record(), slow, record(key={"n": 7}), record(kernel="another")]
    files = [tmp_path / str(number) for number in range(24)]
    for file, order in zip(files, itertools.permutations(every)):
        assert store.write(file, order) == 3, "of two measurements of one thing the faster"
    assert len({file.read_bytes() for file in files}) == 1
    assert all(r.best_ms == 1.0 for r in store.read_records(files[0]))


def test_a_second_process_measures_nothing(compiler: None) -> None:
    first, second = Clock(2.0, 1.0, 3.0), Clock(1.0)
    chosen = launch(first, blocks(32, 64, 128)).best_config
    again = launch(second, blocks(128, 32, 64))
    assert (first.calls, second.calls) == (3, 0) and again.best_config == chosen
    assert sorted(again.configs_timings.values()) == [1.0, 2.0, 3.0]
    for clock, configs, n in ((Clock(1.0), blocks(32, 64), 100), (Clock(1.0), blocks(32, 64, 128), 101)):
        launch(clock, configs, n)
        assert clock.calls == len(configs), "other candidates and another key are measured"


PROCESS = """
from test_tuning_store import Clock, blocks, launch

clock = Clock(2.0, 1.0, 3.0)
print(clock.calls, launch(clock, blocks(32, 64, 128)).best_config.kwargs, clock.calls)
"""


def test_what_one_process_measured_another_takes(compiler: None, tmp_path: Path) -> None:
    paths = [str(Path(__file__).parent), *sys.path]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{PROCESS}"]
    told = [
        subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert told == ["0 {'BLOCK': 64} 3", "0 {'BLOCK': 64} 0"]


def test_sizes_of_a_bucket_share_a_choice(compiler: None) -> None:
    clock = Clock(1.0, 2.0)
    launch(clock, blocks(32, 64), 600, bucket=tw.next_power_of_2)
    launch(clock, blocks(32, 64), 1000, bucket=tw.next_power_of_2)
    assert clock.calls == 2
    with pytest.raises(tw.LaunchError, match="not a function") as error:
        launch(clock, blocks(32, 64), bucket=64)
    assert error.value.code == "TW0418"
    with pytest.raises(tw.LaunchError, match="has none for n=100: ZeroDivisionError"):
        launch(clock, blocks(32, 64), bucket=lambda n: n // 0)


def test_a_changed_line_is_named_and_measured_again(compiler: None) -> None:
    launch(Clock(2.0, 1.0), blocks(32, 64))
    file = store.default_store()
    assert file is not None
    file.write_text(file.read_text().replace('"BLOCK":64', '"BLOCK":32'))
    clock = Clock(1.0, 2.0)
    with pytest.warns(TilewrightWarning, match="line 1 of .*tuned.jsonl is not used: it does not have"):
        assert launch(clock, blocks(32, 64)).best_config.kwargs == {"BLOCK": 32}
    assert clock.calls == 2


def test_choices_of_another_device_or_build_are_not_used(
    compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("describe_device", lambda device: "another processor"), ("native", None)):
        with monkeypatch.context() as patch:
            if name == "native":
                ours = recall.native()

                class Another:
                    build_id = staticmethod(lambda: "another build")
                    num_threads = staticmethod(ours.num_threads)

                value = Another
            patch.setattr(recall, name, value)
            launch(Clock(2.0, 1.0), blocks(32, 64))
    clock = Clock(1.0, 2.0)
    assert launch(clock, blocks(32, 64)).best_config.kwargs == {"BLOCK": 32} and clock.calls == 2


def test_a_store_of_a_package_is_used_and_need_not_be_writable(compiler: None, tmp_path: Path) -> None:
    shipped = tmp_path / "package" / "tuned.jsonl"
    launch(Clock(2.0, 1.0), blocks(32, 64), store=shipped)
    clock = Clock(1.0)
    kernel = launch(clock, blocks(32, 64), store=shipped)
    assert clock.calls == 0 and kernel.best_config.kwargs == {"BLOCK": 64}
    shipped.unlink()
    shipped.mkdir()  # as a file that nobody may write, also by root
    for clock, calls in ((Clock(2.0, 1.0), 2), (Clock(1.0), 0)):
        with pytest.warns(TilewrightWarning, match="cannot be read") if calls else nullcontext():
            launch(clock, blocks(32, 64), store=shipped)
        assert clock.calls == calls, "kept beside the kernel cache"


WRITER = """
import sys
from test_tuning_store import record
from tilewright.tuning.kept import store
from pathlib import Path

for number in range(60):
    store.append(Path(sys.argv[1]), record(key={"n": number, "writer": sys.argv[2]}))
"""


def test_processes_write_whole_lines_beside_each_other(tmp_path: Path) -> None:
    file = tmp_path / "tuned.jsonl"
    file.write_text(record().line()[:50])  # of a writer that was ended
    paths = [str(Path(__file__).parent), *sys.path]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{WRITER}", str(file), str(name)]
        )
        for name in range(3)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    content = store.read_content(file)
    assert len(content.records) == 180 and [bad.number for bad in content.bad] == [1]
    with pytest.raises(tw.LaunchError, match="line 1: it is not JSON") as error:
        store.read_records(file)
    assert error.value.code == "TW0425"


@pytest.fixture
def tune(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run(*words: object) -> tuple[int, str]:
        status = cli.main(["tune", *map(str, words)])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return run


Tune = Callable[..., tuple[int, str]]


def test_the_command_shows_choices_and_says_why(compiler: None, tune: Tune) -> None:
    assert tune("show") == (0, "")
    launch(Clock(2.0, 1.0, 1.5), blocks(32, 64, 128))
    status, text = tune("show")
    assert status == 0 and text.startswith("add(n=100, float32, float32) on ") and "BLOCK=64" in text
    assert tune("show", "--kernel", "other") == (0, "")
    status, text = tune("why", "add", "--key", "n=100")
    assert "the fastest of 3 measured, of 3 in all; the next takes 50.0 % longer" in text
    assert [line.split()[0] for line in text.splitlines()[-3:]] == ["1", "1.5", "2"]
    status, text = tune("why", "ad")
    assert status == 1 and "no choice for ad; kernels: add" in text


def test_why_tells_what_the_model_left_out(compiler: None, tune: Tune) -> None:
    n = 1 << 16
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    space = {"BLOCK": tw.choice(16, 1024, 2048)}
    kernel = tw.autotune(
        space=space, key=["n"], do_bench=Clock(1.0, 2.0), cache_results=True, measure_at_most=2
    )(tw.jit(add))
    kernel[lambda a: (tw.cdiv(n, a["BLOCK"]),)](out, x, n)
    lines = tune("why", "add")[1].splitlines()
    assert "of 2 measured, of 3 in all" in lines[2] and all("predicted" in line for line in lines[3:])
    assert "not measured: " in lines[-1] and "times the best by the model: BLOCK=16," in lines[-1]


def test_choices_are_exported_merged_and_imported(
    compiler: None, tune: Tune, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch(Clock(2.0, 1.0), blocks(32, 64))
    ours, theirs, both = (tmp_path / name for name in ("ours", "theirs", "both"))
    assert tune("export", ours) == (0, f"wrote 1 choices to {ours}\n")
    foreign = replace(store.read_records(ours)[0], device="another processor")
    store.write(theirs, [foreign])
    assert tune("merge", ours, theirs, ours, "-o", both)[1] == f"wrote 2 choices to {both}\n"
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "server"))
    tw.knobs.reset()
    status, text = tune("import", both)
    assert status == 1 and "TW0426" in text and "1 of 2 choices" in text and tune("show") == (0, "")
    assert tune("import", theirs, "--foreign")[0] == 0
    clock = Clock(1.0)
    assert launch(clock, blocks(32, 64)).best_config.kwargs == {"BLOCK": 64} and clock.calls == 0
    assert "used where nothing was measured here" in tune("why", "add")[1]
    tune("export", ours)
    assert not store.read_records(ours)[0].is_adopted, "another machine decides for itself"
    both.write_text(both.read_text().replace("another", "any"))
    assert "TW0425" in tune("import", both)[1] and "TW0425" in tune("merge", both, "-o", ours)[1]
