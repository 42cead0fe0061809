"""torch in the same process as `triton` in the meaning of `python -m tilewright.triton`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch")

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

def doubled(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


def run_script(tmp_path: Path, body: str, **environment: str) -> str:
    """The output of a script that is run unmodified, with KERNEL before it."""
    script = tmp_path / "script.py"
    script.write_text(KERNEL + textwrap.dedent(body))
    known = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON_", "TILEWRIGHT_"))}
    result = subprocess.run(
        [sys.executable, "-m", "tilewright.triton", str(script)],
        env={**known, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"),
             "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_optimizers_checkpoints_and_torchs_questions_work(compiler: None, tmp_path: Path) -> None:
    output = run_script(
        tmp_path,
        """
        from torch.utils import _triton
        from torch.utils.checkpoint import checkpoint

        p = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.Adam([p], lr=0.5)
        (p * p).sum().backward()
        optimizer.step()
        assert torch.allclose(p, torch.full((3,), 0.5)), p

        x = torch.ones(3, requires_grad=True)
        checkpoint(lambda a: a.sin(), x, use_reentrant=False).sum().backward()
        assert torch.allclose(x.grad, torch.ones(3).cos())

        asked = [name for name in dir(_triton) if name.startswith("has_")]
        answers = {name: getattr(_triton, name)() for name in asked}
        assert answers.pop("has_triton_package") and not any(answers.values()), answers
        assert _triton.get_triton_version() == (3, 9)
        assert torch.equal(doubled(torch.arange(100.0)), 2 * torch.arange(100.0))
        print("asked", len(asked))
        """,
    )
    assert int(output.split("asked ")[1]) >= 5


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs g++")
def test_torch_compile_works_with_and_around_kernels(compiler: None, tmp_path: Path) -> None:
    run_script(
        tmp_path,
        """
        x = torch.rand(100)
        plain = torch.compile(lambda x: (x.sin() + 1).sum() * 2)
        torch.testing.assert_close(plain(x), (x.sin() + 1).sum() * 2)

        @torch.compile
        def around(x):
            return doubled(x + 1).cos()

        tuned = triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])(double)

        @torch.compile
        def around_tuned(x):
            out = torch.zeros_like(x)
            tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, out, 100)
            return out.exp()

        for x in (torch.rand(100), torch.rand(100)):
            torch.testing.assert_close(around(x), (2 * (x + 1)).cos())
            torch.testing.assert_close(around_tuned(x), (2 * x).exp())
        """,
    )


def test_the_package_by_its_own_name_leaves_torch_alone(compiler: None, tmp_path: Path) -> None:
    program = (
        "import os, sys, tilewright.triton\n"
        "from torch.utils import _triton\n"
        "assert 'triton' not in sys.modules and not _triton.has_triton()\n"
        "assert not [name for name in os.environ if name.startswith('TORCHINDUCTOR')]\n"
    )
    # Another test of this process may have installed the alias, which sets one.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TORCHINDUCTOR")}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300, env=environment)


def test_triton_interpret_means_the_reference_device(compiler: None, tmp_path: Path) -> None:
    script = """
    import tilewright
    print("device", tilewright.current_device(), triton.knobs.runtime.interpret)
    assert torch.equal(doubled(torch.ones(70)), torch.full((70,), 2.0))
    assert double[(1,)](torch.ones(4), torch.ones(4), 4, BLOCK=4).request.device == (
        tilewright.current_device())
    """
    assert "device reference True" in run_script(tmp_path, script, TRITON_INTERPRET="1")
    assert "device cpu False" in run_script(tmp_path, script, TRITON_INTERPRET="0")
    # The user's own choice of a device counts more.
    chosen = run_script(tmp_path, script, TRITON_INTERPRET="1", TILEWRIGHT_DEVICE="cpu")
    assert "device cpu False" in chosen
