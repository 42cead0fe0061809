// What the folders and canonicalizations of tile operations make smaller, and what they must leave.
// RUN: tile-opt %s -canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @shape_of_splat
// CHECK-NEXT: %[[S:.*]] = tile.splat %{{.*}} : f32 -> tensor<4x8xf32>
// CHECK-NEXT: %[[T:.*]] = tile.splat %{{.*}} : f32 -> tensor<32xf32>
// CHECK-NEXT: return %[[S]], %[[T]]
func.func @shape_of_splat(%x: f32) -> (tensor<4x8xf32>, tensor<32xf32>) {
  %0 = tile.splat %x : f32 -> tensor<8xf32>
  %1 = tile.expand_dims %0 axis 1 : tensor<8xf32> -> tensor<8x1xf32>
  %2 = tile.trans %1 [1, 0] : tensor<8x1xf32> -> tensor<1x8xf32>
  %3 = tile.broadcast %2 : tensor<1x8xf32> -> tensor<4x8xf32>
  %4 = tile.reshape %3 : tensor<4x8xf32> -> tensor<32xf32>
  return %3, %4 : tensor<4x8xf32>, tensor<32xf32>
}

// -----
// CHECK-LABEL: func.func @constant_splat
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<4x8xf32>
// CHECK-NEXT: return %[[C]]
func.func @constant_splat() -> tensor<4x8xf32> {
  %c = arith.constant 2.0 : f32
  %0 = tile.splat %c : f32 -> tensor<8xf32>
  %1 = tile.expand_dims %0 axis 0 : tensor<8xf32> -> tensor<1x8xf32>
  %2 = tile.broadcast %1 : tensor<1x8xf32> -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----
// CHECK-LABEL: func.func @trans_of_trans
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[T:.*]] = tile.trans %[[X]] [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: return %[[T]], %[[X]]
func.func @trans_of_trans(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  %0 = tile.trans %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = tile.trans %0 [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  %2 = tile.trans %1 [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  return %1, %2 : tensor<4x2x3xf32>, tensor<2x3x4xf32>
}

// -----
// CHECK-LABEL: func.func @reshape_of_reshape
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>
// CHECK-NEXT: %[[R:.*]] = tile.reshape %[[X]] : tensor<4x6xf32> -> tensor<3x8xf32>
// CHECK-NEXT: return %[[X]], %[[R]]
func.func @reshape_of_reshape(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<3x8xf32>) {
  %0 = tile.reshape %x : tensor<4x6xf32> -> tensor<24xf32>
  %1 = tile.reshape %0 : tensor<24xf32> -> tensor<4x6xf32>
  %2 = tile.reshape %0 : tensor<24xf32> -> tensor<3x8xf32>
  return %1, %2 : tensor<4x6xf32>, tensor<3x8xf32>
}

// -----
// A reorder is a choice made once: the second reshape must see its result.
// CHECK-LABEL: func.func @reshape_of_reorder
// CHECK-NEXT: tile.reshape %{{.*}} reorder
// CHECK-NEXT: tile.reshape
func.func @reshape_of_reorder(%x: tensor<4x6xf32>) -> (tensor<24xf32>, tensor<4x6xf32>) {
  %0 = tile.reshape %x reorder : tensor<4x6xf32> -> tensor<24xf32>
  %1 = tile.reshape %0 : tensor<24xf32> -> tensor<4x6xf32>
  return %0, %1 : tensor<24xf32>, tensor<4x6xf32>
}

// -----
// CHECK-LABEL: func.func @broadcast_of_broadcast
// CHECK-NEXT: tile.broadcast %{{.*}} : tensor<1x1xf32> -> tensor<4x8xf32>
// CHECK-NEXT: return
func.func @broadcast_of_broadcast(%x: tensor<1x1xf32>) -> tensor<4x8xf32> {
  %0 = tile.broadcast %x : tensor<1x1xf32> -> tensor<4x1xf32>
  %1 = tile.broadcast %0 : tensor<4x1xf32> -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----
// CHECK-LABEL: func.func @split_of_join
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @split_of_join(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = tile.join %x, %y : tensor<8xf32> -> tensor<8x2xf32>
  %1, %2 = tile.split %0 : tensor<8x2xf32> -> tensor<8xf32>
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----
// CHECK-LABEL: func.func @pointers
// CHECK-SAME: %[[P:.*]]: !tile.ptr<f32>, %[[N:.*]]: i64
// CHECK-NEXT: return %[[P]], %[[P]], %[[N]]
func.func @pointers(%p: !tile.ptr<f32>, %n: i64) -> (!tile.ptr<f32>, !tile.ptr<f32>, i64) {
  %zero = arith.constant 0 : i32
  %0 = tile.addptr %p, %zero : !tile.ptr<f32>, i32
  %1 = tile.ptr_cast %0 : !tile.ptr<f32> -> !tile.ptr<i8>
  %2 = tile.ptr_cast %1 : !tile.ptr<i8> -> !tile.ptr<f32>
  %3 = tile.ptr_to_int %2 : !tile.ptr<f32> -> i64
  %4 = tile.int_to_ptr %3 : i64 -> !tile.ptr<f32>
  %5 = tile.int_to_ptr %n : i64 -> !tile.ptr<f32>
  %6 = tile.ptr_to_int %5 : !tile.ptr<f32> -> i64
  return %0, %4, %6 : !tile.ptr<f32>, !tile.ptr<f32>, i64
}

// -----
// CHECK-LABEL: func.func @empty_mask
// CHECK-SAME: %[[P:.*]]: tensor<8x!tile.ptr<f32>>, %[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<8xf32>
// CHECK-NEXT: return %[[ZERO]], %[[X]]
func.func @empty_mask(%p: tensor<8x!tile.ptr<f32>>, %x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %none = arith.constant dense<false> : tensor<8xi1>
  %0 = tile.load %p mask %none : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %1 = tile.load %p mask %none : tensor<8xi1> other %x : tensor<8xf32> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  tile.store %p, %x mask %none : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----
// CHECK-LABEL: func.func @full_mask
// CHECK-NEXT: tile.load %{{.*}} : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
// CHECK-NEXT: tile.store %{{.*}}, %{{.*}} : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
// CHECK-NEXT: tile.atomic_rmw fadd, %{{.*}}, %{{.*}} : tensor<8x!tile.ptr<f32>>
// CHECK-NEXT: return
func.func @full_mask(%p: tensor<8x!tile.ptr<f32>>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %true = arith.constant true
  %all = tile.splat %true : i1 -> tensor<8xi1>
  %0 = tile.load %p mask %all : tensor<8xi1> other %x : tensor<8xf32> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  tile.store %p, %0 mask %all : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  %1 = tile.atomic_rmw fadd, %p, %x mask %all : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----
// CHECK-LABEL: func.func @partial_mask
// CHECK: tile.load %{{.*}} mask
// CHECK-NEXT: tile.store %{{.*}}, %{{.*}} mask
func.func @partial_mask(%p: tensor<2x!tile.ptr<f32>>) {
  %some = arith.constant dense<[true, false]> : tensor<2xi1>
  %0 = tile.load %p mask %some : tensor<2xi1> : tensor<2x!tile.ptr<f32>> -> tensor<2xf32>
  tile.store %p, %0 mask %some : tensor<2xi1> : tensor<2x!tile.ptr<f32>>, tensor<2xf32>
  return
}

// -----
// Integer division by zero, wide shifts and saturation have a meaning that upstream must not fold away.
// CHECK-LABEL: func.func @defined_arithmetic
// CHECK-DAG: arith.divsi
// CHECK-DAG: arith.remui
// CHECK-DAG: arith.shli
// CHECK-DAG: arith.fptosi
func.func @defined_arithmetic() -> (i32, i32, i32, i32) {
  %five = arith.constant 5 : i32
  %zero = arith.constant 0 : i32
  %forty = arith.constant 40 : i32
  %huge = arith.constant 1.0e20 : f32
  %0 = arith.divsi %five, %zero : i32
  %1 = arith.remui %five, %zero : i32
  %2 = arith.shli %five, %forty : i32
  %3 = arith.fptosi %huge : f32 to i32
  return %0, %1, %2, %3 : i32, i32, i32, i32
}

// A loop that waits for another program is kept; one that only reads is not.
// CHECK-LABEL: @polling
func.func @polling(%flag: !tile.ptr<i32>) {
  %zero = arith.constant 0 : i32
  // CHECK: scf.while
  // CHECK: tile.load %{{.*}} {is_volatile}
  // CHECK-NOT: tile.load
  scf.while : () -> () {
    %value = tile.load %flag {is_volatile} : !tile.ptr<i32> -> i32
    %again = arith.cmpi eq, %value, %zero : i32
    scf.condition(%again)
  } do {
    scf.yield
  }
  %useless = tile.load %flag : !tile.ptr<i32> -> i32
  // CHECK: return
  return
}

// -----
// What is known to hold, and what no mask leaves, is not asserted.
// CHECK-LABEL: func.func @asserts
// CHECK-NOT: "holds"
// CHECK-NOT: "masked"
// CHECK: tile.assert %arg0, "full" : i1
// CHECK: tile.assert %arg0, "open" mask %arg1 : i1 : i1
// CHECK: tile.assert %{{.*}}, "false" : i1
func.func @asserts(%c: i1, %m: i1) {
  %yes = arith.constant true
  %no = arith.constant false
  tile.assert %yes, "holds" : i1
  tile.assert %c, "masked" mask %no : i1 : i1
  tile.assert %c, "full" mask %yes : i1 : i1
  tile.assert %c, "open" mask %m : i1 : i1
  tile.assert %no, "false" : i1
  return
}
