"""The command `warpsim run`: what it takes, prints and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from warpsim_command import COMMAND, needs_command

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "test/golden/ptx"))

from launches import compiled  # noqa: E402

ADD = ("--grid", "4", "--arg", "const f32[1000]=1.5", "--arg", "const f32[1000]=iota",
       "--arg", "f32[1000]=zeros")  # fmt: skip

pytestmark = [
    needs_command,
    pytest.mark.usefixtures("compiler"),
]


@pytest.fixture
def vector_add(tmp_path: Path) -> Path:
    path = tmp_path / "vector_add.ptx"
    path.write_text(compiled("vector_add").ptx)
    return path


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "run", path, *arguments], capture_output=True, text=True)


def test_results_and_statistics_are_printed(vector_add: Path) -> None:
    ran = run(vector_add, *ADD, "--arg", "i32=1000", "--print", "4")
    assert ran.returncode == 0
    assert "add_kernel_param_2: 1.5 2.5 3.5 4.5" in ran.stdout
    assert "global loads 100 % and stores 100 % of their sectors used" in ran.stdout


def test_findings_set_the_exit_status_and_name_their_place(vector_add: Path) -> None:
    ran = run(vector_add, *ADD, "--arg", "i32=1001")
    assert ran.returncode == 1
    assert "01_vector_add.py:35: out-of-bounds-global: read of 4 bytes at offset 4000" in ran.stdout
    assert "`add_kernel_param_0`, which has 4000 bytes" in ran.stdout


def test_json_has_findings_and_statistics(vector_add: Path) -> None:
    ran = run(vector_add, *ADD, "--arg", "i32=1001", "--json")
    report = json.loads(ran.stdout)
    kinds = {finding["kind"] for finding in report["findings"]}
    assert kinds == {"out-of-bounds-global"}
    first = report["findings"][0]
    assert (first["buffer"], first["offset"]) == ("add_kernel_param_0", 4000)
    assert (first["file"], first["sourceLine"]) == ("01_vector_add.py", 35)
    assert report["statistics"]["mix"]["ld.param.b64"] == 3 * 2 * 4  # 2 warps of 4 CTAs


def test_chosen_ctas_only(vector_add: Path) -> None:
    options = ("--arg", "i32=1000", "--ctas", "0,last", "--json")
    statistics = json.loads(run(vector_add, *ADD, *options).stdout)["statistics"]
    assert statistics["mix"]["ld.param.b64"] == 3 * 2 * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--grid", "x"), "usage"),
        (("--sched", "fair"), "usage"),
        (("--smem",), "usage"),
        (("--arg", "f32[4]"), "takes 4 arguments, 1 were given"),
        (("--kernel", "sub"), "no such kernel"),
        ((*ADD, "--arg", "f99=1"), "argument `f99=1` is not like f32[1024]=random or i32=5"),
        ((*ADD, "--arg", "i32=1", "--ctas", "first"), "--ctas takes numbers and `last`"),
    ],
)
def test_what_cannot_be_run_is_refused(
    vector_add: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = run(vector_add, *arguments)
    assert ran.returncode == 2
    assert message.replace("usage", "warpsim run FILE.ptx") in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--smem", "170000"), "170000 bytes of shared memory are more than the 166912"),
        (("--block", "32"), "the block (32, 1, 1) is not the kernel's .reqntid (64, 1, 1)"),
        (("--grid", "0"), "the grid (0, 1, 1) has no CTA"),
    ],
)
def test_what_the_machine_cannot_launch_is_refused(
    vector_add: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = run(vector_add, *ADD, "--arg", "i32=1000", *arguments)
    assert ran.returncode == 2
    assert "cannot be launched: " + message in ran.stderr


@pytest.mark.parametrize(
    ("option", "who"), [("--max-steps", "warp"), ("--max-cta-steps", "CTA"),
                        ("--max-launch-steps", "launch")],
)  # fmt: skip
def test_steps_are_limited(vector_add: Path, option: str, who: str) -> None:
    ran = run(vector_add, *ADD, "--arg", "i32=1000", option, "20")
    assert ran.returncode == 1
    assert f"step-limit: the {who} has run 20 instructions" in ran.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [(".version ", ".version 7.9 //", "PTX version"), (".target ", ".target sm_81 //", "sm_81")],
)
def test_an_unknown_version_or_target_is_refused(
    vector_add: Path, old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = vector_add.read_text()
    assert old in text
    path = tmp_path / "k.ptx"
    path.write_text(text.replace(old, new, 1))
    ran = run(path)
    assert ran.returncode == 2
    assert message in ran.stderr


def test_an_unknown_instruction_is_refused_with_its_line(vector_add: Path, tmp_path: Path) -> None:
    lines = vector_add.read_text().split("\n")
    number = next(i for i, line in enumerate(lines) if "add.f32" in line)
    lines[number] = lines[number].replace("add.f32", "add.f33")
    path = tmp_path / "k.ptx"
    path.write_text("\n".join(lines))
    ran = run(path)
    assert ran.returncode == 2
    assert f"k.ptx:{number + 1}: " in ran.stderr and "f33" in ran.stderr
