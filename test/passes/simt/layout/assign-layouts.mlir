// RUN: tile-opt %s -split-input-file -assign-layouts=num-warps=4 -verify-diagnostics | FileCheck %s

// Index tiles are made in the layouts of the rows and columns that they become: no conversions.
// CHECK: module attributes {simt.num_warps = 4 : i32
// CHECK-LABEL: func.func @rows_and_columns
// CHECK-NOT: simt.convert_layout
// CHECK-DAG: tile.arange 0 to 16 : tensor<16xi32, [[ROWS:#tile.layout<\[16\] register = \[\[4\], \[8\]\] lane = \[\[0\], \[0\], \[0\], \[0\], \[0\]\] warp = \[\[1\], \[2\]\]>]]>
// CHECK-DAG: tile.arange 0 to 32 : tensor<32xi32, [[COLUMNS:#tile.layout<\[32\] lane = \[\[1\], \[2\], \[4\], \[8\], \[16\]\] warp = \[\[0\], \[0\]\]>]]>
// CHECK: tile.expand_dims %{{.*}} axis 1 : tensor<16xi32, [[ROWS]]>
// CHECK: tile.expand_dims %{{.*}} axis 0 : tensor<32xi32, [[COLUMNS]]>
// CHECK: tile.load %{{.*}} -> tensor<16x32xf32, [[TILE:#tile.layout<\[16, 32\][^>]*>]]>
// CHECK: } : (tensor<16x32xf32, [[TILE]]>) -> tensor<16xf32, [[ROWS]]>
// CHECK: tile.store {{.*}}tensor<16x32xf32, [[TILE]]>
module attributes {tile.target = #tile.target<warp_size = 32, shared_bytes = 101376, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @rows_and_columns(%p: !tile.ptr<f32>, %stride: i32) {
  %r = tile.arange 0 to 16 : tensor<16xi32>
  %c = tile.arange 0 to 32 : tensor<32xi32>
  %s = tile.splat %stride : i32 -> tensor<16xi32>
  %rs = arith.muli %r, %s : tensor<16xi32>
  %r2 = tile.expand_dims %rs axis 1 : tensor<16xi32> -> tensor<16x1xi32>
  %c2 = tile.expand_dims %c axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %rb = tile.broadcast %r2 : tensor<16x1xi32> -> tensor<16x32xi32>
  %cb = tile.broadcast %c2 : tensor<1x32xi32> -> tensor<16x32xi32>
  %i = arith.addi %rb, %cb : tensor<16x32xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<16x32x!tile.ptr<f32>>
  %q = tile.addptr %ps, %i : tensor<16x32x!tile.ptr<f32>>, tensor<16x32xi32>
  %v = tile.load %q : tensor<16x32x!tile.ptr<f32>> -> tensor<16x32xf32>
  %sum = tile.reduce(%v) axis 1 commutative {
  ^bb0(%a: f32, %b: f32):
    %add = arith.addf %a, %b : f32
    tile.yield %add : f32
  } : (tensor<16x32xf32>) -> tensor<16xf32>
  %sum2 = tile.expand_dims %sum axis 1 : tensor<16xf32> -> tensor<16x1xf32>
  %sums = tile.broadcast %sum2 : tensor<16x1xf32> -> tensor<16x32xf32>
  %n = arith.divf %v, %sums : tensor<16x32xf32>
  tile.store %q, %n : tensor<16x32x!tile.ptr<f32>>, tensor<16x32xf32>
  return
}
}

// -----

// The accumulator of a product has 4 x 4 elements per lane, and the loop carries it like that.
// CHECK-LABEL: func.func @product
// CHECK: arith.constant dense<0.000000e+00> : tensor<64x64xf32, [[ACC:#tile.layout<\[64, 64\] register = \[\[0, 1\], \[0, 2\], \[1, 0\], \[2, 0\], \[0, 32\]\] lane = \[\[0, 4\], \[0, 8\], \[0, 16\], \[4, 0\], \[8, 0\]\] warp = \[\[16, 0\], \[32, 0\]\]>]]>
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32, [[ACC]]>)
// CHECK: tile.dot {{.*}} -> tensor<64x64xf32, [[ACC]]>
func.func @product(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>, %n: i32) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %next = tile.dot %a, %b, %acc : tensor<64x32xf32>, tensor<32x64xf32> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  return %sum : tensor<64x64xf32>
}

// -----

// A scan has no warps along its axis: every warp scans the whole, each lane a run of neighbours.
// CHECK-LABEL: func.func @scan
// CHECK: } : (tensor<1024xf32, #tile.layout<[1024] register = {{\[}}[1], [2], [4], [8], [16]] lane = {{\[}}[32], [64], [128], [256], [512]] warp = {{\[}}[0], [0]]>>)
func.func @scan(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %y = tile.scan(%x) axis 0 {
  ^bb0(%a: f32, %b: f32):
    %add = arith.addf %a, %b : f32
    tile.yield %add : f32
  } : (tensor<1024xf32>) -> tensor<1024xf32>
  return %y : tensor<1024xf32>
}

// -----

func.func @not_a_power_of_two() {
  // expected-error @below {{extents of layouts are powers of two: pad-extents comes first}}
  %r = tile.arange 0 to 96 : tensor<96xi32>
  return
}

// -----

// A tile that nobody uses is gone.
// CHECK-LABEL: func @poison
// CHECK-NEXT: return
func.func @poison() {
  %x = ub.poison : tensor<128xf32>
  return
}

// -----

// expected-error @below {{extents of layouts are powers of two: pad-extents comes first}}
func.func @ragged_argument(%x: tensor<48xf32>) {
  return
}
