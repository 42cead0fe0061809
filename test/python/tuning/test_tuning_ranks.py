"""One choice of autotuning for all processes of a job: rank 0's, told over the job's store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="this torch has no distributed package"
)

# Each rank measures other times: alone, rank r would choose the r-th configuration.
RANK = '''
import sys
from datetime import timedelta
import torch
import torch.distributed as dist
import tilewright as tw
from test_tuning_store import add, blocks

rank, folder, case = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group(
    "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=3,
    timeout=timedelta(seconds=9 if case == "absent" else 100),
)
measured = []


def bench(launch, quantiles):
    if case == "failing" and rank == 0:
        raise tw.LaunchError("the clock is broken", code="TW0404")
    launch()
    measured.append(1)
    return 2.0 - (len(measured) % 3 == rank)


sizes = (32, 64, 256) if case == "candidates" and rank == 2 else (32, 64, 128)
if case == "single" and rank != 1 or case == "one" and rank == 1:  # one on rank 0, or on another
    sizes = (64,)


def launch(n, configs=sizes):
    kernel = tw.autotune(blocks(*configs), key=["n"], do_bench=bench, cache_results=True)(tw.jit(add))
    x, out = torch.arange(n, dtype=torch.float32), torch.zeros(n)
    kernel[lambda a: (tw.cdiv(n, a["BLOCK"]),)](out, x, n)
    assert torch.equal(out, x + 1)
    return kernel.best_config.kwargs["BLOCK"]


chosen = []
try:
    if case == "orders":  # each rank tunes in an order of its own, and one kernel twice
        for n in (100, 200, 300)[rank:] + (100, 200, 300)[:rank]:
            chosen.append((n, launch(n), launch(n, (16, 32))))
        chosen.sort()
    elif case == "absent" and rank == 0:
        launch(7)
    elif case == "own" and rank == 0:
        pass  # of a stage that rank 0 does not have, without a choice
    elif case == "own":
        chosen.append(launch(8, (64,)))
    else:
        chosen.append(launch(7 if case == "absent" and rank == 1 else 8))
except tw.LaunchError as error:
    chosen.append(f"{error.code} {error.message}")
print(len(measured), chosen, flush=True)
if case != "absent":  # whose job has no time for it
    dist.barrier()
'''


def ranks(folder: Path, case: str) -> list[str]:
    """What each of three ranks prints."""
    script = folder / "rank.py"
    script.write_text(RANK)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(folder), case],
            env=environment, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(3)
    ]  # fmt: skip
    try:
        printed = [process.communicate(timeout=200)[0].strip() for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0, 0]
    return printed


def test_all_ranks_take_what_rank_0_measured(compiler: None, tmp_path: Path) -> None:
    printed = ranks(tmp_path, "orders")
    first, *others = [text.partition(" ")[::2] for text in printed]
    assert first[0] == "15" and [count for count, _ in others] == ["0", "0"], "rank 0 measures"
    assert {chosen for _, chosen in others} == {first[1]} and "(100, " in first[1]


def test_ranks_with_other_candidates_are_refused(compiler: None, tmp_path: Path) -> None:
    first, second, third = ranks(tmp_path, "candidates")
    assert first.startswith("3 [") and second == f"0 {first[2:]}"
    assert "TW0427 rank 0 tunes other configurations of add than rank 2 has, for n=8" in third


def test_ranks_that_rank_0_leaves_alone_are_told(compiler: None, tmp_path: Path) -> None:
    first, second, third = ranks(tmp_path, "absent")
    assert first == "3 []"
    assert second.startswith("0 [") and "TW0427" not in second
    assert "TW0427 rank 2 waits for the configuration of add for n=8" in third
    assert "has not launched it for these after 9 s; it has tuned the kernel for (n=7, " in third


def test_a_rank_with_a_single_candidate_is_asked_as_others_are(compiler: None, tmp_path: Path) -> None:
    """Ranks 0 and 2 have one, rank 1 has three: it is told so, and nobody waits for what never comes."""
    first, second, third = ranks(tmp_path, "single")
    assert "TW0427 rank 0 tunes other configurations of add than rank 1 has, for n=8" in second
    assert first == third == "0 [64]"


def test_a_single_candidate_is_not_taken_where_rank_0_has_others(compiler: None, tmp_path: Path) -> None:
    """Either of the two finds it, whichever is the later; rank 2 is told."""
    first, second, third = ranks(tmp_path, "one")
    found = [text for text in (first, second) if "TW0427" in text]
    assert found and any(
        "rank 1 has a single configuration of add for n=8" in text
        or "rank 0 tunes other configurations of add than rank 1 has" in text
        for text in found
    )
    assert ("TW0427" in third) == ("TW0427" in first)


def test_single_candidates_of_ranks_without_rank_0_do_not_wait(compiler: None, tmp_path: Path) -> None:
    assert ranks(tmp_path, "own") == ["0 []", "0 [64]", "0 [64]"]


def test_a_failure_of_rank_0_is_every_rank_s(compiler: None, tmp_path: Path) -> None:
    first, second, third = ranks(tmp_path, "failing")
    assert "TW0411" in first and "the clock is broken" in first
    for text in (second, third):
        assert "TW0427 rank 0 found no configuration of add" in text and "the clock is broken" in text
