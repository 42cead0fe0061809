"""The application of tutorials/cpp, built and run as its page says, from an installed prefix."""

from __future__ import annotations

import subprocess
from pathlib import Path

import exported
import numpy as np
import pytest
from test_export_cmake import prefix, run  # noqa: F401

pytestmark = pytest.mark.usefixtures("compiler")
TUTORIAL = exported.ROOT / "tutorials/cpp"


@pytest.fixture(scope="module")
def attend(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The application."""
    build = tmp_path_factory.mktemp("attend")
    run(["cmake", "-S", TUTORIAL, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"], build)
    run(["cmake", "--build", build], build, TILEWRIGHT_CACHE_DIR=str(build / "cache"))
    return build / "attend"


@pytest.mark.parametrize(
    "length, depth, how",
    [(300, 64, "ahead of time"), (64, 64, "ahead of time"), (400, 48, "compiled now")],
)
def test_attention_on_data_from_a_file(
    length: int, depth: int, how: str, attend: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(length)
    q, k, v = rng.standard_normal((3, length, depth), dtype=np.float32)
    data = tmp_path / "data"
    data.write_bytes(np.stack([q, k, v]).tobytes())
    for _ in range(2):
        line = run([attend, data, str(length), str(depth)], tmp_path, ATTEND_CACHE=str(tmp_path / "kernels"))
        assert line.startswith(how)
    scores = np.exp(q.astype(np.float64) @ k.T.astype(np.float64) / np.sqrt(depth))
    expected = scores / scores.sum(axis=1, keepdims=True) @ v.astype(np.float64)
    out = np.fromfile(f"{data}.out", dtype=np.float32).reshape(length, depth)
    np.testing.assert_allclose(out, expected, rtol=2e-4, atol=2e-5)
    assert float(line.split()[-1]) == pytest.approx(expected.max(), abs=1e-3)
    kept = list((tmp_path / "kernels").glob("v*/??/*"))
    assert len(kept) == (0 if how == "ahead of time" else 1)


def test_files_that_are_too_short_are_refused(attend: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(bytes(1000))
    done = subprocess.run(
        [attend, data, "400", "48"], env=exported.outside(), capture_output=True, text=True
    )
    assert done.returncode == 1 and "is too short" in done.stderr


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    page = (TUTORIAL / "README.md").read_text()
    block = page.split("```\n")[1]
    setup, *commands = block.splitlines()
    assert setup == "make setup"  # which has built what is installed here
    lines: list[str] = []
    for command in commands:
        elsewhere = command.replace("$PWD/build/", f"{tmp_path}/").replace("build/", f"{tmp_path}/")
        done = subprocess.run(
            ["bash", "-c", elsewhere], cwd=exported.ROOT, env=exported.outside(),
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        lines += done.stdout.splitlines()
    assert lines[-2].startswith("ahead of time") and lines[-1].startswith("compiled now")
