"""Launches on `cuda:0` through the real compiler and the double of libcuda, in their own processes:
what the driver gets, and what users get to know of its failures."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from driver_doubles import Report, expect, find_double, run_with_driver

pytestmark = pytest.mark.usefixtures("compiler")
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def double() -> str:
    return find_double("libcuda_double.so")


def run(arguments: list[str], cache: Path, library: str) -> subprocess.CompletedProcess[str]:
    return run_with_driver(arguments, cache, TILEWRIGHT_CUDA_LIBRARY=library)


@pytest.fixture(scope="module")
def session(double: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("torch")
    cache = tmp_path_factory.mktemp("cuda") / "cache"
    done = run([str(HERE / "cuda_session.py"), double], cache, double)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_compiling_and_other_devices_leave_the_driver_alone(session: dict[str, Any]) -> None:
    assert session["opened without a gpu"] is False


def test_a_gpu_gets_the_arguments_that_the_code_declares(session: dict[str, Any]) -> None:
    assert session["device"] == "cuda:0" and session["origin"] == "compiled"
    assert session["launches"] == [
        "cuLaunchKernel scale grid=4,1,1 threads=128,1,1 shared=0 stream=0x0 "
        "parameters=0010000000700000,0000100000700000,a00f0000,0000003f,03000000"
    ]


def test_each_launch_has_its_own_shape(session: dict[str, Any]) -> None:
    wide, long_integer, shared = session["more launches"]
    assert "grid=4,1,1 threads=256,1,1" in wide
    assert "grid=1,2,3" in long_integer and ",0000000000010000," in long_integer
    assert "cuLaunchKernel transpose" in shared and "shared=65536" in shared
    expect(session["big grid"], "LaunchError", "TW0402", "65535")


def test_gpus_are_listed_once_the_driver_is_open(session: dict[str, Any]) -> None:
    assert [each for each in session["listed"] if each.startswith("cuda:")] == ["cuda:0", "cuda:1"]
    expect(session["no such gpu"], "LaunchError", "TW0623", "cuda:2")


def test_opening_the_driver_fails_with_a_reason(session: dict[str, Any]) -> None:
    reports = session["open failures"]
    expect(reports["fail=cuInit:100"], "DeviceError", "TW0622", "no GPU")
    expect(reports["devices=0"], "DeviceError", "TW0622", "no GPU")
    expect(reports["fail=cuInit:3"], "DeviceError", "TW0635", "not initialized")
    expect(reports["capability=70 devices=2"], "DeviceError", "TW0624", "7.0")


def test_loading_fails_with_a_reason_and_may_be_tried_again(session: dict[str, Any]) -> None:
    memory, version, threads, refused = list(session["load failures"].values())[:4]
    expect(memory, "DeviceError", "TW0626", "loading kernel scale")
    expect(version, "DeviceError", "TW0625", "PTX 8.0")
    expect(threads, "LaunchError", "TW0628", "kernel scale has 128 threads of 1024 registers")
    expect(refused, "InternalError", "TW0627", "what-ptxas-says")
    assert session["load failures"]["later"] is None


@pytest.mark.parametrize(
    ("result", "code", "part"),
    [
        ("700", "TW0629", "accessed memory that it may not access"),
        ("710", "TW0602", "assertion"),
        ("716", "TW0630", "misaligned"),
        ("719", "TW0631", "failed"),
    ],
)
def test_a_failed_kernel_shows_at_the_next_call(
    session: dict[str, Any], result: str, code: str, part: str
) -> None:
    first, second, waited = session["kernel failures"][result]
    assert first is None  # launches return at once
    for report in (second, waited):
        expect(report, "DeviceError", code, part)
        assert "the last ones launched were scale" in report[2]
    assert code == "TW0602" or "sim:sm_80" in second[3]


def test_a_launch_like_an_earlier_one_needs_no_python(session: dict[str, Any]) -> None:
    warm = session["warm launches"]
    assert [(name, len(calls)) for name, calls in warm.items() if len(calls) != 1] == []
    by_python = {name: calls[0][0] for name, calls in warm.items()}
    assert by_python.pop("overlapping") == 1 and not any(by_python.values())
    parameters = {name: calls[0][1].split("parameters=")[1].split(",") for name, calls in warm.items()}
    plain = ["0000100000700000", "0010000000700000", "a00f0000", "0000003f", "03000000"]
    assert parameters["plain"] == parameters["other gpu"] == parameters["parameter"] == plain
    assert parameters["other memory"][:3] == ["4000100000700000", "4010000000700000", "900f0000"]
    assert parameters["unaligned"][0] == "0400100000700000"
    streams = {name: calls[0][1].split("stream=")[1].split()[0] for name, calls in warm.items()}
    assert streams["plain"] == "0x0" and streams["other gpu"] == "0x7701"
    assert streams["other stream"] == "0x7700"


def test_a_warm_launch_that_fails_says_why(session: dict[str, Any]) -> None:
    refused, later, mixed = session["warm failure"]
    expect(refused, "LaunchError", "TW0628", "launching kernel scale")
    assert later is None
    expect(mixed, "LaunchError", "TW0414", "`out` on cuda:1, `x` on cuda:0")


def test_a_graph_captures_launches_cold_and_warm(session: dict[str, Any]) -> None:
    captures = session["captures"]
    assert captures["cold"] is None and captures["warm"] is None
    order = [call.split()[0] for call in captures["cold calls"]]
    mode = "cuThreadExchangeStreamCaptureMode"
    assert order.index(mode) < order.index("cuModuleLoadDataEx") < order.index(mode, order.index(mode) + 1)
    modes = [call for call in captures["cold calls"] if call.startswith(mode)]
    assert modes == [f"{mode} 2", f"{mode} 0"], "the thread's own mode is back after it"
    (launched,) = (call for call in captures["warm calls"] if call.startswith("cuLaunchKernel"))
    assert "stream=0x55" in launched and not any(mode in call for call in captures["warm calls"])
    assert "cuCtxSynchronize" not in order, "nothing waits within a capture"
    assert "900" in captures["waiting"][2] or "CAPTURE" in captures["waiting"][2]


def test_a_forked_child_is_told_that_it_cannot_use_the_gpu(session: dict[str, Any]) -> None:
    in_child, calls, in_parent = session["forked"]
    expect(in_child, "DeviceError", "TW0635", "not initialized")
    assert "spawn" in in_child[3] and calls == [] and in_parent is None


def test_measurements_wait_for_the_gpu(session: dict[str, Any]) -> None:
    names = [call.split()[0] for call in session["measured"]]
    order = [name for name in names if name in ("cuLaunchKernel", "cuCtxSynchronize")]
    assert order.count("cuLaunchKernel") >= 2 and order[-1] == "cuCtxSynchronize"
    for earlier, later in zip(order, order[1:]):
        assert "cuCtxSynchronize" in (earlier, later)


def test_without_a_driver_the_report_says_so(tmp_path: Path) -> None:
    script = (
        "import tilewright as tw\n"
        "assert 'cuda:0' not in tw.list_devices(probe=True)\n"
        "with tw.device('cuda:0'): pass\n"
    )
    done = run(["-c", script], tmp_path / "cache", "/nowhere/libcuda.so.1")
    assert done.returncode == 1
    assert "tilewright.errors.DeviceError: error[TW0620]" in done.stderr
    assert "/nowhere/libcuda.so.1" in done.stderr and "sim:sm_80" in done.stderr


def test_a_gpu_that_is_no_number_is_no_device(tmp_path: Path, double: str) -> None:
    script = "import tilewright as tw\nwith tw.device('cuda'): pass\n"
    done = run(["-c", script], tmp_path / "cache", double)
    assert "LaunchError: error[TW0401]" in done.stderr and "cuda:0" in done.stderr


def test_cooperative_grids_have_room_for_all_programs_or_are_refused(session: dict[str, Any]) -> None:
    reports = session["cooperative"]
    assert reports["line"] is None and reports["box"] is None
    assert reports["launches"] == [
        "cuLaunchCooperativeKernel scale grid=32,1,1 threads=128,1,1",
        "cuLaunchCooperativeKernel scale grid=2,2,2 threads=256,1,1",
    ]
    expect(reports["too many"], "LaunchError", "TW0419", "33 programs, and at most 32")
    expect(reports["none"], "LaunchError", "TW0415", "cooperative grid")


def test_launches_that_may_begin_early_say_so_to_the_driver(double: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = run([str(HERE / "early_session.py"), double], tmp_path / "cache", double)
    assert done.returncode == 0, done.stderr
    calls = json.loads(done.stdout.splitlines()[-1])
    names = [(call.split()[0], call.endswith(" early")) for call in calls]
    plain, early = ("cuLaunchKernel", False), ("cuLaunchKernelEx", True)
    assert names == [plain, early, early, plain, ("cuLaunchCooperativeKernel", False)]


def test_launches_of_arrays_that_no_map_describes_are_warm_too(double: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = run([str(HERE / "mapped_session.py"), double], tmp_path / "cache", double)
    assert done.returncode == 0, done.stderr
    launches = json.loads(done.stdout.splitlines()[-1])
    # Rows of 101 halves are not multiples of 16 bytes. Kernels with and without maps were met then.
    assert launches == [
        [104, 1, True], [101, 1, False], [101, 0, False], [104, 0, True], [101, 0, False], [72, 0, True],
    ]  # fmt: skip
