"""The benchmark of GPUs: every row's kernels and peers compute what they should, on the simulator
in place of a GPU; what hangs, crashes or is wrong costs its row; the table says what is met."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
BENCHMARK = Path(__file__).resolve().parents[2] / "benchmark"
sys.path.append(str(BENCHMARK))

import gpu_languages  # noqa: E402
import gpu_measure  # noqa: E402
import gpu_profile  # noqa: E402
import gpu_rows  # noqa: E402
import gpu_table  # noqa: E402
import gpu_timing  # noqa: E402

del sys.path[-1]


def command_module() -> Any:
    """gpu.py, whose name is also that of the folder of these tests."""
    spec = importlib.util.spec_from_file_location("gpu_command", BENCHMARK / "gpu.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gpu_command = command_module()
HAS_TRITON = bool(importlib.util.find_spec("triton")) or (gpu_languages.PEERS / "triton").is_dir()
NAMES = [row.name for row in gpu_rows.all_rows("tiny")]


def test_every_row_is_right(compiler: None, tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHMARK / "gpu.py"), "--size", "tiny", "--out", str(tmp_path)]
    options = ["--device", "sim:sm_90a", "--profile-seconds", "0", "--row-seconds", "600"]
    done = subprocess.run(
        [*command, *options, "--seconds", "3000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["name"]: row for row in json.loads((tmp_path / "gpu.json").read_text())["rows"]}
    assert list(rows) == NAMES and len(rows) == 13
    for name, row in rows.items():
        has_products = name.startswith(("matmul", "attention"))
        expected = {"tilewright", *(["torch"] if "copy" not in name else [])}
        expected |= set() if has_products else {"torch copy"}
        if HAS_TRITON and not name.startswith(("matmul bf16", "matmul fp8")):
            expected.add("triton mma.sync" if has_products else "triton")
        assert set(row["participants"]) == expected, row["absent"]
        ours = row["participants"]["tilewright"]
        assert len(ours["milliseconds"]) == gpu_timing.TINY.rounds and not ours["failed"]
        if has_products:
            # Warpgroups take elements of 32 bits along k only.
            group = "mma.sync" if name.split()[1] == "tf32" else "wgmma"
            assert ours["facts"]["products"] == group
    table = (tmp_path / "gpu.md").read_text()
    assert all(f"| {name} |" in table for name in NAMES) and "- torch: " in table


class StandInEvent:
    """An event of a stream whose clock is a counter of what happens in it."""

    def __init__(self, cuda: StandInCuda) -> None:
        self.cuda, self.at = cuda, -1

    def record(self) -> None:
        self.cuda.happened.append("event")
        self.at = len(self.cuda.happened)

    def elapsed_time(self, end: StandInEvent) -> float:
        assert self.cuda.is_synchronized and -1 < self.at < end.at
        return float(end.at - self.at)


class StandInCuda:
    """What the clock asks of torch.cuda."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.is_synchronized = False

    def Event(self, enable_timing: bool) -> StandInEvent:  # noqa: N802
        assert enable_timing
        return StandInEvent(self)

    def _sleep(self, cycles: int) -> None:
        self.happened.append("sleep")

    def synchronize(self) -> None:
        self.is_synchronized = True


class StandInFlush:
    def __init__(self, cuda: StandInCuda) -> None:
        self.cuda = cuda

    def sum(self) -> None:
        self.cuda.happened.append("flush")


def test_events_stand_around_the_call_alone() -> None:
    cuda = StandInCuda()
    clock = gpu_timing.EventClock(cuda, StandInFlush(cuda))  # type: ignore[arg-type]
    times = clock.time_each(lambda: cuda.happened.append("call"), 2)
    assert times == [2.0, 2.0]
    assert cuda.happened == ["sleep", *["flush", "event", "call", "event"] * 2]


class ListedClock:
    """Gives times from a list instead of measuring."""

    def __init__(self, times: list[float]) -> None:
        self.times = times

    def time_each(self, call: Any, count: int) -> list[float]:
        call()
        taken, self.times = self.times[:count], self.times[count:]
        return taken


def test_rounds_alternate_and_outliers_are_counted() -> None:
    order: list[str] = []
    effort = gpu_timing.Effort(rounds=2, calls=3, tuning_calls=1, warm_seconds=0.0)
    clock: Any = ListedClock([1.0, 1.0, 9.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 3.0, 3.0, 3.0])
    calls = {name: (lambda name=name: order.append(name)) for name in ("a", "b")}
    times = gpu_timing.measure(clock, calls, effort)
    assert order == ["a", "b", "b", "a"]
    assert times["a"].milliseconds == [1.0, 3.0] and times["b"].milliseconds == [2.0, 4.0]
    assert (times["a"].outliers, times["b"].outliers) == (1, 0)


def wrong_language(damage: Any) -> Any:
    """A language whose copies are damaged."""

    class Wrong:
        name, is_plain = "tilewright", False

        def launch(self, kernel: str, grid: Any, arguments: Any, *_: Any) -> None:
            x, out, _ = arguments
            out.copy_(x)
            damage(out)

    return Wrong()


def bench(language: Any) -> gpu_measure.Bench:
    clock, effort = gpu_timing.make_clock("cpu"), gpu_timing.TINY
    return gpu_measure.Bench("cpu", clock, effort, language, [], True, 5.0)


DAMAGES = {
    "one element": lambda out: out[7].add_(1.0),
    "not written": lambda out: out[-1:].view(torch.uint8).fill_(0xFF),
    "infinite": lambda out: out[3].fill_(float("inf")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_wrong_result_is_not_timed(damage: str) -> None:
    row = gpu_rows.streaming_row(3000, is_add=False)
    assert gpu_measure.measure_row(row, bench(wrong_language(lambda out: None))).participants
    with pytest.raises(gpu_measure.WrongResult, match="copy, BLOCK 1024, 4 warps.*relative error"):
        gpu_measure.measure_row(row, bench(wrong_language(DAMAGES[damage])))


def test_settings_that_do_not_run_are_told() -> None:
    calls: list[int] = []

    class Picky:
        name, is_plain = "tilewright", False

        def launch(self, kernel: str, grid: Any, arguments: Any, constants: Any, _: Any) -> None:
            calls.append(constants["BLOCK"])
            if constants["BLOCK"] != 4096:
                raise ValueError("too small")
            arguments[1].copy_(arguments[0])

    language: Any = Picky()
    result = gpu_measure.measure_row(gpu_rows.streaming_row(100, False), bench(language))
    ours = result.participants["tilewright"]
    assert ours.setting == "copy, BLOCK 4096, 8 warps, 3 stages" and len(ours.failed) == 3
    assert set(ours.failed.values()) == {"ValueError: too small"}


WORKER = """
import json, sys, time, os
device, size, *names = sys.argv[1:]
def say(**document): print("RESULT " + json.dumps(document), flush=True)
def row(name, failure=""):
    say(name=name, unit="GB/s", work=1.0, goals=[], participants={}, absent={}, failure=failure,
        clocks="", seconds=0.0, profile={})
if names == ["--list"]:
    print("good\\nhangs\\ncrashes\\nlost\\nlast")
    sys.exit()
say(machine={"device": "none"})
for name in names:
    if name == "hangs": time.sleep(1000)
    if name == "crashes": os.abort()
    row(name, "the context is lost" if name == "lost" else "")
    if name == "lost": sys.exit(0)
"""


@pytest.fixture
def stand_in_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    monkeypatch.setattr(gpu_command, "WORKER", worker)
    return tmp_path / "out"


def run_command(monkeypatch: pytest.MonkeyPatch, out: Path, *more: str) -> int:
    options = ["--out", str(out), "--row-seconds", "6", "--profile-seconds", "0"]
    monkeypatch.setattr(sys, "argv", ["gpu.py", *options, *more])
    return gpu_command.main()


def test_a_lost_process_costs_its_row(
    stand_in_worker: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    start = time.monotonic()
    assert run_command(monkeypatch, stand_in_worker) == 1
    assert time.monotonic() - start < 60
    document = json.loads((stand_in_worker / "gpu.json").read_text())
    failures = {row["name"]: row["failure"] for row in document["rows"]}
    assert failures["good"] == failures["last"] == "" and "hangs" in failures["hangs"]
    assert failures["crashes"] == "its process ended with status -6"
    assert failures["lost"] == "the context is lost"
    assert "failed: hangs, crashes, lost; not measured: none" in capfd.readouterr().out


def test_resuming_keeps_what_is_right(
    stand_in_worker: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command(monkeypatch, stand_in_worker, "--only", "good") == 0
    document = json.loads((stand_in_worker / "gpu.json").read_text())
    document["rows"][0]["clocks"] = "as it was"
    (stand_in_worker / "gpu.json").write_text(json.dumps(document))
    assert run_command(monkeypatch, stand_in_worker, "--resume", "--only", "o") == 1
    rows = json.loads((stand_in_worker / "gpu.json").read_text())["rows"]
    assert [(row["name"], row["clocks"]) for row in rows] == [("good", "as it was"), ("lost", "")]


def test_a_time_limit_leaves_rows_out(
    stand_in_worker: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_command(monkeypatch, stand_in_worker, "--seconds", "0") == 1
    assert "not measured: good, hangs, crashes, lost, last" in capfd.readouterr().out


def timed(**milliseconds: float) -> dict[str, Any]:
    empty = {"outliers": 0, "error": 0.0, "setting": "k, 4 warps", "tried": 1, "failed": {}}
    return {
        name.replace("_", " "): {**empty, "milliseconds": [value] * 3, "facts": {}}
        for name, value in milliseconds.items()
    }


def row_of(name: str, goals: Any, participants: Any, **more: Any) -> dict[str, Any]:
    row = {"name": name, "unit": "GB/s", "work": 1.0, "goals": goals, "participants": participants}
    rest = {"absent": {}, "failure": "", "clocks": "", "seconds": 1.0, "profile": {}}
    return row | rest | more


def test_the_table_tells_what_is_met() -> None:
    goal = [("torch", 0.5)]
    rows = [
        row_of("fast", goal, timed(tilewright=2.0, torch=1.2)),
        row_of("slow", goal, timed(tilewright=2.0, torch=0.8), profile={"x": "DRAM 3%"}),
        row_of("odd", goal, timed(tilewright=2.0), absent={"torch": "no such type"}),
        row_of("broken", goal, {}, failure="wrong"),
    ]
    text = gpu_table.markdown({"gpu": "H"}, rows)
    assert "| fast | 2.0000 | 500.0 GB/s | 0.60 (0.60-0.60), goal 0.50 met |" in text
    assert "| slow | 2.0000 | 500.0 GB/s | 0.40 (0.40-0.40), goal 0.50 **NOT MET** |" in text
    assert "| odd | 2.0000 | 500.0 GB/s | absent, goal not judged |" in text
    assert "Goals that could not be judged:\n- odd: 0.50 of torch\n- broken: 0.50 of torch" in text
    assert "No measured" not in text
    assert "| broken | **FAILED** |" in text
    assert "Below their goals:\n- slow: 0.40 of torch, goal 0.50\n" in text
    assert "profile of x: DRAM 3%" in text and "torch is absent: no such type" in text


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine knows them")
def test_an_unknown_fact_stops_nothing() -> None:
    script = f"""
import sys
sys.path.insert(0, {str(BENCHMARK)!r})
import gpu_worker, gpu_languages
gpu_languages.import_triton = lambda: 1 / 0
languages, told = gpu_worker.triton_side(False)
assert languages == [] and told == "of no use here: ZeroDivisionError: division by zero", told
found = gpu_worker.about("cuda:0", told)
assert found["gpu"].startswith("unknown (") and found["driver's CUDA"], found
assert found["assembler"].startswith("unknown (")
assert gpu_worker.assembler_for("cpu") == "none"
assert gpu_worker.assembler_for("nvidia:sm_90a").startswith(("ptxas 1", "nvJitLink 1"))
print(found["triton"])
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "of no use here" in done.stdout, done.stderr


NCU = """#!{python}
import sys
if "{mode}" == "denied":
    print("==ERROR== ERR_NVGPUCTRPERM: no permission")
    sys.exit(1)
if "{mode}" == "picky" and "sm__pipe_tensor_cycles_active" in " ".join(sys.argv):
    print("==ERROR== Failed to find metric")
    sys.exit(1)
assert "--clock-control none" in " ".join(sys.argv)
print('text of the program')
print('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"')
print('"0","matmul","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","61.50"')
print('"0","matmul","gpu__time_duration.sum","ns","1,234"')
for name, value in (("barrier", "0.25"), ("long_scoreboard", "3.5"), ("wait", "n/a")):
    metric = "smsp__average_warps_issue_stalled_" + name + "_per_issue_active.ratio"
    print('"0","matmul","' + metric + '","inst","' + value + '"')
"""
@pytest.mark.parametrize("who", ["tilewright", *(["triton mma.sync"] if HAS_TRITON else [])])
def test_a_setting_is_launched_for_the_profiler(compiler: None, who: str) -> None:
    setting = "copy, BLOCK 2048, 8 warps, 3 stages"
    command = [sys.executable, str(BENCHMARK / "gpu_worker.py"), "sim:sm_90a", "tiny", "--replay"]
    done = subprocess.run(
        [*command, who, "copy f32 3000", setting], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_rows_below_their_goal_are_profiled(
    stand_in_worker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ncu = tmp_path / "ncu"
    ncu.write_text(NCU.replace("{python}", sys.executable).replace("{mode}", "works"))
    ncu.chmod(0o755)
    monkeypatch.setattr(gpu_profile, "find_profiler", lambda: str(ncu))
    rows = [
        row_of("good", [("torch", 0.5)], timed(tilewright=2.0, torch=1.5)),
        row_of("last", [("torch", 0.5)], timed(tilewright=2.0, torch=0.5)),
    ]
    stand_in_worker.mkdir()
    document = {"machine": {}, "rows": rows}
    (stand_in_worker / "gpu.json").write_text(json.dumps(document))
    options = ("--resume", "--no-measure", "--profile-seconds", "60")
    assert run_command(monkeypatch, stand_in_worker, *options) == 0
    found = json.loads((stand_in_worker / "gpu.json").read_text())["rows"]
    assert [set(row["profile"]) for row in found] == [set(), {"tilewright"}]
    assert "profile of tilewright: duration 1234 ns" in (stand_in_worker / "gpu.md").read_text()


SAID = {
    "works": "duration 1234 ns; SM 61.5%; warps waiting at each issue for: long_scoreboard 3.50, ",
    "picky": "duration 1234 ns; SM 61.5%",
    "denied": "ncu says nothing of it (exit 1): ==ERROR== ERR_NVGPUCTRPERM: no permission",
}


@pytest.mark.parametrize("mode", SAID)
def test_the_profiler_is_asked(mode: str, tmp_path: Path) -> None:
    ncu = tmp_path / "ncu"
    ncu.write_text(NCU.replace("{python}", sys.executable).replace("{mode}", mode))
    ncu.chmod(0o755)
    assert SAID[mode] in gpu_profile.profile("matmul", ["program"], 30, str(ncu))
    missing = gpu_profile.profile("matmul", ["program"], 30, str(tmp_path / "no"))
    assert missing.startswith("ncu does not run")


TRITON_CODE = """
import json, sys
sys.path[:0] = [{folder!r}]
import gpu_languages, gpu_rows
triton = gpu_languages.import_triton()
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
NAMES = {{"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "int8": "i8", "int32": "i32",
         "float8_e4m3fn": "fp8e4nv"}}
restricted, without_wgmma, free = gpu_languages.triton_languages(is_interpreted=False)

class Compiled(dict):
    # Compiles for sm_90 what is launched.
    def __getitem__(self, name):
        kernel = restricted.kernels[name]
        class Grid:
            def __getitem__(self, grid):
                return lambda *arguments, **options: compile_kernel(kernel, arguments, options)
        return Grid()

def compile_kernel(kernel, arguments, options):
    defaults = {{p.name: p.default for p in kernel.params if p.has_default}}
    constants = defaults | {{n: options.pop(n) for n in kernel.arg_names if n in options}}
    signature, attributes = dict.fromkeys(constants, "constexpr"), {{}}
    for index, (name, value) in enumerate(zip(kernel.arg_names, arguments)):
        if hasattr(value, "dtype"):
            signature[name] = "*" + NAMES[str(value.dtype).removeprefix("torch.")]
        elif value == 1:
            signature[name], constants[name] = "constexpr", 1
        else:
            signature[name] = "fp32" if isinstance(value, float) else "i32"
        if signature[name][0] in "*i" and (hasattr(value, "dtype") or value % 16 == 0):
            attributes[index,] = [["tt.divisibility", 16]]
    constants = {{(kernel.arg_names.index(n),): value for n, value in constants.items()}}
    signature = {{name: signature[name] for name in kernel.arg_names}}
    source = ASTSource(kernel, signature, constants, attrs=attributes)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)

found = {{}}
for row in gpu_rows.all_rows("tiny"):
    workload = row.make("cpu")
    if not workload.has_products:
        continue
    one_each = {{setting.kernel: setting for setting in reversed(workload.settings)}}
    for name, setting in one_each.items():
        for language in (restricted, without_wgmma, free):
            if language is free and name != "matmul":
                continue
            options = {{**language.options}}
            if options:
                options["arch"] = workload.triton_arch
            language = language._replace(kernels=Compiled(), options=options)
            code = workload.launch(language, setting)
            key = row.name + ", " + name + ", " + gpu_languages.restriction_of(language)[:12]
            found[key] = [gpu_languages.instructions_of(code), len(code.asm["cubin"])]
print(json.dumps(found))
"""


@pytest.mark.skipif(not HAS_TRITON, reason="Triton is not installed (make bench does it)")
def test_triton_is_held_to_mma_sync(tmp_path: Path) -> None:
    script = tmp_path / "compile.py"
    script.write_text(TRITON_CODE.format(folder=str(BENCHMARK)))
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 2 * (5 + 4 * 2) + 1
    for name, (instructions, size) in found.items():
        is_free = name.endswith(", none")
        assert instructions == ("wgmma" if is_free else "mma.sync") and size > 1000, name
