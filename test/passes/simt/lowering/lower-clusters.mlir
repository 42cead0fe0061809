// In a cluster of two axes, programs along each of them copy a box: a thread finds its own part of
// the rows, and the programs that get it, by its program's rank.
// RUN: tile-opt %s --lower-simt | FileCheck %s

!tile = !simt.shared<[16, 32], f16, #tile.layout<[16, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0]]>>
!phase = !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 232448, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>, simt.loader_warps = 1 : i32, simt.cluster = array<i64: 2, 2, 1>, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
// CHECK-LABEL: llvm.func @first_axis
func.func @first_axis(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %a = simt.alloc_shared "a" slots 1 at 0 : !tile
  %full = simt.alloc_shared "full" slots 1 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 1 at 1040 : !phase
  %zero = arith.constant 0 : i32
  simt.loader {
    simt.phase_await %free, %zero cluster : !phase
    // The programs of an even rank and the next one, at the same place of the second axis.
    // CHECK: %[[RANK:.*]] = simt.cluster_rank
    // CHECK: %[[X:.*]] = arith.remui %[[RANK]], %c2_i32{{.*}} : i32
    // CHECK: %[[Y:.*]] = arith.divui %[[RANK]], %c2_i32{{.*}} : i32
    // CHECK: %[[FIRST:.*]] = arith.muli %[[Y]], %c2_i32{{.*}} : i32
    // CHECK: %[[MASK:.*]] = arith.shli %c3_i32{{.*}}, %[[FIRST]] : i32
    // CHECK: %[[ROWS:.*]] = arith.muli %[[X]], %c8_i32{{.*}} : i32
    // CHECK: %[[ROW:.*]] = arith.addi %arg2, %[[ROWS]] : i32
    // CHECK: simt.copy_box %{{.*}}[%arg1, %[[ROW]]], %{{.*}} on %{{.*}} to %[[MASK]] :
    simt.box_copy maps [0] at [%m, %s] to %a on %full multicast [1] : !tile on !phase
  }
  // A lane arrives at the barrier of the program of its number, if that copies to this one.
  // CHECK: %[[COPIERS:.*]] = arith.shli %c3_i32{{.*}}, %{{.*}} : i32
  // CHECK: %[[BIT:.*]] = arith.shrui %[[COPIERS]], %[[LANE:.*]] : i32
  // CHECK: %[[ARRIVES:.*]] = arith.trunci %[[BIT]] : i32 to i1
  // CHECK: scf.if %[[ARRIVES]]
  // CHECK: simt.phase_arrive %{{.*}} of %[[LANE]]
  simt.release %a on %full by %free cluster [1] : !tile on !phase by !phase
  return
}
// CHECK-LABEL: llvm.func @second_axis
func.func @second_axis(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %a = simt.alloc_shared "a" slots 1 at 0 : !tile
  %full = simt.alloc_shared "full" slots 1 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 1 at 1040 : !phase
  %zero = arith.constant 0 : i32
  simt.loader {
    simt.phase_await %free, %zero cluster : !phase
    // The programs of this rank in the first axis: every second one.
    // CHECK: %[[RANK:.*]] = simt.cluster_rank
    // CHECK: %[[X:.*]] = arith.remui %[[RANK]], %c2_i32{{.*}} : i32
    // CHECK: %[[Y:.*]] = arith.divui %[[RANK]], %c2_i32{{.*}} : i32
    // CHECK: %[[MASK:.*]] = arith.shli %c5_i32{{.*}}, %[[X]] : i32
    // CHECK: %[[ROWS:.*]] = arith.muli %[[Y]], %c8_i32{{.*}} : i32
    // CHECK: %[[ROW:.*]] = arith.addi %arg2, %[[ROWS]] : i32
    // CHECK: simt.copy_box %{{.*}}[%arg1, %[[ROW]]], %{{.*}} on %{{.*}} to %[[MASK]] :
    simt.box_copy maps [0] at [%m, %s] to %a on %full multicast [2] : !tile on !phase
  }
  // Programs along one axis or the other one copy to this one.
  // CHECK-DAG: %[[ROW:.*]] = arith.shli %c3_i32{{.*}}, %{{.*}} : i32
  // CHECK-DAG: %[[COLUMN:.*]] = arith.shli %c5_i32{{.*}}, %{{.*}} : i32
  // CHECK: %[[COPIERS:.*]] = arith.ori %[[ROW]], %[[COLUMN]] : i32
  // CHECK: arith.shrui %[[COPIERS]], %{{.*}} : i32
  simt.release %a on %full by %free cluster [1, 2] : !tile on !phase by !phase
  return
}
// Each program copies all rows for itself.
// CHECK-LABEL: llvm.func @no_axis
func.func @no_axis(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %a = simt.alloc_shared "a" slots 1 at 0 : !tile
  %full = simt.alloc_shared "full" slots 1 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 1 at 1040 : !phase
  %zero = arith.constant 0 : i32
  simt.loader {
    simt.phase_await %free, %zero cluster : !phase
    // CHECK-NOT: simt.cluster_rank
    // CHECK-COUNT-2: simt.copy_box %{{.*}}[%arg1, %{{.*}}], %{{.*}} on %{{[0-9]+}} : !llvm.ptr
    simt.box_copy maps [0] at [%m, %s] to %a on %full multicast [0] : !tile on !phase
  }
  // All programs of the cluster may copy.
  // CHECK: arith.cmpi ult, %{{.*}}, %c4_i32
  simt.release %a on %full by %free cluster [3] : !tile on !phase by !phase
  return
}
}
