// RUN: tile-opt %s -split-input-file -expand-descriptors -canonicalize -cse | FileCheck %s

// The corner is a scalar; offsets in the box follow from the strides alone. One unsigned comparison
// of 32 bits checks a dimension; a stride of 1 needs no product.
// CHECK-LABEL: func.func @load(
// CHECK-SAME: %[[P:.*]]: !tile.ptr<f32>, %[[M:.*]]: i32 {tile.non_negative}, %[[S:.*]]: i32, %[[I:.*]]: i32)
// CHECK-DAG: %[[LINE:.*]] = tile.arange 0 to 4 : tensor<4xi32>
// CHECK-DAG: %[[FIRST:.*]] = tile.splat %[[I]] : i32 -> tensor<4xi32>
// CHECK: %[[INDEX:.*]] = arith.addi %[[FIRST]], %[[LINE]] : tensor<4xi32>
// CHECK: %[[BOUND:.*]] = tile.splat %[[M]] : i32 -> tensor<4xi32>
// CHECK: arith.cmpi ult, %[[INDEX]], %[[BOUND]] : tensor<4xi32>
// CHECK-DAG: %[[WIDEI:.*]] = arith.extsi %[[I]] : i32 to i64
// CHECK-DAG: %[[WIDES:.*]] = arith.extsi %[[S]] : i32 to i64
// CHECK: %[[FAR:.*]] = arith.muli %[[WIDEI]], %[[WIDES]] : i64
// CHECK: %[[CORNER:.*]] = tile.addptr %[[P]], %[[FAR]] : !tile.ptr<f32>, i64
// CHECK: tile.load %{{.*}} mask %{{.*}} : tensor<4x8xi1>  : tensor<4x8x!tile.ptr<f32>> -> tensor<4x8xf32>
func.func @load(%p: !tile.ptr<f32>, %m: i32 {tile.non_negative}, %s: i32, %i: i32) -> tensor<4x8xf32> {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %0 = tile.descriptor_load %p shape [%m, %m] strides [%s, %one] at [%i, %zero] checked [0] : (!tile.ptr<f32>, i32, i32, i32, i32, i32, i32) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// An extent that may be negative is one of no elements, offsets of 64 bits are compared in as many,
// and NaN is what masked elements are.
// CHECK-LABEL: func.func @wide(
// CHECK-DAG: %[[NAN:.*]] = arith.constant dense<0x7FC00000> : tensor<4xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK: arith.maxsi %{{.*}}, %[[ZERO]] : i64
// CHECK: arith.cmpi ult, %{{.*}} : tensor<4xi64>
// CHECK: tile.load {{.*}} other %[[NAN]]
func.func @wide(%p: !tile.ptr<f32>, %m: i32, %i: i64) -> tensor<4xf32> {
  %one = arith.constant 1 : i32
  %0 = tile.descriptor_load %p shape [%m] strides [%one] at [%i] checked [0] {nan_outside} : (!tile.ptr<f32>, i32, i32, i64) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Listed rows are multiplied one by one; nothing is compared where no dimension is checked.
// CHECK-LABEL: func.func @listed(
// CHECK-NOT: arith.cmpi
// CHECK: arith.muli %{{.*}}, %{{.*}} : tensor<4xi64>
// CHECK-NOT: arith.cmpi
// CHECK: tile.store
// CHECK: tile.atomic_rmw add, {{.*}} {order = 0 : i32}
func.func @listed(%p: !tile.ptr<i32>, %n: i32, %rows: tensor<4xi32>, %v: tensor<4x8xi32>) {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  tile.descriptor_store %v to %p shape [%n, %n] strides [%n, %one] at [%rows, %zero] checked [] : (!tile.ptr<i32>, i32, i32, i32, i32, tensor<4xi32>, i32, tensor<4x8xi32>) -> ()
  tile.descriptor_atomic add, %v to %p shape [%n, %n] strides [%n, %one] at [%rows, %zero] checked [] : (!tile.ptr<i32>, i32, i32, i32, i32, tensor<4xi32>, i32, tensor<4x8xi32>) -> ()
  return
}

// -----

// A matrix of a batch that the kernel knows as a matrix only is accessed as one: what checks the
// batch is a scalar.
// CHECK-LABEL: func.func @matrix(
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : i32
// CHECK: tile.splat %[[INSIDE]] : i1 -> tensor<4x8xi1>
// CHECK: %[[X:.*]] = tile.load %{{.*}} mask %{{.*}} : tensor<4x8xi1>  : tensor<4x8x!tile.ptr<f32>> -> tensor<4x8xf32>
// CHECK-NOT: tile.reshape
// CHECK: tile.store {{.*}}%[[X]]
// CHECK-NOT: tile.reshape
func.func @matrix(%p: !tile.ptr<f32>, %b: i32 {tile.non_negative}, %m: i32 {tile.non_negative}, %s: i32, %z: i32, %i: i32) {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %0 = tile.descriptor_load %p shape [%b, %m, %m] strides [%s, %m, %one] at [%z, %i, %zero] checked [0, 1] : (!tile.ptr<f32>, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> tensor<1x4x8xf32>
  %1 = tile.reshape %0 : tensor<1x4x8xf32> -> tensor<4x8xf32>
  %2 = tile.reshape %1 : tensor<4x8xf32> -> tensor<1x4x8xf32>
  tile.descriptor_store %2 to %p shape [%b, %m, %m] strides [%s, %m, %one] at [%z, %i, %zero] checked [0, 1] : (!tile.ptr<f32>, i32, i32, i32, i32, i32, i32, i32, i32, i32, tensor<1x4x8xf32>) -> ()
  return
}

// -----

// One that is used with all its dimensions keeps them.
// CHECK-LABEL: func.func @batch(
// CHECK: tile.load {{.*}} -> tensor<1x4x8xf32>
func.func @batch(%p: !tile.ptr<f32>, %m: i32, %s: i32, %z: i32) -> tensor<1x4x8xf32> {
  %one = arith.constant 1 : i32
  %0 = tile.descriptor_load %p shape [%m, %m, %m] strides [%s, %m, %one] at [%z, %z, %z] checked [0] : (!tile.ptr<f32>, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}
