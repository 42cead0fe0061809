// Operands that a loop does not change are read in each iteration where registers are short.
// RUN: tile-opt --reload-operands --split-input-file %s 2>/dev/null | FileCheck %s
// RUN: tile-opt --reload-operands --split-input-file --verify-diagnostics %s -o /dev/null

#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#left = #tile.layout<[32, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
#right = #tile.layout<[16, 8] offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
// A, B and the accumulator take 4 + 2 + 4 registers; 52 are kept for the rest.
#few = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 60, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>

module attributes {tile.target = #few, simt.num_warps = 2 : i32} {
// CHECK-LABEL: @short_of_registers
// CHECK: simt.load_shared %{{.*}} : <[16, 8]
// CHECK-NOT: simt.load_shared
// CHECK: scf.for
// CHECK: %[[A:.*]] = simt.load_shared %{{.*}} : <[32, 16]
// CHECK: simt.mma %[[A]]
func.func @short_of_registers(%x: tensor<32x16xf16, #a>, %y: tensor<16x8xf16, #b>, %zero: tensor<32x8xf32, #c>, %count: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %s = simt.alloc_shared "left" : !simt.shared<[32, 16], f16, #left>
  %t = simt.alloc_shared "right" : !simt.shared<[16, 8], f16, #right>
  simt.store_shared %x, %s : tensor<32x16xf16, #a>, !simt.shared<[32, 16], f16, #left>
  simt.store_shared %y, %t : tensor<16x8xf16, #b>, !simt.shared<[16, 8], f16, #right>
  // expected-remark @below {{the loop of its products needs about 10 registers: this operand is read from shared memory in each iteration}}
  %a = simt.load_shared %s : !simt.shared<[32, 16], f16, #left> -> tensor<32x16xf16, #a>
  %b = simt.load_shared %t : !simt.shared<[16, 8], f16, #right> -> tensor<16x8xf16, #b>
  %r = scf.for %i = %one to %count step %one iter_args(%sum = %zero) -> (tensor<32x8xf32, #c>) : i32 {
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}

// The buffer is written again in each iteration, or another operation needs the tile as well.
// CHECK-LABEL: @must_stay
// CHECK: %[[A:.*]] = simt.load_shared %{{.*}} : <[32, 16]
// CHECK: scf.for
// CHECK: simt.mma %[[A]]
func.func @must_stay(%x: tensor<32x16xf16, #a>, %b: tensor<16x8xf16, #b>, %zero: tensor<32x8xf32, #c>, %count: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %s = simt.alloc_shared "left" : !simt.shared<[32, 16], f16, #left>
  simt.store_shared %x, %s : tensor<32x16xf16, #a>, !simt.shared<[32, 16], f16, #left>
  %a = simt.load_shared %s : !simt.shared<[32, 16], f16, #left> -> tensor<32x16xf16, #a>
  %r = scf.for %i = %one to %count step %one iter_args(%sum = %zero) -> (tensor<32x8xf32, #c>) : i32 {
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    %n = arith.negf %a : tensor<32x16xf16, #a>
    simt.store_shared %n, %s : tensor<32x16xf16, #a>, !simt.shared<[32, 16], f16, #left>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}

// -----

// Shared memory that the loop itself needs is not taken from it.
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#left = #tile.layout<[32, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
#right = #tile.layout<[16, 8] offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#small = #tile.target<warp_size = 32, shared_bytes = 1024, registers = 60, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>
module attributes {tile.target = #small, simt.num_warps = 2 : i32} {
// CHECK-LABEL: @short_of_shared_memory
// CHECK: %[[A:.*]] = simt.load_shared %{{.*}} : <[32, 16]
// CHECK: scf.for
// CHECK: simt.mma %[[A]]
func.func @short_of_shared_memory(%x: tensor<32x16xf16, #a>, %y: tensor<16x8xf16, #b>, %zero: tensor<32x8xf32, #c>, %count: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %s = simt.alloc_shared "left" : !simt.shared<[32, 16], f16, #left>
  simt.store_shared %x, %s : tensor<32x16xf16, #a>, !simt.shared<[32, 16], f16, #left>
  %a = simt.load_shared %s : !simt.shared<[32, 16], f16, #left> -> tensor<32x16xf16, #a>
  %r = scf.for %i = %one to %count step %one iter_args(%sum = %zero) -> (tensor<32x8xf32, #c>) : i32 {
    %t = simt.alloc_shared "right" : !simt.shared<[16, 8], f16, #right>
    simt.store_shared %y, %t : tensor<16x8xf16, #b>, !simt.shared<[16, 8], f16, #right>
    %b = simt.load_shared %t : !simt.shared<[16, 8], f16, #right> -> tensor<16x8xf16, #b>
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
#left = #tile.layout<[32, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
#right = #tile.layout<[16, 8] offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
// A, B and the accumulator take 4 + 2 + 4 registers; 52 are kept for the rest.
#few = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 60, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>


module attributes {tile.target = #few, tile.processor = {simds = 4 : i32, registers = 512 : i32, granule = 8 : i32, warps = 8 : i32, shared_bytes = 4096 : i32}, simt.num_warps = 2 : i32} {
// A processor holds four programs while A is in registers, and three that keep it in memory. B's
// memory costs none.
// CHECK-LABEL: @costs_a_program
// CHECK: simt.load_shared %{{.*}} : <[32, 16]
// CHECK: scf.for
// CHECK: simt.load_shared %{{.*}} : <[16, 8]
func.func @costs_a_program(%x: tensor<32x16xf16, #a>, %y: tensor<16x8xf16, #b>, %zero: tensor<32x8xf32, #c>, %count: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %s = simt.alloc_shared "left" : !simt.shared<[32, 16], f16, #left>
  %t = simt.alloc_shared "right" : !simt.shared<[16, 8], f16, #right>
  simt.store_shared %x, %s : tensor<32x16xf16, #a>, !simt.shared<[32, 16], f16, #left>
  simt.store_shared %y, %t : tensor<16x8xf16, #b>, !simt.shared<[16, 8], f16, #right>
  %a = simt.load_shared %s : !simt.shared<[32, 16], f16, #left> -> tensor<32x16xf16, #a>
  // expected-remark @below {{the loop of its products needs about 10 registers: this operand is read from shared memory in each iteration}}
  %b = simt.load_shared %t : !simt.shared<[16, 8], f16, #right> -> tensor<16x8xf16, #b>
  %r = scf.for %i = %one to %count step %one iter_args(%sum = %zero) -> (tensor<32x8xf32, #c>) : i32 {
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
#left = #tile.layout<[32, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
#right = #tile.layout<[16, 8] offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
// A, B and the accumulator take 4 + 2 + 4 registers; 52 are kept for the rest.
#few = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 60, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma]>


module attributes {tile.target = #few, tile.processor = {simds = 4 : i32, registers = 512 : i32, granule = 8 : i32, warps = 8 : i32, shared_bytes = 65536 : i32}, simt.num_warps = 2 : i32} {
// Registers let a processor hold sixteen programs, with either memory.
// CHECK-LABEL: @registers_limit_programs
// CHECK: scf.for
// CHECK: simt.load_shared %{{.*}} : <[32, 16]
func.func @registers_limit_programs(%x: tensor<32x16xf16, #a>, %y: tensor<16x8xf16, #b>, %zero: tensor<32x8xf32, #c>, %count: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %s = simt.alloc_shared "left" : !simt.shared<[32, 16], f16, #left>
  %t = simt.alloc_shared "right" : !simt.shared<[16, 8], f16, #right>
  simt.store_shared %x, %s : tensor<32x16xf16, #a>, !simt.shared<[32, 16], f16, #left>
  simt.store_shared %y, %t : tensor<16x8xf16, #b>, !simt.shared<[16, 8], f16, #right>
  // expected-remark @below {{the loop of its products needs about 10 registers: this operand is read from shared memory in each iteration}}
  %a = simt.load_shared %s : !simt.shared<[32, 16], f16, #left> -> tensor<32x16xf16, #a>
  %b = simt.load_shared %t : !simt.shared<[16, 8], f16, #right> -> tensor<16x8xf16, #b>
  %r = scf.for %i = %one to %count step %one iter_args(%sum = %zero) -> (tensor<32x8xf32, #c>) : i32 {
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}
