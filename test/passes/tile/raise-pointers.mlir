// RUN: tile-opt %s -split-input-file -raise-pointers -canonicalize -cse | FileCheck %s

// A pointer tile that advances by one step everywhere becomes a base and a carried scalar.
// CHECK-LABEL: func.func @advance
// CHECK: %[[BASE:.*]] = tile.addptr
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SUM:.*]] = %c0_i64) -> (f32, i64)
// CHECK:   %[[OFFSET:.*]] = tile.splat %[[SUM]] : i64 -> tensor<8xi64>
// CHECK:   tile.addptr %[[BASE]], %[[OFFSET]]
// CHECK:   %[[NEXT:.*]] = arith.addi %[[SUM]], %c16_i64
// CHECK:   scf.yield %{{.*}}, %[[NEXT]]
func.func @advance(%x: !tile.ptr<f32>, %n: i32) -> f32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %step = arith.constant dense<16> : tensor<8xi32>
  %r = tile.arange 0 to 8 : tensor<8xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %p0 = tile.addptr %xs, %r : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %res:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %p0) -> (f32, tensor<8x!tile.ptr<f32>>) : i32 {
    %v = tile.load %p : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
    %s = tile.reduce(%v) axis 0 {
    ^bb0(%a: f32, %b: f32):
      %q = arith.addf %a, %b : f32
      tile.yield %q : f32
    } : (tensor<8xf32>) -> f32
    %sum = arith.addf %acc, %s : f32
    %next = tile.addptr %p, %step : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
    scf.yield %sum, %next : f32, tensor<8x!tile.ptr<f32>>
  }
  return %res#0 : f32
}

// -----

// A step that differs from element to element stays a carried tile.
// CHECK-LABEL: func.func @uneven
// CHECK: scf.for {{.*}} -> (tensor<8xi32>)
func.func @uneven(%n: i32) -> tensor<8xi32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.arange 0 to 8 : tensor<8xi32>
  %res = scf.for %i = %c0 to %n step %c1 iter_args(%p = %r) -> (tensor<8xi32>) : i32 {
    %next = arith.addi %p, %r : tensor<8xi32>
    scf.yield %next : tensor<8xi32>
  }
  return %res : tensor<8xi32>
}
