// Pairs lie in one thread; what one thread's atomic yields reaches all that hold it.
// RUN: tile-opt --stage-through-shared --split-input-file %s | FileCheck %s

#half = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
#lanes = #tile.layout<[64, 2] register = [[32, 0]] lane = [[0, 1], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#pairs = #tile.layout<[64, 2] register = [[0, 1]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0]]>
module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: @join_in_place
// CHECK-NOT: shared
// CHECK: return
func.func @join_in_place(%x: tensor<64xf32, #half>, %y: tensor<64xf32, #half>) -> tensor<64x2xf32, #pairs> {
  %z = tile.join %x, %y : tensor<64xf32, #half> -> tensor<64x2xf32, #pairs>
  return %z : tensor<64x2xf32, #pairs>
}

// CHECK-LABEL: @join_over_lanes
func.func @join_over_lanes(%x: tensor<64xf32, #half>, %y: tensor<64xf32, #half>) -> tensor<64x2xf32, #lanes> {
  // CHECK: tile.join {{.*}} register = {{\[\[0, 1\]\]}}
  // CHECK: simt.alloc_shared "join at line
  %z = tile.join %x, %y : tensor<64xf32, #half> -> tensor<64x2xf32, #lanes>
  return %z : tensor<64x2xf32, #lanes>
}

// CHECK-LABEL: @split_over_lanes
func.func @split_over_lanes(%z: tensor<64x2xf32, #lanes>) -> (tensor<64xf32, #half>, tensor<64xf32, #half>) {
  // CHECK: simt.alloc_shared "split at line
  // CHECK: tile.split {{.*}} register = {{\[\[0, 1\]\]}}
  %x, %y = tile.split %z : tensor<64x2xf32, #lanes> -> tensor<64xf32, #half>
  return %x, %y : tensor<64xf32, #half>, tensor<64xf32, #half>
}

// CHECK-LABEL: @ticket
func.func @ticket(%p: !tile.ptr<i32>, %one: i32) -> i32 {
  // CHECK: %[[OLD:.*]] = tile.atomic_rmw add
  // CHECK: %[[BUFFER:.*]] = simt.alloc_shared "result of atomic at line
  // CHECK: simt.store_shared %[[OLD]], %[[BUFFER]]
  // CHECK: %[[SEEN:.*]] = simt.load_shared %[[BUFFER]]
  // CHECK: return %[[SEEN]]
  %old = tile.atomic_rmw add, %p, %one : !tile.ptr<i32>, i32 -> i32
  return %old : i32
}

// CHECK-LABEL: @unused_result
// CHECK-NOT: shared
// CHECK: return
func.func @unused_result(%p: !tile.ptr<i32>, %one: i32) {
  %old = tile.atomic_rmw add, %p, %one : !tile.ptr<i32>, i32 -> i32
  return
}

// CHECK-LABEL: @one_thread_per_element
// CHECK-NOT: shared
// CHECK: return
func.func @one_thread_per_element(%p: tensor<64x!tile.ptr<i32>, #half>, %v: tensor<64xi32, #half>) -> tensor<64xi32, #half> {
  %old = tile.atomic_rmw add, %p, %v : tensor<64x!tile.ptr<i32>, #half>, tensor<64xi32, #half> -> tensor<64xi32, #half>
  return %old : tensor<64xi32, #half>
}
}
