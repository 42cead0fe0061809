"""Lets all processes of a `torch.distributed` job take the configuration that rank 0 chooses.

Rank 0 writes its choice into the job's key-value store, where the others wait for it. There is no
collective operation, so nothing blocks that the program does between launches, and ranks may tune
kernels in any order. The store is reached over the host's network whatever the backend of tensors.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from ..native.errors import LaunchError
from .kept.recall import Question
from .kept.records import readable_config

# The most that a rank waits for rank 0 to begin with a key, and then to finish; measuring takes minutes
# where many configurations compile for long. A job with a shorter timeout of its own waits for that.
WAIT_SECONDS = 600.0
_PREFIX = "tilewright/tune"


def is_one_of_many() -> bool:
    """Whether this process belongs to a job of several. torch is not imported for the answer."""
    distributed: Any = sys.modules.get("torch.distributed")
    return bool(
        distributed is not None
        and distributed.is_available()
        and distributed.is_initialized()
        and distributed.get_world_size() > 1
    )


def decided(
    candidates: Sequence[Any], ask: Callable[[], Question], decide: Callable[[], Any]
) -> Any:
    """The only candidate, or what `decide` gives: here, or in a job of several on rank 0."""
    if len(candidates) == 1:
        decide = partial(next, iter(candidates))
    return _agreed(ask(), candidates, decide) if is_one_of_many() else decide()


def _agreed(question: Question, candidates: Sequence[Any], decide: Callable[[], Any]) -> Any:
    """The configuration that rank 0 gets from `decide`, on every rank. Raises LaunchError TW0427 where
    rank 0 has other candidates or another kernel, fails, or does not launch for this key."""
    job = _Job()
    slot = job.slot(question)
    if job.rank != 0:
        if len(candidates) == 1:
            return _only(candidates[0], job, slot, question)
        return _chosen(candidates, _wait(job, slot, question), job, question)
    if job.store.check([f"{slot}/chosen"]):  # of an earlier group of the same processes
        return _chosen(candidates, json.loads(job.store.get(f"{slot}/chosen")), job, question)
    described = {"meaning": question.meaning, "candidates": question.candidates}
    job.store.set(f"{slot}/begun", json.dumps(described))
    job.store.append(f"{_PREFIX}/{question.kernel}/keys", f"({_spoken(question)}) ")
    try:
        _refuse_other_sets(job, slot, question)
        chosen = decide()
    except BaseException as error:  # an interrupt, too: the others wait
        job.store.set(f"{slot}/chosen", json.dumps({"failure": f"{type(error).__name__}: {error}"}))
        raise
    job.store.set(f"{slot}/chosen", json.dumps({"best": readable_config(chosen)}))
    return chosen


class _Job:
    """This process's rank and the job's key-value store."""

    def __init__(self) -> None:
        distributed: Any = sys.modules["torch.distributed"]
        self.rank: int = distributed.get_rank()
        find = getattr(distributed.distributed_c10d, "_get_default_store", None)
        try:
            self.store: Any = find and find()
        except (RuntimeError, ValueError, AssertionError):
            self.store = None
        if self.store is None:
            raise LaunchError(
                "this job of torch.distributed has no key-value store for rank 0 to tell the others "
                "which configuration it chose",
                code="TW0427",
                hint="initialize it by env://, tcp:// or a store",
            )

    @property
    def seconds(self) -> float:
        """The most that a rank waits: the timeout of the job (`init_process_group(timeout=...)`), and no
        more than `WAIT_SECONDS`."""
        given = getattr(self.store, "timeout", None)
        return min(WAIT_SECONDS, given.total_seconds()) if given else WAIT_SECONDS

    def slot(self, question: Question) -> str:
        """Where a choice is written: by kernel, key, and how often this process has chosen for them,
        as two autotuners of one kernel do."""
        global _counted
        if _counted[0] is not self.store:
            _counted = self.store, {}
        name = f"{_PREFIX}/{question.kernel}/{_asked(question)}"
        number = _counted[1][name] = _counted[1].get(name, 0) + 1
        return f"{name}/{number}"


# How often this process has asked for each kernel and key, and in which job's store.
_counted: tuple[Any, dict[str, int]] = (None, {})


def _asked(question: Question) -> str:
    """What identifies a key on all ranks: the number of a rank's GPU is not in it."""
    return json.dumps([question.key, question.types], sort_keys=True, separators=(",", ":"))


def _spoken(question: Question) -> str:
    return ", ".join([*(f"{name}={value}" for name, value in question.key.items()), *question.types])


def _wait(job: _Job, slot: str, question: Question, only: Any = None) -> Any:
    """The choice of rank 0 for a key; `only`, where there is one, if rank 0 has no others."""
    begun = json.loads(_read(job, f"{slot}/begun", question, "has not launched it for these"))
    for field, what in (("meaning", "another text of"), ("candidates", "other configurations of")):
        if begun[field] != getattr(question, field):
            raise _disagreement(
                f"rank 0 tunes {what} {question.kernel} than rank {job.rank} has, for "
                f"{_spoken(question)}"
            )
    return only or json.loads(_read(job, f"{slot}/chosen", question, "has not finished with them"))


def _only(candidate: Any, job: _Job, slot: str, question: Question) -> Any:
    """The only candidate of a rank that need not wait. It says so before it looks for what rank 0 has,
    which says so first, too: one of them finds where they differ."""
    job.store.append(f"{slot}/single", f"{job.rank}:{question.candidates} ")
    return _wait(job, slot, question, candidate) if job.store.check([f"{slot}/begun"]) else candidate


def _refuse_other_sets(job: _Job, slot: str, question: Question) -> None:
    """Raise LaunchError TW0427 on rank 0 where a rank has a single configuration, and not that of rank 0."""
    if not job.store.check([f"{slot}/single"]):
        return
    for entry in job.store.get(f"{slot}/single").decode().split():
        rank, _, candidates = entry.partition(":")
        if candidates != question.candidates:
            raise _disagreement(
                f"rank {rank} has a single configuration of {question.kernel} for {_spoken(question)}, and "
                "rank 0 has others"
            )


def _read(job: _Job, name: str, question: Question, what: str) -> bytes:
    seconds = job.seconds
    end = time.monotonic() + seconds
    try:
        job.store.wait([name], timedelta(seconds=seconds))
        return job.store.get(name)
    except (RuntimeError, ValueError) as error:  # DistStoreError is a RuntimeError
        if time.monotonic() < end:
            raise _disagreement(
                f"rank {job.rank} cannot ask rank 0 for the configuration of {question.kernel}: {error}"
            ) from error
    keys = f"{_PREFIX}/{question.kernel}/keys"
    others = job.store.get(keys).decode().rstrip() if job.store.check([keys]) else "nothing"
    raise _disagreement(
        f"rank {job.rank} waits for the configuration of {question.kernel} for {_spoken(question)}, and "
        f"rank 0 {what} after {seconds:.0f} s; it has tuned the kernel for {others}"
    )


def _chosen(
    candidates: Sequence[Any], told: dict[str, Any], job: _Job, question: Question
) -> Any:
    if "failure" in told:
        raise _disagreement(
            f"rank 0 found no configuration of {question.kernel} for rank {job.rank}: {told['failure']}"
        )
    fitting = [config for config in candidates if readable_config(config) == told["best"]]
    if not fitting:
        raise _disagreement(f"rank {job.rank} does not have rank 0's configuration {told['best']}")
    return fitting[0]


def _disagreement(what: str) -> LaunchError:
    return LaunchError(
        what,
        code="TW0427",
        hint="launch the kernel on rank 0, too, with equal configs and equal arguments of the key",
    )
