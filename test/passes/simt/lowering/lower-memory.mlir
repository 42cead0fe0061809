// Loads and stores of one thread: neighbours by one instruction, copies by their owner.
// RUN: tile-opt --lower-simt --split-input-file %s | FileCheck %s

#four = #tile.layout<[512] register = [[1], [2]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: llvm.func @wide
func.func @wide(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %q: !tile.ptr<f32> {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0 to 512 : tensor<512xi32, #four>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %pa = tile.addptr %ps, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  %qa = tile.addptr %qs, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  // CHECK: simt.global_load %{{[0-9]+}} {evict = 1 : i32} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NOT: simt.global_load
  %x = tile.load %pa {evict = 1 : i32} : tensor<512x!tile.ptr<f32>, #four> -> tensor<512xf32, #four>
  // CHECK: simt.global_store %{{[0-9]+}}, %{{[0-9]+}} : !llvm.ptr<1>, vector<4xf32>
  // CHECK-NOT: simt.global_store
  tile.store %qa, %x : tensor<512x!tile.ptr<f32>, #four>, tensor<512xf32, #four>
  return
}

// One mask for a group where the bound is a multiple of the group; without `other`, zeros.
// CHECK-LABEL: llvm.func @masked
func.func @masked(%p: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %n: i32 {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0 to 512 : tensor<512xi32, #four>
  %ns = tile.splat %n : i32 -> tensor<512xi32, #four>
  %m = arith.cmpi slt, %i, %ns : tensor<512xi32, #four>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %pa = tile.addptr %ps, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.0{{.*}}> : vector<4xf32>
  // CHECK: simt.global_load %{{[0-9]+}} mask %{{[0-9]+}} other %[[ZERO]] : vector<4xf32> : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NOT: simt.global_load
  %x = tile.load %pa mask %m : tensor<512xi1, #four> : tensor<512x!tile.ptr<f32>, #four> -> tensor<512xf32, #four>
  // CHECK: simt.global_store %{{[0-9]+}}, %{{[0-9]+}} mask %{{[0-9]+}} : !llvm.ptr<1>, vector<4xf32>
  tile.store %pa, %x mask %m : tensor<512xi1, #four> : tensor<512x!tile.ptr<f32>, #four>, tensor<512xf32, #four>
  return
}

// A bound of which nothing is known: one access per element, each with its mask and its other.
// CHECK-LABEL: llvm.func @ragged
func.func @ragged(%p: !tile.ptr<f32>, %n: i32, %other: f32) {
  %i = tile.arange 0 to 512 : tensor<512xi32, #four>
  %ns = tile.splat %n : i32 -> tensor<512xi32, #four>
  %m = arith.cmpi slt, %i, %ns : tensor<512xi32, #four>
  %o = tile.splat %other : f32 -> tensor<512xf32, #four>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>, #four>
  %pa = tile.addptr %ps, %i : tensor<512x!tile.ptr<f32>, #four>, tensor<512xi32, #four>
  // CHECK-COUNT-4: simt.global_load %{{[0-9]+}} mask %{{[0-9]+}} other %arg2 : f32 : !llvm.ptr<1> -> f32
  // CHECK-NOT: simt.global_load
  %x = tile.load %pa mask %m : tensor<512xi1, #four> other %o : tensor<512xf32, #four> : tensor<512x!tile.ptr<f32>, #four> -> tensor<512xf32, #four>
  return
}

// CHECK-LABEL: llvm.func @scalars
func.func @scalars(%p: !tile.ptr<i1>, %q: !tile.ptr<!tile.ptr<f32>>) {
  // CHECK: %[[BYTE:.*]] = simt.global_load %arg0 : !llvm.ptr<1> -> i8
  // Any byte but 0 is true.
  // CHECK: %[[BIT:.*]] = arith.cmpi ne, %[[BYTE]], %{{.*}} : i8
  %b = tile.load %p : !tile.ptr<i1> -> i1
  // CHECK: %[[ADDRESS:.*]] = simt.global_load %arg1 : !llvm.ptr<1> -> i64
  // CHECK: llvm.inttoptr %[[ADDRESS]] : i64 to !llvm.ptr<1>
  %r = tile.load %q : !tile.ptr<!tile.ptr<f32>> -> !tile.ptr<f32>
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: %[[OUT:.*]] = arith.extui %[[BIT]] : i1 to i8
  // CHECK: simt.global_store %arg0, %[[OUT]] mask %[[FIRST]]
  tile.store %p, %b : !tile.ptr<i1>, i1
  return
}
}

// -----

#copies = #tile.layout<[32] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[0], [0]]>
module attributes {simt.num_warps = 4 : i32} {
// Warps 1 to 3 hold copies.
// CHECK-LABEL: llvm.func @copies
func.func @copies(%base: !tile.ptr<f16>, %value: f16, %flag: i1) {
  %p = tile.splat %base : !tile.ptr<f16> -> tensor<32x!tile.ptr<f16>, #copies>
  %x = tile.splat %value : f16 -> tensor<32xf16, #copies>
  %m = tile.splat %flag : i1 -> tensor<32xi1, #copies>
  // CHECK: %[[WARP:.*]] = arith.shrui
  // CHECK: %[[OWNER:.*]] = arith.cmpi eq, %[[WARP]]
  // CHECK: %[[MASK:.*]] = arith.andi %arg2, %[[OWNER]]
  // CHECK: simt.global_store %arg0, %arg1 mask %[[MASK]]
  tile.store %p, %x mask %m : tensor<32xi1, #copies> : tensor<32x!tile.ptr<f16>, #copies>, tensor<32xf16, #copies>
  return
}
// A loop carries the pointers of a tile one by one.
// CHECK-LABEL: llvm.func @carried_pointers
// CHECK: scf.for {{.*}} -> (!llvm.ptr<1>)
func.func @carried_pointers(%base: !tile.ptr<f16>, %value: f16, %count: i32) {
  %n = arith.index_cast %count : i32 to index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %p = tile.splat %base : !tile.ptr<f16> -> tensor<32x!tile.ptr<f16>, #copies>
  %x = tile.splat %value : f16 -> tensor<32xf16, #copies>
  %step = tile.arange 0 to 32 : tensor<32xi32, #copies>
  %last = scf.for %i = %zero to %n step %one iter_args(%at = %p) -> (tensor<32x!tile.ptr<f16>, #copies>) {
    tile.store %at, %x : tensor<32x!tile.ptr<f16>, #copies>, tensor<32xf16, #copies>
    %next = tile.addptr %at, %step : tensor<32x!tile.ptr<f16>, #copies>, tensor<32xi32, #copies>
    scf.yield %next : tensor<32x!tile.ptr<f16>, #copies>
  }
  return
}
}
