// Reductions and scans with warps along the axis: warps exchange small partial results.
// RUN: tile-opt --stage-through-shared --split-input-file %s | FileCheck %s

#flat = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @sum
func.func @sum(%x: tensor<1024xf32, #flat>) -> f32 {
  // CHECK: %[[PARTIAL:.*]] = simt.partial_reduce(%{{.*}}) axis 0 commutative
  // CHECK: simt.yield
  // CHECK: -> tensor<4xf32, #tile.layout<[4] lane = {{\[\[0\], \[0\], \[0\], \[0\], \[0\]\]}} warp = {{\[\[1\], \[2\]\]}}
  // CHECK: %[[BUFFER:.*]] = simt.alloc_shared "reduction at line
  // CHECK: simt.store_shared %[[PARTIAL]], %[[BUFFER]]
  // CHECK: %[[PIECES:.*]] = simt.load_shared %[[BUFFER]]
  // CHECK: tile.reduce(%[[PIECES]]) axis 0 commutative
  // CHECK: layout<[4] register = {{\[\[1\], \[2\]\]}}
  %s = tile.reduce (%x) axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<1024xf32, #flat>) -> f32
  return %s : f32
}

// Registers lie above the warps: the pieces would be combined out of order.
// CHECK-LABEL: @in_order
func.func @in_order(%x: tensor<1024xi32, #flat>) -> i32 {
  // CHECK: simt.alloc_shared "operand at line
  // CHECK: simt.load_shared
  // CHECK-SAME: register = {{\[\[1\], \[2\], \[4\]\]}} lane = {{\[\[8\], \[16\], \[32\], \[64\], \[128\]\]}} warp = {{\[\[256\], \[512\]\]}}
  // CHECK: simt.partial_reduce(%{{.*}}) axis 0 {
  // CHECK: tile.reduce(%{{.*}}) axis 0 {
  %s = tile.reduce (%x) axis 0 {
  ^bb0(%a: i32, %b: i32):
    tile.yield %a : i32
  } : (tensor<1024xi32, #flat>) -> i32
  return %s : i32
}

// CHECK-LABEL: @scan
func.func @scan(%x: tensor<1024xf32, #flat>) -> tensor<1024xf32, #flat> {
  // CHECK: simt.alloc_shared "operand at line
  // CHECK: tile.scan
  // CHECK: tensor<1024xf32, #tile.layout<[1024] register = {{.*}} warp = {{\[\[0\], \[0\]\]}}>>
  %s = tile.scan (%x) axis 0 {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<1024xf32, #flat>) -> tensor<1024xf32, #flat>
  return %s : tensor<1024xf32, #flat>
}
}

// -----

// Two results: both are written before either is read, so one barrier serves.
#columns = #tile.layout<[64, 32] register = [[1, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[2, 0], [4, 0]]>
#column = #tile.layout<[32] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[0], [0]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @largest_and_place
func.func @largest_and_place(%x: tensor<64x32xf32, #columns>, %i: tensor<64x32xi32, #columns>) -> tensor<32xi32, #column> {
  // CHECK: simt.partial_reduce(%{{.*}}, %{{.*}}) axis 0 commutative
  // CHECK: simt.store_shared
  // CHECK: simt.store_shared
  // CHECK: simt.load_shared
  // CHECK: simt.load_shared
  // CHECK: tile.reduce
  // CHECK: layout<[4, 32] register = {{\[\[1, 0\], \[2, 0\]\]}} lane = {{\[\[0, 1\], \[0, 2\], \[0, 4\], \[0, 8\], \[0, 16\]\]}} warp = {{\[\[0, 0\], \[0, 0\]\]}}
  %m:2 = tile.reduce (%x, %i) axis 0 commutative {
  ^bb0(%a: f32, %p: i32, %b: f32, %q: i32):
    %g = arith.cmpf ogt, %a, %b : f32
    %c = arith.select %g, %a, %b : f32
    %d = arith.select %g, %p, %q : i32
    tile.yield %c, %d : f32, i32
  } : (tensor<64x32xf32, #columns>, tensor<64x32xi32, #columns>) -> (tensor<32xf32, #column>, tensor<32xi32, #column>)
  return %m#1 : tensor<32xi32, #column>
}
}

// -----

// Eight pieces lie in lanes that would only hold copies.
#wide = #tile.layout<[256] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64], [128]]>
module attributes {simt.num_warps = 8 : i32} {
// CHECK-LABEL: @eight_warps
func.func @eight_warps(%x: tensor<256xf32, #wide>) -> f32 {
  // CHECK: simt.load_shared
  // CHECK-SAME: lane = {{\[\[1\], \[2\], \[4\], \[0\], \[0\]\]}}
  %s = tile.reduce (%x) axis 0 commutative {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<256xf32, #wide>) -> f32
  return %s : f32
}
}
