// Elementwise operations: one copy per register, and one for registers that are known to be equal.
// RUN: tile-opt --lower-simt %s | FileCheck %s

#eight = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
module attributes {simt.num_warps = 4 : i32} {
// A bound that is a multiple of 16 divides no group of four: two groups, two masks.
// CHECK-LABEL: llvm.func @masks
func.func @masks(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0 to 1024 : tensor<1024xi32, #eight>
  %ns = tile.splat %n : i32 -> tensor<1024xi32, #eight>
  // CHECK-COUNT-2: arith.cmpi slt
  // CHECK-NOT: arith.cmpi
  %m = arith.cmpi slt, %i, %ns : tensor<1024xi32, #eight>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>, #eight>
  %pa = tile.addptr %ps, %i : tensor<1024x!tile.ptr<f32>, #eight>, tensor<1024xi32, #eight>
  // CHECK-COUNT-2: simt.global_load
  %x = tile.load %pa mask %m : tensor<1024xi1, #eight> : tensor<1024x!tile.ptr<f32>, #eight> -> tensor<1024xf32, #eight>
  tile.store %pa, %x : tensor<1024x!tile.ptr<f32>, #eight>, tensor<1024xf32, #eight>
  return
}

// Nothing is known of this bound: eight masks.
// CHECK-LABEL: llvm.func @unknown_bound
func.func @unknown_bound(%p: !tile.ptr<i1>, %n: i32) {
  %i = tile.arange 0 to 1024 : tensor<1024xi32, #eight>
  %ns = tile.splat %n : i32 -> tensor<1024xi32, #eight>
  // CHECK-COUNT-8: arith.cmpi slt
  %m = arith.cmpi slt, %i, %ns : tensor<1024xi32, #eight>
  %ps = tile.splat %p : !tile.ptr<i1> -> tensor<1024x!tile.ptr<i1>, #eight>
  tile.store %ps, %m : tensor<1024x!tile.ptr<i1>, #eight>, tensor<1024xi1, #eight>
  return
}

// An index that is only compared counts from one register to the next, where it cannot wrap around:
// one difference, and a constant for each register. A bound below -1 is as -1.
// CHECK-LABEL: llvm.func @counting
func.func @counting(%p: !tile.ptr<i1>, %k: i32, %n: i32) {
  %many = arith.constant 65535 : i32
  %step = arith.constant 1024 : i32
  %part = arith.andi %k, %many : i32
  %first = arith.muli %part, %step : i32
  %firsts = tile.splat %first : i32 -> tensor<1024xi32, #eight>
  %i = tile.arange 0 to 1024 : tensor<1024xi32, #eight>
  %j = arith.addi %firsts, %i : tensor<1024xi32, #eight>
  %ns = tile.splat %n : i32 -> tensor<1024xi32, #eight>
  // CHECK: %[[LEAST:.*]] = arith.maxsi %{{.*}}, %{{.*}} : i32
  // CHECK-NEXT: %[[LIMIT:.*]] = arith.subi %[[LEAST]], %{{.*}} overflow<nsw> : i32
  // CHECK-NOT: arith.subi
  // CHECK-COUNT-8: arith.cmpi slt, %c{{.*}}, %[[LIMIT]] : i32
  %m = arith.cmpi slt, %j, %ns : tensor<1024xi32, #eight>
  %ps = tile.splat %p : !tile.ptr<i1> -> tensor<1024x!tile.ptr<i1>, #eight>
  tile.store %ps, %m : tensor<1024x!tile.ptr<i1>, #eight>, tensor<1024xi1, #eight>
  return
}

// The base may be any multiple of 1024, also below 0: no sum with an index wraps around, but the
// difference may be beyond all indices, on either side.
// CHECK-LABEL: llvm.func @counting_from_anywhere
func.func @counting_from_anywhere(%p: !tile.ptr<i1>, %k: i32, %n: i32) {
  %step = arith.constant 1024 : i32
  %first = arith.muli %k, %step : i32
  %firsts = tile.splat %first : i32 -> tensor<1024xi32, #eight>
  %i = tile.arange 0 to 1024 : tensor<1024xi32, #eight>
  %j = arith.addi %firsts, %i : tensor<1024xi32, #eight>
  %ns = tile.splat %n : i32 -> tensor<1024xi32, #eight>
  // CHECK: %[[BELOW:.*]] = arith.cmpi slt, %arg2, %[[BASE:.*]] : i32
  // CHECK-NEXT: %[[DIFFERENCE:.*]] = arith.subi %arg2, %[[BASE]] : i32
  // CHECK: %[[CAPPED:.*]] = arith.minui %[[DIFFERENCE]], %{{.*}} : i32
  // CHECK: %[[LIMIT:.*]] = arith.select %[[BELOW]], %{{.*}}, %[[CAPPED]] : i32
  // CHECK-COUNT-8: arith.cmpi slt, %c{{.*}}, %[[LIMIT]] : i32
  %m = arith.cmpi slt, %j, %ns : tensor<1024xi32, #eight>
  %ps = tile.splat %p : !tile.ptr<i1> -> tensor<1024x!tile.ptr<i1>, #eight>
  tile.store %ps, %m : tensor<1024x!tile.ptr<i1>, #eight>, tensor<1024xi1, #eight>
  return
}

// The first index may be close to the greatest number: what is above that wraps around.
// CHECK-LABEL: llvm.func @wraps_around
func.func @wraps_around(%p: !tile.ptr<i1>, %first: i32, %n: i32) {
  %firsts = tile.splat %first : i32 -> tensor<1024xi32, #eight>
  %i = tile.arange 0 to 1024 : tensor<1024xi32, #eight>
  %j = arith.addi %firsts, %i : tensor<1024xi32, #eight>
  %ns = tile.splat %n : i32 -> tensor<1024xi32, #eight>
  // CHECK-NOT: arith.subi
  // CHECK-COUNT-8: arith.cmpi slt, %{{.*}}, %arg2 : i32
  %m = arith.cmpi slt, %j, %ns : tensor<1024xi32, #eight>
  %ps = tile.splat %p : !tile.ptr<i1> -> tensor<1024x!tile.ptr<i1>, #eight>
  tile.store %ps, %m : tensor<1024x!tile.ptr<i1>, #eight>, tensor<1024xi1, #eight>
  return
}

// The user's sums and products may become FMAs, and quotients may use a reciprocal as before.
// CHECK-LABEL: llvm.func @contraction
func.func @contraction(%p: !tile.ptr<f32>, %x: f32, %y: f32, %z: f32) {
  // CHECK: arith.mulf %{{.*}} fastmath<contract>
  %a = arith.mulf %x, %y : f32
  // CHECK: arith.subf %{{.*}} fastmath<contract>
  %b = arith.subf %a, %z : f32
  // CHECK: arith.divf %{{.*}} fastmath<arcp>
  %c = arith.divf %b, %z fastmath<arcp> : f32
  tile.store %p, %c : !tile.ptr<f32>, f32
  return
}

// A masked score is rounded as the row's maximum is, so that their difference is 0; 1.0e6 is not large.
// CHECK-LABEL: llvm.func @masked_scores
func.func @masked_scores(%p: !tile.ptr<f32>, %m: i1, %x: f32, %y: f32, %z: f32) {
  %large = arith.constant -1.0e+30 : f32
  %small = arith.constant -1.0e+06 : f32
  %a = arith.select %m, %x, %large : f32
  %b = arith.addf %a, %z : f32
  // CHECK: arith.addf
  // CHECK-NEXT: %[[BY_ITSELF:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  %c = arith.mulf %b, %y : f32
  // CHECK-NEXT: arith.subf %[[BY_ITSELF]], %{{.*}} fastmath<contract>
  %d = arith.subf %c, %z : f32
  tile.store %p, %d : !tile.ptr<f32>, f32
  %e = arith.select %m, %x, %small : f32
  // CHECK: arith.mulf %{{.*}} fastmath<contract>
  %f = arith.mulf %e, %y : f32
  tile.store %p, %f : !tile.ptr<f32>, f32
  return
}
}
