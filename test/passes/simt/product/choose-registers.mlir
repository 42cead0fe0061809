// A module whose products take more registers than its machine has becomes one of the larger machine, if that has
// the program's warps; the description that is not taken goes.
// RUN: tile-opt --split-input-file --choose-registers --verify-diagnostics %s | FileCheck %s

#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#small = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 17, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
#large = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 256, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
// Operands and sums take 10 registers, and loops may have 9.
// CHECK: module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 256,
module attributes {tile.target = #small, tile.larger_target = #large, simt.num_warps = 2 : i32} {
func.func @product(%a: tensor<32x16xf16, #a>, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  // expected-remark @below {{a thread has 256 registers in place of 17, and half as many threads run at the same time: the tiles of this loop take 10}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#small = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 18, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
#large = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 256, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
// Loops may have 10 registers, which is 8 fewer than the machine has.
// CHECK: module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 18,
module attributes {tile.target = #small, tile.larger_target = #large, simt.num_warps = 2 : i32} {
func.func @product(%a: tensor<32x16xf16, #a>, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#small = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 16, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
#large = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 256, spare_registers = 4, max_warps = 1, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
// The larger machine has no program of two warps.
// CHECK: module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 16,
module attributes {tile.target = #small, tile.larger_target = #large, simt.num_warps = 2 : i32} {
func.func @product(%a: tensor<32x16xf16, #a>, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#small = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 16, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
#large = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 256, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
// Loops without products stay as they are.
// CHECK: module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 16,
module attributes {tile.target = #small, tile.larger_target = #large, simt.num_warps = 2 : i32} {
func.func @product(%a: tensor<32x16xf16, #a>, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %p = arith.addf %sum, %sum : tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}
