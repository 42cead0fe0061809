// Descriptions of machines: in and out, and attached to a module.
// RUN: tile-opt %s | tile-opt | FileCheck %s
// RUN: tile-opt %s -attach-target='target={#tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768>}' | FileCheck %s --check-prefix=ATTACHED
// RUN: not tile-opt %s -attach-target='target={#tile.copy<each_lane of [4] by groups>}' 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: #[[VECTORS:.+]] = #tile.mma<1 x 4 x 1, f32 in "- - |", f32 in "n0 n1 |" -> f32 in "n0 n1 |">
// CHECK: module attributes {tile.target = #tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768, products = [<mma = #[[VECTORS]], per_cycle = 8>, <mma = {{.*}}, per_cycle = 16, intrinsic = "llvm.pairs">, <mma = {{.*}}, per_cycle = 64, intrinsic = "llvm.multiply">], matrix_registers = <count = 8, rows = 4, row_bytes = 16, configure = "c", release = "llvm.r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">, matrix_refusal = "because", features = [fma, scale_by_power]>}
// ATTACHED: module attributes {tile.target = #tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768>}
// OTHER: error: [TW0318] `#tile.copy<each_lane of [4] by groups>` does not describe a machine
module attributes {tile.target = #tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768, products = [<mma = <1 x 4 x 1, f32 in "- - |", f32 in "n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 8>, <mma = <1 x 4 x 2, bf16 in "k0 - - |", bf16 in "k0 n0 n1 |" -> f32 in "n0 n1 |">, per_cycle = 16, intrinsic = "llvm.pairs">, <mma = <4 x 4 x 8, bf16 in "k0 k1 k2 m0 m1 |", bf16 in "k0 n0 n1 k1 k2 |" -> f32 in "n0 n1 m0 m1 |">, per_cycle = 64, intrinsic = "llvm.multiply">], matrix_registers = <count = 8, rows = 4, row_bytes = 16, configure = "c", release = "llvm.r", zero = "llvm.z", load = "llvm.l", store = "llvm.s">, matrix_refusal = "because", features = [fma, scale_by_power]>} {
}
