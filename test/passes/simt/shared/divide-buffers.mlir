// What does not fit in shared memory goes through it in rounds; what fits stays whole.
// RUN: tile-opt --divide-buffers --allocate-shared --insert-barriers --verify-stage=stage=scheduled --split-input-file %s | FileCheck %s

#columns = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0]]>
#rows = #tile.layout<[64, 64] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[0, 32]]>
#flat = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 10000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {

// No element is in a register before and after: the halves are columns, which registers of the
// source select, and each warp reads both and keeps one.
// CHECK-LABEL: @halves
// CHECK: %[[LEFT:.*]], %[[RIGHT:.*]] = tile.split
// CHECK: %[[FIRST:.*]] = simt.alloc_shared "conversion at line 7" at 0 : <[64, 1, 32], f32
// CHECK: simt.store_shared %[[LEFT]], %[[FIRST]]
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: simt.load_shared %[[FIRST]]
// CHECK: %[[SECOND:.*]] = simt.alloc_shared "conversion at line 7" at 0 : <[64, 1, 32], f32
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: simt.store_shared %[[RIGHT]], %[[SECOND]]
// CHECK-NEXT: simt.barrier
// CHECK-NEXT: simt.load_shared %[[SECOND]]
// CHECK: tile.join
// CHECK-NOT: alloc_shared
// CHECK: return
func.func @halves(%x: tensor<64x64xf32, #columns>) -> tensor<64x64xf32, #rows> {
  %b = simt.alloc_shared "conversion at line 7" : !simt.shared<[64, 64], f32, #flat>
  simt.store_shared %x, %b : tensor<64x64xf32, #columns>, !simt.shared<[64, 64], f32, #flat>
  %y = simt.load_shared %b : !simt.shared<[64, 64], f32, #flat> -> tensor<64x64xf32, #rows>
  return %y : tensor<64x64xf32, #rows>
}
}

// -----

#columns = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0]]>
#rows = #tile.layout<[64, 64] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[0, 32]]>
#flat = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 5000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {

// CHECK-LABEL: @quarters
// CHECK-COUNT-4: simt.alloc_shared "conversion at line 7" at 0 : {{.*}}16], f32
// CHECK-NOT: alloc_shared
// CHECK: return
func.func @quarters(%x: tensor<64x64xf32, #columns>) -> tensor<64x64xf32, #rows> {
  %b = simt.alloc_shared "conversion at line 7" : !simt.shared<[64, 64], f32, #flat>
  simt.store_shared %x, %b : tensor<64x64xf32, #columns>, !simt.shared<[64, 64], f32, #flat>
  %y = simt.load_shared %b : !simt.shared<[64, 64], f32, #flat> -> tensor<64x64xf32, #rows>
  return %y : tensor<64x64xf32, #rows>
}
}

// -----

#columns = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0]]>
#rows = #tile.layout<[64, 64] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[0, 32]]>
#flat = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 16384, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {

// CHECK-LABEL: @fits
// CHECK-NOT: tile.split
// CHECK: return
func.func @fits(%x: tensor<64x64xf32, #columns>) -> tensor<64x64xf32, #rows> {
  %b = simt.alloc_shared "conversion at line 7" : !simt.shared<[64, 64], f32, #flat>
  simt.store_shared %x, %b : tensor<64x64xf32, #columns>, !simt.shared<[64, 64], f32, #flat>
  %y = simt.load_shared %b : !simt.shared<[64, 64], f32, #flat> -> tensor<64x64xf32, #rows>
  return %y : tensor<64x64xf32, #rows>
}
}

// -----

#columns = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0]]>
#rows = #tile.layout<[64, 64] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[0, 32]]>
#flat = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
#small = #tile.layout<[1024] register = [[64], [128], [256], [512]] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
#other = #tile.layout<[1024] register = [[1], [2], [4], [8]] lane = [[16], [32], [64], [128], [256]] warp = [[512]]>
#line = #tile.layout<[1024] offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 16384, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {

// Another buffer leaves too little: the larger one goes in halves.
// CHECK-LABEL: @beside_another
// CHECK: simt.alloc_shared "kept" at {{[0-9]+}} : <[1024], f32
// CHECK-COUNT-2: simt.alloc_shared "conversion at line 7" at {{[0-9]+}} : <[64, 1, 32], f32
// CHECK-NOT: alloc_shared
// CHECK: return
func.func @beside_another(%k: tensor<1024xf32, #small>, %x: tensor<64x64xf32, #columns>) -> (tensor<1024xf32, #other>, tensor<64x64xf32, #rows>) {
  %a = simt.alloc_shared "kept" : !simt.shared<[1024], f32, #line>
  simt.store_shared %k, %a : tensor<1024xf32, #small>, !simt.shared<[1024], f32, #line>
  %b = simt.alloc_shared "conversion at line 7" : !simt.shared<[64, 64], f32, #flat>
  simt.store_shared %x, %b : tensor<64x64xf32, #columns>, !simt.shared<[64, 64], f32, #flat>
  %y = simt.load_shared %b : !simt.shared<[64, 64], f32, #flat> -> tensor<64x64xf32, #rows>
  %z = simt.load_shared %a : !simt.shared<[1024], f32, #line> -> tensor<1024xf32, #other>
  return %z, %y : tensor<1024xf32, #other>, tensor<64x64xf32, #rows>
}
}

// -----

#columns = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0]]>
#rows = #tile.layout<[64, 64] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[0, 32]]>
#flat = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 40000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {

// Behind a loop a tile takes no more than the loop does: two programs of two warps are on a
// processor as it is, and four then. In the loop it stays whole.
// CHECK-LABEL: @behind_a_loop
// CHECK: scf.for
// CHECK: simt.alloc_shared "in the loop" at 0 : <[64, 64], f16
// CHECK: }
// CHECK-COUNT-2: simt.alloc_shared "behind it" at 0 : {{.*}}32], f32
// CHECK-NOT: alloc_shared
// CHECK: return
func.func @behind_a_loop(%h: tensor<64x64xf16, #columns>, %x: tensor<64x64xf32, #columns>, %n: i32) -> (tensor<64x64xf16, #rows>, tensor<64x64xf32, #rows>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf16, #rows>
  %r = scf.for %i = %zero to %n step %one iter_args(%last = %none) -> (tensor<64x64xf16, #rows>) : i32 {
    %a = simt.alloc_shared "in the loop" : !simt.shared<[64, 64], f16, #flat>
    simt.store_shared %h, %a : tensor<64x64xf16, #columns>, !simt.shared<[64, 64], f16, #flat>
    %g = simt.load_shared %a : !simt.shared<[64, 64], f16, #flat> -> tensor<64x64xf16, #rows>
    scf.yield %g : tensor<64x64xf16, #rows>
  }
  %b = simt.alloc_shared "behind it" : !simt.shared<[64, 64], f32, #flat>
  simt.store_shared %x, %b : tensor<64x64xf32, #columns>, !simt.shared<[64, 64], f32, #flat>
  %y = simt.load_shared %b : !simt.shared<[64, 64], f32, #flat> -> tensor<64x64xf32, #rows>
  return %r, %y : tensor<64x64xf16, #rows>, tensor<64x64xf32, #rows>
}
}

// -----

#columns = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0]]>
#rows = #tile.layout<[64, 64] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[0, 32]]>
#flat = #tile.layout<[64, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 2 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 40000, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {

// A loop around the other, as over the tiles of a persistent kernel, makes no difference.
// CHECK-LABEL: @behind_an_inner_loop
// CHECK: scf.for
// CHECK: scf.for
// CHECK: simt.alloc_shared "in the loop" at 0 : <[64, 64], f16
// CHECK: }
// CHECK-COUNT-2: simt.alloc_shared "behind it" at 0 : {{.*}}32], f32
// CHECK-NOT: alloc_shared
// CHECK: return
func.func @behind_an_inner_loop(%h: tensor<64x64xf16, #columns>, %x: tensor<64x64xf32, #columns>, %n: i32) -> (tensor<64x64xf16, #rows>, tensor<64x64xf32, #rows>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant dense<0.0> : tensor<64x64xf16, #rows>
  %wide = arith.constant dense<0.0> : tensor<64x64xf32, #rows>
  %all:2 = scf.for %tile = %zero to %n step %one iter_args(%l = %none, %w = %wide) -> (tensor<64x64xf16, #rows>, tensor<64x64xf32, #rows>) : i32 {
    %r = scf.for %i = %zero to %n step %one iter_args(%last = %none) -> (tensor<64x64xf16, #rows>) : i32 {
      %a = simt.alloc_shared "in the loop" : !simt.shared<[64, 64], f16, #flat>
      simt.store_shared %h, %a : tensor<64x64xf16, #columns>, !simt.shared<[64, 64], f16, #flat>
      %g = simt.load_shared %a : !simt.shared<[64, 64], f16, #flat> -> tensor<64x64xf16, #rows>
      scf.yield %g : tensor<64x64xf16, #rows>
    }
    %b = simt.alloc_shared "behind it" : !simt.shared<[64, 64], f32, #flat>
    simt.store_shared %x, %b : tensor<64x64xf32, #columns>, !simt.shared<[64, 64], f32, #flat>
    %y = simt.load_shared %b : !simt.shared<[64, 64], f32, #flat> -> tensor<64x64xf32, #rows>
    scf.yield %r, %y : tensor<64x64xf16, #rows>, tensor<64x64xf32, #rows>
  }
  return %all#0, %all#1 : tensor<64x64xf16, #rows>, tensor<64x64xf32, #rows>
}
}
