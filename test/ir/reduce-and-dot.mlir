// Round trips of reductions, scans, matrix products, hints and debugging operations.
// RUN: tile-opt %s | tile-opt | FileCheck %s

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<8x4xf32>, %i: tensor<8x4xi32>, %row: tensor<4xf32>) {
  // CHECK: tile.reduce(%{{.*}}) axis 0 {
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
  // CHECK: tile.yield %{{.*}} : f32
  // CHECK: } : (tensor<4xf32>) -> f32
  %a = tile.reduce(%row) axis 0 {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %l, %r : f32
    tile.yield %s : f32
  } : (tensor<4xf32>) -> f32
  // CHECK: tile.reduce(%{{.*}}, %{{.*}}) axis 1 {
  // CHECK: } : (tensor<8x4xf32>, tensor<8x4xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  %b:2 = tile.reduce(%x, %i) axis 1 {
  ^bb0(%l: f32, %li: i32, %r: f32, %ri: i32):
    %larger = arith.cmpf ogt, %l, %r : f32
    %s = arith.select %larger, %l, %r : f32
    %si = arith.select %larger, %li, %ri : i32
    tile.yield %s, %si : f32, i32
  } : (tensor<8x4xf32>, tensor<8x4xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return
}

// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<8xi32>) {
  // CHECK: tile.scan(%{{.*}}) axis 0 reverse {
  // CHECK: } : (tensor<8xi32>) -> tensor<8xi32>
  %a = tile.scan(%x) axis 0 reverse {
  ^bb0(%l: i32, %r: i32):
    %s = arith.muli %l, %r : i32
    tile.yield %s : i32
  } : (tensor<8xi32>) -> tensor<8xi32>
  return
}

// CHECK-LABEL: func.func @dot
func.func @dot(%a: tensor<8x16xbf16>, %b: tensor<16x4xbf16>, %c: tensor<8x4xf32>, %i: tensor<2x4x4xi8>, %j: tensor<2x4x4xi32>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
  %d = tile.dot %a, %b, %c : tensor<8x16xbf16>, tensor<16x4xbf16> -> tensor<8x4xf32>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} {precision = 1 : i32} : tensor<2x4x4xi8>, tensor<2x4x4xi8> -> tensor<2x4x4xi32>
  %e = tile.dot %i, %i, %j {precision = 1 : i32} : tensor<2x4x4xi8>, tensor<2x4x4xi8> -> tensor<2x4x4xi32>
  return
}

// Bytes are two elements of e2m1 along k.
// CHECK-LABEL: func.func @scaled
func.func @scaled(%a: tensor<8x32xi8>, %b: tensor<64x4xf8E5M2>, %c: tensor<8x4xf32>, %s: tensor<8x2xi8>, %t: tensor<4x2xi8>) {
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} scaled(%{{.*}}, %{{.*}} : tensor<8x2xi8>, tensor<4x2xi8>) : tensor<8x32xi8>, tensor<64x4xf8E5M2> -> tensor<8x4xf32>
  %d = tile.dot %a, %b, %c scaled (%s, %t : tensor<8x2xi8>, tensor<4x2xi8>) : tensor<8x32xi8>, tensor<64x4xf8E5M2> -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @facts_and_debugging
func.func @facts_and_debugging(%x: tensor<8x4xi32>, %m: tensor<8xi1>, %c: i1) {
  // CHECK: tile.hint %{{.*}} {constancy = array<i64: 1, 4>, contiguity = array<i64: 8, 1>, divisibility = array<i64: 16, 1>} : tensor<8x4xi32>
  %h = tile.hint %x {divisibility = array<i64: 16, 1>, contiguity = array<i64: 8, 1>, constancy = array<i64: 1, 4>} : tensor<8x4xi32>
  // CHECK: tile.assume %{{.*}}
  tile.assume %c
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.print "x = " {hex = false, is_signed = array<i32: 1, 0>} : %{{.*}}, %{{.*}} : tensor<8x4xi32>, i1
  tile.print "x = " {hex = false, is_signed = array<i32: 1, 0>} : %x, %c : tensor<8x4xi32>, i1
  // CHECK: tile.print "part" {extents = array<i64: 5, 4>, hex = false, is_signed = array<i32: 1>} : %{{.*}} : tensor<8x4xi32>
  tile.print "part" {extents = array<i64: 5, 4>, hex = false, is_signed = array<i32: 1>} : %x : tensor<8x4xi32>
  // CHECK: tile.assert %{{.*}}, "holds" : i1
  tile.assert %c, "holds" : i1
  // CHECK: tile.assert %{{.*}}, "holds" mask %{{.*}} : tensor<8xi1> : tensor<8xi1>
  tile.assert %m, "holds" mask %m : tensor<8xi1> : tensor<8xi1>
  return
}
