// Programs of a cluster copy for one another: what is printed is read again.
// RUN: tile-opt %s | tile-opt | FileCheck %s

// CHECK: module attributes {simt.cluster = array<i64: 2, 1, 1>, simt.loader_warps = 1 : i32
module attributes {simt.cluster = array<i64: 2, 1, 1>, simt.loader_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
// CHECK-LABEL: @loader
func.func @loader(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[16, 32], f16, #tile.layout<[16, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0]]>>, %full: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  %zero = arith.constant 0 : i32
  %free = simt.alloc_shared "free" slots 1 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  simt.phase_init %free slots 1 count 8 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.barrier loader cluster
  simt.barrier loader cluster
  // CHECK: simt.loader {
  simt.loader {
    // CHECK-NEXT: simt.phase_await %{{.*}}, %{{.*}} cluster :
    simt.phase_await %free, %zero cluster : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
    // CHECK-NEXT: simt.box_copy maps [0] at[%{{.*}}, %{{.*}}] to %{{.*}} on %{{.*}} multicast [1] :
    simt.box_copy maps [0] at [%m, %s] to %b on %full multicast [1] : !simt.shared<[16, 32], f16, #tile.layout<[16, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  }
  // CHECK: simt.release %{{.*}} on %{{.*}} by %{{.*}} cluster [1] :
  simt.release %b on %full by %free cluster [1] : !simt.shared<[16, 32], f16, #tile.layout<[16, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // CHECK: simt.barrier cluster
  simt.barrier cluster
  return
}
}

// CHECK-LABEL: @thread
func.func @thread(%p: !llvm.ptr<3>, %map: !llvm.ptr, %x: i32) {
  // CHECK: %[[RANK:.*]] = simt.cluster_rank
  %rank = simt.cluster_rank
  // CHECK: simt.phase_arrive %{{.*}} of %[[RANK]] : !llvm.ptr<3>
  simt.phase_arrive %p of %rank : !llvm.ptr<3>
  // CHECK: simt.copy_box %{{.*}}[%{{.*}}, %{{.*}}], %{{.*}} on %{{.*}} to %[[RANK]] :
  simt.copy_box %map[%x, %x], %p on %p to %rank : !llvm.ptr, !llvm.ptr<3> on !llvm.ptr<3>
  return
}
