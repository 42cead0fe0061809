// RUN: tile-opt %s -split-input-file -merge-products -canonicalize -cse | FileCheck %s

// Nine products of 8 columns are one of 72, which begins with what the loop began with; masks and
// operands are those of all columns.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: scf.for
// CHECK: %[[R:.*]] = tile.arange 0 to 72 : tensor<72xi32>
// CHECK: %[[A:.*]] = tile.load {{.*}} -> tensor<64x72xf32>
// CHECK: arith.cmpi slt, %[[R]], %{{.*}} : tensor<72xi32>
// CHECK: %[[B:.*]] = tile.load {{.*}} mask {{.*}} -> tensor<72x32xf32>
// CHECK: tile.dot %[[A]], %[[B]], %{{.*}} : tensor<64x72xf32>, tensor<72x32xf32>
func.func @whole(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32) -> tensor<64x32xf32> {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c72 = arith.constant 72 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %r = tile.arange 0 to 8 : tensor<8xi32>
  %limit = tile.splat %n : i32 -> tensor<8xi32>
  %sum = scf.for %k = %c0 to %c72 step %c8 iter_args(%acc = %zero) -> (tensor<64x32xf32>) : i32 {
    %ks = tile.splat %k : i32 -> tensor<8xi32>
    %at = arith.addi %ks, %r : tensor<8xi32>
    %ok = arith.cmpi slt, %at, %limit : tensor<8xi32>
    %row = tile.expand_dims %at axis 0 : tensor<8xi32> -> tensor<1x8xi32>
    %as = tile.broadcast %row : tensor<1x8xi32> -> tensor<64x8xi32>
    %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x8x!tile.ptr<f32>>
    %ap = tile.addptr %xs, %as : tensor<64x8x!tile.ptr<f32>>, tensor<64x8xi32>
    %a = tile.load %ap : tensor<64x8x!tile.ptr<f32>> -> tensor<64x8xf32>
    %column = tile.expand_dims %at axis 1 : tensor<8xi32> -> tensor<8x1xi32>
    %bs = tile.broadcast %column : tensor<8x1xi32> -> tensor<8x32xi32>
    %mask1 = tile.expand_dims %ok axis 1 : tensor<8xi1> -> tensor<8x1xi1>
    %mask = tile.broadcast %mask1 : tensor<8x1xi1> -> tensor<8x32xi1>
    %ys = tile.splat %y : !tile.ptr<f32> -> tensor<8x32x!tile.ptr<f32>>
    %bp = tile.addptr %ys, %bs : tensor<8x32x!tile.ptr<f32>>, tensor<8x32xi32>
    %b = tile.load %bp mask %mask : tensor<8x32xi1> : tensor<8x32x!tile.ptr<f32>> -> tensor<8x32xf32>
    %next = tile.dot %a, %b, %acc : tensor<64x8xf32>, tensor<8x32xf32> -> tensor<64x32xf32>
    scf.yield %next : tensor<64x32xf32>
  }
  return %sum : tensor<64x32xf32>
}

// -----

// 125 iterations are 25 of 5 times as many columns: no more than are of use. The loop counts
// products, and its columns begin at a multiple.
// CHECK-LABEL: func.func @part
// CHECK: scf.for %[[I:.*]] = %c0_i32 to %c125_i32 step %c5_i32
// CHECK:   %[[K:.*]] = arith.muli %[[I]], %c16_i32
// CHECK:   tile.splat %[[K]] : i32 -> tensor<80xi32>
// CHECK:   tile.dot {{.*}} : tensor<16x80xf32>, tensor<80x16xf32>
func.func @part(%x: !tile.ptr<f32>) -> tensor<16x16xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %c125 = arith.constant 125 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %ones = arith.constant dense<1.0> : tensor<16x16xf32>
  %r = tile.arange 0 to 16 : tensor<16xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<16x16x!tile.ptr<f32>>
  %sum = scf.for %i = %c0 to %c125 step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i32 {
    %k = arith.muli %i, %c16 : i32
    %ks = tile.splat %k : i32 -> tensor<16xi32>
    %at = arith.addi %ks, %r : tensor<16xi32>
    %row = tile.expand_dims %at axis 0 : tensor<16xi32> -> tensor<1x16xi32>
    %as = tile.broadcast %row : tensor<1x16xi32> -> tensor<16x16xi32>
    %ap = tile.addptr %xs, %as : tensor<16x16x!tile.ptr<f32>>, tensor<16x16xi32>
    %a = tile.load %ap : tensor<16x16x!tile.ptr<f32>> -> tensor<16x16xf32>
    %next = tile.dot %a, %ones, %acc : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  return %sum : tensor<16x16xf32>
}

// -----

// The same columns in each iteration cannot be had side by side, and columns that lie two apart are
// not those of the next iteration.
// CHECK-LABEL: func.func @other_columns
// CHECK-COUNT-2: tensor<16x8xf32>, tensor<8x16xf32>
func.func @other_columns(%x: !tile.ptr<f32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c16 = arith.constant 16 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %ones = arith.constant dense<1.0> : tensor<8x16xf32>
  %r = tile.arange 0 to 8 : tensor<8xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<16x8x!tile.ptr<f32>>
  %same = scf.for %k = %c0 to %c64 step %c8 iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i32 {
    %row = tile.expand_dims %r axis 0 : tensor<8xi32> -> tensor<1x8xi32>
    %as = tile.broadcast %row : tensor<1x8xi32> -> tensor<16x8xi32>
    %ap = tile.addptr %xs, %as : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xi32>
    %a = tile.load %ap : tensor<16x8x!tile.ptr<f32>> -> tensor<16x8xf32>
    %next = tile.dot %a, %ones, %acc : tensor<16x8xf32>, tensor<8x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  %apart = scf.for %k = %c0 to %c64 step %c16 iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i32 {
    %ks = tile.splat %k : i32 -> tensor<8xi32>
    %at = arith.addi %ks, %r : tensor<8xi32>
    %row = tile.expand_dims %at axis 0 : tensor<8xi32> -> tensor<1x8xi32>
    %as = tile.broadcast %row : tensor<1x8xi32> -> tensor<16x8xi32>
    %ap = tile.addptr %xs, %as : tensor<16x8x!tile.ptr<f32>>, tensor<16x8xi32>
    %a = tile.load %ap : tensor<16x8x!tile.ptr<f32>> -> tensor<16x8xf32>
    %next = tile.dot %a, %ones, %acc : tensor<16x8xf32>, tensor<8x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  return %same, %apart : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----

// A body that stores does so once for each iteration.
// CHECK-LABEL: func.func @stores
// CHECK: step %c8_i32
func.func @stores(%x: !tile.ptr<f32>, %n: i32) -> tensor<16x16xf32> {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1.0 : f32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = arith.constant dense<1.0> : tensor<16x8xf32>
  %b = arith.constant dense<1.0> : tensor<8x16xf32>
  %sum = scf.for %k = %c0 to %c64 step %c8 iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i32 {
    %p = tile.addptr %x, %k : !tile.ptr<f32>, i32
    tile.store %p, %one : !tile.ptr<f32>, f32
    %next = tile.dot %a, %b, %acc : tensor<16x8xf32>, tensor<8x16xf32> -> tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  return %sum : tensor<16x16xf32>
}
