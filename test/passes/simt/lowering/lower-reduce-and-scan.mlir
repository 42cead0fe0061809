// Reductions and scans inside each warp.
// RUN: tile-opt --lower-simt --split-input-file %s | FileCheck %s

#row = #tile.layout<[1024] register = [[1], [2], [128], [256], [512]] lane = [[4], [8], [16], [32], [64]]>
module attributes {simt.num_warps = 1 : i32} {
// Registers first: 31 additions, then one shuffle and addition per bit of the lane.
// CHECK-LABEL: llvm.func @sum
// CHECK-COUNT-31: arith.addf
// CHECK-COUNT-5: simt.shuffle xor
// CHECK: arith.addf
// CHECK-NOT: simt.shuffle
// CHECK-NOT: arith.addf
// CHECK: llvm.return
func.func @sum(%x: f32) {
  %t = tile.splat %x : f32 -> tensor<1024xf32, #row>
  %r = tile.reduce(%t) axis 0 commutative {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<1024xf32, #row>) -> f32
  return
}

// In order, a lane has to know which of two neighbours comes first.
// CHECK-LABEL: llvm.func @in_order
// CHECK: %[[OTHER:.*]] = simt.shuffle xor %[[OWN:.*]], %{{.*}} : f32
// CHECK: %[[LOW:.*]] = arith.select %[[HIGH:.*]], %[[OTHER]], %[[OWN]] : f32
// CHECK: %[[UP:.*]] = arith.select %[[HIGH]], %[[OWN]], %[[OTHER]] : f32
// CHECK: arith.subf %[[LOW]], %[[UP]] : f32
func.func @in_order(%x: f32) {
  %t = tile.splat %x : f32 -> tensor<1024xf32, #row>
  %r = tile.reduce(%t) axis 0 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.subf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<1024xf32, #row>) -> f32
  return
}
}

// -----

#rows = #tile.layout<[4, 64] register = [[0, 1], [1, 0], [2, 0]] lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]>
#reduced = #tile.layout<[4] register = [[1], [2]] lane = [[0], [0], [0], [0], [0]]>
module attributes {simt.num_warps = 1 : i32} {
// Several operands, one line per register that remains.
// CHECK-LABEL: llvm.func @rows
// CHECK-COUNT-40: simt.shuffle xor
// CHECK-NOT: simt.shuffle
// CHECK: llvm.return
func.func @rows(%x: f32, %i: i32) {
  %t = tile.splat %x : f32 -> tensor<4x64xf32, #rows>
  %u = tile.splat %i : i32 -> tensor<4x64xi32, #rows>
  %r:2 = tile.reduce(%t, %u) axis 1 commutative {
  ^bb0(%a: f32, %b: i32, %c: f32, %d: i32):
    %s = arith.addf %a, %c : f32
    %k = arith.addi %b, %d : i32
    tile.yield %s, %k : f32, i32
  } : (tensor<4x64xf32, #rows>, tensor<4x64xi32, #rows>) -> (tensor<4xf32, #reduced>, tensor<4xi32, #reduced>)
  return
}

// A chain in registers, then one shuffle per bit of the lane and row.
// CHECK-LABEL: llvm.func @scan
// CHECK-COUNT-4: arith.addf
// CHECK-COUNT-20: simt.shuffle xor
// CHECK-NOT: simt.shuffle
// CHECK: llvm.return
func.func @scan(%x: f32) {
  %t = tile.splat %x : f32 -> tensor<4x64xf32, #rows>
  %r = tile.scan(%t) axis 1 {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<4x64xf32, #rows>) -> tensor<4x64xf32, #rows>
  return
}
}

// -----

#row = #tile.layout<[256] register = [[1], [2], [128]] lane = [[4], [8], [16], [32], [64]]>
module attributes {simt.num_warps = 1 : i32} {
// Eight elements of a thread, in threes where any order gives the same: ((0 1 2) 6 7), (3 4 5).
// CHECK-LABEL: llvm.func @extremum
// CHECK: %[[A:.*]] = arith.maxnumf
// CHECK: %[[FIRST:.*]] = arith.maxnumf %[[A]],
// CHECK: %[[B:.*]] = arith.maxnumf
// CHECK: %[[SECOND:.*]] = arith.maxnumf %[[B]],
// CHECK: %[[C:.*]] = arith.maxnumf
// CHECK: %[[THIRD:.*]] = arith.maxnumf %[[C]], %[[FIRST]]
// CHECK: arith.maxnumf %[[SECOND]], %[[THIRD]]
// CHECK-COUNT-5: simt.shuffle xor
// CHECK: arith.maxnumf
// CHECK-NOT: arith.maxnumf
// CHECK: llvm.return
func.func @extremum(%x: f32) {
  %t = tile.splat %x : f32 -> tensor<256xf32, #row>
  %r = tile.reduce(%t) axis 0 commutative {
  ^bb0(%a: f32, %b: f32):
    %s = arith.maxnumf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<256xf32, #row>) -> f32
  return
}

// A sum of floats is rounded: in halves, of registers far apart first. In a lane it may take
// products into FMAs; between lanes each would round another one's product.
// CHECK-LABEL: llvm.func @rounded
// CHECK: %[[A:.*]] = arith.addf
// CHECK: %[[B:.*]] = arith.addf
// CHECK: %[[C:.*]] = arith.addf
// CHECK: %[[D:.*]] = arith.addf
// CHECK: %[[E:.*]] = arith.addf %[[A]], %[[C]] fastmath<contract>
// CHECK: %[[F:.*]] = arith.addf %[[B]], %[[D]] fastmath<contract>
// CHECK: arith.addf %[[E]], %[[F]] fastmath<contract>
// CHECK: simt.shuffle xor
// CHECK-NOT: fastmath
// CHECK: llvm.return
func.func @rounded(%x: f32) {
  %t = tile.splat %x : f32 -> tensor<256xf32, #row>
  %r = tile.reduce(%t) axis 0 commutative {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tile.yield %s : f32
  } : (tensor<256xf32, #row>) -> f32
  return
}

// One operation that takes an element twice is in no order: the same as for sums of floats.
// CHECK-LABEL: llvm.func @twice
// CHECK-COUNT-12: arith.addi
// CHECK-NOT: arith.addi
// CHECK: llvm.return
func.func @twice(%x: i32) {
  %t = tile.splat %x : i32 -> tensor<256xi32, #row>
  %r = tile.reduce(%t) axis 0 commutative {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %b, %b : i32
    tile.yield %s : i32
  } : (tensor<256xi32, #row>) -> i32
  return
}
}
