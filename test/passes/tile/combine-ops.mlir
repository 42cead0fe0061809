// Work moves from tiles to the smaller tiles and scalars that they are made of.
// RUN: tile-opt --combine-ops --split-input-file %s | FileCheck %s

// CHECK-LABEL: @mask_of_rows
// CHECK-SAME: %[[ROWS:.*]]: tensor<64xi32>, %[[M:.*]]: i32
func.func @mask_of_rows(%rows: tensor<64xi32>, %m: i32) -> tensor<64x32xi1> {
  // CHECK-DAG: %[[BOUND:.*]] = tile.splat %[[M]] : i32 -> tensor<64xi32>
  // CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[ROWS]], %[[BOUND]] : tensor<64xi32>
  // CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[MASK]] axis 1
  // CHECK: tile.broadcast %[[COLUMN]] : tensor<64x1xi1> -> tensor<64x32xi1>
  %column = tile.expand_dims %rows axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %all = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x32xi32>
  %bound = tile.splat %m : i32 -> tensor<64x32xi32>
  %mask = arith.cmpi slt, %all, %bound : tensor<64x32xi32>
  return %mask : tensor<64x32xi1>
}

// -----

// CHECK-LABEL: @different_axes
func.func @different_axes(%a: tensor<32xi32>, %b: tensor<32xi32>) -> tensor<32x32xi32> {
  // CHECK: arith.addi %{{.*}}, %{{.*}} : tensor<32x32xi32>
  %c = tile.expand_dims %a axis 1 : tensor<32xi32> -> tensor<32x1xi32>
  %d = tile.expand_dims %b axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %e = tile.broadcast %c : tensor<32x1xi32> -> tensor<32x32xi32>
  %f = tile.broadcast %d : tensor<1x32xi32> -> tensor<32x32xi32>
  %g = arith.addi %e, %f : tensor<32x32xi32>
  return %g : tensor<32x32xi32>
}

// -----

// CHECK-LABEL: @scalars
// CHECK-SAME: %[[A:.*]]: f32
func.func @scalars(%a: f32) -> tensor<64xf32> {
  // CHECK-DAG: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK: %[[B:.*]] = arith.addf %[[A]], %[[TWO]] fastmath<contract> : f32
  // CHECK: tile.splat %[[B]] : f32 -> tensor<64xf32>
  %two = arith.constant dense<2.0> : tensor<64xf32>
  %t = tile.splat %a : f32 -> tensor<64xf32>
  %b = arith.addf %t, %two fastmath<contract> : tensor<64xf32>
  return %b : tensor<64xf32>
}

// -----

// CHECK-LABEL: @pointers
// CHECK-SAME: %[[P:.*]]: !tile.ptr<f32>, %[[ROW:.*]]: i32, %[[K:.*]]: i64
func.func @pointers(%p: !tile.ptr<f32>, %row: i32, %k: i64) -> tensor<64x!tile.ptr<f32>> {
  // CHECK: %[[A:.*]] = tile.addptr %[[P]], %[[ROW]]
  // CHECK: %[[B:.*]] = tile.addptr %[[A]], %[[K]]
  // CHECK: %[[BASE:.*]] = tile.splat %[[B]]
  // CHECK: tile.addptr %[[BASE]], %{{.*}} : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %rows = tile.splat %row : i32 -> tensor<64xi32>
  %ks = tile.splat %k : i64 -> tensor<64xi64>
  %cols = tile.arange 0 to 64 : tensor<64xi32>
  %a = tile.addptr %ps, %rows : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %b = tile.addptr %a, %cols : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %c = tile.addptr %b, %ks : tensor<64x!tile.ptr<f32>>, tensor<64xi64>
  return %c : tensor<64x!tile.ptr<f32>>
}

// -----

// CHECK-LABEL: @divisions
func.func @divisions(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK-DAG: arith.constant dense<2.500000e-01>
  %four = arith.constant dense<4.0> : tensor<64xf32>
  %three = arith.constant dense<3.0> : tensor<64xf32>
  // CHECK: arith.mulf
  %a = arith.divf %x, %four : tensor<64xf32>
  // CHECK: arith.divf
  %b = arith.divf %x, %three : tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// -----

// CHECK-LABEL: @masks
// CHECK-SAME: %[[A:.*]]: tensor<64xi1>, %[[B:.*]]: tensor<64xi1>
func.func @masks(%a: tensor<64xi1>, %b: tensor<64xi1>) -> (tensor<64xi1>, tensor<64xi1>) {
  %no = arith.constant dense<false> : tensor<64xi1>
  %yes = arith.constant dense<true> : tensor<64xi1>
  // CHECK-DAG: arith.andi %[[A]], %[[B]]
  // CHECK-DAG: arith.ori %[[A]], %[[B]]
  // CHECK-NOT: arith.select
  %c = arith.select %a, %b, %no : tensor<64xi1>, tensor<64xi1>
  %d = arith.select %a, %yes, %b : tensor<64xi1>, tensor<64xi1>
  return %c, %d : tensor<64xi1>, tensor<64xi1>
}

// -----

// Choices of one alternative, one behind the other, are one choice.
// CHECK-LABEL: @choices
// CHECK-SAME: %[[A:.*]]: tensor<64xi1>, %[[B:.*]]: tensor<64xi1>, %[[X:.*]]: tensor<64xf32>, %[[Y:.*]]: tensor<64xf32>
func.func @choices(%a: tensor<64xi1>, %b: tensor<64xi1>, %x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK-DAG: %[[BOTH:.*]] = arith.andi %[[B]], %[[A]]
  // CHECK-DAG: %[[EITHER:.*]] = arith.ori %[[B]], %[[A]]
  // CHECK-DAG: arith.select %[[BOTH]], %[[X]], %[[Y]]
  // CHECK-DAG: arith.select %[[EITHER]], %[[X]], %[[Y]]
  // CHECK-NOT: arith.select
  %c = arith.select %a, %x, %y : tensor<64xi1>, tensor<64xf32>
  %d = arith.select %b, %c, %y : tensor<64xi1>, tensor<64xf32>
  %e = arith.select %a, %x, %y : tensor<64xi1>, tensor<64xf32>
  %f = arith.select %b, %x, %e : tensor<64xi1>, tensor<64xf32>
  return %d, %f : tensor<64xf32>, tensor<64xf32>
}

// -----

// CHECK-LABEL: @hints
func.func @hints(%x: tensor<64xi32>, %y: i32) -> (tensor<64xi32>, i32) {
  // CHECK: tile.hint %{{.*}} {contiguity = array<i64: 64>, divisibility = array<i64: 24>}
  // CHECK-NOT: tile.hint
  %a = tile.hint %x {divisibility = array<i64: 8>, contiguity = array<i64: 64>} : tensor<64xi32>
  %b = tile.hint %a {divisibility = array<i64: 12>} : tensor<64xi32>
  %c = tile.hint %y {divisibility = array<i64: 1>} : i32
  return %b, %c : tensor<64xi32>, i32
}

// -----

// No number of 64 bits is a multiple of both.
// CHECK-LABEL: @far_hints
func.func @far_hints(%x: tensor<64xi32>) -> tensor<64xi32> {
  // CHECK: tile.hint %{{.*}} {divisibility = array<i64: 9223372036854775807>}
  %a = tile.hint %x {divisibility = array<i64: 8>} : tensor<64xi32>
  %b = tile.hint %a {divisibility = array<i64: 9223372036854775807>} : tensor<64xi32>
  return %b : tensor<64xi32>
}

// -----

// A product begins with the sum that it would be added to; in sums of 16 bits, and where others use
// the product, it stays as it is.
// CHECK-LABEL: @sums_of_products
// CHECK-SAME: %[[A:.*]]: tensor<16x16xf16>, %[[SUM:.*]]: tensor<16x16xf32>, %[[HALF:.*]]: tensor
func.func @sums_of_products(%a: tensor<16x16xf16>, %sum: tensor<16x16xf32>, %half: tensor<16x16xf16>)
    -> (tensor<16x16xf32>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>) {
  // CHECK: %[[FIRST:.*]] = tile.dot %[[A]], %[[A]], %[[SUM]]
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %p = tile.dot %a, %a, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  %first = arith.addf %p, %sum : tensor<16x16xf32>
  // CHECK: %[[SECOND:.*]] = tile.dot
  // CHECK: arith.addf %[[SECOND]], %[[HALF]]
  %zero16 = arith.constant dense<0.0> : tensor<16x16xf16>
  %q = tile.dot %a, %a, %zero16 : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf16>
  %second = arith.addf %q, %half : tensor<16x16xf16>
  // CHECK: %[[THIRD:.*]] = tile.dot
  // CHECK: arith.addf %[[SUM]], %[[THIRD]]
  %t = tile.dot %a, %a, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  %third = arith.addf %sum, %t : tensor<16x16xf32>
  return %first, %second, %third, %t : tensor<16x16xf32>, tensor<16x16xf16>, tensor<16x16xf32>, tensor<16x16xf32>
}
