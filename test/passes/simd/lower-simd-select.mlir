// RUN: tile-opt %s -lower-simd -cse | FileCheck %s

// A dear side of a selection is computed where a lane takes it; what others use too, in any case.
// CHECK-LABEL: llvm.func @dear
// CHECK: scf.for
// CHECK:   %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK:   %[[C:.*]] = arith.cmpf olt, %[[X]]
// CHECK:   %[[SHARED:.*]] = math.exp %[[X]]
// CHECK:   %[[ANY:.*]] = vector.reduction <or>, %[[C]]
// CHECK:   %[[SIDE:.*]] = scf.if %[[ANY]] -> (vector<16xf32>) {
// CHECK:     math.sin %[[SHARED]]
// CHECK:     math.cos
// CHECK:     math.sin
// CHECK:     %[[LAST:.*]] = math.tanh
// CHECK:     scf.yield %[[LAST]]
// CHECK:   } else {
// CHECK:     llvm.mlir.poison
// CHECK:   arith.select %[[C]], %[[SIDE]], %[[SHARED]]
func.func @dear(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %c = arith.cmpf olt, %v, %zero : tensor<1024xf32>
  %e = math.exp %v : tensor<1024xf32>
  %s0 = math.sin %e : tensor<1024xf32>
  %s1 = math.cos %s0 : tensor<1024xf32>
  %s2 = math.sin %s1 : tensor<1024xf32>
  %s3 = math.tanh %s2 : tensor<1024xf32>
  %y = arith.select %c, %s3, %e : tensor<1024xi1>, tensor<1024xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %y : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}

// One function costs less than a branch that is foreseen wrong.
// CHECK-LABEL: llvm.func @cheap
// CHECK-NOT: vector.reduction
// CHECK: arith.select
func.func @cheap(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %c = arith.cmpf olt, %v, %zero : tensor<1024xf32>
  %e = math.exp %v : tensor<1024xf32>
  %y = arith.select %c, %e, %v : tensor<1024xi1>, tensor<1024xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %y : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
