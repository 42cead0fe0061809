// RUN: tile-opt %s -split-input-file -lower-simd -cse | FileCheck %s

// A mask that constants decide is tested only in the vectors behind its end, of 1000 elements: 62
// vectors have none.
// CHECK-LABEL: llvm.func @ragged_row
// CHECK-NOT: scf.if
// CHECK: %[[FULL:.*]] = arith.constant 992
// CHECK: scf.for {{.*}} to %[[FULL]]
// CHECK-NOT: masked
// CHECK:   llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} = %[[FULL]] to
// CHECK:   llvm.intr.masked.load
// CHECK:   llvm.intr.masked.store
func.func @ragged_row(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %n = arith.constant 1000 : i32
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %nn = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %r, %nn : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %d = arith.addf %v, %v : tensor<1024xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %d mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Where the comparison is also read at other places, it is tested everywhere.
// CHECK-LABEL: llvm.func @both_ways
// CHECK: scf.for {{.*}} to %c32
// CHECK-NOT: llvm.store {{.*}} : vector<16xf32>
// CHECK: masked.store {{.*}} vector<16xi1>
func.func @both_ways(%out: !tile.ptr<f32> {tile.disjoint}) {
  %n = arith.constant 20 : i32
  %one = arith.constant dense<1.0> : tensor<32x32xf32>
  %r = tile.arange 0 to 32 : tensor<32xi32>
  %e = tile.expand_dims %r axis 0 : tensor<32xi32> -> tensor<1x32xi32>
  %c = tile.broadcast %e : tensor<1x32xi32> -> tensor<32x32xi32>
  %nn = tile.splat %n : i32 -> tensor<32x32xi32>
  %m = arith.cmpi slt, %c, %nn : tensor<32x32xi32>
  %t = tile.trans %m [1, 0] : tensor<32x32xi1> -> tensor<32x32xi1>
  %k = arith.andi %m, %t : tensor<32x32xi1>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  %op = tile.addptr %os, %c : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
  tile.store %op, %one mask %k : tensor<32x32xi1> : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  return
}

// -----

// Where the launch says how long the row is, it is computed without masks to the last whole vector
// of it, kept for the sum and the store, and with masks behind that.
// CHECK-LABEL: llvm.func @kept
// CHECK-NOT: scf.if
// CHECK: arith.extsi
// CHECK: scf.for {{.*}} to %[[END:[^ ]*]] step
// CHECK-NOT: masked
// CHECK:   math.exp
// CHECK: scf.for {{.*}} = %[[END]] to
// CHECK:   llvm.intr.masked.load
// CHECK:   math.exp
// CHECK-NOT: math.exp
// CHECK: arith.divf
// CHECK-NOT: masked
// CHECK: llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} = %[[END]] to
// CHECK: llvm.intr.masked.store
func.func @kept(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %nn = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %r, %nn : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %e = math.exp %v : tensor<1024xf32>
  %sum = tile.reduce(%e) axis 0 commutative {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<1024xf32>) -> f32
  %total = tile.splat %sum : f32 -> tensor<1024xf32>
  %d = arith.divf %e, %total : tensor<1024xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %d mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// A short row has two versions, and so has one whose elements are not counted up to the limit.
// CHECK-LABEL: llvm.func @short_row
// CHECK: scf.if
// CHECK-LABEL: llvm.func @falling
// CHECK: scf.if
func.func @short_row(%out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %nn = tile.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %r, %nn : tensor<64xi32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %op, %one mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}
func.func @falling(%out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %one = arith.constant dense<1.0> : tensor<1024xf32>
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %nn = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi sge, %r, %nn : tensor<1024xi32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %one mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
