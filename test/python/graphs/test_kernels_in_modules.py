"""Modules that hold and launch kernels are copied, kept, sent to workers and trained as others are."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from typing import Any

import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

from module_kernels import Launches, Layer, negate, train_shared  # noqa: E402
from operator_functions import scale_to  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


def test_copies_and_pickles() -> None:
    module, x, buffer = Layer(), torch.rand(16), io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    others = [copy.copy(module), copy.deepcopy(module), pickle.loads(pickle.dumps(module)),
              torch.load(buffer, weights_only=False)]  # fmt: skip
    for other in others:
        assert other.kernel is scale_to and other.tuned is negate, "a kernel is its function, which is one"
        torch.testing.assert_close(other(x), 3 * x)
    assert others[1].weight is not module.weight
    assert [*module.state_dict()] == ["weight"], "kernels are not a part of what checkpoints keep"


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_launch_again(reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    module, x = Layer(), torch.rand(16, requires_grad=True)
    checkpoint(module, x, use_reentrant=reentrant).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((16,), 3.0))
    torch.testing.assert_close(module.weight.grad, 3 * x.detach())


def test_replicas_in_threads_train_as_one() -> None:
    """What torch.nn.DataParallel does: a replica's forward pass in a thread of each device."""
    module, results = Layer(), dict[int, Any]()

    def forward(number: int) -> None:
        with torch.set_grad_enabled(True):
            results[number] = module(torch.full((16,), float(number)))

    threads = [threading.Thread(target=forward, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sum(results[number] for number in range(4)).sum().backward()
    assert module.weight.grad.eq(3 * (0 + 1 + 2 + 3)).all()


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_of_loaders_launch(context: str) -> None:
    loader = torch.utils.data.DataLoader(
        Launches(), batch_size=2, num_workers=2, multiprocessing_context=context
    )
    assert torch.cat(list(loader)).sum().item() == 4 * 2 * (0 + 1 + 2 + 3)


def test_processes_share_the_parameters_of_a_module() -> None:
    module = Layer()
    module.share_memory()
    processes = torch.multiprocessing.get_context("spawn")
    queue = processes.SimpleQueue()
    process = processes.Process(target=train_shared, args=(module, queue))
    process.start()
    assert queue.get() == 16 * 4
    process.join()
    assert process.exitcode == 0 and module.weight.eq(4).all()


def test_a_kernel_is_no_function_of_a_transform() -> None:
    with pytest.raises(tw.LaunchError) as caught:
        torch.func.vmap(lambda x: scale_to[(1,)](x, x, 4, 2.0, B=16))(torch.ones(2, 4))
    assert caught.value.code == "TW0409" and "torch_op" in f"{caught.value.hint}{caught.value}"
