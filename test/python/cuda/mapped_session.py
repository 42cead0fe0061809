"""Launches like earlier ones on the double of a driver of sm_90, of a product whose operands have tensor maps
for some arrays: prints for each the launches by Python, and whether the code with maps ran."""

from __future__ import annotations

import json
import sys
from typing import Any

import tilewright as tw
import torch
from driver_session import DriverDouble, launches_by_python
from lent_tensor import lent_tensor

double = DriverDouble(sys.argv[1], "cuda")
double.configure("capability=90 machine_code=refused")
torch.cuda.is_initialized = lambda: True
torch._C._cuda_getCurrentRawStream = (0,).__getitem__


@tw.jit
def product(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        depth = start + k
        x = tw.load(a + m[:, None] * K + depth[None, :], (m < M)[:, None] & (depth < K)[None, :], 0)
        y = tw.load(b + depth[:, None] * N + n[None, :], (depth < K)[:, None] & (n < N)[None, :], 0)
        acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


a, b = (lent_tensor(1 << 20, 0x700000000000 + 0x1000000 * i, bits=16) for i in range(2))
c = lent_tensor(1 << 20, 0x700002000000)
told = []
for rows, columns in [(50, 104), (50, 101), (51, 101), (50, 104), (50, 101), (50, 72)]:
    ran: list[Any] = []
    launch = lambda: ran.append(  # noqa: E731
        product[(1,)](a, b, c, rows, columns, columns, BM=64, BN=64, BK=64, num_warps=4)
    )
    by_python = launches_by_python(launch)
    told.append((columns, by_python, "cp.async.bulk.tensor" in ran[0].asm["ptx"]))
print(json.dumps(told))
