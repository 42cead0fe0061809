"""Launches on `hip:0` through the real compiler and the double of libamdhip64, in their own processes:
what the runtime gets, and what users get to know of its failures."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest
from driver_doubles import expect, find_double, run_with_driver

pytestmark = pytest.mark.usefixtures("compiler")
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("torch")
    double = find_double("libamdhip64_double.so")
    cache = tmp_path_factory.mktemp("hip") / "cache"
    arguments = [str(HERE / "hip_session.py"), double]
    done = run_with_driver(arguments, cache, TILEWRIGHT_HIP_LIBRARY=double)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_compiling_and_other_devices_leave_the_runtime_alone(session: dict[str, Any]) -> None:
    assert session["opened without a gpu"] is False


def test_tensors_of_torch_for_rocm_are_launched_with_what_the_code_declares(
    session: dict[str, Any],
) -> None:
    assert session["device"] == "hip:0"
    assert session["launches"] == [
        "hipModuleLaunchKernel scale grid=4,1,1 threads=256,1,1 shared=0 stream=0x0 "
        "parameters=0010000000700000,0000100000700000,a00f0000,0000003f,03000000"
    ]
    (wide,) = session["more launches"]
    assert "threads=512,1,1" in wide


def test_gpus_are_listed_once_the_runtime_is_open(session: dict[str, Any]) -> None:
    assert [each for each in session["listed"] if each.startswith("hip:")] == ["hip:0", "hip:1"]
    expect(session["no such gpu"], "LaunchError", "TW0623", "hip:2")


def test_opening_the_runtime_fails_with_a_reason(session: dict[str, Any]) -> None:
    reports = session["open failures"]
    expect(reports["devices=0"], "DeviceError", "TW0622", "/dev/kfd" if no_kfd() else "no GPU")
    expect(reports["fail=hipInit:3"], "DeviceError", "TW0635", "not initialized")
    expect(reports["arch=gfx906 devices=2"], "DeviceError", "TW0624", "gfx906")


def no_kfd() -> bool:
    return not Path("/dev/kfd").exists()


def test_streams_are_torchs_and_captures_say_what_to_do(session: dict[str, Any]) -> None:
    assert session["streams"] == ["stream=0x7701", "stream=0x7700"]
    mode = "hipThreadExchangeStreamCaptureMode"
    assert session["loading"] == [f"{mode} 2", "hipModuleLoadDataEx", f"{mode} 0"]
    expect(session["captured"], "DeviceError", "TW0638", "captured")
    assert "before capturing" in session["captured"][3]


@pytest.mark.parametrize(("result", "code"), [("700", "TW0629"), ("719", "TW0631")])
def test_a_failed_kernel_shows_at_the_next_call(
    session: dict[str, Any], result: str, code: str
) -> None:
    first, second, waited = session["kernel failures"][result]
    assert first is None  # launches return at once
    for report in (second, waited):
        expect(report, "DeviceError", code, "the last ones launched were scale")
        assert "sim:gfx942" in report[3]


def test_measurements_wait_for_the_gpu(session: dict[str, Any]) -> None:
    names = ("hipModuleLaunchKernel", "hipDeviceSynchronize")
    order = [name for name in session["measured"] if name in names]
    assert order.count(names[0]) >= 2 and order[-1] == names[1]
    for earlier, later in zip(order, order[1:]):
        assert names[1] in (earlier, later)


USE = """
import tilewright as tw
assert 'hip:0' not in tw.list_devices(probe=True)
with tw.device('hip:0'): pass
"""


def test_without_a_library_the_report_says_so(tmp_path: Path) -> None:
    library = "/nowhere/libamdhip64.so"
    done = run_with_driver(["-c", USE], tmp_path / "cache", TILEWRIGHT_HIP_LIBRARY=library)
    assert done.returncode == 1
    assert "tilewright.errors.DeviceError: error[TW0620]" in done.stderr
    assert library in done.stderr and "sim:gfx942" in done.stderr


def test_a_gpu_that_is_no_number_is_no_device(tmp_path: Path) -> None:
    script = "import tilewright as tw\nwith tw.device('hip'): pass\n"
    done = run_with_driver(["-c", script], tmp_path / "cache")
    assert "LaunchError: error[TW0401]" in done.stderr and "hip:0" in done.stderr


LIBRARIES = [f"libamdhip64.so{release}" for release in (".7", ".6", ".5", "")]


def opens(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def test_the_report_names_all_libraries_that_were_tried(tmp_path: Path) -> None:
    if any(map(opens, LIBRARIES)):
        pytest.skip("this machine has a libamdhip64")
    done = run_with_driver(["-c", USE], tmp_path / "cache", TILEWRIGHT_HIP_LIBRARY="")
    assert "error[TW0620]" in done.stderr and f"(tried {', '.join(LIBRARIES)})" in done.stderr, done.stderr


def test_the_real_runtime_says_that_there_is_no_gpu(tmp_path: Path) -> None:
    library = next(filter(opens, LIBRARIES), None)
    if library is None:
        pytest.skip("this machine has no libamdhip64 (Debian: libamdhip64-5)")
    if Path("/dev/kfd").exists():
        pytest.skip("this machine may have a GPU of AMD's")
    done = run_with_driver(["-c", USE], tmp_path / "cache", TILEWRIGHT_HIP_LIBRARY=library)
    assert done.returncode == 1
    assert "error[TW0622]" in done.stderr and "there is no /dev/kfd" in done.stderr, done.stderr


def test_cooperative_grids_have_room_for_all_programs_or_are_refused(session: dict[str, Any]) -> None:
    reports = session["cooperative"]
    assert reports["line"] is None and reports["box"] is None
    assert reports["launches"] == [
        "hipModuleLaunchCooperativeKernel scale grid=16,1,1 threads=256,1,1",
        "hipModuleLaunchCooperativeKernel scale grid=2,2,2 threads=512,1,1",
    ]
    expect(reports["too many"], "LaunchError", "TW0419", "17 programs, and at most 16")
    expect(reports["none"], "LaunchError", "TW0415", "cooperative grid")
