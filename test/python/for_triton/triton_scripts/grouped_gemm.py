"""Products of matrices of several sizes in one launch: their addresses and sizes lie in arrays."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


def num_sms():
    if triton.runtime.driver.active.get_current_target().backend == "cuda":
        return torch.cuda.get_device_properties("cuda").multi_processor_count
    return 8


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "NUM_SM": 4}),
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "NUM_SM": num_sms()}),
    ],
    key=["group_size"], warmup=1, rep=1,
)  # fmt: skip
@triton.jit
def grouped_matmul(
    group_a_ptrs, group_b_ptrs, group_c_ptrs, group_gemm_sizes, g_lds, group_size,
    NUM_SM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile_idx = tl.program_id(0)
    last_problem_end = 0
    for g in range(group_size):
        gm = tl.load(group_gemm_sizes + g * 3)
        gn = tl.load(group_gemm_sizes + g * 3 + 1)
        gk = tl.load(group_gemm_sizes + g * 3 + 2)
        num_m_tiles = tl.cdiv(gm, BLOCK_M)
        num_n_tiles = tl.cdiv(gn, BLOCK_N)
        num_tiles = num_m_tiles * num_n_tiles
        while tile_idx >= last_problem_end and tile_idx < last_problem_end + num_tiles:
            lda = tl.load(g_lds + g * 3)
            ldb = tl.load(g_lds + g * 3 + 1)
            ldc = tl.load(g_lds + g * 3 + 2)
            a_ptr = tl.load(group_a_ptrs + g).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(group_b_ptrs + g).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(group_c_ptrs + g).to(tl.pointer_type(tl.float16))
            tile_in_gemm = tile_idx - last_problem_end
            offs_am = (tile_in_gemm // num_n_tiles) * BLOCK_M + tl.arange(0, BLOCK_M)
            offs_bn = (tile_in_gemm % num_n_tiles) * BLOCK_N + tl.arange(0, BLOCK_N)
            offs_k = tl.arange(0, BLOCK_K)
            a_ptrs = a_ptr + offs_am[:, None] * lda + offs_k[None, :]
            b_ptrs = b_ptr + offs_k[:, None] * ldb + offs_bn[None, :]
            accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for kk in range(0, tl.cdiv(gk, BLOCK_K)):
                tl.multiple_of(a_ptrs, [16, 16])
                tl.multiple_of(b_ptrs, [16, 16])
                accumulator += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
                a_ptrs += BLOCK_K
                b_ptrs += BLOCK_K * ldb
            c_ptrs = c_ptr + ldc * offs_am[:, None] + offs_bn[None, :]
            tl.store(c_ptrs, accumulator.to(tl.float16))
            tile_idx += NUM_SM
        last_problem_end = last_problem_end + num_tiles


torch.manual_seed(0)
shapes = [(64, 64, 32), (32, 96, 64), (96, 32, 96), (32, 32, 32)]
group_A = [torch.rand((m, k), device=DEVICE, dtype=torch.float16) for m, n, k in shapes]
group_B = [torch.rand((k, n), device=DEVICE, dtype=torch.float16) for m, n, k in shapes]
group_C = [torch.empty((m, n), device=DEVICE, dtype=torch.float16) for m, n, k in shapes]
addresses = [
    torch.tensor([t.data_ptr() for t in group], device=DEVICE)
    for group in (group_A, group_B, group_C)
]
sizes = torch.tensor([x for shape in shapes for x in shape], dtype=torch.int32, device=DEVICE)
lds = torch.tensor(
    [t.stride(0) for abc in zip(group_A, group_B, group_C) for t in abc], dtype=torch.int32,
    device=DEVICE,
)  # fmt: skip
grid = lambda META: (META["NUM_SM"],)
grouped_matmul[grid](*addresses, sizes, lds, len(shapes))
for a, b, c in zip(group_A, group_B, group_C):
    assert torch.allclose(c, a @ b, atol=1e-2, rtol=1e-2)
